//! Small copies from pinned memory to the device, which read their source early. They ignore the order of the
//! legacy stream if their own stream has no work, and a batch does not wait for a small memset just before
//! it.
//!
//! The older bytes are those of the source before the held stream writes it, the newer ones those that it
//! writes. `cuda-safe` makes the copy wait, so that no case there can read the older bytes.

use std::ptr;

use cuda_sys::*;

use super::graph::{graph, ready};
use super::kernel::fill;
use crate::case::{Case, Cases};
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

/// The most bytes that are read early.
const LARGEST: usize = 24_576;
const N: usize = 96;
/// The sides of a copy of several rows.
const WIDTH: usize = 16;
const HEIGHT: usize = N / WIDTH;

struct Operands {
    from: Block,
    to: Block,
    /// Device memory with the newer bytes.
    newer: Block,
    aside: Block,
    /// An event of a stream without work.
    over: cudaEvent_t,
    mark: cudaEvent_t,
    /// A graph of the copy, and one of a small fill of the source before it.
    copies: cudaGraphExec_t,
    fills: cudaGraphExec_t,
}

/// The newer bytes of the source.
const NEW: u8 = 107;

impl Operands {
    fn new(log: &mut Log, kind: Kind, bytes: usize) -> Result<Self, Setup> {
        let (from, to) = (Block::with(log, kind, &pattern(bytes, 1))?, Block::new(log, Kind::Device, bytes)?);
        let things = Self {
            from,
            to,
            newer: Block::with(log, Kind::Device, &pattern(bytes, 2))?,
            aside: Block::new(log, Kind::Device, bytes)?,
            over: event(log)?,
            mark: event(log)?,
            copies: copies(log, from, to, false)?,
            fills: copies(log, from, to, true)?,
        };
        let idle = stream(log)?;
        need!(log, cudaEventRecord(things.over, idle));
        // The first launch loads the kernel, which may wait for all streams, and for a held one among them.
        things.kernel(log, idle)?;
        need!(log, cudaDeviceSynchronize());
        Ok(things)
    }

    fn kernel(&self, log: &mut Log, on: cudaStream_t) -> Outcome {
        fill(log, self.aside.ptr(), 9, 1, on)
    }

    /// Notes which bytes the copy has read, once all work is done.
    fn told(&self, log: &mut Log) -> Outcome {
        ask!(log, cudaDeviceSynchronize());
        let got = self.to.load(log)?;
        let is = |seed| got == pattern(got.len(), seed);
        let what = match (is(1), is(2)) {
            (true, _) => "the older bytes",
            (_, true) => "the newer bytes",
            _ => "something else",
        };
        log.fact("destination holds", what);
        Ok(())
    }
}

/// A graph of a copy, behind a fill of its source if `filled`.
fn copies(log: &mut Log, from: Block, to: Block, filled: bool) -> Result<cudaGraphExec_t, Setup> {
    let (graph, mut fill, mut copy) = (graph(log)?, ptr::null_mut(), ptr::null_mut());
    if filled {
        let row = cudaMemsetParams {
            dst: from.ptr(),
            pitch: 0,
            value: NEW.into(),
            elementSize: 1,
            width: from.len,
            height: 1,
        };
        need!(log, cudaGraphAddMemsetNode(&raw mut fill, graph, ptr::null(), 0, &raw const row));
    }
    let (before, count) = (&raw const fill, usize::from(filled));
    let (to, from, bytes) = (to.ptr(), from.ptr(), from.len);
    need!(
        log,
        cudaGraphAddMemcpyNode1D(&raw mut copy, graph, before, count, to, from, bytes, cudaMemcpyDefault)
    );
    ready(log, graph)
}

/// Work on a stream.
type EarlyWork = fn(&mut Log, &Operands, cudaStream_t) -> Outcome;

fn linear(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    ask!(log, cudaMemcpyAsync(t.to.ptr(), t.from.ptr(), t.from.len, cudaMemcpyDefault, on));
    Ok(())
}

fn launched(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    ask!(log, cudaGraphLaunch(t.copies, on));
    Ok(())
}

fn rows(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    let (to, from) = (t.to.ptr(), t.from.ptr());
    ask!(log, cudaMemcpy2DAsync(to, WIDTH, from, WIDTH, WIDTH, HEIGHT, cudaMemcpyDefault, on));
    Ok(())
}

fn row(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    ask!(log, cudaMemcpy2DAsync(t.to.ptr(), N, t.from.ptr(), N, N, 1, cudaMemcpyDefault, on));
    Ok(())
}

fn volume(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    let parameters = cudaMemcpy3DParms {
        dstPtr: make_cudaPitchedPtr(t.to.ptr(), N, N, 1),
        srcPtr: make_cudaPitchedPtr(t.from.ptr(), N, N, 1),
        extent: make_cudaExtent(N, 1, 1),
        kind: cudaMemcpyDefault,
        ..Default::default()
    };
    ask!(log, cudaMemcpy3DAsync(&raw const parameters, on));
    Ok(())
}

