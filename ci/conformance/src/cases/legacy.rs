//! The legacy stream and the blocking ones: the operations that order one stream after the other.
//!
//! `cuda-safe` concludes from the end of a blocking stream that earlier work of the legacy stream is over,
//! too, if the operation really waits for it. These cases find the operations that do.

use std::ptr;

use cuda_sys::*;

use super::graph::{empty, graph, ready};
use super::kernel::fill;
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

/// Work on the stream that is not held, with its operands.
type Put = fn(&mut Log, &Things, cudaStream_t) -> cudaError_t;

struct Things {
    pinned: Block,
    device: Block,
    managed: Block,
    pool: Block,
    over: cudaEvent_t,
    mark: cudaEvent_t,
}

impl Things {
    fn new(log: &mut Log) -> Result<Self, Setup> {
        let things = Self {
            pinned: Block::new(log, Kind::Pinned, 4096)?,
            device: Block::new(log, Kind::Device, 4096)?,
            managed: Block::new(log, Kind::Managed, 4096)?,
            pool: Block::new(log, Kind::Pool, 4096)?,
            over: event(log)?,
            mark: event(log)?,
        };
        let aside = stream(log)?;
        need!(log, cudaEventRecord(things.over, aside));
        need!(log, cudaDeviceSynchronize());
        Ok(things)
    }
}

const PUTS: [(&str, Put); 10] = [
    ("a copy", |log, t, on| {
        ask!(log, cudaMemcpyAsync(t.device.ptr(), t.pinned.ptr(), 64, cudaMemcpyDefault, on))
    }),
    ("a set", |log, t, on| ask!(log, cudaMemsetAsync(t.device.ptr(), 1, 64, on))),
    ("a copy within planes", |log, t, on| {
        ask!(log, cudaMemcpy2DAsync(t.device.ptr(), 64, t.pinned.ptr(), 64, 32, 8, cudaMemcpyDefault, on))
    }),
    ("a host function", |log, _, on| {
        unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        ask!(log, cudaLaunchHostFunc(on, Some(nothing), ptr::null_mut()))
    }),
    ("an event", |log, t, on| ask!(log, cudaEventRecord(t.mark, on))),
    ("a wait for what is over", |log, t, on| ask!(log, cudaStreamWaitEvent(on, t.over, 0))),
    ("a wait for its own event", |log, t, on| {
        ask!(log, cudaEventRecord(t.mark, on));
        ask!(log, cudaStreamWaitEvent(on, t.mark, 0))
    }),
    ("freeing in order", |log, t, on| ask!(log, cudaFreeAsync(t.pool.ptr(), on))),
    ("attaching managed memory", |log, t, on| {
        ask!(log, cudaStreamAttachMemAsync(on, t.managed.ptr(), 0, cudaMemAttachGlobal))
    }),
    ("prefetching managed memory", |log, t, on| super::managed::prefetch(log, t.managed.ptr(), 4096, 0, on)),
];

/// More of them. The legacy stream does not get these.
const MORE: &[(&str, Put)] = &[
    ("a copy to the host", |log, t, on| {
        ask!(log, cudaMemcpyAsync(t.pinned.ptr(), t.device.ptr(), 64, cudaMemcpyDefault, on))
    }),
    ("a copy within the device", |log, t, on| {
        ask!(log, cudaMemcpyAsync(t.device.at(128), t.device.ptr(), 64, cudaMemcpyDefault, on))
    }),
    ("a copy to managed memory", |log, t, on| {
        ask!(log, cudaMemcpyAsync(t.managed.ptr(), t.device.ptr(), 64, cudaMemcpyDefault, on))
    }),
    ("a set of pinned memory", |log, t, on| ask!(log, cudaMemsetAsync(t.pinned.ptr(), 1, 64, on))),
    ("a set of managed memory", |log, t, on| ask!(log, cudaMemsetAsync(t.managed.ptr(), 1, 64, on))),
    #[cfg(cudart_13_0)]
    ("a batch of one copy", |log, t, on| batch(log, t, cudaMemcpySrcAccessOrderStream, on)),
    #[cfg(cudart_13_0)]
    ("a batch of one copy that is read during the call", |log, t, on| {
        batch(log, t, cudaMemcpySrcAccessOrderDuringApiCall, on)
    }),
    #[cfg(cudart_13_0)]
    ("a batch of one copy that is read in any order", |log, t, on| {
        batch(log, t, cudaMemcpySrcAccessOrderAny, on)
    }),
];

