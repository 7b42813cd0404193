//! Errors: their names, and the last one.

use cuda_sys as sys;

use super::super::common::{Kernel, add_case, device, named, null, start, taken};
use crate::case::Cases;
use crate::log::{Log, ask};

unsafe extern "C" {
    fn case_empty();
}

/// Launches nothing in a shape, which may be refused.
fn launch(log: &mut Log, what: &str, form: [usize; 3]) {
    start(log, what, case_empty as Kernel, form, null(), &mut []);
}

pub(super) fn add(cases: &mut Cases) {
    names(cases);
}

fn names(cases: &mut Cases) {
    add_case(cases, 362, "of the error that a launch of two thousand threads left", |log| {
        launch(log, "too many threads", [1, 2048, 0]);
        ask!(log, cudaPeekAtLastError());
        for _ in 0..2 {
            // SAFETY: takes nothing.
            named(log, unsafe { sys::cudaGetLastError() }.0);
        }
        launch(log, "too much shared memory", [1, 32, 1 << 20]);
        // SAFETY: takes nothing.
        named(log, unsafe { sys::cudaPeekAtLastError() }.0);
        launch(log, "good", [1, 32, 0]);
        for code in [10, 11, 21, 23, 25, 27, 30, 32, 33, 37, 38, 39, 40, 41, 42, 43] {
            named(log, code);
        }
        taken(log)
    });
    add_case(cases, 372, "of the codes of a macro with a number, and of none", |log| {
        for code in [0, 1, 44, 45, 47, 49, 50, 51, 53, 65, 66, 102, 103, 127, 202, 204, 215, 216, 217, 218] {
            named(log, code);
        }
        let mut at = null();
        let code = ask!(log, "a size of all", cudaMalloc(&raw mut at, usize::MAX));
        named(log, code.0);
        taken(log)
    });
    add_case(cases, 395, "of a status beside its text, the last error thrown away before", |log| {
        let block = device(log)?;
        ask!(log, "an error", cudaMemcpy(block.ptr(), null(), 4, sys::cudaMemcpyHostToDevice));
        ask!(log, cudaGetLastError());
        let code = ask!(log, cudaDeviceSynchronize());
        named(log, code.0);
        for code in [
            219, 220, 221, 222, 223, 224, 225, 226, 303, 500, 702, 707, 719, 802, 806, 807, 808, 905, 908,
            909, 911, 912,
        ] {
            named(log, code);
        }
        taken(log)
    });
}