/// Copies of equal parts.
#[cfg(cudart_13_0)]
fn batch_of<const COUNT: usize>(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    let part = t.from.len / COUNT;
    let mut to: [_; COUNT] = std::array::from_fn(|at| t.to.at(at * part));
    let mut from: [_; COUNT] = std::array::from_fn(|at| t.from.at(at * part).cast_const());
    let (mut sizes, mut first) = ([part; COUNT], 0);
    let mut attributes = cudaMemcpyAttributes::default();
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    let (to, from, sizes) = (to.as_mut_ptr(), from.as_mut_ptr(), sizes.as_mut_ptr());
    ask!(log, cudaMemcpyBatchAsync(to, from, sizes, COUNT, &raw mut attributes, &raw mut first, 1, on));
    Ok(())
}

#[cfg(cudart_13_0)]
fn solid_batch(log: &mut Log, t: &Operands, on: cudaStream_t) -> Outcome {
    let memory = |block| super::batch_solid::memory(block, 0, 0);
    let mut one = cudaMemcpy3DBatchOp {
        src: memory(t.from),
        dst: memory(t.to),
        extent: make_cudaExtent(N, 1, 1),
        srcAccessOrder: cudaMemcpySrcAccessOrderStream,
        flags: 0,
    };
    ask!(log, cudaMemcpy3DBatchAsync(1, &raw mut one, 0, on));
    Ok(())
}

fn nothing(_: &mut Log, _: &Operands, _: cudaStream_t) -> Outcome {
    Ok(())
}

/// The writer of the source, the reader that copies, and whether a kernel on the legacy stream stands between
/// them.
#[derive(Clone, Copy)]
enum Streams {
    BlockingToBlocking,
    BlockingToThread,
    BlockingToLegacy,
    LegacyToBlocking,
}

impl Streams {
    /// Writer and reader.
    fn make(self, log: &mut Log) -> Result<(cudaStream_t, cudaStream_t), Setup> {
        let (one, other) = (stream_with(log, cudaStreamDefault)?, ptr::null_mut());
        Ok(match self {
            Self::BlockingToBlocking => (one, stream_with(log, cudaStreamDefault)?),
            Self::BlockingToThread => (one, cudaStreamPerThread),
            Self::BlockingToLegacy => (one, other),
            Self::LegacyToBlocking => (other, one),
        })
    }

    fn linked(self) -> bool {
        matches!(self, Self::BlockingToBlocking | Self::BlockingToThread)
    }
}

/// A held stream writes the source. Another stream, which comes after it only by the legacy stream's order,
/// does `before` and then copies.
fn case<'a>(
    cases: &'a mut Cases,
    what: &str,
    (kind, bytes): (Kind, usize),
    streams: Streams,
    before: EarlyWork,
    copy: EarlyWork,
) -> &'a mut Case {
    cases
        .add(format!("legacy/behind its order only, {what}"), move |log| {
            let things = Operands::new(log, kind, bytes)?;
            let (writer, reader) = streams.make(log)?;
            let gate = Gate::hold(log, writer)?;
            let (to, from) = (things.from.ptr(), things.newer.ptr());
            need!(log, cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, writer));
            if streams.linked() {
                things.kernel(log, ptr::null_mut())?;
            }
            before(log, &things, reader)?;
            copy(log, &things, reader)?;
            gate.open();
            things.told(log)
        })
        .alone()
}

fn forms(cases: &mut Cases) {
    let on = Streams::BlockingToBlocking;
    for (what, from, copy) in [
        ("a copy of 1 byte", (Kind::Pinned, 1), linear as EarlyWork),
        ("a copy of 96 bytes", (Kind::Pinned, N), linear),
        ("a copy of 24,576 bytes", (Kind::Pinned, LARGEST), linear),
        ("a copy of 24,577 bytes", (Kind::Pinned, LARGEST + 1), linear),
        ("a copy of registered memory", (Kind::Registered, N), linear),
        ("a copy of a row", (Kind::Pinned, N), row),
        ("a copy of six rows", (Kind::Pinned, N), rows),
        ("a copy of a volume of one row", (Kind::Pinned, N), volume),
        ("a copy from managed memory", (Kind::Managed, N), linear),
        ("a graph of a copy", (Kind::Pinned, N), launched),
        ("a graph of a copy of registered memory", (Kind::Registered, N), launched),
        #[cfg(cudart_13_0)]
        ("a batch", (Kind::Pinned, N), batch_of::<2>),
        #[cfg(cudart_13_0)]
        ("a batch of large copies", (Kind::Pinned, 131_072), batch_of::<2>),
        #[cfg(cudart_13_0)]
        ("a batch of a volume of one row", (Kind::Pinned, N), solid_batch),
    ] {
        case(cases, what, from, on, nothing, copy);
    }
}

