//! Streams and events.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaEvent_t, cudaStream_t};

use super::super::common::{
    Kernel, N, add_case, adds, arguments, begin, device, elapsed, end, first_is, go, holds, integers, nodes,
    null, ready, start, sum, taken, there, timed, waits,
};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

unsafe extern "C" {
    fn case_shared();
    fn case_trap();
}

pub(super) fn add(cases: &mut Cases) {
    made(cases);
    gone(cases);
    recorded(cases);
    streams(cases);
    asked(cases);
}

fn create(log: &mut Log, what: &str) -> cudaEvent_t {
    let mut mark = null();
    ask!(log, what, cudaEventCreate(&raw mut mark));
    mark
}

/// Records a kernel between two events, and notes the time.
fn round(log: &mut Log, [from, to]: [cudaEvent_t; 2], block: Block) -> Outcome {
    ask!(log, "from", cudaEventRecord(from, null()));
    fill(log, block.ptr(), 1, N, null())?;
    ask!(log, "to", cudaEventRecord(to, null()));
    ask!(log, cudaEventSynchronize(to));
    elapsed(log, "round", from, to);
    Ok(())
}

fn made(cases: &mut Cases) {
    add_case(cases, 301, "the first of two, over a handle that is in use, then rounds of one end", |log| {
        let (first, block) = (create(log, "first"), device(log)?);
        let mut both = [first, create(log, "second")];
        ask!(log, "over it", cudaEventCreate(&raw mut both[0]));
        log.fact("another", both[0] != first);
        round(log, both, block)?;
        // The start of the next round is the one that was put aside.
        elapsed(log, "from one without a record", first, both[1]);
        round(log, [first, both[1]], block)?;
        elapsed(log, "over both rounds", both[0], both[1]);
        taken(log)
    });
    add_case(cases, 340, "around a kernel that gets its shared memory only then", |log| {
        let (marks, out) = ([create(log, "start"), create(log, "stop")], device(log)?);
        let (kernel, mut at) = (case_shared as Kernel, out.ptr());
        let id = sys::cudaFuncAttributeMaxDynamicSharedMemorySize;
        for size in [48 << 10, 64 << 10] {
            ask!(log, "from", cudaEventRecord(marks[0], null()));
            start(log, "refused", kernel, [1, 32, 64 << 10], null(), &mut arguments![at]);
            ask!(log, "to", cudaEventRecord(marks[1], null()));
            ask!(log, "wait", cudaEventSynchronize(marks[1]));
            elapsed(log, "it", marks[0], marks[1]);
            taken(log)?;
            ask!(log, &format!("{size}"), cudaFuncSetAttribute(kernel, id, size));
        }
        start(log, "with it", kernel, [1, 32, 64 << 10], null(), &mut arguments![at]);
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 343, "in a constructor that looks at no code, behind another error", |log| {
        ask!(log, "an error", cudaSetDevice(-1));
        let (marks, block) = ([create(log, "start"), create(log, "stop")], device(log)?);
        ask!(log, "peek", cudaPeekAtLastError());
        elapsed(log, "never recorded", marks[0], marks[1]);
        ask!(log, "peek", cudaPeekAtLastError());
        round(log, marks, block)?;
        let mut handle = sys::cudaIpcEventHandle_t::default();
        ask!(log, "a handle for others", cudaIpcGetEventHandle(&raw mut handle, marks[0]));
        ask!(log, "with flags of a wait", cudaEventRecordWithFlags(marks[0], null(), 2));
        taken(log)
    });
    add_case(cases, 375, "in each call of a function that frees none, while the device works", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        let (gate, mut bad, mut last) = (Gate::hold(log, on)?, 0, null());
        waits(log, &gate, |log| {
            for _ in 0..300 {
                // SAFETY: the pointer is to a live handle.
                bad += i32::from(unsafe { sys::cudaEventCreate(&raw mut last) } != sys::cudaSuccess);
            }
            log.fact("refused", bad);
            ask!(log, "held", cudaEventRecord(last, on));
            ask!(log, "held", cudaEventQuery(last));
        });
        ask!(log, cudaEventSynchronize(last));
        let more = create(log, "one more");
        round(log, [last, more], block)?;
        taken(log)
    });
    add_case(cases, 397, "the second of two on no stream, around a kernel of another one", |log| {
        let (marks, out) = ([create(log, "ev1"), create(log, "ev2")], device(log)?);
        for (name, flags) in [("blocking", 0), ("non-blocking", 1)] {
            let on = stream_with(log, flags)?;
            adds(log, "first", out, 1, on);
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            ask!(log, cudaEventRecord(marks[0], null()));
            adds(log, "kernel", out, 1, on);
            ask!(log, cudaEventRecord(marks[1], null()));
            log.fact("stream", name);
            waits(log, &gate, |log| {
                ask!(log, cudaEventSynchronize(marks[1]));
            });
            ask!(log, cudaDeviceSynchronize());
            elapsed(log, "it", marks[0], marks[1]);
        }
        first_is(log, "number", out)
    });
    add_case(cases, 383, "for each stream by its number, the default one by its name", |log| {
        let (on, mut ids) = (stream(log)?, Vec::new());
        let legacy = sys::cudaStreamLegacy;
        for it in [legacy, on, sys::cudaStreamPerThread, null()] {
            let (mut id, mut mark) = (0, null());
            ask!(log, cudaStreamGetId(it, &raw mut id));
            ask!(log, cudaEventCreateWithFlags(&raw mut mark, sys::cudaEventDisableTiming));
            ask!(log, cudaEventRecord(mark, it));
            ids.push((id, mark));
        }
        log.fact("alike", format_args!("{} {}", ids[0].0 == ids[3].0, ids[0].0 == ids[1].0));
        need!(log, cudaDeviceSynchronize());
        let gate = Gate::hold(log, legacy)?;
        ask!(log, "held", cudaEventRecord(ids[0].1, null()));
        ask!(log, cudaStreamWaitEvent(on, ids[0].1, 0));
        ask!(log, "behind it", cudaStreamQuery(on));
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
}

fn gone(cases: &mut Cases) {
    add_case(cases, 314, "of a list, each after a wait, some of streams that went before", |log| {
        let (a, b, marks) = (stream(log)?, stream_with(log, 0)?, [event(log)?, event(log)?, event(log)?]);
        for (mark, on) in marks.into_iter().zip([a, sys::cudaStreamLegacy, b]) {
            ask!(log, cudaEventRecord(mark, on));
        }
        ask!(log, cudaStreamDestroy(a));
        for mark in marks {
            ask!(log, cudaEventSynchronize(mark));
            ask!(log, cudaEventDestroy(mark));
        }
        ask!(log, "the stream then", cudaStreamQuery(b));
        let mark = event(log)?;
        ask!(log, "never recorded", cudaEventSynchronize(mark));
        ask!(log, cudaEventDestroy(mark));
        taken(log)
    });
    add_case(cases, 344, "start and stop in a destructor, both held on the default stream", |log| {
        let (marks, on) = (timed(log)?, stream_with(log, 0)?);
        let gate = Gate::hold(log, null())?;
        for mark in marks {
            ask!(log, cudaEventRecord(mark, null()));
        }
        ask!(log, cudaStreamWaitEvent(on, marks[1], 0));
        waits(log, &gate, |log| {
            ask!(log, "the default stream", cudaStreamQuery(null()));
            ask!(log, "the one that waits", cudaStreamQuery(on));
            for mark in marks {
                ask!(log, cudaEventDestroy(mark));
            }
        });
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "a new one", cudaEventQuery(event(log)?));
        taken(log)
    });
    add_case(cases, 355, "the later one, in a thread that did not make it, then the stream", |log| {
        let (marks, on, block) = (timed(log)?, stream_with(log, 0)?, device(log)?);
        ask!(log, cudaEventRecord(marks[0], on));
        ask!(log, cudaMemsetAsync(block.ptr(), 3, N, on));
        ask!(log, cudaEventRecord(marks[1], on));
        ask!(log, cudaStreamSynchronize(on));
        elapsed(log, "it", marks[0], marks[1]);
        let addresses = marks.map(|mark| mark.expose_provenance());
        // SAFETY: events of the case, which nothing uses after this.
        there(log, move || {
            addresses.map(|at| unsafe { sys::cudaEventDestroy(std::ptr::with_exposed_provenance_mut(at)) })
        });
        ask!(log, "null here", cudaEventDestroy(null()));
        ask!(log, cudaStreamDestroy(on));
        holds(log, block, &[3; N])?;
        taken(log)
    });
    add_case(cases, 366, "the start, once the time was asked; the stop goes on", |log| {
        let ([from, to], on, block) = (timed(log)?, stream(log)?, device(log)?);
        ask!(log, "flush", cudaMemsetAsync(block.ptr(), 0, N, on));
        ask!(log, cudaEventRecord(from, on));
        fill(log, block.ptr(), 9, N, on)?;
        ask!(log, cudaEventRecord(to, on));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "it", from, to);
        ask!(log, cudaEventDestroy(from));
        ask!(log, cudaEventQuery(to));
        elapsed(log, "itself", to, to);
        elapsed(log, "null", null(), to);
        ask!(log, "again", cudaEventRecord(to, on));
        ask!(log, cudaStreamSynchronize(on));
        holds(log, block, &[9; N])?;
        taken(log)
    });
    add_case(cases, 382, "the ones of a fork and a join, before the capture ends", |log| {
        let (block, on, side) = (device(log)?, begin(log)?, stream(log)?);
        let marks = [event(log)?, event(log)?];
        ask!(log, cudaEventRecord(marks[0], on));
        ask!(log, cudaStreamWaitEvent(side, marks[0], 0));
        ask!(log, "start", cudaEventDestroy(marks[0]));
        ask!(log, cudaMemsetAsync(block.ptr(), 6, N, side));
        ask!(log, cudaEventRecord(marks[1], side));
        ask!(log, cudaStreamWaitEvent(on, marks[1], 0));
        ask!(log, "stop", cudaEventDestroy(marks[1]));
        let graph = end(log, on);
        nodes(log, graph);
        let run = ready(log, graph);
        go(log, run, side);
        holds(log, block, &[6; N])?;
        taken(log)
    });
}

