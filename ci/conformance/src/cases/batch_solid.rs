//! `cudaMemcpy3DBatchAsync`, in the form that CUDA 13 gave it.

use std::ptr;

use cuda_sys::*;

use super::capture;
use crate::case::{Cases, Change};
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const WIDTH: usize = 64;
const HEIGHT: usize = 5;
const DEPTH: usize = 3;
/// Bytes of a block: padded rows and layers have room.
const N: usize = 80 * 7 * DEPTH;

pub(super) fn memory(block: Block, row: usize, layer: usize) -> cudaMemcpy3DOperand {
    let mut operand = cudaMemcpy3DOperand::default();
    operand.type_ = cudaMemcpyOperandTypePointer;
    let mut at = cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_1::default();
    (at.ptr, at.rowLength, at.layerHeight) = (block.ptr(), row, layer);
    operand.op.ptr = at;
    operand
}

fn array_at(array: cudaArray_t, x: usize) -> cudaMemcpy3DOperand {
    let mut operand = cudaMemcpy3DOperand::default();
    operand.type_ = cudaMemcpyOperandTypeArray;
    let mut at = cudaMemcpy3DOperand__bindgen_ty_1__bindgen_ty_2::default();
    at.array = array;
    at.offset.x = x;
    operand.op.array = at;
    operand
}

fn copy(dst: cudaMemcpy3DOperand, src: cudaMemcpy3DOperand) -> cudaMemcpy3DBatchOp {
    let extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    cudaMemcpy3DBatchOp { src, dst, extent, srcAccessOrder: cudaMemcpySrcAccessOrderStream, flags: 0 }
}

/// The contents of a destination after a copy between the two forms.
fn moved(source: &[u8], to: (usize, usize), from: (usize, usize)) -> Vec<u8> {
    let mut all = vec![0; N];
    for layer in 0..DEPTH {
        for row in 0..HEIGHT {
            let (d, s) = ((layer * to.1 + row) * to.0, (layer * from.1 + row) * from.0);
            all[d..d + WIDTH].copy_from_slice(&source[s..s + WIDTH]);
        }
    }
    all
}

fn array(log: &mut Log) -> Result<cudaArray_t, Setup> {
    let mut array = ptr::null_mut();
    let kind = cudaChannelFormatKindUnsigned;
    let bytes = cudaChannelFormatDesc { x: 8, y: 0, z: 0, w: 0, f: kind };
    let extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
    need!(log, cudaMalloc3DArray(&raw mut array, &raw const bytes, extent, 0));
    Ok(array)
}

