//! Streams and events.

use cuda_sys as sys;
use cuda_sys::{cudaEvent_t, cudaStream_t};

use super::super::common::{
    Kernel, N, add_case, adds, begin, device, elapsed, end, first_is, floats, go, holds, integers, nodes,
    null, ready, scale, start, sum, taken, there, timed, waits,
};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
    fn case_trap();
}

pub(super) fn add(cases: &mut Cases) {
    waited(cases);
    marks(cases);
    times(cases);
    recorded(cases);
    streams(cases);
    by_flags(cases);
    joined(cases);
}

fn with_flags(log: &mut Log, what: &str, flags: u32) -> cudaEvent_t {
    let mut mark = null();
    ask!(log, what, cudaEventCreateWithFlags(&raw mut mark, flags));
    mark
}

fn waited(cases: &mut Cases) {
    add_case(cases, 404, "new, just recorded where a resource goes, then destroyed", |log| {
        let block = device(log)?;
        for (name, on) in [
            ("non-blocking", stream(log)?),
            ("blocking", stream_with(log, 0)?),
            ("default", null()),
            ("of the thread", sys::cudaStreamPerThread),
        ] {
            let mut mark = null();
            let gate = Gate::hold(log, on)?;
            ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
            ask!(log, cudaEventCreate(&raw mut mark));
            ask!(log, "new", cudaEventSynchronize(mark));
            ask!(log, name, cudaEventRecord(mark, on));
            ask!(log, "held", cudaEventQuery(mark));
            waits(log, &gate, |log| {
                ask!(log, cudaEventSynchronize(mark));
            });
            ask!(log, "then", cudaEventQuery(mark));
            ask!(log, "the stream", cudaStreamQuery(on));
            ask!(log, cudaEventDestroy(mark));
        }
        taken(log)
    });
    add_case(cases, 436, "marked, marked anew while the first mark is waited for, in a capture", |log| {
        let (on, other) = (stream(log)?, stream(log)?);
        let mark = with_flags(log, "to sleep for", 1 | 2);
        for _ in 0..2 {
            ask!(log, "never marked", cudaEventSynchronize(mark));
        }
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(mark, on));
        ask!(log, "held", cudaEventQuery(mark));
        ask!(log, "anew, elsewhere", cudaEventRecord(mark, other));
        waits(log, &gate, |log| {
            ask!(log, cudaEventSynchronize(mark));
        });
        ask!(log, cudaStreamSynchronize(on));
        let captures = begin(log)?;
        ask!(log, "captured", cudaEventRecord(mark, captures));
        ask!(log, "of a capture", cudaEventSynchronize(mark));
        ask!(log, "of a capture", cudaEventQuery(mark));
        ask!(log, "last", cudaGetLastError());
        end(log, captures);
        ask!(log, "once it ended", cudaEventSynchronize(mark));
        ask!(log, "anew", cudaEventRecord(mark, other));
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, "null", cudaEventSynchronize(null()));
        taken(log)
    });
}