fn recorded(cases: &mut Cases) {
    add_case(cases, 316, "the stop behind a loop of kernels, and behind a stream that is held", |log| {
        let ([from, to], on, block) = (timed(log)?, stream_with(log, 0)?, device(log)?);
        ask!(log, cudaEventRecord(from, null()));
        for value in 0..20 {
            fill(log, block.ptr(), value, N, null())?;
        }
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "loop", from, to);
        holds(log, block, &[19; N])?;
        let gate = Gate::hold(log, on)?;
        ask!(log, "legacy", cudaEventRecord(from, sys::cudaStreamLegacy));
        ask!(log, "of the thread", cudaEventRecord(to, sys::cudaStreamPerThread));
        ask!(log, cudaEventQuery(from));
        ask!(log, cudaEventQuery(to));
        gate.open();
        ask!(log, cudaEventSynchronize(to));
        ask!(log, cudaEventQuery(from));
        taken(log)
    });
    add_case(cases, 363, "the stop behind a kernel that traps, its code not looked at", |log| {
        let ([from, to], on) = (timed(log)?, stream(log)?);
        let mut found = sys::cudaFuncAttributes::default();
        // The kernel is there before the stream is held.
        need!(log, cudaFuncGetAttributes(&raw mut found, case_trap as Kernel));
        ask!(log, cudaEventRecord(from, on));
        ask!(log, cudaEventSynchronize(from));
        let gate = Gate::hold(log, on)?;
        start(log, "trap", case_trap as Kernel, [1, 1, 0], on, &mut []);
        ask!(log, cudaEventRecord(to, on));
        ask!(log, "held", cudaEventQuery(to));
        gate.open();
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "it", from, to);
        ask!(log, "the start", cudaEventQuery(from));
        ask!(log, cudaEventDestroy(from));
        taken(log)
    });
}

