//! Streams and events.

use cuda_sys as sys;
use cuda_sys::{cudaEvent_t, cudaStream_t};

use super::super::common::{
    N, add_case, begin, device, end, first_is, float_is, floats, holds, null, scale, sum, taken, timed, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    times(cases);
    events(cases);
    streams(cases);
}

/// Notes the time between two events, as far as it is the same every time.
fn elapsed(log: &mut Log, what: &str, from: cudaEvent_t, to: cudaEvent_t) {
    let mut time = -1_f32;
    ask!(log, what, cudaEventElapsedTime(&raw mut time, from, to));
    log.fact(
        "time",
        if time < 0.0 {
            "below zero"
        } else if time > 0.0 {
            "some"
        } else {
            "zero"
        },
    );
}

fn times(cases: &mut Cases) {
    add_case(cases, 156, "of a sort, summed up over rounds with the same events", |log| {
        let ([from, to], block) = (timed(log)?, device(log)?);
        for _ in 0..3 {
            ask!(log, cudaEventRecord(from, null()));
            crate::cases::kernel::fill(log, block.ptr(), 1, N, null())?;
            ask!(log, cudaEventRecord(to, null()));
            ask!(log, cudaEventSynchronize(to));
            elapsed(log, "round", from, to);
        }
        elapsed(log, "of no time", to, to);
        Ok(())
    });
    add_case(cases, 191, "while the end is held on its stream", |log| {
        let ([from, to], on) = (timed(log)?, stream(log)?);
        ask!(log, cudaEventRecord(from, on));
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(to, on));
        elapsed(log, "held", from, to);
        ask!(log, "peek", cudaPeekAtLastError());
        gate.open();
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "then", from, to);
        taken(log)
    });
    add_case(cases, 221, "with fences between, after one event went", |log| {
        let ([from, to], on) = (timed(log)?, stream(log)?);
        for mark in [from, to] {
            ask!(log, cudaEventRecord(mark, on));
            ask!(log, cudaStreamSynchronize(on));
        }
        elapsed(log, "both there", from, to);
        ask!(log, "same device, other stream", cudaEventRecord(to, null()));
        ask!(log, cudaDeviceSynchronize());
        elapsed(log, "then", from, to);
        elapsed(log, "none to start with", null(), to);
        elapsed(log, "none to end with", from, null());
        taken(log)
    });
    add_case(cases, 228, "of frames, where the start was never recorded", |log| {
        let [from, to] = timed(log)?;
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "frame", from, to);
        taken(log)?;
        ask!(log, cudaEventRecord(from, null()));
        ask!(log, cudaEventSynchronize(from));
        elapsed(log, "the start later", to, from);
        Ok(())
    });
    add_case(cases, 262, "of memory that goes, events with a wait of their own kind", |log| {
        let (mut marks, block) = ([null(); 2], device(log)?);
        for mark in &mut marks {
            ask!(log, cudaEventCreateWithFlags(mark, sys::cudaEventBlockingSync));
        }
        ask!(log, cudaEventRecord(marks[0], null()));
        ask!(log, cudaFree(block.ptr()));
        ask!(log, cudaEventRecord(marks[1], null()));
        ask!(log, cudaEventSynchronize(marks[1]));
        elapsed(log, "it", marks[0], marks[1]);
        taken(log)
    });
}

