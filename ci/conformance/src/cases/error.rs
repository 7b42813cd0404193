//! The last error, and errors that stay.

use std::ffi::{CStr, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{ask, error_name};
use crate::memory::{Block, Kind};

unsafe extern "C" {
    fn case_trap();
}

pub(super) fn add(cases: &mut Cases) {
    cases.alone("cudaPeekAtLastError/stays, and goes when it is taken", |log| {
        ask!(log, cudaMalloc(ptr::null_mut(), 1));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "peek again", cudaPeekAtLastError());
        let mut device = 0;
        ask!(log, "a call that succeeds", cudaGetDevice(&raw mut device));
        ask!(log, "take", cudaGetLastError());
        ask!(log, "take again", cudaGetLastError());
        Ok(())
    });
    cases.alone("cudaGetLastError/is the thread's own", |log| {
        ask!(log, cudaMalloc(ptr::null_mut(), 1));
        let other = std::thread::spawn(|| unsafe { cudaGetLastError() }.0).join().unwrap();
        log.fact("of another thread", error_name(cudaError(other)));
        Ok(())
    });
    cases.alone("cudaStreamQuery/not ready is not an error that is left", |log| {
        let on = crate::memory::stream(log)?;
        let gate = crate::gate::Gate::hold(log, on)?;
        ask!(log, cudaStreamQuery(on));
        ask!(log, cudaPeekAtLastError());
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
    cases.add("cudaGetErrorString/of known and unknown codes", |log| {
        for code in [0, 1, 2, 700, 719, 999, 12345] {
            log.fact(&format!("{code}"), error_name(cudaError(code)));
            // SAFETY: takes any code.
            let text = unsafe { cudaGetErrorString(cudaError(code)) };
            // SAFETY: not null, so it is a string.
            let said = !text.is_null() && !unsafe { CStr::from_ptr(text) }.is_empty();
            log.fact("said", said);
        }
        Ok(())
    });
    cases.alone("a kernel that traps/every later call says so", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        let one = dim3 { x: 1, y: 1, z: 1 };
        ask!(
            log,
            cudaLaunchKernel(case_trap as *const c_void, one, one, ptr::null_mut(), 0, ptr::null_mut())
        );
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        ask!(log, cudaMemset(block.ptr(), 0, 16));
        ask!(log, cudaFree(block.ptr()));
        ask!(log, "cudaFree of null", cudaFree(ptr::null_mut()));
        let mut start = ptr::null_mut();
        ask!(log, cudaMallocHost(&raw mut start, 16));
        ask!(log, cudaStreamQuery(ptr::null_mut()));
        Ok(())
    });
}