fn streams(cases: &mut Cases) {
    add_case(cases, 336, "after the device was set, one a part, all at work, joined by the host", |log| {
        let (from, out) = (Block::with(log, Kind::Pinned, &integers([1; 512]))?, device(log)?);
        let mut parts = Vec::new();
        for i in 0..2_usize {
            let mut on = null();
            ask!(log, cudaSetDevice(0));
            ask!(log, cudaStreamCreate(&raw mut on));
            let (data, sums) = (device(log)?, out.moved(out.at(4 * i)));
            ask!(log, cudaMemcpyAsync(data.ptr(), from.at(1024 * i), 1024, sys::cudaMemcpyHostToDevice, on));
            sum(log, "kernel", sums, data, 256, on);
            parts.push(on);
        }
        log.fact("two", parts[0] != parts[1]);
        for on in parts {
            ask!(log, cudaStreamSynchronize(on));
        }
        let got = out.load(log)?;
        log.fact("sums", format_args!("{:?}", &got[..8]));
        let (mut on, gate) = (null(), Gate::hold(log, null())?);
        waits(log, &gate, |log| {
            ask!(log, "while the default one is held", cudaStreamCreate(&raw mut on));
            ask!(log, "nothing on it", cudaStreamQuery(on));
        });
        taken(log)
    });
    add_case(cases, 350, "non-blocking, handed to a library that allocates and fills", |log| {
        let (mut on, mut at) = (null(), null::<c_void>());
        ask!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
        ask!(log, cudaMalloc(&raw mut at, N));
        fill(log, at, 1, N, on)?;
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, null())?;
        fill(log, at, 7, N, on)?;
        ask!(log, "beside the default one", cudaStreamSynchronize(on));
        gate.open();
        let gate = Gate::hold(log, on)?;
        let mut got = vec![0_u8; N];
        waits(log, &gate, |log| {
            ask!(
                log,
                "down, blocking",
                cudaMemcpy(got.as_mut_ptr().cast(), at, N, sys::cudaMemcpyDeviceToHost)
            );
        });
        log.bytes("all bytes", &got, &[7; N]);
        for flags in [3, 0x10, u32::MAX] {
            ask!(log, &format!("flags {flags}"), cudaStreamCreateWithFlags(&raw mut on, flags));
        }
        ask!(log, "null", cudaStreamCreateWithFlags(null(), 1));
        taken(log)
    });
    add_case(cases, 342, "with memory of it that is still there, freed elsewhere then", |log| {
        let (on, other, mut at, mut got) = (stream(log)?, stream(log)?, null::<c_void>(), vec![0_u8; N]);
        ask!(log, cudaMallocAsync(&raw mut at, N, on));
        ask!(log, cudaMemcpyAsync(at, pattern(N, 2).as_ptr().cast(), N, sys::cudaMemcpyHostToDevice, on));
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, "held", cudaStreamDestroy(on));
        });
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), at, N, sys::cudaMemcpyDeviceToHost, other));
        ask!(log, cudaFreeAsync(at, other));
        ask!(log, cudaStreamSynchronize(other));
        log.bytes("all bytes", &got, &pattern(N, 2));
        ask!(log, cudaStreamDestroy(other));
        ask!(log, "of the thread", cudaStreamDestroy(sys::cudaStreamPerThread));
        taken(log)
    });
}