#[cfg(cudart_13_0)]
fn batch(log: &mut Log, t: &Things, order: cudaMemcpySrcAccessOrder, on: cudaStream_t) -> cudaError_t {
    let (mut to, mut from, mut bytes, mut first) = (t.device.ptr(), t.pinned.ptr().cast_const(), 64, 0);
    let mut attributes = cudaMemcpyAttributes { srcAccessOrder: order, ..Default::default() };
    let (to, from, bytes) = (&raw mut to, &raw mut from, &raw mut bytes);
    ask!(log, cudaMemcpyBatchAsync(to, from, bytes, 1, &raw mut attributes, &raw mut first, 1, on))
}

/// The reason why a stream is busy.
#[derive(Clone, Copy)]
enum Busy {
    /// It is held.
    Held,
    /// It only waits for an event of a third stream, which is held.
    Waits,
}

impl Busy {
    fn name(self) -> &'static str {
        match self {
            Self::Held => "is held",
            Self::Waits => "waits for an event only",
        }
    }

    fn begin(self, log: &mut Log, busy: cudaStream_t) -> Result<Gate, Setup> {
        match self {
            Self::Held => Gate::hold(log, busy),
            Self::Waits => {
                let (third, pending) = (stream(log)?, event(log)?);
                let gate = Gate::hold(log, third)?;
                need!(log, cudaEventRecord(pending, third));
                need!(log, cudaStreamWaitEvent(busy, pending, 0));
                Ok(gate)
            }
        }
    }
}

/// The nodes of a graph.
type Nodes = fn(&mut Log, &Things, cudaGraph_t) -> Outcome;

const GRAPHS: [(&str, Nodes); 7] = [
    ("a graph of nothing", |_, _, _| Ok(())),
    ("a graph of an empty node", |log, _, to| empty(log, to, &[]).map(drop)),
    ("a graph that records an event", |log, t, to| {
        let mut node = ptr::null_mut();
        need!(log, cudaGraphAddEventRecordNode(&raw mut node, to, ptr::null(), 0, t.mark));
        Ok(())
    }),
    ("a graph that waits for what is over", |log, t, to| {
        let mut node = ptr::null_mut();
        need!(log, cudaGraphAddEventWaitNode(&raw mut node, to, ptr::null(), 0, t.over));
        Ok(())
    }),
    ("a graph of a graph of nothing", |log, _, to| {
        let (mut node, child) = (ptr::null_mut(), graph(log)?);
        need!(log, cudaGraphAddChildGraphNode(&raw mut node, to, ptr::null(), 0, child));
        Ok(())
    }),
    ("a graph of a host function", |log, _, to| {
        unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
        let mut node = ptr::null_mut();
        let function = cudaHostNodeParams { fn_: Some(nothing), userData: ptr::null_mut() };
        need!(log, cudaGraphAddHostNode(&raw mut node, to, ptr::null(), 0, &raw const function));
        Ok(())
    }),
    ("a graph of a set", |log, t, to| {
        let mut node = ptr::null_mut();
        let row = super::graph::row(t.device, 1);
        need!(log, cudaGraphAddMemsetNode(&raw mut node, to, ptr::null(), 0, &raw const row));
        Ok(())
    }),
];

/// Notes whether a stream still has work before the gate opens, and whether an event behind that work waits.
fn behind(log: &mut Log, on: cudaStream_t, after: cudaEvent_t, gate: &Gate) -> Outcome {
    ask!(log, "the stream", cudaStreamQuery(on));
    ask!(log, cudaEventRecord(after, on));
    ask!(log, "an event behind it", cudaEventQuery(after));
    gate.open();
    ask!(log, cudaDeviceSynchronize());
    Ok(())
}

