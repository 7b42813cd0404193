//! Errors: their names, and the last one.

use std::ffi::{CStr, c_void};

use cuda_sys as sys;
use cuda_sys::cudaError;

use super::super::common::{
    Kernel, N, add_case, adds, arguments, device, elapsed, first_is, integers, null, start, sum, taken,
    there, timed,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, error_name, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_bounded();
    fn case_empty();
    fn case_shared();
    fn case_trap();
}

/// Launches nothing in a shape, which may be refused.
fn launch(log: &mut Log, what: &str, form: [usize; 3]) {
    start(log, what, case_empty as Kernel, form, null(), &mut []);
}

/// Notes the name of a code, and how long its text is.
fn named(log: &mut Log, code: u32) {
    // SAFETY: takes any code.
    let text = unsafe { sys::cudaGetErrorString(cudaError(code)) };
    // SAFETY: not null, so it is a string that lives for ever.
    let length = if text.is_null() { 0 } else { unsafe { CStr::from_ptr(text) }.count_bytes() };
    log.fact(&format!("{code}"), format_args!("{} {length}", error_name(cudaError(code))));
}

pub(super) fn add(cases: &mut Cases) {
    texts(cases);
    looked_at(cases);
    last(cases);
}

fn texts(cases: &mut Cases) {
    add_case(cases, 433, "of the second look at an error, behind threads that had their own", |log| {
        there(log, || {
            let mut at = null::<c_void>();
            // SAFETY: a live place, and what is refused.
            unsafe {
                [sys::cudaMalloc(&raw mut at, usize::MAX), sys::cudaFree(null()), sys::cudaGetLastError()]
            }
        });
        launch(log, "no threads", [1, 0, 0]);
        // SAFETY: takes nothing.
        named(log, unsafe { sys::cudaGetLastError() }.0);
        // SAFETY: takes nothing.
        named(log, unsafe { sys::cudaGetLastError() }.0);
        for code in [2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 18, 19, 20, 22, 24, 26, 29, 31, 34, 35, 36] {
            named(log, code);
        }
        taken(log)
    });
    add_case(cases, 457, "of an error behind a kernel, its number beside its text", |log| {
        let out = device(log)?;
        adds(log, "kernel", out, 1, null());
        let code = ask!(log, cudaGetLastError());
        named(log, code.0);
        start(log, "too many for it", case_bounded as Kernel, [1, 256, 0], null(), &mut []);
        let code = ask!(log, cudaGetLastError());
        named(log, code.0);
        for code in [
            46,
            48,
            52,
            54,
            64,
            67,
            68,
            69,
            98,
            99,
            100,
            101,
            104,
            200,
            201,
            203,
            205,
            208,
            209,
            210,
            211,
            212,
            213,
            214,
            300,
            301,
            302,
            304,
            402,
            501,
            700,
            701,
            703,
            704,
            705,
            706,
            709,
            710,
            711,
            714,
            715,
            716,
            717,
            718,
            720,
            800,
            803,
            804,
            805,
            809,
            913,
            914,
            999,
            1000,
            9_999,
            65_535,
            u32::MAX,
        ] {
            named(log, code);
        }
        taken(log)
    });
}