fn marks(cases: &mut Cases) {
    add_case(cases, 408, "the end, before the begin is recorded, in each of many rounds", |log| {
        let (block, mut all) = (device(log)?, Vec::new());
        for _ in 0..31 {
            let (mut from, mut to) = (null(), null());
            need!(log, cudaEventCreate(&raw mut from));
            need!(log, cudaEventCreate(&raw mut to));
            need!(log, cudaEventRecord(from, null()));
            fill(log, block.ptr(), 1, N, null())?;
            need!(log, cudaEventRecord(to, null()));
            all.push([from, to]);
        }
        let mut one: Vec<_> = all.iter().flatten().copied().collect();
        one.sort_unstable();
        one.dedup();
        log.fact("all", one.len());
        ask!(log, cudaEventSynchronize(all[30][1]));
        for [from, to] in [all[0], all[30], [all[0][0], all[30][1]]] {
            elapsed(log, "round", from, to);
        }
        let mut mark = null();
        ask!(log, "no place", cudaEventCreate(null()));
        for flags in [0, 1, 2, 3, 4, 6, 7, 8] {
            ask!(log, &format!("{flags}"), cudaEventCreateWithFlags(&raw mut mark, flags));
        }
        let captures = begin(log)?;
        ask!(log, "while a stream captures", cudaEventCreate(&raw mut mark));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 410, "the start, once results came down, then the stop that streams wait for", |log| {
        let ([from, to], block, on) = (timed(log)?, device(log)?, stream(log)?);
        ask!(log, cudaEventRecord(from, null()));
        fill(log, block.ptr(), 4, N, null())?;
        ask!(log, cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "it", from, to);
        holds(log, block, &[4; N])?;
        ask!(log, cudaEventDestroy(from));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaEventRecord(to, on));
        ask!(log, cudaStreamWaitEvent(null(), to, 0));
        ask!(log, "held", cudaEventDestroy(to));
        ask!(log, "who waits", cudaStreamQuery(null()));
        ask!(log, "recorded on", cudaStreamQuery(on));
        gate.open();
        ask!(log, cudaStreamSynchronize(null()));
        ask!(log, "none", cudaEventDestroy(null()));
        taken(log)
    });
    add_case(
        cases,
        497,
        "behind the memory of a picture, start then stop, never recorded or in a capture",
        |log| {
            let ([from, to], blocks) = (timed(log)?, [device(log)?, device(log)?]);
            for block in blocks {
                ask!(log, cudaFree(block.ptr()));
            }
            ask!(log, "start", cudaEventDestroy(from));
            ask!(log, "stop", cudaEventDestroy(to));
            let ([from, to], on) = (timed(log)?, begin(log)?);
            ask!(log, cudaEventRecord(from, on));
            ask!(log, "captured", cudaEventDestroy(from));
            end(log, on);
            ask!(log, "the other", cudaEventDestroy(to));
            ask!(log, "last", cudaGetLastError());
            let [from, to] = timed(log)?;
            ask!(log, "a new one", cudaEventRecord(to, null()));
            ask!(log, cudaEventSynchronize(to));
            let addresses = [from, to].map(|mark| mark.expose_provenance());
            there(log, move || {
                // SAFETY: events of the case, which nothing uses after this.
                addresses
                    .map(|at| unsafe { sys::cudaEventDestroy(std::ptr::with_exposed_provenance_mut(at)) })
            });
            taken(log)
        },
    );
}

fn times(cases: &mut Cases) {
    add_case(cases, 416, "from copies up to a stop, and back from the stop to them", |log| {
        let ([from, to], points, work) = (timed(log)?, device(log)?, device(log)?);
        let up = pattern(N, 1);
        ask!(log, cudaEventRecord(from, null()));
        ask!(log, "up", cudaMemcpy(points.ptr(), up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice));
        ask!(log, cudaMemset(work.ptr(), 0, N));
        let gate = Gate::hold(log, null())?;
        ask!(log, cudaEventRecord(to, null()));
        elapsed(log, "not yet", from, to);
        waits(log, &gate, |log| {
            ask!(log, cudaEventSynchronize(to));
        });
        elapsed(log, "it", from, to);
        elapsed(log, "back", to, from);
        ask!(log, "start again", cudaEventRecord(from, null()));
        ask!(log, cudaEventSynchronize(from));
        elapsed(log, "the stop is older", to, from);
        ask!(log, "no place", cudaEventElapsedTime(null(), from, to));
        taken(log)
    });
    add_case(cases, 425, "of a batch on no stream, by events of each kind", |log| {
        let (block, mut time) = (device(log)?, -1_f32);
        let kinds: Vec<_> = [0, 1, 2, 3].map(|flags| with_flags(log, &format!("{flags}"), flags)).into();
        for mark in &kinds {
            ask!(log, cudaEventRecord(*mark, null()));
            fill(log, block.ptr(), 1, N, null())?;
        }
        ask!(log, cudaDeviceSynchronize());
        for (i, from) in kinds.iter().enumerate() {
            for (j, to) in kinds.iter().enumerate().skip(i) {
                let code = ask!(log, &format!("{i} {j}"), cudaEventElapsedTime(&raw mut time, *from, *to));
                log.fact("time", code == sys::cudaSuccess && time >= 0.0);
            }
        }
        let never = with_flags(log, "never recorded", 0);
        elapsed(log, "to it", kinds[0], never);
        elapsed(log, "from it", never, kinds[1]);
        elapsed(log, "from null", null(), kinds[0]);
        elapsed(log, "to null", kinds[0], null());
        taken(log)
    });
    add_case(cases, 435, "between streams, of which one is held, of a record that was repeated", |log| {
        let ([from, to], a, b) = (timed(log)?, stream(log)?, stream(log)?);
        let out = device(log)?;
        adds(log, "first", out, 1, a);
        need!(log, cudaStreamSynchronize(a));
        ask!(log, "a", cudaEventRecord(from, a));
        ask!(log, cudaEventSynchronize(from));
        let gate = Gate::hold(log, a)?;
        adds(log, "held", out, 1, a);
        ask!(log, "b", cudaEventRecord(to, b));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "of two streams", from, to);
        ask!(log, "again, held", cudaEventRecord(from, a));
        elapsed(log, "of one that is held", from, to);
        ask!(log, cudaGetLastError());
        gate.open();
        ask!(log, cudaStreamSynchronize(a));
        let captures = begin(log)?;
        ask!(log, "captured", cudaEventRecord(to, captures));
        elapsed(log, "of a capture", from, to);
        end(log, captures);
        elapsed(log, "once it ended", from, to);
        taken(log)
    });
}