fn streams(cases: &mut Cases) {
    for (what, streams) in [
        ("a copy on the thread's stream", Streams::BlockingToThread),
        ("a copy on the legacy stream", Streams::BlockingToLegacy),
        ("a copy behind the legacy stream", Streams::LegacyToBlocking),
    ] {
        case(cases, what, (Kind::Pinned, N), streams, nothing, linear);
    }
    let record: EarlyWork = |log, t, on| {
        need!(log, cudaEventRecord(t.mark, on));
        Ok(())
    };
    let what = "a copy on the legacy stream, after a record there";
    case(cases, what, (Kind::Pinned, N), Streams::BlockingToLegacy, record, linear);
}

/// Work before a copy on its own stream.
const BEFORE: [(&str, EarlyWork); 6] = [
    ("a record", |log, t, on| {
        need!(log, cudaEventRecord(t.mark, on));
        Ok(())
    }),
    ("a wait for what is over", |log, t, on| {
        need!(log, cudaStreamWaitEvent(on, t.over, 0));
        Ok(())
    }),
    ("a set of no bytes", |log, t, on| {
        need!(log, cudaMemsetAsync(t.aside.ptr(), 0, 0, on));
        Ok(())
    }),
    ("a kernel", |log, t, on| t.kernel(log, on)),
    ("a set", |log, t, on| {
        need!(log, cudaMemsetAsync(t.aside.ptr(), 0, N, on));
        Ok(())
    }),
    ("a wait for an event of the legacy stream", |log, t, on| {
        need!(log, cudaEventRecord(t.mark, ptr::null_mut()));
        need!(log, cudaStreamWaitEvent(on, t.mark, 0));
        Ok(())
    }),
];

fn others(cases: &mut Cases) {
    for (what, before) in BEFORE {
        let (what, on) = (format!("a copy after {what}"), Streams::BlockingToBlocking);
        case(cases, &what, (Kind::Pinned, N), on, before, linear);
    }
    cases.alone("legacy/behind its order only, a blocking copy", |log| {
        let things = Operands::new(log, Kind::Pinned, N)?;
        let writer = stream_with(log, cudaStreamDefault)?;
        let gate = Gate::hold(log, writer)?;
        need!(log, cudaMemcpyAsync(things.from.ptr(), things.newer.ptr(), N, cudaMemcpyDefault, writer));
        gate.waits(log, |log| {
            ask!(log, cudaMemcpy(things.to.ptr(), things.from.ptr(), N, cudaMemcpyDefault))
        });
        things.told(log)
    });
}

/// Copies behind a memset of the newer bytes, all of one value, on one held stream.
#[cfg(cudart_13_0)]
fn behind_memsets(cases: &mut Cases) {
    let kernel: EarlyWork = |log, t, on| t.kernel(log, on);
    for (what, bytes, before, copy) in [
        ("96 bytes, a batch", N, nothing as EarlyWork, batch_of::<1> as EarlyWork),
        ("96 bytes, a batch of a volume of one row", N, nothing, solid_batch),
        ("96 bytes, a batch after a record", N, BEFORE[0].1, batch_of::<1>),
        ("2,048 bytes, a batch", 2048, nothing, batch_of::<1>),
        ("96 bytes, a batch after a kernel", N, kernel, batch_of::<1>),
        ("96 bytes, a copy", N, nothing, linear),
        ("96 bytes, a graph of a copy", N, nothing, launched),
    ] {
        cases.alone(format!("cudaMemsetAsync/pinned memory, then {what}"), move |log| {
            let things = Operands::new(log, Kind::Pinned, bytes)?;
            let on = stream(log)?;
            let gate = Gate::hold(log, on)?;
            need!(log, cudaMemsetAsync(things.from.ptr(), NEW.into(), bytes, on));
            before(log, &things, on)?;
            copy(log, &things, on)?;
            gate.open();
            ask!(log, cudaDeviceSynchronize());
            let (got, new) = (things.to.load(log)?, vec![NEW; bytes]);
            // The older bytes, all or some of them: hardware does both at once.
            log.fact("destination holds", if got == new { "what was set" } else { "older bytes" });
            Ok(())
        });
    }
}

/// A graph that fills its source and copies it, behind a held stream that will write older bytes there.
fn within_a_graph(cases: &mut Cases) {
    cases.alone("cudaGraphLaunch/a small fill of pinned memory, then a copy from it", |log| {
        let things = Operands::new(log, Kind::Pinned, N)?;
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(things.fills, on));
        gate.open();
        ask!(log, cudaDeviceSynchronize());
        let got = things.to.load(log)?;
        log.fact("destination holds", if got == vec![NEW; N] { "what was set" } else { "older bytes" });
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    forms(cases);
    within_a_graph(cases);
    streams(cases);
    others(cases);
    #[cfg(cudart_13_0)]
    behind_memsets(cases);
}