fn events(cases: &mut Cases) {
    add_case(cases, 209, "of a stream that goes before its event is asked", |log| {
        let (on, mark) = (stream(log)?, event(log)?);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaStreamDestroy(on));
        ask!(log, "held", cudaEventQuery(mark));
        let other = stream(log)?;
        ask!(log, cudaStreamWaitEvent(other, mark, 0));
        ask!(log, "behind it", cudaStreamQuery(other));
        gate.open();
        ask!(log, cudaStreamSynchronize(other));
        ask!(log, cudaEventQuery(mark));
        taken(log)
    });
    add_case(cases, 276, "before many launches, and again over a held one", |log| {
        let (on, [from, to], block) = (stream(log)?, timed(log)?, device(log)?);
        ask!(log, cudaEventRecord(from, null()));
        for _ in 0..20 {
            crate::cases::kernel::fill(log, block.ptr(), 2, 64, null())?;
        }
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        let gate = Gate::hold(log, on)?;
        ask!(log, "held", cudaEventRecord(from, on));
        ask!(log, cudaEventQuery(from));
        let other = stream(log)?;
        ask!(log, "over it", cudaEventRecord(from, other));
        waits(log, &gate, |log| {
            ask!(log, cudaEventSynchronize(from));
        });
        Ok(())
    });
    for (number, situation) in [
        (200, "two of them for rounds, asked before their first record"),
        (211, "for a picture, in a thread, recorded here"),
        (261, "for another stream's wait, and while a stream captures"),
    ] {
        add_case(cases, number, situation, move |log| {
            let mut mark = null();
            match number {
                200 => ask!(log, cudaEventCreate(&raw mut mark)),
                211 => {
                    let made = std::thread::spawn(|| {
                        let mut mark = null();
                        // SAFETY: the pointer is to a live handle.
                        let code = unsafe { sys::cudaEventCreate(&raw mut mark) };
                        (code.0, mark.expose_provenance())
                    });
                    let (code, address) = made.join().expect("no panic");
                    mark = std::ptr::with_exposed_provenance_mut(address);
                    log.code("there", sys::cudaError(code))
                }
                _ => {
                    let on = begin(log)?;
                    let code = ask!(log, "while a stream captures", cudaEventCreate(&raw mut mark));
                    end(log, on);
                    code
                }
            };
            ask!(log, "query", cudaEventQuery(mark));
            ask!(log, "wait", cudaEventSynchronize(mark));
            let on = stream(log)?;
            ask!(log, "wait of a stream", cudaStreamWaitEvent(on, mark, 0));
            ask!(log, cudaEventRecord(mark, null()));
            ask!(log, cudaEventSynchronize(mark));
            elapsed(log, "itself", mark, mark);
            ask!(log, "null", cudaEventCreate(null()));
            taken(log)
        });
    }
    add_case(cases, 174, "in a constructor, marked once, then asked for a time and a handle", |log| {
        let (mut mark, on) = (null(), stream(log)?);
        ask!(log, cudaEventCreateWithFlags(&raw mut mark, sys::cudaEventDisableTiming));
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaEventSynchronize(mark));
        elapsed(log, "it", mark, mark);
        let mut handle = sys::cudaIpcEventHandle_t::default();
        ask!(log, "handle", cudaIpcGetEventHandle(&raw mut handle, mark));
        ask!(
            log,
            "both",
            cudaEventCreateWithFlags(&raw mut mark, sys::cudaEventDisableTiming | sys::cudaEventInterprocess)
        );
        ask!(log, "handle", cudaIpcGetEventHandle(&raw mut handle, mark));
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaEventSynchronize(mark));
        taken(log)
    });
    add_case(cases, 298, "two of them at the end, the first with a capture", |log| {
        let [from, to] = timed(log)?;
        let on = begin(log)?;
        ask!(log, cudaEventRecord(from, on));
        ask!(log, "captured", cudaEventDestroy(from));
        ask!(log, "not captured", cudaEventDestroy(to));
        let graph = end(log, on);
        if !graph.is_null() {
            super::super::common::nodes(log, graph);
        }
        taken(log)
    });
}

/// Notes what a stream is like, and whether the default stream holds it.
fn about(log: &mut Log, on: cudaStream_t) -> Outcome {
    let (mut flags, mut priority, mut device, mark) = (77, 77, 77, event(log)?);
    ask!(log, cudaStreamGetFlags(on, &raw mut flags));
    ask!(log, cudaStreamGetPriority(on, &raw mut priority));
    ask!(log, cudaStreamGetDevice(on, &raw mut device));
    log.fact("flags, priority, device", format_args!("{flags} {priority} {device}"));
    let gate = Gate::hold(log, null())?;
    ask!(log, cudaEventRecord(mark, on));
    ask!(log, "behind the default stream", cudaEventQuery(mark));
    gate.open();
    ask!(log, cudaDeviceSynchronize());
    Ok(())
}