fn recorded(cases: &mut Cases) {
    add_case(cases, 469, "the start, before pools of memory, at streams that capture", |log| {
        let [from, to] = timed(log)?;
        ask!(log, "start", cudaEventRecord(from, null()));
        let pools = [device(log)?, device(log)?];
        for pool in pools {
            fill(log, pool.ptr(), 2, N, null())?;
            ask!(log, cudaFree(pool.ptr()));
        }
        ask!(log, "stop", cudaEventRecord(to, null()));
        ask!(log, cudaEventSynchronize(to));
        elapsed(log, "it", from, to);
        for (name, mode, flags) in [("blocking", 0, 0), ("relaxed, blocking", 2, 0), ("non-blocking", 0, 1)] {
            let on = stream_with(log, flags)?;
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            ask!(log, name, cudaEventRecord(from, null()));
            ask!(log, "last", cudaGetLastError());
            ask!(log, "of the thread", cudaEventRecord(to, sys::cudaStreamPerThread));
            end(log, on);
        }
        ask!(log, "no event", cudaEventRecord(null(), null()));
        taken(log)
    });
    add_case(
        cases,
        482,
        "the stop behind a product, on the default stream, beside others that are held",
        |log| {
            let (out, from) = (device(log)?, Block::with(log, Kind::Device, &integers([3; 64]))?);
            for (name, flags) in [("non-blocking", 1), ("blocking", 0)] {
                let (on, [begun, stop]) = (stream_with(log, flags)?, timed(log)?);
                sum(log, "first", out, from, 64, on);
                need!(log, cudaDeviceSynchronize());
                let gate = Gate::hold(log, on)?;
                log.fact("held", name);
                ask!(log, cudaEventRecord(begun, null()));
                sum(log, "product", out, from, 64, null());
                ask!(log, "stop", cudaEventRecord(stop, null()));
                ask!(log, "with flags", cudaEventRecordWithFlags(stop, null(), 0));
                waits(log, &gate, |log| {
                    ask!(log, cudaEventSynchronize(stop));
                });
                elapsed(log, "it", begun, stop);
            }
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "sum", out)?;
            start(log, "refused", case_empty as Kernel, [0, 1, 0], null(), &mut []);
            let mark = event(log)?;
            ask!(log, "behind what was refused", cudaEventRecord(mark, null()));
            ask!(log, cudaEventSynchronize(mark));
            taken(log)
        },
    );
}

/// Notes what a stream is.
fn about(log: &mut Log, name: &str, on: cudaStream_t) {
    let (mut flags, mut priority, mut device) = (77, 77, 77);
    ask!(log, name, cudaStreamGetFlags(on, &raw mut flags));
    ask!(log, cudaStreamGetPriority(on, &raw mut priority));
    ask!(log, cudaStreamGetDevice(on, &raw mut device));
    log.fact("it is", format_args!("{flags} {priority} {device}"));
}

fn streams(cases: &mut Cases) {
    add_case(cases, 426, "between memory and events, for kernels that use the default one", |log| {
        let (mut on, block) = (null(), device(log)?);
        ask!(log, cudaStreamCreate(&raw mut on));
        about(log, "it", on);
        about(log, "default", null());
        let mark = event(log)?;
        fill(log, block.ptr(), 1, N, on)?;
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, null())?;
        ask!(log, "behind the default one", cudaEventRecord(mark, on));
        ask!(log, cudaEventQuery(mark));
        gate.open();
        ask!(log, cudaEventSynchronize(mark));
        let gate = Gate::hold(log, on)?;
        ask!(log, "default behind it", cudaEventRecord(mark, null()));
        ask!(log, cudaEventQuery(mark));
        ask!(log, "of the thread behind it", cudaEventRecord(mark, sys::cudaStreamPerThread));
        ask!(log, cudaEventQuery(mark));
        gate.open();
        ask!(log, cudaEventSynchronize(mark));
        ask!(log, "no place", cudaStreamCreate(null()));
        ask!(log, cudaStreamDestroy(on));
        taken(log)
    });
    add_case(cases, 444, "of the highest of a range, of what is beyond it, with flags", |log| {
        let (mut least, mut greatest) = (77, 77);
        ask!(log, cudaDeviceGetStreamPriorityRange(&raw mut least, &raw mut greatest));
        log.fact("range", format_args!("{least} {greatest}"));
        for (name, flags, priority) in [
            ("highest", 0, greatest),
            ("lowest", 0, least),
            ("middle", 0, i32::midpoint(least, greatest)),
            ("beyond the highest", 0, greatest - 1),
            ("beyond the lowest", 0, least + 1),
            ("far beyond", 0, i32::MIN),
            ("non-blocking", 1, greatest),
            ("no such flag", 2, greatest),
        ] {
            let mut on = null();
            ask!(log, name, cudaStreamCreateWithPriority(&raw mut on, flags, priority));
            log.fact("made", !on.is_null());
            if !on.is_null() {
                about(log, "it", on);
                let block = device(log)?;
                fill(log, block.ptr(), 1, N, on)?;
                ask!(log, cudaStreamSynchronize(on));
                ask!(log, cudaStreamDestroy(on));
            }
        }
        ask!(log, "no place", cudaStreamCreateWithPriority(null(), 0, 0));
        taken(log)
    });
}