fn looked_at(cases: &mut Cases) {
    add_case(cases, 431, "between a call that only asks for a size, and a wait", |log| {
        let (mut blocks, mut found) = (-1, sys::cudaFuncAttributes::default());
        let kernel = case_empty as Kernel;
        ask!(log, cudaFuncGetAttributes(&raw mut found, kernel));
        ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, 256, 0));
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "of no kernel", cudaFuncGetAttributes(&raw mut found, null::<c_void>()));
        ask!(log, cudaPeekAtLastError());
        ask!(
            log,
            "of no threads",
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, 0, 0)
        );
        log.fact("blocks", blocks);
        ask!(log, cudaPeekAtLastError());
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaPeekAtLastError(), sys::cudaDeviceSynchronize()] });
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "a good call", cudaFuncGetAttributes(&raw mut found, kernel));
        ask!(log, cudaPeekAtLastError());
        launch(log, "a good launch", [1, 32, 0]);
        taken(log)
    });
    add_case(cases, 450, "behind a loop of launches and times, in which one was refused", |log| {
        let ([from, to], mut clocks, out) = (timed(log)?, 0_u64, device(log)?);
        for threads in [64, 0, 128] {
            ask!(log, cudaEventRecord(from, null()));
            launch(log, &format!("{threads}"), [4, threads, 0]);
            ask!(log, cudaEventRecord(to, null()));
            ask!(log, cudaEventSynchronize(to));
            elapsed(log, "it", from, to);
            let (place, back) = ((&raw mut clocks).cast(), sys::cudaMemcpyDeviceToHost);
            ask!(log, "clocks", cudaMemcpy(place, out.ptr(), 8, back));
        }
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaGetLastError());
        let gate = Gate::hold(log, null())?;
        ask!(log, cudaEventRecord(to, null()));
        elapsed(log, "not yet", from, to);
        ask!(log, cudaPeekAtLastError());
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 453, "behind one block with more shared memory than it may have, then with it", |log| {
        let (out, id) = (device(log)?, sys::cudaFuncAttributeMaxDynamicSharedMemorySize);
        let (kernel, mut at) = (case_shared as Kernel, out.ptr());
        for (name, shared) in [("as it may", 48 << 10), ("one more", (48 << 10) + 1), ("all", 228 << 10)] {
            start(log, name, kernel, [1, 128, shared], null(), &mut arguments![at]);
            ask!(log, cudaPeekAtLastError());
            ask!(log, cudaDeviceSynchronize());
        }
        ask!(log, cudaGetLastError());
        for size in [227 << 10, 228 << 10, -1, 0] {
            ask!(log, &format!("{size}"), cudaFuncSetAttribute(kernel, id, size));
            ask!(log, cudaPeekAtLastError());
        }
        start(log, "small again", kernel, [1, 128, 48 << 10], null(), &mut arguments![at]);
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaDeviceSynchronize());
        let got = out.load(log)?;
        log.fact("thread", got[4 * 127]);
        taken(log)
    });
    add_case(cases, 494, "behind a kernel that ends all work, which a first launch warmed up", |log| {
        let (from, out) = (Block::with(log, Kind::Device, &integers([2; 64]))?, device(log)?);
        sum(log, "warm", out, from, 64, null());
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "sum", out)?;
        start(log, "trap", case_trap as Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaPeekAtLastError());
        sum(log, "again", out, from, 64, null());
        ask!(log, cudaPeekAtLastError());
        for _ in 0..2 {
            // SAFETY: takes nothing.
            named(log, unsafe { sys::cudaGetLastError() }.0);
        }
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaPeekAtLastError(), sys::cudaGetLastError()] });
        let (mut mark, mut on) = (null(), null());
        ask!(log, "an event", cudaEventCreate(&raw mut mark));
        ask!(log, "a stream", cudaStreamCreate(&raw mut on));
        Ok(())
    });
}

fn last(cases: &mut Cases) {
    add_case(
        cases,
        464,
        "behind each step of a transform, of which some fail and the next are good",
        |log| {
            let (mut at, block) = (null::<c_void>(), device(log)?);
            let there_ = sys::cudaMemcpyHostToDevice;
            ask!(log, "no size", cudaMallocHost(&raw mut at, 0));
            ask!(log, "check", cudaGetLastError());
            ask!(log, "no source", cudaMemcpy(block.ptr(), null(), N, there_));
            ask!(log, "a fill behind it", cudaMemset(block.ptr(), 0, N));
            ask!(log, "check", cudaGetLastError());
            launch(log, "a large grid", [1 << 31, 1, 0]);
            ask!(log, "check", cudaGetLastError());
            ask!(log, "two: no direction", cudaMemcpy(block.ptr(), block.ptr(), 4, sys::cudaMemcpyKind(7)));
            ask!(log, "and no device", cudaSetDevice(-1));
            ask!(log, "check", cudaGetLastError());
            ask!(log, "check", cudaGetLastError());
            let mut mark = null();
            ask!(log, "two flags and one more", cudaEventCreateWithFlags(&raw mut mark, 0xff));
            ask!(log, "check", cudaGetLastError());
            ask!(log, "none freed", cudaFree(null()));
            ask!(log, "check", cudaGetLastError());
            let mut free = 0;
            ask!(log, "no place", cudaMemGetInfo(null(), &raw mut free));
            ask!(log, "check", cudaGetLastError());
            taken(log)
        },
    );
    add_case(cases, 468, "with a message, behind queries, waits and streams of other work", |log| {
        let (on, [from, to]) = (stream(log)?, timed(log)?);
        let gate = Gate::hold(log, on)?;
        need!(log, cudaEventRecord(to, on));
        ask!(log, "a query", cudaEventQuery(to));
        ask!(log, "check", cudaGetLastError());
        ask!(log, "a refusal", cudaEventElapsedTime(null(), from, to));
        ask!(log, "a query", cudaStreamQuery(on));
        ask!(log, "check", cudaGetLastError());
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        for (name, flags) in [("no such flag of a wait", 2), ("a good wait", 0)] {
            ask!(log, name, cudaStreamWaitEvent(on, to, flags));
            ask!(log, "check", cudaGetLastError());
        }
        ask!(log, "of no event", cudaEventRecord(null(), on));
        ask!(log, "check", cudaGetLastError());
        ask!(log, "priorities nowhere", cudaDeviceGetStreamPriorityRange(null(), null()));
        ask!(log, "check", cudaGetLastError());
        ask!(log, "no function", cudaLaunchHostFunc(on, None, null()));
        ask!(log, "check", cudaGetLastError());
        taken(log)
    });
}