/// Operations on managed memory, some of which may do nothing. The legacy stream takes none of these.
#[cfg(cudart_13_0)]
fn managed_case(cases: &mut Cases, what: &str, put: fn(&mut Log, Block, cudaStream_t) -> cudaError_t) {
    cases.alone(format!("legacy/the legacy stream is held, a blocking one is given {what}"), move |log| {
        const BYTES: usize = 2 << 20;
        let (block, on) = (Block::new(log, Kind::Managed, 2 * BYTES)?, stream_with(log, 0)?);
        let range = Block::aligned(block, BYTES);
        super::managed::prefetch(log, range.ptr(), BYTES, 0, on);
        need!(log, cudaDeviceSynchronize());
        let after = event(log)?;
        let gate = Gate::hold(log, ptr::null_mut())?;
        put(log, range, on);
        behind(log, on, after, &gate)
    });
}

#[cfg(cudart_13_0)]
fn of_managed_memory(cases: &mut Cases) {
    managed_case(cases, "a prefetch of what is there", |log, range, on| {
        super::managed::prefetch(log, range.ptr(), range.len, 0, on)
    });
    managed_case(cases, "a batch of one such prefetch", |log, range, on| {
        let (mut pointer, mut bytes, mut first) = (range.ptr(), range.len, 0);
        let mut place = super::managed::place(0);
        let (pointer, bytes, place) = (&raw mut pointer, &raw mut bytes, &raw mut place);
        ask!(log, cudaMemPrefetchBatchAsync(pointer, bytes, 1, place, &raw mut first, 1, 0, on))
    });
    managed_case(cases, "a batch of one discard", |log, range, on| {
        let (mut pointer, mut bytes) = (range.ptr(), range.len);
        ask!(log, cudaMemDiscardBatchAsync(&raw mut pointer, &raw mut bytes, 1, 0, on))
    });
    managed_case(cases, "a batch of one discard with a prefetch", |log, range, on| {
        let (mut pointer, mut bytes, mut first) = (range.ptr(), range.len, 0);
        let mut place = super::managed::place(0);
        let (pointer, bytes, place) = (&raw mut pointer, &raw mut bytes, &raw mut place);
        ask!(log, cudaMemDiscardAndPrefetchBatchAsync(pointer, bytes, 1, place, &raw mut first, 1, 0, on))
    });
}

/// A held stream reads memory. Another stream, which comes after it only by the legacy stream's order,
/// overwrites it.
fn overwritten(cases: &mut Cases) {
    const BYTES: usize = 96;
    for (from, to) in [
        (Kind::Pinned, Kind::Pinned),
        (Kind::Device, Kind::Pinned),
        (Kind::Pinned, Kind::Device),
        (Kind::Device, Kind::Device),
        (Kind::Pinned, Kind::Managed),
        (Kind::Managed, Kind::Pinned),
    ] {
        let what = format!("what a copy from {} to {} memory overwrites", from.name(), to.name());
        cases.alone(format!("legacy/behind its order only, {what}"), move |log| {
            let (old, new) = (pattern(BYTES, 1), pattern(BYTES, 2));
            let (source, read) = (Block::with(log, from, &new)?, Block::with(log, to, &old)?);
            let (aside, over) =
                (Block::new(log, Kind::Device, BYTES)?, Block::new(log, Kind::Device, BYTES)?);
            fill(log, over.ptr(), 9, 1, ptr::null_mut())?;
            let (reader, writer) = (stream_with(log, 0)?, stream_with(log, 0)?);
            need!(log, cudaDeviceSynchronize());
            let gate = Gate::hold(log, reader)?;
            need!(log, cudaMemcpyAsync(aside.ptr(), read.ptr(), BYTES, cudaMemcpyDefault, reader));
            fill(log, over.ptr(), 9, 1, ptr::null_mut())?;
            gate.waits(log, |log| {
                ask!(log, cudaMemcpyAsync(read.ptr(), source.ptr(), BYTES, cudaMemcpyDefault, writer));
                ask!(log, "the stream", cudaStreamQuery(writer));
            });
            ask!(log, cudaDeviceSynchronize());
            let got = aside.load(log)?;
            log.fact("what was read", if got == old { "the older bytes" } else { "newer bytes" });
            read.compare(log, "what was overwritten", &new)
        });
    }
}

