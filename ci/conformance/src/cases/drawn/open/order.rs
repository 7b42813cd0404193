//! Streams, events, and host functions.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::cudaStream_t;

use super::super::common::{
    N, add_case, begin, device, elapsed, end, first_is, null, sum, taken, timed, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    streams(cases);
    asked(cases);
    events(cases);
    times(cases);
}

fn streams(cases: &mut Cases) {
    add_case(cases, 92, "for times, after the device was set: what it is like", |log| {
        ask!(log, cudaSetDevice(0));
        let mut on = null();
        ask!(log, cudaStreamCreate(&raw mut on));
        about(log, on);
        let ([mark, _], wait) = (timed(log)?, Gate::hold(log, null())?);
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "behind the default stream", cudaEventQuery(mark));
        wait.open();
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaStreamDestroy(on));
        Ok(())
    });
    add_case(cases, 129, "one a device, and a hundred more", |log| {
        let mut all = Vec::new();
        let mut bad = 0;
        for _ in 0..101 {
            let mut on = null();
            // SAFETY: the pointer is to a live handle.
            bad += i32::from(unsafe { sys::cudaStreamCreate(&raw mut on) } != sys::cudaSuccess);
            all.push(on);
        }
        log.fact("refused", bad);
        about(log, all[100]);
        let block = device(log)?;
        for (i, on) in all.iter().enumerate() {
            need!(log, cudaMemsetAsync(block.at(i), 9, 1, *on));
        }
        ask!(log, cudaDeviceSynchronize());
        let got = block.load(log)?;
        log.bytes("bytes", &got[..102], &[[9; 101].as_slice(), &[0]].concat());
        for on in all {
            need!(log, cudaStreamDestroy(on));
        }
        Ok(())
    });
    add_case(cases, 149, "non-blocking, beside the held default stream", |log| {
        let mut on = null();
        ask!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
        about(log, on);
        let (mut block, gate) = (null(), Gate::hold(log, null())?);
        ask!(log, cudaMallocAsync(&raw mut block, N, on));
        ask!(log, cudaMemsetAsync(block, 1, N, on));
        ask!(log, cudaFreeAsync(block, on));
        ask!(log, "not behind it", cudaStreamSynchronize(on));
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    add_case(cases, 32, "of streams of every kind, and of one that captures", |log| {
        for (name, on) in [
            ("plain", stream(log)?),
            ("legacy", null()),
            ("of the thread", sys::cudaStreamPerThread),
            ("captures", begin(log)?),
        ] {
            let mut device = 77;
            ask!(log, name, cudaStreamGetDevice(on, &raw mut device));
            log.fact("device", device);
        }
        let on = stream(log)?;
        ask!(log, "answer null", cudaStreamGetDevice(on, null()));
        taken(log)
    });
    for (number, situation, flags) in [
        (21, "of the default stream and of others, for a library", 0),
        (110, "of a stream that captures, and nulls", 1),
    ] {
        add_case(cases, number, situation, move |log| {
            let on = stream_with(log, flags)?;
            if number == 110 {
                need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
            }
            for it in [on, null(), sys::cudaStreamLegacy, sys::cudaStreamPerThread] {
                let mut found = 77;
                ask!(log, cudaStreamGetFlags(it, &raw mut found));
                log.fact("flags", found);
            }
            ask!(log, "answer null", cudaStreamGetFlags(on, null()));
            if number == 110 {
                end(log, on);
            }
            taken(log)
        });
    }
    add_case(cases, 38, "of the default stream by its two names, of threads", |log| {
        let id = |log: &mut Log, on: cudaStream_t| {
            let mut id = 0;
            ask!(log, cudaStreamGetId(on, &raw mut id));
            id
        };
        let (legacy, named, own) =
            (id(log, null()), id(log, sys::cudaStreamLegacy), id(log, sys::cudaStreamPerThread));
        log.fact("alike", format_args!("{} {}", legacy == named, legacy == own));
        let other = std::thread::spawn(|| {
            let mut ids = [0_u64; 2];
            // SAFETY: the pointers are to live integers.
            unsafe {
                sys::cudaStreamGetId(null(), &raw mut ids[0]);
                sys::cudaStreamGetId(sys::cudaStreamPerThread, &raw mut ids[1]);
            }
            ids
        });
        let other = other.join().expect("no panic");
        log.fact("in a thread", format_args!("{} {}", other[0] == legacy, other[1] == own));
        let on = stream(log)?;
        let twice = id(log, on) == id(log, on);
        log.fact("twice", twice);
        ask!(log, "answer null", cudaStreamGetId(on, null()));
        Ok(())
    });
}

fn about(log: &mut Log, on: cudaStream_t) {
    let (mut flags, mut priority, mut status) = (77, 77, sys::cudaStreamCaptureStatus(77));
    ask!(log, cudaStreamGetFlags(on, &raw mut flags));
    ask!(log, cudaStreamGetPriority(on, &raw mut priority));
    ask!(log, cudaStreamIsCapturing(on, &raw mut status));
    log.fact("flags, priority, capture", format_args!("{flags} {priority} {}", status.0));
}

fn asked(cases: &mut Cases) {
    add_case(cases, 53, "before a kernel, for a copy of another stream", |log| {
        let (a, b, mark) = (stream(log)?, stream(log)?, event(log)?);
        let (from, to, out) = (
            Block::with(log, Kind::Pinned, &super::super::common::integers([3; 64]))?,
            device(log)?,
            device(log)?,
        );
        // The first launch of a kernel may wait for all streams.
        sum(log, "first", out, to, 64, b);
        need!(log, cudaStreamSynchronize(b));
        let gate = Gate::hold(log, a)?;
        ask!(log, cudaMemcpyAsync(to.ptr(), from.ptr(), 256, sys::cudaMemcpyHostToDevice, a));
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        sum(log, "kernel", out, to, 64, b);
        ask!(log, "held", cudaStreamQuery(b));
        gate.open();
        ask!(log, cudaStreamSynchronize(b));
        first_is(log, "sum", out)?;
        Ok(())
    });
    add_case(cases, 67, "for events that nobody records, or that are recorded again", |log| {
        let (a, b, marks) = (stream(log)?, stream(log)?, [event(log)?, event(log)?]);
        ask!(log, "never", cudaStreamWaitEvent(b, marks[0], 0));
        let gate = Gate::hold(log, a)?;
        ask!(log, cudaEventRecord(marks[1], a));
        ask!(log, cudaStreamWaitEvent(b, marks[1], 0));
        ask!(log, "again", cudaEventRecord(marks[1], b));
        ask!(log, "itself", cudaStreamWaitEvent(b, marks[1], 0));
        ask!(log, cudaEventQuery(marks[1]));
        ask!(log, "destroyed", cudaEventDestroy(marks[1]));
        ask!(log, "held", cudaStreamQuery(b));
        gate.open();
        ask!(log, cudaStreamSynchronize(b));
        ask!(log, "flags 3", cudaStreamWaitEvent(b, marks[0], 3));
        ask!(log, "flags 1, no capture", cudaStreamWaitEvent(b, marks[0], sys::cudaEventWaitExternal));
        Ok(())
    });
    add_case(cases, 140, "behind a copy, with what the function may not call", |log| {
        let (on, mut codes) = (stream(log)?, [77_u32; 4]);
        ask!(log, cudaLaunchHostFunc(on, Some(calls), (&raw mut codes).cast()));
        ask!(log, cudaStreamSynchronize(on));
        log.fact("inside", format_args!("{codes:?}"));
        ask!(log, "on the default stream", cudaLaunchHostFunc(null(), Some(calls), (&raw mut codes).cast()));
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "null", cudaLaunchHostFunc(on, None, null()));
        taken(log)
    });
}

