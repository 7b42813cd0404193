//! Memory, semaphores and pictures of other interfaces, where there are none.

use std::ffi::c_int;

use cuda_sys as sys;

use super::super::common::{N, add_case, begin, device, end, null, taken};
use crate::case::Cases;
use crate::log::{Log, Setup, ask};
use crate::memory::stream;

/// A file of zeros in memory.
pub(crate) fn file(bytes: i64) -> c_int {
    // SAFETY: the name is a string, and the file is new.
    unsafe {
        let file = libc::memfd_create(c"zeros".as_ptr(), 0);
        assert!(libc::ftruncate(file, bytes) == 0, "no file in memory");
        file
    }
}

/// Asks for a semaphore of a kind and a file.
pub(crate) fn semaphore(
    log: &mut Log,
    what: &str,
    kind: u32,
    fd: c_int,
    flags: u32,
) -> sys::cudaExternalSemaphore_t {
    let mut wanted = sys::cudaExternalSemaphoreHandleDesc::default();
    wanted.type_ = sys::cudaExternalSemaphoreHandleType(kind);
    wanted.handle.fd = fd;
    wanted.flags = flags;
    let mut made = null();
    ask!(log, what, cudaImportExternalSemaphore(&raw mut made, &raw const wanted));
    log.fact("handle", if made.is_null() { "null" } else { "some" });
    made
}

fn busy(log: &mut Log) -> Result<sys::cudaStream_t, Setup> {
    let (on, block) = (stream(log)?, device(log)?);
    ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
    Ok(on)
}

pub(super) fn add(cases: &mut Cases) {
    semaphores(cases);
    add_case(cases, 39, "a buffer of an interface that is not there, and files that are none", |log| {
        let mut wanted = sys::cudaExternalMemoryHandleDesc::default();
        let mut made = null();
        wanted.size = N as u64;
        for kind in [8, 1, 2, 6, 0, 99] {
            wanted.type_ = sys::cudaExternalMemoryHandleType(kind);
            wanted.handle.fd = if kind == 1 { file(1 << 16) } else { 0 };
            ask!(log, &format!("{kind}"), cudaImportExternalMemory(&raw mut made, &raw const wanted));
            log.fact("handle", if made.is_null() { "null" } else { "some" });
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "null", cudaImportExternalMemory(&raw mut made, null()));
        Ok(())
    });
    add_case(cases, 148, "at the end, where none was made", |log| {
        let on = busy(log)?;
        ask!(log, "memory", cudaDestroyExternalMemory(null()));
        ask!(log, "semaphore", cudaDestroyExternalSemaphore(null()));
        ask!(log, "texture", cudaDestroyTextureObject(0));
        ask!(log, "levels", cudaFreeMipmappedArray(null()));
        ask!(log, "array", cudaFreeArray(null()));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 142, "no resources, and one that is null", |log| {
        let (on, mut none) = (stream(log)?, null());
        ask!(log, "none", cudaGraphicsMapResources(0, &raw mut none, on));
        ask!(log, "no list", cudaGraphicsMapResources(0, null(), null()));
        ask!(log, "fewer than none", cudaGraphicsMapResources(-1, &raw mut none, on));
        ask!(log, "null", cudaGraphicsMapResources(1, &raw mut none, null()));
        taken(log)
    });
    add_case(cases, 15, "no resources behind a kernel", |log| {
        let (on, mut none) = (busy(log)?, null());
        ask!(log, "none", cudaGraphicsUnmapResources(0, &raw mut none, on));
        ask!(log, "no list", cudaGraphicsUnmapResources(0, null(), on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)?;
        ask!(log, "one, no list", cudaGraphicsUnmapResources(1, null(), on));
        taken(log)
    });
    add_case(cases, 136, "one resource that is null, and while a stream captures", |log| {
        let (on, mut none) = (begin(log)?, null());
        ask!(log, "none, captured", cudaGraphicsUnmapResources(0, &raw mut none, on));
        end(log, on);
        ask!(log, "null", cudaGraphicsUnmapResources(1, &raw mut none, on));
        taken(log)
    });
    add_case(cases, 33, "null, before buffers go", |log| {
        let on = busy(log)?;
        ask!(log, "null", cudaGraphicsUnregisterResource(null()));
        taken(log)?;
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
}

fn semaphores(cases: &mut Cases) {
    add_case(cases, 23, "a file that is none, and one that is no semaphore", |log| {
        for kind in [1, 9, 2, 10] {
            semaphore(log, &format!("{kind}, no file"), kind, -1, 0);
        }
        semaphore(log, "a file", 1, file(4096), 0);
        semaphore(log, "a file as a timeline", 9, file(4096), 0);
        taken(log)
    });
    add_case(cases, 105, "an object of an interface that is not there, flags, nulls", |log| {
        semaphore(log, "object", 6, 0, 0);
        semaphore(log, "flags", 1, -1, 1);
        semaphore(log, "no kind", 0, -1, 0);
        semaphore(log, "no such kind", 99, -1, 0);
        let mut made = null();
        ask!(log, "null", cudaImportExternalSemaphore(&raw mut made, null()));
        taken(log)
    });
    add_case(cases, 20, "if it is there: null, twice", |log| {
        let on = busy(log)?;
        ask!(log, "null", cudaDestroyExternalSemaphore(null()));
        ask!(log, "again", cudaDestroyExternalSemaphore(null()));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaStreamDestroy(on));
        taken(log)
    });
    add_case(cases, 8, "for no semaphores, no list, and one that is null", |log| {
        let (on, none, wanted) = (busy(log)?, null(), sys::cudaExternalSemaphoreWaitParams::default());
        ask!(log, "none", cudaWaitExternalSemaphoresAsync(&raw const none, &raw const wanted, 0, on));
        ask!(log, "no lists", cudaWaitExternalSemaphoresAsync(null(), null(), 0, on));
        ask!(log, "null", cudaWaitExternalSemaphoresAsync(&raw const none, &raw const wanted, 1, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 126, "to no semaphores, no list, and one that is null", |log| {
        let (on, none, wanted) = (busy(log)?, null(), sys::cudaExternalSemaphoreSignalParams::default());
        ask!(log, "none", cudaSignalExternalSemaphoresAsync(&raw const none, &raw const wanted, 0, on));
        ask!(log, "no lists", cudaSignalExternalSemaphoresAsync(null(), null(), 0, on));
        ask!(log, "null", cudaSignalExternalSemaphoresAsync(&raw const none, &raw const wanted, 1, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
}