/// What a callback was given.
#[repr(C)]
struct Called {
    calls: i32,
    status: u32,
    inside: u32,
    on: cudaStream_t,
}

unsafe extern "C" fn counts(on: cudaStream_t, status: sys::cudaError, given: *mut c_void) {
    let mut count = 0;
    // SAFETY: the case passes a live value, and waits before it goes.
    unsafe {
        let given = &mut *given.cast::<Called>();
        given.calls += 1;
        (given.status, given.on) = (status.0, on);
        given.inside = sys::cudaDeviceGetAttribute(&raw mut count, sys::cudaDevAttrWarpSize, 0).0;
        if given.inside == 0 {
            given.inside = sys::cudaStreamQuery(on).0;
        }
    }
}

fn asked(cases: &mut Cases) {
    add_case(cases, 310, "twice on a task's stream, the last error looked at behind each", |log| {
        let (on, mut given) = (stream(log)?, Called { calls: 0, status: 77, inside: 77, on: null() });
        let to: *mut c_void = (&raw mut given).cast();
        for _ in 0..2 {
            ask!(log, cudaStreamAddCallback(on, Some(counts), to, 0));
            ask!(log, cudaGetLastError());
        }
        ask!(log, cudaStreamSynchronize(on));
        let found = (given.calls, given.status, given.inside, given.on == on);
        log.fact("given", format_args!("{found:?}"));
        ask!(log, "default", cudaStreamAddCallback(null(), Some(counts), to, 0));
        ask!(log, cudaDeviceSynchronize());
        log.fact("calls", given.calls);
        ask!(log, "flags", cudaStreamAddCallback(on, Some(counts), to, 1));
        ask!(log, "no function", cudaStreamAddCallback(on, None, to, 0));
        let captures = begin(log)?;
        ask!(log, "captures", cudaStreamAddCallback(captures, Some(counts), to, 0));
        end(log, captures);
        log.fact("calls", given.calls);
        taken(log)
    });
    add_case(cases, 322, "of streams of a pool, fresh, of the default one while another captures", |log| {
        for flags in [1, 0, 1] {
            let on = stream_with(log, flags)?;
            ask!(log, cudaStreamQuery(on));
        }
        ask!(log, "an error", cudaSetDevice(-1));
        for it in [sys::cudaStreamPerThread, sys::cudaStreamLegacy] {
            ask!(log, "named", cudaStreamQuery(it));
        }
        ask!(log, cudaGetLastError());
        for (name, flags) in [("beside a non-blocking capture", 1), ("beside a blocking capture", 0)] {
            let on = stream_with(log, flags)?;
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
            ask!(log, name, cudaStreamQuery(null()));
            ask!(log, "of the thread", cudaStreamQuery(sys::cudaStreamPerThread));
            end(log, on);
        }
        taken(log)
    });
    add_case(cases, 365, "whether tasks are done: not yet, of whom else, then yes", |log| {
        let (on, block, plain) = (stream_with(log, 0)?, device(log)?, stream(log)?);
        let gate = Gate::hold(log, on)?;
        for _ in 0..2 {
            ask!(log, "held", cudaStreamQuery(on));
            ask!(log, cudaPeekAtLastError());
        }
        ask!(log, "default", cudaStreamQuery(null()));
        ask!(log, "another", cudaStreamQuery(plain));
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, null()));
        ask!(log, "default, behind it", cudaStreamQuery(null()));
        ask!(log, "of the thread", cudaStreamQuery(sys::cudaStreamPerThread));
        gate.open();
        ask!(log, cudaStreamSynchronize(null()));
        ask!(log, cudaStreamQuery(on));
        taken(log)
    });
}
