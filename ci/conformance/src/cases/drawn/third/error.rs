//! Errors: their names, and the last one.

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, arguments, device, first_is, integers, named, null, start, sum, taken, there,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_pairs();
    fn case_shared();
    fn case_trap();
}

/// Launches nothing in a shape, which may be refused.
fn launch(log: &mut Log, what: &str, form: [usize; 3]) {
    start(log, what, case_empty as Kernel, form, null(), &mut []);
}

pub(super) fn add(cases: &mut Cases) {
    names(cases);
    last(cases);
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

fn last(cases: &mut Cases) {
    add_case(cases, 309, "behind threads that each had their own, asked for twice", |log| {
        // SAFETY: takes nothing, or what it refuses.
        there(log, || unsafe { [sys::cudaSetDevice(-1), sys::cudaPeekAtLastError()] });
        ask!(log, cudaGetLastError());
        ask!(log, "here", cudaFree(std::ptr::without_provenance_mut(64)));
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaPeekAtLastError(), sys::cudaGetLastError()] });
        ask!(log, "if", cudaGetLastError());
        ask!(log, "printed", cudaGetLastError());
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaDeviceSynchronize(), sys::cudaGetLastError()] });
        taken(log)
    });
    add_case(cases, 326, "behind each of several launches of two threads, one a cluster", |log| {
        let out = device(log)?;
        let mut at = out.ptr();
        for (name, form) in [("good", [1, 2, 0]), ("no block", [0, 2, 0]), ("good", [2, 1, 0])] {
            launch(log, name, form);
            ask!(log, cudaGetLastError());
            ask!(log, cudaDeviceSynchronize());
        }
        for blocks in [2, 3] {
            start(log, &format!("{blocks} in pairs"), case_pairs as Kernel, [blocks, 2, 0], null(), &mut []);
            ask!(log, cudaGetLastError());
        }
        start(log, "with room", case_shared as Kernel, [1, 2, 8], null(), &mut arguments![at]);
        ask!(log, cudaGetLastError());
        start(log, "no function", null::<u8>().cast_const().cast(), [1, 1, 0], null(), &mut []);
        ask!(log, cudaGetLastError());
        taken(log)
    });
    add_case(cases, 356, "thrown away where something is as it should be already", |log| {
        let pages = Block::new(log, Kind::Pageable, N)?;
        for name in ["first", "already"] {
            ask!(log, name, cudaHostRegister(pages.ptr(), N, 0));
        }
        ask!(log, cudaGetLastError());
        ask!(log, "then", cudaPeekAtLastError());
        for name in ["first", "already"] {
            ask!(log, name, cudaHostUnregister(pages.ptr()));
        }
        ask!(log, cudaGetLastError());
        ask!(log, "itself", cudaDeviceEnablePeerAccess(0, 0));
        ask!(log, "not enabled", cudaDeviceDisablePeerAccess(0));
        ask!(log, cudaGetLastError());
        ask!(log, "left", cudaGetLastError());
        ask!(log, "work then", cudaMemcpyPeer(device(log)?.ptr(), 0, device(log)?.ptr(), 0, N));
        taken(log)
    });
    add_case(cases, 378, "thrown away behind what was not expected, one by one", |log| {
        let (on, mut can) = (stream(log)?, 77);
        let gate = Gate::hold(log, on)?;
        ask!(log, "not ready", cudaStreamQuery(on));
        ask!(log, cudaGetLastError());
        gate.open();
        ask!(log, "no device", cudaDeviceCanAccessPeer(&raw mut can, 0, 99));
        log.fact("can", can);
        ask!(log, "no place", cudaDeviceCanAccessPeer(null(), 0, 0));
        ask!(log, "the later one", cudaGetLastError());
        ask!(log, "no such limit", cudaDeviceSetLimit(sys::cudaLimit(77), 1));
        ask!(log, cudaGetLastError());
        ask!(log, "no such attribute", cudaDeviceGetAttribute(&raw mut can, sys::cudaDeviceAttr(9999), 0));
        ask!(log, cudaGetLastError());
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 377, "behind a reduction of one thread, of more than there is, then a trap", |log| {
        let (from, out) = (Block::with(log, Kind::Device, &integers([1; 64]))?, device(log)?);
        for count in [1, 64, 65] {
            sum(log, &format!("{count}"), out, from, count.min(64), null());
            ask!(log, cudaPeekAtLastError());
            ask!(log, cudaDeviceSynchronize());
        }
        first_is(log, "sum", out)?;
        need!(log, cudaDeviceSynchronize());
        start(log, "trap", case_trap as Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaGetLastError());
        ask!(log, cudaPeekAtLastError());
        launch(log, "one more", [1, 1, 0]);
        ask!(log, "once more", cudaDeviceSynchronize());
        Ok(())
    });
}