unsafe extern "C" fn calls(codes: *mut c_void) {
    let (mut at, mut device) = (null::<c_void>(), 0);
    // SAFETY: the pointers are to live values, and the case waits before its list goes.
    unsafe {
        let codes: *mut u32 = codes.cast();
        *codes = sys::cudaMalloc(&raw mut at, 64).0;
        *codes.add(1) = sys::cudaGetDevice(&raw mut device).0;
        *codes.add(2) = sys::cudaDeviceSynchronize().0;
        *codes.add(3) = sys::cudaGetLastError().0;
    }
}

fn events(cases: &mut Cases) {
    add_case(cases, 16, "on a stream, twice, and on the default stream", |log| {
        let (on, mark) = (stream(log)?, event(log)?);
        for it in [on, on, null(), sys::cudaStreamPerThread] {
            ask!(log, cudaEventRecord(mark, it));
        }
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, cudaEventQuery(mark));
        ask!(log, "null", cudaEventRecord(null(), on));
        taken(log)
    });
    add_case(cases, 36, "in a destructor, while its record is held", |log| {
        let (on, other, mark) = (stream(log)?, stream(log)?, event(log)?);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, cudaStreamWaitEvent(other, mark, 0));
        waits(log, &gate, |log| {
            ask!(log, cudaEventDestroy(mark));
        });
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "null", cudaEventDestroy(null()));
        taken(log)
    });
    add_case(cases, 75, "ready or not, and never recorded", |log| {
        let (on, mark) = (stream(log)?, event(log)?);
        ask!(log, "never recorded", cudaEventQuery(mark));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "held", cudaEventQuery(mark));
        ask!(log, "peek", cudaPeekAtLastError());
        gate.open();
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, "then", cudaEventQuery(mark));
        let captures = begin(log)?;
        ask!(log, cudaEventRecord(mark, captures));
        ask!(log, "in a capture", cudaEventQuery(mark));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 76, "of all events of a list, then each goes", |log| {
        let on = stream(log)?;
        let marks = [event(log)?, event(log)?, event(log)?];
        ask!(log, "never recorded", cudaEventSynchronize(marks[2]));
        let gate = Gate::hold(log, on)?;
        for mark in &marks[..2] {
            ask!(log, cudaEventRecord(*mark, on));
        }
        waits(log, &gate, |log| {
            ask!(log, cudaEventSynchronize(marks[0]));
        });
        for mark in marks {
            ask!(log, cudaEventSynchronize(mark));
            ask!(log, cudaEventDestroy(mark));
        }
        ask!(log, "null", cudaEventSynchronize(null()));
        taken(log)
    });
    add_case(cases, 89, "for joins, without times; and every other flag", |log| {
        for flags in [2, 0, 1, 3, 4, 6, 7, 8, 16] {
            let mut mark = null();
            ask!(log, &format!("{flags}"), cudaEventCreateWithFlags(&raw mut mark, flags));
            if !mark.is_null() {
                ask!(log, cudaEventRecord(mark, null()));
                ask!(log, cudaEventSynchronize(mark));
                elapsed(log, "since itself", mark, mark);
                ask!(log, cudaEventDestroy(mark));
            }
        }
        ask!(log, "null", cudaEventCreateWithFlags(null(), 0));
        taken(log)
    });
}

