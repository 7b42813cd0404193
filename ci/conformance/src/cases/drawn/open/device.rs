//! Devices, versions, limits, errors, and waits for all work.

use std::ffi::CStr;

use cuda_sys as sys;
use cuda_sys::cudaError;

use super::super::common::{add_case, null, start, taken};
use crate::case::Cases;
use crate::log::{Log, ask, error_name};

unsafe extern "C" {
    fn case_empty();
}

pub(super) fn add(cases: &mut Cases) {
    limits(cases);
    errors(cases);
}

fn limits(cases: &mut Cases) {
    add_case(cases, 90, "launches from the device that may be pending", |log| {
        let limit = |log: &mut Log, id| {
            let mut value = 77;
            ask!(log, cudaDeviceGetLimit(&raw mut value, id));
            log.fact("value", value);
        };
        let id = sys::cudaLimitDevRuntimePendingLaunchCount;
        limit(log, id);
        ask!(log, cudaDeviceSetLimit(id, 4096));
        limit(log, id);
        ask!(log, "none", cudaDeviceSetLimit(id, 0));
        limit(log, id);
        ask!(log, "depth", cudaDeviceSetLimit(sys::cudaLimitDevRuntimeSyncDepth, 3));
        ask!(log, "no such limit", cudaDeviceSetLimit(sys::cudaLimit(99), 1));
        taken(log)
    });
}

/// Notes a code's name, and how long its text is.
fn text(log: &mut Log, code: u32) {
    // SAFETY: takes any code.
    let text = unsafe { sys::cudaGetErrorString(cudaError(code)) };
    // SAFETY: not null, so it is a string that lives for ever.
    let length = if text.is_null() { 0 } else { unsafe { CStr::from_ptr(text) }.count_bytes() };
    log.fact(&error_name(cudaError(code)), length);
}

fn errors(cases: &mut Cases) {
    add_case(cases, 6, "of every code that a wait may return", |log| {
        for code in
            [0, 1, 2, 3, 4, 9, 98, 100, 101, 201, 214, 700, 701, 702, 704, 709, 710, 716, 717, 719, 720, 999]
        {
            text(log, code);
        }
        Ok(())
    });
    add_case(cases, 97, "of the error that is taken, on the spot", |log| {
        let over = [1, 1025, 0];
        for form in [over, [1, 1, 1 << 20], [0, 1, 0]] {
            start(log, "launch", case_empty as super::super::common::Kernel, form, null(), &mut []);
            // SAFETY: takes nothing.
            text(log, unsafe { sys::cudaGetLastError() }.0);
        }
        for code in [400, 401, 600, 708, 712, 713, 801, 802, 900, 901, 903, 904, 906, 907, 910, 10_000] {
            text(log, code);
        }
        Ok(())
    });
}
