//! Errors: their names, and the last one.

use cuda_sys as sys;

use super::super::common::{N, add_case, begin, device, end, named, null, ready, start, sum, taken};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::stream;

unsafe extern "C" {
    fn case_trap();
}

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 152, "of codes in a message, also of none", |log| {
        for code in [0, 1, 2, 3, 5, 6, 7, 8, 9, 12, 13, 16, 17, 18, 19, 20, 21, 22, 26, 31, 34, 35, 36] {
            named(log, code);
        }

        Ok(())
    });
    add_case(cases, 187, "of codes that a library prints with their text", |log| {
        for code in [46, 48, 52, 98, 99, 100, 101, 200, 201, 205, 206, 207, 208, 209, 210, 211, 212, 213, 214]
        {
            named(log, code);
        }

        Ok(())
    });
    add_case(cases, 218, "in an exception, after the error was taken", |log| {
        let mut at = null();
        let code = ask!(log, cudaMalloc(&raw mut at, 1 << 46));
        ask!(log, cudaGetLastError());
        for code in [
            code.0,
            300,
            301,
            302,
            304,
            701,
            703,
            705,
            706,
            711,
            714,
            715,
            718,
            721,
            800,
            803,
            804,
            805,
            999,
            1000,
            u32::MAX,
        ] {
            named(log, code);
        }

        taken(log)
    });
    add_case(cases, 193, "thrown away behind an update that failed, then a launch", |log| {
        let (on, out) = (begin(log)?, device(log)?);
        need!(log, cudaMemsetAsync(out.ptr(), 1, N, on));
        let graph = end(log, on);
        let run = ready(log, graph);
        let (other, mut result) =
            (super::super::common::graph(log)?, sys::cudaGraphExecUpdateResultInfo::default());
        ask!(log, cudaGraphExecUpdate(run, other, &raw mut result));
        log.fact("result", result.result.0);
        ask!(log, cudaGetLastError());
        ask!(log, "left", cudaPeekAtLastError());
        super::super::common::go(log, run, on);
        taken(log)
    });
    add_case(cases, 227, "behind the wait for a kernel that traps", |log| {
        let block = device(log)?;
        start(log, "launch", case_trap as super::super::common::Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        ask!(log, "again", cudaGetLastError());
        ask!(log, "a free", cudaFree(block.ptr()));
        let mut count = -1;
        ask!(log, "a count", cudaGetDeviceCount(&raw mut count));
        ask!(log, "a device", cudaSetDevice(0));
        start(log, "a launch", super::kernel::empty(), [1, 1, 0], null(), &mut []);
        taken(log)
    });
    add_case(cases, 171, "behind many launches, then the wait", |log| {
        let block = device(log)?;
        for threads in [32, 1024, 1025] {
            start(log, "launch", super::kernel::empty(), [1, threads, 0], null(), &mut []);
            ask!(log, cudaPeekAtLastError());
        }
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaPeekAtLastError());
        ask!(log, "one that succeeds", cudaMemset(block.ptr(), 0, 4));
        taken(log)
    });
    add_case(cases, 214, "between two launches of an algorithm, the first without work", |log| {
        let (from, out) = (device(log)?, device(log)?);
        sum(log, "of none", out, from, 0, null());
        ask!(log, cudaPeekAtLastError());
        sum(log, "of some", out, from, 64, null());
        ask!(log, cudaPeekAtLastError());
        taken(log)
    });
    add_case(cases, 247, "behind a wait, with errors of streams and events that are none", |log| {
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, "not ready", cudaStreamQuery(on));
        ask!(log, cudaPeekAtLastError());
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "null", cudaEventSynchronize(null()));
        ask!(log, cudaPeekAtLastError());
        let mut time = 0_f32;
        ask!(log, "and another", cudaEventElapsedTime(&raw mut time, null(), null()));
        ask!(log, cudaPeekAtLastError());
        taken(log)
    });
    add_case(cases, 286, "behind copies, each with another error", |log| {
        let block = device(log)?;
        let up = sys::cudaMemcpyHostToDevice;
        ask!(log, "null", cudaMemcpy(null(), block.ptr(), 4, up));
        ask!(log, cudaPeekAtLastError());
        ask!(log, "no symbol", cudaMemcpyToSymbol(block.ptr(), block.ptr(), 4, 0, up));
        ask!(log, cudaPeekAtLastError());
        ask!(
            log,
            "no pitch",
            cudaMemcpy2D(block.ptr(), 1, block.ptr(), 1, 4, 4, sys::cudaMemcpyDeviceToDevice)
        );
        ask!(log, cudaPeekAtLastError());
        ask!(log, "good", cudaMemset(block.ptr(), 0, 4));
        taken(log)
    });
}