/// The end of a stream that only waits for an event.
#[derive(Clone, Copy)]
enum Gone {
    Destroyed,
    /// Its thread has ended.
    Ended,
}

/// Whether the legacy stream waits for a stream that is gone and only had to wait.
fn gone(cases: &mut Cases, gone: Gone) {
    let what = match gone {
        Gone::Destroyed => "a blocking stream waits for an event only and is destroyed",
        Gone::Ended => "a thread's stream waits for an event only and the thread ends",
    };
    cases.alone(format!("legacy/{what}, the legacy one is given a copy"), move |log| {
        let things = Things::new(log)?;
        let (third, pending, after) = (stream(log)?, event(log)?, event(log)?);
        let gate = Gate::hold(log, third)?;
        need!(log, cudaEventRecord(pending, third));
        match gone {
            Gone::Destroyed => {
                let waits = stream_with(log, cudaStreamDefault)?;
                need!(log, cudaStreamWaitEvent(waits, pending, 0));
                ask!(log, cudaStreamDestroy(waits));
            }
            Gone::Ended => {
                let event = pending.expose_provenance();
                let wait = move || {
                    let event = ptr::with_exposed_provenance_mut(event);
                    // SAFETY: the event lives to the end of the process.
                    unsafe { cudaStreamWaitEvent(cudaStreamPerThread, event, 0) }.0
                };
                let code = std::thread::spawn(wait).join().unwrap();
                log.fact("the thread's wait", code);
            }
        }
        let (to, from) = (things.device.ptr(), things.pinned.ptr());
        ask!(log, cudaMemcpyAsync(to, from, 64, cudaMemcpyDefault, ptr::null_mut()));
        behind(log, ptr::null_mut(), after, &gate)
    });
}

pub(super) fn add(cases: &mut Cases) {
    for (what, put) in MORE {
        case(cases, Busy::Held, true, what, *put);
    }
    for legacy_is_busy in [true, false] {
        for (what, nodes) in GRAPHS {
            graph_case(cases, legacy_is_busy, what, nodes);
        }
    }
    #[cfg(cudart_13_0)]
    of_managed_memory(cases);
    overwritten(cases);
    gone(cases, Gone::Destroyed);
    gone(cases, Gone::Ended);
    for busy in [Busy::Held, Busy::Waits] {
        for legacy_is_busy in [true, false] {
            for (what, put) in PUTS {
                case(cases, busy, legacy_is_busy, what, put);
            }
        }
    }
}

/// The busy stream, and the stream that gets work.
fn parties(legacy_is_busy: bool) -> (&'static str, &'static str) {
    if legacy_is_busy {
        ("the legacy stream", "a blocking one")
    } else {
        ("a blocking stream", "the legacy one")
    }
}

fn graph_case(cases: &mut Cases, legacy_is_busy: bool, what: &str, nodes: Nodes) {
    let (one, other) = parties(legacy_is_busy);
    cases.alone(format!("legacy/{one} is held, {other} is given {what}"), move |log| {
        let things = Things::new(log)?;
        let graph = graph(log)?;
        nodes(log, &things, graph)?;
        let run = ready(log, graph)?;
        let blocking = stream_with(log, cudaStreamDefault)?;
        let (first, on) =
            if legacy_is_busy { (ptr::null_mut(), blocking) } else { (blocking, ptr::null_mut()) };
        let after = event(log)?;
        let gate = Gate::hold(log, first)?;
        ask!(log, cudaGraphLaunch(run, on));
        behind(log, on, after, &gate)
    });
}

fn case(cases: &mut Cases, busy: Busy, legacy_is_busy: bool, what: &str, put: Put) {
    let (one, other) = parties(legacy_is_busy);
    cases.alone(format!("legacy/{one} {}, {other} is given {what}", busy.name()), move |log| {
        let things = Things::new(log)?;
        let blocking = stream_with(log, cudaStreamDefault)?;
        let (first, on) =
            if legacy_is_busy { (ptr::null_mut(), blocking) } else { (blocking, ptr::null_mut()) };
        let after = event(log)?;
        let gate = busy.begin(log, first)?;
        put(log, &things, on);
        behind(log, on, after, &gate)
    });
}