fn streams(cases: &mut Cases) {
    add_case(cases, 165, "over a null handle, used by kernels in a row", |log| {
        let (mut on, a, b) = (null(), Block::with(log, Kind::Device, &floats([1.0; 64]))?, device(log)?);
        ask!(log, cudaStreamCreate(&raw mut on));
        scale(log, "kernel", b, a, 3.0, 64, on);
        scale(log, "kernel", a, b, 3.0, 64, on);
        ask!(log, cudaStreamSynchronize(on));
        float_is(log, a, 63)?;
        about(log, on)
    });
    add_case(cases, 166, "for two libraries, that each hold it", |log| {
        let (mut on, mut id, mut attribute) = (null(), 0, sys::cudaLaunchAttributeValue::default());
        ask!(log, cudaStreamCreate(&raw mut on));
        ask!(log, cudaStreamGetId(on, &raw mut id));
        log.fact("a number", id != 0);
        for kind in [3, 6, 8, 2] {
            ask!(
                log,
                &format!("attribute {kind}"),
                cudaStreamGetAttribute(on, sys::cudaLaunchAttributeID(kind), &raw mut attribute)
            );
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, cudaStreamDestroy(on));
        Ok(())
    });
    add_case(cases, 196, "of the user, while another captures, and after", |log| {
        let (captures, mut on) = (begin(log)?, null());
        ask!(log, "while it captures", cudaStreamCreate(&raw mut on));
        log.fact("stream", if on.is_null() { "null" } else { "some" });
        ask!(log, "work on it", cudaStreamQuery(on));
        end(log, captures);
        ask!(log, cudaStreamCreate(&raw mut on));
        ask!(log, "null", cudaStreamCreate(null()));
        taken(log)
    });
    add_case(cases, 258, "before the events of a pipeline, used in another thread", |log| {
        let (mut on, block) = (null(), device(log)?);
        ask!(log, cudaStreamCreate(&raw mut on));
        let (stream, at) = (on.expose_provenance(), block.ptr().expose_provenance());
        let codes = std::thread::spawn(move || {
            let on = std::ptr::with_exposed_provenance_mut(stream);
            // SAFETY: stream and memory live until this thread is joined.
            unsafe {
                (
                    sys::cudaMemsetAsync(std::ptr::with_exposed_provenance_mut(at), 7, N, on).0,
                    sys::cudaStreamDestroy(on).0,
                )
            }
        });
        log.fact("there", format_args!("{:?}", codes.join().expect("no panic")));
        ask!(log, cudaDeviceSynchronize());
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &[7; N]);
        Ok(())
    });
    add_case(cases, 198, "for launches of a graph, non-blocking", |log| {
        let mut on = null();
        ask!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
        about(log, on)?;
        ask!(log, "flags 2", cudaStreamCreateWithFlags(&raw mut on, 2));
        taken(log)
    });
    add_case(cases, 213, "gone right after its kernel, sixty times", |log| {
        let (from, out) =
            (Block::with(log, Kind::Device, &super::super::common::integers([1; 64]))?, device(log)?);
        for _ in 0..60 {
            let mut on = null();
            need!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
            sum(log, "kernel", out, from, 64, on);
            need!(log, cudaStreamDestroy(on));
        }
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "sum", out)?;
        Ok(())
    });
    add_case(cases, 161, "the lowest, the highest, the middle, and beyond", |log| {
        let (mut low, mut high) = (77, 77);
        ask!(log, cudaDeviceGetStreamPriorityRange(&raw mut low, &raw mut high));
        log.fact("range", format_args!("{low} {high}"));
        for wanted in [low, (low + high) / 2, high, low + 1, high - 1] {
            let (mut on, mut got) = (null(), 77);
            ask!(
                log,
                &format!("{wanted}"),
                cudaStreamCreateWithPriority(&raw mut on, sys::cudaStreamDefault, wanted)
            );
            ask!(log, cudaStreamGetPriority(on, &raw mut got));
            log.fact("priority", got);
        }
        ask!(log, "null", cudaDeviceGetStreamPriorityRange(null(), null()));
        taken(log)
    });
    add_case(cases, 217, "if it is there, with work, again in no other way", |log| {
        let (on, block, up) = (stream_with(log, 0)?, device(log)?, pattern(N, 1));
        ask!(log, cudaMemcpyAsync(block.ptr(), up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice, on));
        ask!(log, cudaStreamDestroy(on));
        holds(log, block, &up)?;
        ask!(log, "default", cudaStreamDestroy(null()));
        ask!(log, "legacy", cudaStreamDestroy(sys::cudaStreamLegacy));
        let captures = begin(log)?;
        ask!(log, "captures", cudaStreamDestroy(captures));
        taken(log)
    });
    add_case(cases, 162, "behind a copy and two frees, and of streams that may not wait", |log| {
        let (on, mut at, mut got) = (stream(log)?, null(), vec![0_u8; N]);
        need!(log, cudaMallocAsync(&raw mut at, N, on));
        ask!(log, cudaMemsetAsync(at, 5, N, on));
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), at, N, sys::cudaMemcpyDeviceToHost, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        log.bytes("all bytes", &got, &[5; N]);
        let captures = begin(log)?;
        ask!(log, "another", cudaStreamSynchronize(on));
        ask!(log, "captures", cudaStreamSynchronize(captures));
        end(log, captures);
        taken(log)
    });
}