fn times(cases: &mut Cases) {
    add_case(cases, 19, "of one stream, the first before the second and the other way round", |log| {
        let ([from, to], block) = (timed(log)?, device(log)?);
        ask!(log, cudaEventRecord(from, null()));
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, null()));
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "forwards", from, to);
        let mut time = 1_f32;
        ask!(log, "backwards", cudaEventElapsedTime(&raw mut time, to, from));
        log.fact("not positive", time <= 0.0);
        ask!(log, "answer null", cudaEventElapsedTime(null(), from, to));
        for mark in [from, to] {
            ask!(log, cudaEventDestroy(mark));
        }
        Ok(())
    });
    add_case(cases, 104, "when the start is recorded again for the next part", |log| {
        let ([from, to], on) = (timed(log)?, stream(log)?);
        elapsed(log, "never recorded", from, to);
        ask!(log, cudaEventRecord(from, null()));
        elapsed(log, "the end not recorded", from, to);
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "one part", from, to);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(from, on));
        elapsed(log, "the start held", from, to);
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 115, "in a timer, of two streams, and without times", |log| {
        let ([from, to], plain) = (timed(log)?, event(log)?);
        let (a, b) = (stream(log)?, stream(log)?);
        ask!(log, cudaEventRecord(from, a));
        ask!(log, cudaEventRecord(to, b));
        ask!(log, cudaEventRecord(plain, b));
        ask!(log, cudaDeviceSynchronize());
        let mut time = f32::NAN;
        ask!(log, "two streams", cudaEventElapsedTime(&raw mut time, from, to));
        log.fact("a number", time.is_finite());
        elapsed(log, "to one without times", from, plain);
        elapsed(log, "from one without times", plain, to);
        elapsed(log, "null", null(), to);
        taken(log)
    });
    add_case(cases, 143, "after a launch that failed, and events of a capture", times_in_captures);
}

fn times_in_captures(log: &mut Log) -> Outcome {
    let ([from, to], block) = (timed(log)?, device(log)?);
    ask!(log, cudaEventRecord(from, null()));
    sum(log, "no blocks", block, block, 0, null());
    ask!(log, cudaEventRecord(to, null()));
    ask!(log, cudaDeviceSynchronize());
    taken(log)?;
    elapsed(log, "all the same", from, to);
    let on = begin(log)?;
    ask!(log, cudaEventRecord(from, on));
    ask!(log, cudaEventRecord(to, on));
    elapsed(log, "captured", from, to);
    end(log, on);
    taken(log)
}