pub(super) fn add(cases: &mut Cases) {
    let api = "cudaMemcpy3DBatchAsync";
    for (what, to, from) in [
        ("tight", (WIDTH, HEIGHT), (WIDTH, HEIGHT)),
        ("padded", (80, 7), (80, 7)),
        ("padded to tight", (WIDTH, HEIGHT), (80, 7)),
        ("rows of 66 bytes", (66, HEIGHT), (66, HEIGHT)),
    ] {
        for (there, here) in
            [(Kind::Device, Kind::Pinned), (Kind::Device, Kind::Device), (Kind::Pinned, Kind::Device)]
        {
            let name = format!("{api}/{what}, {} to {}", here.name(), there.name());
            cases.add(name, move |log| {
                let on = stream(log)?;
                let source = pattern(N, 4);
                let (s, d) = (Block::with(log, here, &source)?, Block::new(log, there, N)?);
                let mut ops = [copy(memory(d, to.0, to.1), memory(s, from.0, from.1))];
                ask!(log, cudaMemcpy3DBatchAsync(1, ops.as_mut_ptr(), 0, on));
                ask!(log, cudaStreamSynchronize(on));
                d.compare(log, "all bytes", &moved(&source, to, from))
            });
        }
    }
    cases.add(format!("{api}/into an array, to another, and back"), |log| {
        let on = stream(log)?;
        let source = pattern(N, 5);
        let (s, d) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Device, N)?);
        let (a, b) = (array(log)?, array(log)?);
        for (dst, src) in [
            (array_at(a, 0), memory(s, 0, 0)),
            (array_at(b, 0), array_at(a, 0)),
            (memory(d, 0, 0), array_at(b, 0)),
        ] {
            ask!(log, cudaMemcpy3DBatchAsync(1, [copy(dst, src)].as_mut_ptr(), 0, on));
        }
        ask!(log, cudaStreamSynchronize(on));
        d.compare(log, "all bytes", &moved(&source, (WIDTH, HEIGHT), (WIDTH, HEIGHT)))
    });
    cases.add(format!("{api}/device memory into an array, and back to the host"), |log| {
        let on = stream(log)?;
        let source = pattern(N, 5);
        let (s, d) = (Block::with(log, Kind::Device, &source)?, Block::new(log, Kind::Pinned, N)?);
        let a = array(log)?;
        for (dst, src) in [(array_at(a, 0), memory(s, 0, 0)), (memory(d, 0, 0), array_at(a, 0))] {
            ask!(log, cudaMemcpy3DBatchAsync(1, [copy(dst, src)].as_mut_ptr(), 0, on));
        }
        ask!(log, cudaStreamSynchronize(on));
        d.compare(log, "all bytes", &moved(&source, (WIDTH, HEIGHT), (WIDTH, HEIGHT)))
    });
    cases.add(format!("{api}/three padded volumes at once"), |log| {
        let (on, form) = (stream(log)?, (80, 7));
        let (mut ops, mut blocks) = (Vec::new(), Vec::new());
        for seed in 0..3 {
            let source = pattern(N, seed);
            let (s, d) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Device, N)?);
            ops.push(copy(memory(d, form.0, form.1), memory(s, form.0, form.1)));
            blocks.push((d, source));
        }
        ask!(log, cudaMemcpy3DBatchAsync(3, ops.as_mut_ptr(), 0, on));
        ask!(log, cudaStreamSynchronize(on));
        for (block, source) in blocks {
            block.compare(log, "all bytes", &moved(&source, form, form))?;
        }
        Ok(())
    });
    let changes: [(&str, Change<cudaMemcpy3DBatchOp>); 8] = [
        ("no width", |op| op.extent.width = 0),
        ("no depth", |op| op.extent.depth = 0),
        ("rows under the width", |op| {
            op.dst.op.ptr.rowLength = WIDTH - 1;
        }),
        ("layers under the height", |op| {
            op.dst.op.ptr.layerHeight = HEIGHT - 1;
        }),
        ("to null", |op| op.dst.op.ptr.ptr = ptr::null_mut()),
        ("no such operand", |op| op.src.type_.0 = 77),
        ("no order of access", |op| {
            op.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
        }),
        ("unknown flags", |op| op.flags = 0x80),
    ];
    for (what, spoil) in changes {
        cases.add(format!("{api}/the second of two: {what}"), move |log| {
            let on = stream(log)?;
            let source = pattern(N, 6);
            let (s, d) = (Block::with(log, Kind::Device, &source)?, Block::new(log, Kind::Device, N)?);
            let e = Block::new(log, Kind::Device, N)?;
            let mut ops = [copy(memory(d, 0, 0), memory(s, 0, 0)), copy(memory(e, 0, 0), memory(s, 0, 0))];
            spoil(&mut ops[1]);
            ask!(log, cudaMemcpy3DBatchAsync(2, ops.as_mut_ptr(), 0, on));
            ask!(log, cudaStreamSynchronize(on));
            for (name, block) in [("first", d), ("second", e)] {
                let got = block.load(log)?;
                let there = got == moved(&source, (WIDTH, HEIGHT), (WIDTH, HEIGHT));
                log.fact(name, if there { "copied" } else { "not copied" });
            }
            Ok(())
        });
    }
    cases.add(format!("{api}/no copies, lists null, flags"), |log| {
        let on = stream(log)?;
        let (s, d) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
        let mut ops = [copy(memory(d, 0, 0), memory(s, 0, 0))];
        ask!(log, "none", cudaMemcpy3DBatchAsync(0, ops.as_mut_ptr(), 0, on));
        ask!(log, "null", cudaMemcpy3DBatchAsync(1, ptr::null_mut(), 0, on));
        ask!(log, "flags", cudaMemcpy3DBatchAsync(1, ops.as_mut_ptr(), 1, on));
        Ok(())
    });
    let legacy: cudaStream_t = ptr::null_mut();
    for (what, on) in [("the legacy stream", legacy), ("the stream of the thread", cudaStreamPerThread)] {
        cases.add(format!("{api}/on {what}"), move |log| {
            let (s, d) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
            let mut ops = [copy(memory(d, 0, 0), memory(s, 0, 0))];
            ask!(log, cudaMemcpy3DBatchAsync(1, ops.as_mut_ptr(), 0, on));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.alone(format!("{api}/on a stream that is captured"), |log| {
        let on = stream(log)?;
        let (s, d) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
        let mut ops = [copy(memory(d, 0, 0), memory(s, 0, 0))];
        need!(log, cudaStreamBeginCapture(on, cudaStreamCaptureModeRelaxed));
        ask!(log, cudaMemcpy3DBatchAsync(1, ops.as_mut_ptr(), 0, on));
        capture::end(log, "cudaStreamEndCapture", on);
        Ok(())
    });
}
