//! `cudaMemcpyBatchAsync`, in the form that CUDA 13 gave it.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::capture;
use crate::case::{Cases, Change};
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const N: usize = 4096;

/// The arguments of the call, for a case to spoil: three copies, host to device, device to device and device
/// to host.
struct Batch {
    to: Vec<*mut c_void>,
    from: Vec<*const c_void>,
    sizes: Vec<usize>,
    attributes: Vec<cudaMemcpyAttributes>,
    firsts: Vec<usize>,
    count: usize,
    kinds: usize,
    no_to: bool,
    no_from: bool,
    no_sizes: bool,
    no_attributes: bool,
    no_firsts: bool,
}

impl Batch {
    fn call(&mut self, log: &mut Log, on: cudaStream_t) {
        let to = if self.no_to { ptr::null_mut() } else { self.to.as_mut_ptr() };
        let from = if self.no_from { ptr::null_mut() } else { self.from.as_mut_ptr() };
        let sizes = if self.no_sizes { ptr::null_mut() } else { self.sizes.as_mut_ptr() };
        let attributes = if self.no_attributes { ptr::null_mut() } else { self.attributes.as_mut_ptr() };
        let firsts = if self.no_firsts { ptr::null_mut() } else { self.firsts.as_mut_ptr() };
        let (count, kinds) = (self.count, self.kinds);
        ask!(log, cudaMemcpyBatchAsync(to, from, sizes, count, attributes, firsts, kinds, on));
    }
}

/// A valid batch, with its blocks.
fn ready(log: &mut Log) -> Result<(Batch, [Block; 6]), crate::log::Setup> {
    let up = Block::with(log, Kind::Pinned, &pattern(N, 1))?;
    let across = Block::with(log, Kind::Device, &pattern(N, 2))?;
    let down = Block::with(log, Kind::Device, &pattern(N, 3))?;
    let there = Block::new(log, Kind::Device, N)?;
    let beside = Block::new(log, Kind::Device, N)?;
    let back = Block::new(log, Kind::Pinned, N)?;
    let mut attributes = cudaMemcpyAttributes::default();
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
    let batch = Batch {
        to: vec![there.ptr(), beside.ptr(), back.ptr()],
        from: vec![up.ptr().cast_const(), across.ptr(), down.ptr()],
        sizes: vec![N; 3],
        attributes: vec![attributes; 4],
        firsts: vec![0, 1, 2, 3],
        count: 3,
        kinds: 1,
        no_to: false,
        no_from: false,
        no_sizes: false,
        no_attributes: false,
        no_firsts: false,
    };
    Ok((batch, [up, across, down, there, beside, back]))
}

fn one(log: &mut Log, on: cudaStream_t, change: fn(&mut Batch)) -> Outcome {
    let (mut batch, [.., there, beside, back]) = ready(log)?;
    change(&mut batch);
    batch.call(log, on);
    ask!(log, cudaDeviceSynchronize());
    for (name, block, seed) in [("up", there, 1), ("across", beside, 2), ("down", back, 3)] {
        let got = block.load(log)?;
        log.fact(name, if got == pattern(N, seed) { "copied" } else { "not copied" });
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    let api = "cudaMemcpyBatchAsync";
    let changes: [(&str, Change<Batch>); 21] = [
        ("up, across and down", |_| {}),
        ("one kind for each", |b| b.kinds = 3),
        ("no copies", |b| b.count = 0),
        ("destinations null", |b| b.no_to = true),
        ("sources null", |b| b.no_from = true),
        ("sizes null", |b| b.no_sizes = true),
        ("attributes null", |b| b.no_attributes = true),
        ("first ones null", |b| b.no_firsts = true),
        ("one destination null", |b| b.to[1] = ptr::null_mut()),
        ("one source null", |b| b.from[2] = ptr::null()),
        ("the first of no bytes", |b| b.sizes[0] = 0),
        ("the middle one of no bytes", |b| b.sizes[1] = 0),
        ("the last of no bytes", |b| b.sizes[2] = 0),
        ("one past the end of its destination", |b| b.to[1] = b.to[1].wrapping_byte_add(1)),
        ("no kinds", |b| b.kinds = 0),
        ("no kinds, and null", |b| (b.kinds, b.no_attributes, b.no_firsts) = (0, true, true)),
        ("more kinds than copies", |b| b.kinds = 4),
        ("the first kind not from the first copy on", |b| b.firsts[0] = 1),
        ("kinds out of order", |b| (b.kinds, b.firsts[1], b.firsts[2]) = (3, 2, 1)),
        ("a kind from behind the last copy on", |b| (b.kinds, b.firsts[1]) = (2, 3)),
        ("no order of access", |b| {
            b.attributes[0].srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
        }),
    ];
    for (what, change) in changes {
        // The crate accepts copies without bytes, and leaves them out of the call.
        cases.add(format!("{api}/{what}"), move |log| {
            let on = stream(log)?;
            one(log, on, change)
        });
    }
    for (what, on) in [
        ("the legacy stream", ptr::null_mut()),
        ("the legacy stream by name", cudaStreamLegacy),
        ("the stream of the thread", cudaStreamPerThread),
    ] {
        cases.add(format!("{api}/on {what}"), move |log| one(log, on, |_| {}));
    }
    for order in
        [cudaMemcpySrcAccessOrderStream, cudaMemcpySrcAccessOrderDuringApiCall, cudaMemcpySrcAccessOrderAny]
    {
        cases.add(format!("{api}/out of pageable memory, order {}", order.0), move |log| {
            let on = stream(log)?;
            let (mut batch, [.., there, _, _]) = ready(log)?;
            let source = pattern(N, 9);
            batch.from[0] = source.as_ptr().cast();
            batch.attributes[0].srcAccessOrder = order;
            batch.call(log, on);
            ask!(log, cudaStreamSynchronize(on));
            there.compare(log, "all bytes", &source)
        });
    }
    cases.alone(format!("{api}/on a stream that is captured"), |log| {
        let on = stream(log)?;
        let (mut batch, _) = ready(log)?;
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
        batch.call(log, on);
        capture::end(log, "cudaStreamEndCapture", on);
        Ok(())
    });
}
