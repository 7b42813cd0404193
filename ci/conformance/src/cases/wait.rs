//! More calls that may wait: host memory that the other files leave out, frees, and batches. And the promise
//! of a blocking copy from pageable memory that its source may change afterwards.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern};

const PITCH: usize = 64;
const HEIGHT: usize = 16;
const N: usize = PITCH * HEIGHT;

/// The forms of a copy of all bytes on the legacy stream.
type RowCopy = fn(&mut Log, Block, Block, cudaMemcpyKind) -> cudaError_t;

fn solid(to: Block, from: Block, kind: cudaMemcpyKind) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms {
        dstPtr: make_cudaPitchedPtr(to.ptr(), PITCH, PITCH, HEIGHT),
        srcPtr: make_cudaPitchedPtr(from.ptr(), PITCH, PITCH, HEIGHT),
        extent: make_cudaExtent(PITCH, HEIGHT, 1),
        kind,
        ..Default::default()
    }
}

const COPIES: [(&str, RowCopy); 6] = [
    ("cudaMemcpy", |log, d, s, way| ask!(log, cudaMemcpy(d.ptr(), s.ptr(), N, way))),
    ("cudaMemcpyAsync", |log, d, s, way| {
        ask!(log, cudaMemcpyAsync(d.ptr(), s.ptr(), N, way, ptr::null_mut()))
    }),
    ("cudaMemcpy2D", |log, d, s, way| {
        ask!(log, cudaMemcpy2D(d.ptr(), PITCH, s.ptr(), PITCH, PITCH, HEIGHT, way))
    }),
    ("cudaMemcpy2DAsync", |log, d, s, way| {
        ask!(log, cudaMemcpy2DAsync(d.ptr(), PITCH, s.ptr(), PITCH, PITCH, HEIGHT, way, ptr::null_mut()))
    }),
    ("cudaMemcpy3D", |log, d, s, way| {
        let parameters = solid(d, s, way);
        ask!(log, cudaMemcpy3D(&raw const parameters))
    }),
    ("cudaMemcpy3DAsync", |log, d, s, way| {
        let parameters = solid(d, s, way);
        ask!(log, cudaMemcpy3DAsync(&raw const parameters, ptr::null_mut()))
    }),
];

fn copies(cases: &mut Cases) {
    for (api, copy) in COPIES {
        for (what, way, to, from) in [
            ("pageable to pinned", cudaMemcpyHostToHost, Kind::Pinned, Kind::Pageable),
            ("pinned to pageable", cudaMemcpyHostToHost, Kind::Pageable, Kind::Pinned),
            ("pinned to pinned", cudaMemcpyHostToHost, Kind::Pinned, Kind::Pinned),
            ("pinned to device", cudaMemcpyHostToDevice, Kind::Device, Kind::Pinned),
            ("device to pinned", cudaMemcpyDeviceToHost, Kind::Pinned, Kind::Device),
        ] {
            let known = !api.contains('D') && !what.contains("pageable");
            if known {
                continue;
            }
            cases.alone(format!("{api}/{what}, waits for the held legacy stream"), move |log| {
                let source = pattern(N, 1);
                let (d, s) = (Block::new(log, to, N)?, Block::with(log, from, &source)?);
                let gate = Gate::hold(log, ptr::null_mut())?;
                gate.waits(log, |log| copy(log, d, s, way));
                ask!(log, cudaDeviceSynchronize());
                d.compare(log, "all bytes", &source)
            });
        }
        if api.ends_with("Async") {
            continue;
        }
        // The driver decides whether it waits. CUDA promises that the source is not needed afterwards.
        cases.alone(format!("{api}/pageable to device, the source changed after the call"), move |log| {
            let source = pattern(N, 1);
            let (d, s) = (Block::new(log, Kind::Device, N)?, Block::with(log, Kind::Pageable, &source)?);
            let gate = Gate::hold(log, ptr::null_mut())?;
            gate.blocks(|| copy(log, d, s, cudaMemcpyHostToDevice));
            s.store(log, &[0; N])?;
            ask!(log, cudaDeviceSynchronize());
            d.compare(log, "all bytes", &source)
        });
    }
}

pub(super) fn add(cases: &mut Cases) {
    copies(cases);
    cases.alone("cudaFree/waits for the held legacy stream", |log| {
        let block = Block::new(log, Kind::Device, N)?;
        let gate = Gate::hold(log, ptr::null_mut())?;
        gate.waits(log, |log| ask!(log, cudaFree(block.ptr())));
        ask!(log, cudaStreamQuery(ptr::null_mut()));
        Ok(())
    });
    #[cfg(cudart_13_0)]
    batch(cases);
}

#[cfg(cudart_13_0)]
fn batch(cases: &mut Cases) {
    cases.alone("cudaMemcpyBatchAsync/after its stream, which waits for another", |log| {
        let (a, b) = (crate::memory::stream(log)?, crate::memory::stream(log)?);
        let mark = crate::memory::event(log)?;
        let (from, to) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
        // The first launch loads the kernel, which may wait for all streams, and for a held one among
        // them.
        super::kernel::fill(log, from.ptr(), 5, N, a)?;
        let gate = Gate::hold(log, a)?;
        super::kernel::fill(log, from.ptr(), 6, N, a)?;
        need!(log, cudaEventRecord(mark, a));
        need!(log, cudaStreamWaitEvent(b, mark, 0));
        let mut attributes = cudaMemcpyAttributes::default();
        attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        let (mut d, mut s, mut size, mut first) = (to.ptr(), from.ptr().cast_const(), N, 0);
        ask!(
            log,
            cudaMemcpyBatchAsync(
                &raw mut d,
                &raw mut s,
                &raw mut size,
                1,
                &raw mut attributes,
                &raw mut first,
                1,
                b
            )
        );
        ask!(log, "held", cudaStreamQuery(b));
        gate.open();
        ask!(log, cudaStreamSynchronize(b));
        let got = to.load(log)?;
        log.bytes("all bytes", &got, &[6; N]);
        Ok(())
    });
}
