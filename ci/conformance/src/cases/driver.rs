//! Functions of the driver, and the log of driver and runtime.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};

/// Forgets the thread's last error, so that the next question does not find it.
fn forget() {
    // SAFETY: takes nothing.
    let _ = unsafe { cudaGetLastError() };
}

/// Looks up a function of the driver.
fn find(log: &mut Log, what: &str, name: &CStr, version: u32, flags: u64) {
    let (mut function, mut status) = (ptr::null_mut(), cudaDriverEntryPointSymbolNotFound);
    let (out, status_out) = (&raw mut function, &raw mut status);
    ask!(log, what, cudaGetDriverEntryPointByVersion(name.as_ptr(), out, version, flags, status_out));
    forget();
    log.fact("status", status.0);
    log.fact("null", function.is_null());
}

/// A call that fails, in the driver.
fn fail() {
    let byte = 0_u8;
    let (from, nowhere) = ((&raw const byte).cast(), ptr::without_provenance_mut(16));
    // SAFETY: an address that belongs to nobody is an error.
    let _ = unsafe { cudaMemcpy(nowhere, from, 1, cudaMemcpyHostToDevice) };
    forget();
}

extern "C" fn count(user: *mut c_void, _: cudaLogLevel, message: *mut c_char, length: usize) {
    // SAFETY: the case passes the address of two numbers that outlive the registration.
    let seen = unsafe { &mut *user.cast::<[usize; 2]>() };
    seen[0] += 1;
    seen[1] = usize::from(!message.is_null() && length > 0);
}

pub(super) fn add(cases: &mut Cases) {
    cases.alone("cudaGetDriverEntryPointByVersion/no such function, no name, a newer version", |log| {
        // Tests that require a driver ask for its functions. A null name or result ends the process
        // on an H200.
        find(log, "no such function", c"cuTeaMake", 13_000, 0);
        find(log, "version 99.0", c"cuMemcpyAsync", 99_000, 0);
        find(log, "no name", c"", 13_000, 0);
        Ok(())
    });
    cases.alone("cudaLogsDumpToMemory/after a call that fails, twice, without room, flags", |log| {
        let (mut place, mut room) = (0, vec![0_u8; 1 << 15]);
        ask!(log, cudaLogsCurrent(&raw mut place, 0));
        let before = place;
        fail();
        let to = room.as_mut_ptr().cast();
        for what in ["first", "second"] {
            let mut size = 1 << 15;
            ask!(log, what, cudaLogsDumpToMemory(&raw mut place, to, &raw mut size, 0));
            log.fact("says something", size > 0);
        }
        log.fact("the place has moved", place != before);
        let mut again = before;
        let mut size = 1;
        ask!(log, "room for one byte", cudaLogsDumpToMemory(&raw mut again, to, &raw mut size, 0));
        log.fact("size", size);
        forget();
        let mut size = 1 << 15;
        ask!(log, "flags", cudaLogsDumpToMemory(ptr::null_mut(), to, &raw mut size, 1));
        forget();
        ask!(log, "all", cudaLogsDumpToMemory(ptr::null_mut(), to, &raw mut size, 0));
        forget();
        ask!(log, "flags of the place", cudaLogsCurrent(&raw mut place, 1));
        Ok(())
    });
    cases.alone("cudaLogsRegisterCallback/told of a call that fails, and no more after", |log| {
        let mut seen = [0_usize; 2];
        let mut handle: cudaLogsCallbackHandle = ptr::null_mut();
        let user = (&raw mut seen).cast();
        need!(log, cudaLogsRegisterCallback(Some(count), user, &raw mut handle));
        fail();
        log.fact("told", seen[0] > 0);
        log.fact("with a text", seen[1]);
        let before = seen[0];
        ask!(log, cudaLogsUnregisterCallback(handle));
        fail();
        log.fact("told afterwards", seen[0] - before);
        ask!(log, "no function", cudaLogsRegisterCallback(None, user, &raw mut handle));
        Ok(())
    });
}
