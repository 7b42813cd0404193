//! Pitches over the limit, corners outside of the copied memory, and invalid directions, for both sides.

use std::ptr;

use cuda_sys::*;

use super::linear::WAYS;
use super::volume::{DEPTH, HEIGHT, N, PITCH, WIDTH, array, copy, into_array, out_of_array, whole};
use crate::case::{Cases, Change};
use crate::log::{Log, Outcome, ask};
use crate::memory::{Block, Kind, pattern};

/// One more than the largest pitch of every device.
const OVER: usize = 1 << 31;

/// The rows of a side whose pitch is over the limit, and the name of the case. Host pitches have no limit: a
/// second row is read or written at that distance, which ends the process.
fn rows(side: Kind, all: usize) -> (&'static str, usize) {
    if side == Kind::Device { ("", all) } else { (", one row", 1) }
}

fn planes(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy2D" } else { "cudaMemcpy2DAsync" };
    // Between host memory and host memory no pitch is too large.
    for (way, which, to, from) in WAYS.into_iter().skip(1) {
        for (side, to_pitch, from_pitch) in [("destination", OVER, PITCH), ("source", PITCH, OVER)] {
            let (rows, height) = rows(if side == "source" { from } else { to }, HEIGHT);
            let id = format!("{api}/{which}, {side} pitch over the largest{rows}");
            cases.alone(id, move |log| {
                let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
                let (d, s, on) = (d.ptr(), s.ptr(), ptr::null_mut());
                if blocking {
                    ask!(log, cudaMemcpy2D(d, to_pitch, s, from_pitch, WIDTH, height, way));
                } else {
                    ask!(log, cudaMemcpy2DAsync(d, to_pitch, s, from_pitch, WIDTH, height, way, on));
                }
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
    }
}

/// The defect of a volume of pitched memory, and whether that side must be a device's for the defect to be
/// harmless.
pub(super) const CHANGES: [(&str, Change<cudaMemcpy3DParms>, [bool; 2]); 8] = [
    ("destination pitch over the largest", |p| p.dstPtr.pitch = OVER, [false, false]),
    ("source pitch over the largest", |p| p.srcPtr.pitch = OVER, [false, false]),
    ("source corner behind the memory", |p| p.srcPos.z = DEPTH, [false, true]),
    ("destination corner behind the memory", |p| p.dstPos.z = DEPTH, [true, false]),
    ("destination pitch under the width", |p| p.dstPtr.pitch = WIDTH - 1, [false, false]),
    ("source pitch under the width", |p| p.srcPtr.pitch = WIDTH - 1, [false, false]),
    ("destination corner and width over the pitch", |p| p.dstPos.x = PITCH - WIDTH + 1, [false, false]),
    ("source corner and width over the pitch", |p| p.srcPos.x = PITCH - WIDTH + 1, [false, false]),
];

fn volumes(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy3D" } else { "cudaMemcpy3DAsync" };
    // Between host memory and host memory no pitch is too large.
    for (way, which, to, from) in WAYS.into_iter().skip(1) {
        // The other volumes have these cases.
        for (what, change, needs) in &CHANGES[..4] {
            if (needs[0] && to != Kind::Device) || (needs[1] && from != Kind::Device) {
                continue;
            }
            let side = if what.starts_with("source") { from } else { to };
            let (rows, height) = if what.contains("pitch") { rows(side, HEIGHT) } else { ("", HEIGHT) };
            let depth = if height == 1 { 1 } else { DEPTH };
            cases.alone(format!("{api}/{which}, {what}{rows}"), move |log| {
                let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
                let mut parameters = whole(d, s, way);
                change(&mut parameters);
                (parameters.extent.height, parameters.extent.depth) = (height, depth);
                copy(log, blocking, &parameters);
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
    }
    let changes: [(&str, Change<cudaMemcpy3DParms>); 3] = [
        ("to the right of the array", |p| p.srcPos.x = WIDTH + 1),
        ("below the array", |p| p.srcPos.y = HEIGHT + 1),
        ("behind the array", |p| p.srcPos.z = DEPTH + 1),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/array to device, corner {what}"), move |log| {
            let array = array(log, WIDTH, HEIGHT, DEPTH)?;
            let d = Block::new(log, Kind::Device, 2 * N)?;
            let rows = make_cudaPitchedPtr(d.ptr(), PITCH, WIDTH, HEIGHT);
            let extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
            let mut parameters = out_of_array(rows, array, extent, cudaMemcpyDeviceToDevice);
            change(&mut parameters);
            copy(log, blocking, &parameters);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/host to an array of one dimension, and back"), move |log| row(log, blocking));
}

/// One row through an array of one dimension.
fn row(log: &mut Log, blocking: bool) -> Outcome {
    let array = super::plane::array(log, 1024, 0)?;
    let source = pattern(1024, 1);
    let (s, d) = (Block::with(log, Kind::Pinned, &source)?, Block::new(log, Kind::Pinned, 1024)?);
    let rows = |block: Block| make_cudaPitchedPtr(block.ptr(), 1024, 1024, 1);
    let extent = make_cudaExtent(1024, 1, 1);
    copy(log, blocking, &into_array(array, rows(s), extent, cudaMemcpyHostToDevice));
    copy(log, blocking, &out_of_array(rows(d), array, extent, cudaMemcpyDeviceToHost));
    ask!(log, cudaDeviceSynchronize());
    d.compare(log, "all bytes", &source)
}

/// One number that is no direction, with every pair of sides.
fn directions(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy" } else { "cudaMemcpyAsync" };
    for to in [Kind::Pageable, Kind::Device] {
        for from in [Kind::Pageable, Kind::Device] {
            let id = format!("{api}/no direction, {} from {}", to.name(), from.name());
            cases.add(id, move |log| {
                let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
                let none = cudaMemcpyKind(u32::MAX);
                if blocking {
                    ask!(log, cudaMemcpy(d.ptr(), s.ptr(), N, none));
                } else {
                    ask!(log, cudaMemcpyAsync(d.ptr(), s.ptr(), N, none, ptr::null_mut()));
                }
                Ok(())
            });
        }
    }
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        planes(cases, blocking);
        volumes(cases, blocking);
        directions(cases, blocking);
    }
    older(cases);
    wrapping(cases);
}

/// Pitches near the largest number there is: rows that go backwards, and ends that wrap around.
fn wrapping(cases: &mut Cases) {
    for (way, which, to, from) in WAYS.into_iter().skip(1).take(3) {
        cases.alone(format!("cudaMemcpy2D/{which}, pitches below zero"), move |log| {
            let (d, s) = (Block::new(log, to, 4 * N)?, Block::new(log, from, 4 * N)?);
            for (name, to_pitch, from_pitch, height) in [
                ("one row, source", PITCH, usize::MAX, 1),
                ("one row, destination", usize::MAX, PITCH, 1),
                ("source", PITCH, usize::MAX - 31, 2),
                ("destination", usize::MAX - 31, PITCH, 2),
                ("both", usize::MAX - 31, usize::MAX - 31, 2),
            ] {
                // Each side begins so far within its block that the row before it is there, too.
                let (d, s) = (d.at(N), s.at(N));
                ask!(log, name, cudaMemcpy2D(d, to_pitch, s, from_pitch, 16, height, way));
                ask!(log, cudaDeviceSynchronize());
            }
            Ok(())
        });
    }
}

/// The copies of arrays by bytes, which are deprecated, and device memory of one dimension.
fn older(cases: &mut Cases) {
    cases.add("cudaMemcpyToArray/device memory, there and back", |log| {
        let array = super::plane::array(log, WIDTH, HEIGHT)?;
        let source = pattern(WIDTH * HEIGHT, 1);
        let s = Block::with(log, Kind::Device, &source)?;
        let d = Block::new(log, Kind::Device, source.len())?;
        let way = cudaMemcpyDeviceToDevice;
        ask!(log, cudaMemcpyToArray(array, 0, 0, s.ptr(), source.len(), way));
        ask!(log, cudaMemcpyFromArray(d.ptr(), array, 0, 0, source.len(), way));
        ask!(log, cudaDeviceSynchronize());
        d.compare(log, "all bytes", &source)
    });
    for blocking in [true, false] {
        let api = if blocking { "cudaMemcpy2DToArray" } else { "cudaMemcpy2DToArrayAsync" };
        cases.add(format!("{api}/device memory and an array of one dimension"), move |log| {
            let array = super::plane::array(log, WIDTH, 0)?;
            let source = pattern(WIDTH, 1);
            let (s, d) = (Block::with(log, Kind::Device, &source)?, Block::new(log, Kind::Device, WIDTH)?);
            let (way, on) = (cudaMemcpyDeviceToDevice, ptr::null_mut());
            if blocking {
                ask!(log, cudaMemcpy2DToArray(array, 0, 0, s.ptr(), WIDTH, WIDTH, 1, way));
                ask!(log, cudaMemcpy2DFromArray(d.ptr(), WIDTH, array, 0, 0, WIDTH, 1, way));
            } else {
                ask!(log, cudaMemcpy2DToArrayAsync(array, 0, 0, s.ptr(), WIDTH, WIDTH, 1, way, on));
                ask!(log, cudaMemcpy2DFromArrayAsync(d.ptr(), WIDTH, array, 0, 0, WIDTH, 1, way, on));
            }
            ask!(log, cudaDeviceSynchronize());
            d.compare(log, "all bytes", &source)
        });
    }
}