fn by_flags(cases: &mut Cases) {
    add_case(cases, 459, "non-blocking, before the vectors that are set on it", |log| {
        let (mut on, mut other) = (null(), null());
        ask!(log, cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking));
        ask!(log, cudaStreamCreateWithFlags(&raw mut other, sys::cudaStreamDefault));
        about(log, "it", on);
        about(log, "the other", other);
        let (x, y) = (device(log)?, device(log)?);
        ask!(log, cudaMemsetAsync(x.ptr(), 1, N, on));
        scale(log, "kernel", y, x, 1.0, 1024, on);
        ask!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, "set on the default one", cudaMemset(y.ptr(), 5, N));
            ask!(log, cudaStreamSynchronize(null()));
            ask!(log, cudaStreamSynchronize(other));
        });
        ask!(log, cudaStreamSynchronize(on));
        holds(log, y, &[5; N])?;
        let mut id = [0_u64; 2];
        ask!(log, cudaStreamGetId(on, &raw mut id[0]));
        ask!(log, cudaStreamGetId(other, &raw mut id[1]));
        log.fact("two", id[0] != id[1]);
        ask!(log, cudaStreamDestroy(on));
        ask!(log, cudaStreamDestroy(other));
        taken(log)
    });
    add_case(cases, 474, "the second of two sides, made in a capture, joined or not", |log| {
        let (a, b) = (device(log)?, device(log)?);
        for joined in [2, 1, 0] {
            let (on, mut sides) = (stream(log)?, [null(); 2]);
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
            for side in &mut sides {
                ask!(log, cudaStreamCreateWithFlags(side, sys::cudaStreamNonBlocking));
            }
            let fork = with_flags(log, "fork", sys::cudaEventDisableTiming);
            ask!(log, cudaEventRecord(fork, on));
            for (side, block) in sides.into_iter().zip([a, b]) {
                ask!(log, cudaStreamWaitEvent(side, fork, 0));
                ask!(log, cudaMemsetAsync(block.ptr(), joined + 1, N, side));
            }
            for side in &sides[..usize::try_from(joined).expect("a few")] {
                let join = with_flags(log, "join", sys::cudaEventDisableTiming);
                ask!(log, cudaEventRecord(join, *side));
                ask!(log, cudaStreamWaitEvent(on, join, 0));
            }
            log.fact("joined", joined);
            let graph = end(log, on);
            ask!(log, "last", cudaGetLastError());
            for side in sides {
                ask!(log, "a side", cudaStreamQuery(side));
                ask!(log, cudaStreamDestroy(side));
            }
            if !graph.is_null() {
                nodes(log, graph);
                let run = ready(log, graph);
                go(log, run, on);
            }
        }
        holds(log, a, &[3; N])?;
        holds(log, b, &[3; N])
    });
    add_case(
        cases,
        496,
        "non-blocking, of a process that shares, made and used by different threads",
        |log| {
            ask!(log, cudaSetDevice(0));
            let made = std::thread::spawn(|| {
                let mut on: cudaStream_t = null();
                // SAFETY: the pointer is to a live handle.
                let code = unsafe { sys::cudaStreamCreateWithFlags(&raw mut on, sys::cudaStreamNonBlocking) };
                (code, on.expose_provenance())
            });
            let (code, at) = made.join().expect("no panic");
            log.code("made there", code);
            let on: cudaStream_t = std::ptr::with_exposed_provenance_mut(at);
            about(log, "it", on);
            let (mut blocks, block) = (0, device(log)?);
            let kernel = case_empty as Kernel;
            ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, 128, 0));
            log.fact("blocks", blocks);
            fill(log, block.ptr(), 6, N, on)?;
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            there(log, move || {
                let on = std::ptr::with_exposed_provenance_mut(at);
                // SAFETY: a stream of the case.
                unsafe { [sys::cudaStreamQuery(on), sys::cudaGetLastError()] }
            });
            gate.open();
            there(log, move || {
                let on = std::ptr::with_exposed_provenance_mut(at);
                // SAFETY: a stream of the case, which nothing uses after this.
                unsafe { [sys::cudaStreamSynchronize(on), sys::cudaStreamDestroy(on)] }
            });
            holds(log, block, &[6; N])?;
            taken(log)
        },
    );
}

fn joined(cases: &mut Cases) {
    add_case(
        cases,
        462,
        "of a fence that joined the streams of all parts, each behind a set device",
        |log| {
            let (fence, out) = (stream(log)?, device(log)?);
            let (mut parts, from) = (Vec::new(), Block::with(log, Kind::Device, &integers([1; 64]))?);
            for _ in 0..3 {
                ask!(log, cudaSetDevice(0));
                parts.push(stream(log)?);
            }
            sum(log, "first", out, from, 64, parts[0]);
            need!(log, cudaDeviceSynchronize());
            let gate = Gate::hold(log, parts[1])?;
            for part in &parts {
                sum(log, "part", out, from, 64, *part);
                let mark = event(log)?;
                ask!(log, cudaEventRecord(mark, *part));
                ask!(log, cudaStreamWaitEvent(fence, mark, 0));
            }
            ask!(log, "held", cudaStreamQuery(fence));
            ask!(log, "one that is not", cudaStreamSynchronize(parts[0]));
            waits(log, &gate, |log| {
                ask!(log, "fence", cudaStreamSynchronize(fence));
            });
            for part in parts {
                ask!(log, "part", cudaStreamQuery(part));
            }
            first_is(log, "sum", out)?;
            taken(log)
        },
    );
    add_case(cases, 466, "in a task of the host, for a number, at streams that capture", |log| {
        let (on, number) = (stream(log)?, Block::with(log, Kind::Managed, &floats([4.5; 64]))?);
        scale(log, "kernel", number.moved(number.at(128)), number, 2.0, 32, on);
        ask!(log, cudaStreamSynchronize(on));
        let got = number.load(log)?;
        log.bytes("value", &got[128..132], &floats([9.0]));
        for (name, mode, flags) in
            [("global", 0, 1), ("of this thread", 1, 1), ("relaxed", 2, 1), ("relaxed, blocking", 2, 0)]
        {
            let captures = stream_with(log, flags)?;
            need!(log, cudaStreamBeginCapture(captures, sys::cudaStreamCaptureMode(mode)));
            log.fact("capture", name);
            ask!(log, "another", cudaStreamSynchronize(on));
            ask!(log, "default", cudaStreamSynchronize(null()));
            ask!(log, "last", cudaGetLastError());
            ask!(log, "itself", cudaStreamSynchronize(captures));
            end(log, captures);
            ask!(log, "then", cudaStreamSynchronize(captures));
            ask!(log, "last", cudaGetLastError());
        }
        taken(log)
    });
    add_case(cases, 499, "behind a kernel on shared memory, of each stream, and behind a trap", last_waits);
}

fn last_waits(log: &mut Log) -> Outcome {
    let shared = Block::with(log, Kind::Managed, &floats([1.0; 1024]))?;
    for (name, on) in [
        ("its own", stream(log)?),
        ("default", null()),
        ("legacy", sys::cudaStreamLegacy),
        ("of the thread", sys::cudaStreamPerThread),
        ("blocking", stream_with(log, 0)?),
    ] {
        scale(log, name, shared, shared, 2.0, 512, on);
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "again", cudaStreamSynchronize(on));
        let got = shared.load(log)?;
        log.fact("first", format_args!("{:?} {:?}", &got[..4], &got[4092..]));
    }
    let on = stream(log)?;
    start(log, "refused", case_empty as Kernel, [1, 1025, 0], on, &mut []);
    ask!(log, "behind what was refused", cudaStreamSynchronize(on));
    ask!(log, cudaGetLastError());
    need!(log, cudaDeviceSynchronize());
    start(log, "trap", case_trap as Kernel, [1, 1, 0], on, &mut []);
    ask!(log, cudaStreamSynchronize(on));
    ask!(log, "another", cudaStreamSynchronize(null()));
    ask!(log, "peek", cudaPeekAtLastError());
    ask!(log, cudaGetLastError());
    ask!(log, "its end", cudaStreamDestroy(on));
    Ok(())
}
