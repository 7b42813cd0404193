//! `cudaMemcpy3D` and `cudaMemcpy3DPeer`, between pitched memory and arrays.

use std::ptr;

use cuda_sys::*;

use super::linear::{WAYS, promised};
use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern};

pub(super) const PITCH: usize = 64;
pub(super) const WIDTH: usize = 50;
pub(super) const HEIGHT: usize = 10;
pub(super) const DEPTH: usize = 4;
/// Bytes of a volume.
pub(super) const N: usize = PITCH * HEIGHT * DEPTH;

pub(super) fn copy(log: &mut Log, blocking: bool, parameters: &cudaMemcpy3DParms) {
    if blocking {
        ask!(log, cudaMemcpy3D(parameters));
    } else {
        ask!(log, cudaMemcpy3DAsync(parameters, ptr::null_mut()));
    }
}

/// All of two volumes.
pub(super) fn whole(to: Block, from: Block, way: cudaMemcpyKind) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms {
        dstPtr: make_cudaPitchedPtr(to.ptr(), PITCH, WIDTH, HEIGHT),
        srcPtr: make_cudaPitchedPtr(from.ptr(), PITCH, WIDTH, HEIGHT),
        extent: make_cudaExtent(WIDTH, HEIGHT, DEPTH),
        kind: way,
        ..Default::default()
    }
}

/// Rows into all of an array.
pub(super) fn into_array(
    array: cudaArray_t,
    rows: cudaPitchedPtr,
    extent: cudaExtent,
    way: cudaMemcpyKind,
) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms { srcPtr: rows, dstArray: array, extent, kind: way, ..Default::default() }
}

/// All of an array as rows.
pub(super) fn out_of_array(
    rows: cudaPitchedPtr,
    array: cudaArray_t,
    extent: cudaExtent,
    way: cudaMemcpyKind,
) -> cudaMemcpy3DParms {
    cudaMemcpy3DParms { srcArray: array, dstPtr: rows, extent, kind: way, ..Default::default() }
}

/// An array of bytes in three dimensions.
pub(super) fn array(log: &mut Log, width: usize, height: usize, depth: usize) -> Result<cudaArray_t, Setup> {
    // SAFETY: takes numbers.
    let format = unsafe { cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned) };
    let mut array = ptr::null_mut();
    need!(
        log,
        cudaMalloc3DArray(&raw mut array, &raw const format, make_cudaExtent(width, height, depth), 0)
    );
    Ok(array)
}

fn pitched(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy3D" } else { "cudaMemcpy3DAsync" };
    for (way, which, to, from) in WAYS {
        for (what, extent) in [
            ("all of it", (WIDTH, HEIGHT, DEPTH)),
            ("no width", (0, HEIGHT, DEPTH)),
            ("no height", (WIDTH, 0, DEPTH)),
            ("no depth", (WIDTH, HEIGHT, 0)),
            ("one byte", (1, 1, 1)),
        ] {
            cases.add(format!("{api}/{which}, {what}"), move |log| {
                let (source, old) = (pattern(N, 1), pattern(N, 2));
                let (d, s) = (Block::with(log, to, &old)?, Block::with(log, from, &source)?);
                let mut parameters = whole(d, s, way);
                parameters.extent = make_cudaExtent(extent.0, extent.1, extent.2);
                copy(log, blocking, &parameters);
                ask!(log, cudaDeviceSynchronize());
                let mut want = old;
                for layer in 0..extent.2 {
                    for row in 0..extent.1 {
                        let start = (layer * HEIGHT + row) * PITCH;
                        want[start..start + extent.0].copy_from_slice(&source[start..start + extent.0]);
                    }
                }
                d.compare(log, "all bytes", &want)
            });
        }
        let changes: [(&str, Change<cudaMemcpy3DParms>); 8] = [
            ("destination null", |p| p.dstPtr.ptr = ptr::null_mut()),
            ("source null", |p| p.srcPtr.ptr = ptr::null_mut()),
            ("destination pitch under the width", |p| p.dstPtr.pitch = WIDTH - 1),
            ("source pitch under the width", |p| p.srcPtr.pitch = WIDTH - 1),
            ("source corner and width over the pitch", |p| p.srcPos.x = PITCH - WIDTH + 1),
            ("destination corner and width over the pitch", |p| p.dstPos.x = PITCH - WIDTH + 1),
            ("source corner below the last row", |p| p.srcPos.y = HEIGHT + 1),
            ("no direction", |p| p.kind = cudaMemcpyKind(100)),
        ];
        for (what, change) in changes {
            if way == cudaMemcpyHostToHost && (what.ends_with("null") || what.ends_with("end")) {
                continue;
            }
            cases.add(format!("{api}/{which}, {what}"), move |log| {
                let (d, s) = (Block::new(log, to, 2 * N)?, Block::new(log, from, 2 * N)?);
                let mut parameters = whole(d, s, way);
                change(&mut parameters);
                copy(log, blocking, &parameters);
                ask!(log, cudaDeviceSynchronize());
                Ok(())
            });
        }
        if !promised(to, from, blocking) {
            continue;
        }
        cases.alone(format!("{api}/{which}, waits for the held legacy stream"), move |log| {
            let (d, s) = (Block::new(log, to, N)?, Block::new(log, from, N)?);
            let gate = Gate::hold(log, ptr::null_mut())?;
            let parameters = whole(d, s, way);
            gate.waits(log, |log| copy(log, blocking, &parameters));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/nothing said at all"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        copy(log, blocking, &cudaMemcpy3DParms::default());
        Ok(())
    });
    cases.add(format!("{api}/no parameters"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        if blocking {
            ask!(log, cudaMemcpy3D(ptr::null()));
        } else {
            ask!(log, cudaMemcpy3DAsync(ptr::null(), ptr::null_mut()));
        }
        Ok(())
    });
    cases.add(format!("{api}/device to device, boxes within two volumes"), move |log| {
        let (source, old) = (pattern(N, 1), pattern(N, 2));
        let (d, s) = (Block::with(log, Kind::Device, &old)?, Block::with(log, Kind::Device, &source)?);
        let mut parameters = whole(d, s, cudaMemcpyDeviceToDevice);
        parameters.srcPos = make_cudaPos(5, 2, 1);
        parameters.dstPos = make_cudaPos(9, 3, 2);
        parameters.extent = make_cudaExtent(20, 6, 2);
        copy(log, blocking, &parameters);
        ask!(log, cudaDeviceSynchronize());
        let mut want = old;
        for layer in 0..2 {
            for row in 0..6 {
                let from = ((layer + 1) * HEIGHT + row + 2) * PITCH + 5;
                let to = ((layer + 2) * HEIGHT + row + 3) * PITCH + 9;
                want[to..to + 20].copy_from_slice(&source[from..from + 20]);
            }
        }
        d.compare(log, "all bytes", &want)
    });
}

fn arrays(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy3D" } else { "cudaMemcpy3DAsync" };
    for kind in [Kind::Pageable, Kind::Device] {
        let (there, back) = match kind {
            Kind::Device => (cudaMemcpyDeviceToDevice, cudaMemcpyDeviceToDevice),
            _ => (cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost),
        };
        cases.add(format!("{api}/{}, through two arrays and back", kind.name()), move |log| {
            let (source, old) = (pattern(N, 1), vec![0; N]);
            let (s, d) = (Block::with(log, kind, &source)?, Block::with(log, kind, &old)?);
            let (one, two) = (array(log, WIDTH, HEIGHT, DEPTH)?, array(log, WIDTH, HEIGHT, DEPTH)?);
            let extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
            let rows = |block: Block| make_cudaPitchedPtr(block.ptr(), PITCH, WIDTH, HEIGHT);
            let into = into_array(one, rows(s), extent, there);
            let across = cudaMemcpy3DParms {
                srcArray: one,
                dstArray: two,
                extent,
                kind: cudaMemcpyDeviceToDevice,
                ..Default::default()
            };
            let out = out_of_array(rows(d), two, extent, back);
            for step in [into, across, out] {
                copy(log, blocking, &step);
            }
            ask!(log, cudaDeviceSynchronize());
            let mut want = old;
            for line in 0..HEIGHT * DEPTH {
                want[line * PITCH..line * PITCH + WIDTH]
                    .copy_from_slice(&source[line * PITCH..line * PITCH + WIDTH]);
            }
            d.compare(log, "all bytes", &want)
        });
    }
    cases.add(format!("{api}/an array of wide elements counts in elements"), move |log| {
        // SAFETY: takes numbers.
        let format = unsafe { cudaCreateChannelDesc(32, 32, 0, 0, cudaChannelFormatKindUnsigned) };
        let mut array = ptr::null_mut();
        need!(log, cudaMalloc3DArray(&raw mut array, &raw const format, make_cudaExtent(8, 4, 2), 0));
        let source = pattern(8 * 8 * 4 * 2, 1);
        let (s, d) =
            (Block::with(log, Kind::Pageable, &source)?, Block::new(log, Kind::Pageable, source.len())?);
        let rows = |block: Block| make_cudaPitchedPtr(block.ptr(), 64, 8, 4);
        let extent = make_cudaExtent(8, 4, 2);
        copy(log, blocking, &into_array(array, rows(s), extent, cudaMemcpyHostToDevice));
        copy(log, blocking, &out_of_array(rows(d), array, extent, cudaMemcpyDeviceToHost));
        ask!(log, cudaDeviceSynchronize());
        d.compare(log, "all bytes", &source)
    });
    let changes: [(&str, Change<cudaMemcpy3DParms>); 9] = [
        ("destination given twice", |p| p.dstPtr = p.srcPtr),
        ("wider than the array", |p| p.extent.width += 1),
        ("higher than the array", |p| p.extent.height += 1),
        ("deeper than the array", |p| p.extent.depth += 1),
        ("width without end", |p| p.extent.width = i32::MAX as usize),
        ("corner to the right of the array", |p| p.dstPos.x = WIDTH + 1),
        ("corner below the array", |p| p.dstPos.y = HEIGHT + 1),
        ("corner behind the array", |p| p.dstPos.z = DEPTH + 1),
        ("no direction", |p| p.kind = cudaMemcpyKind(100)),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/device to array, {what}"), move |log| {
            let s = Block::new(log, Kind::Device, 2 * N)?;
            let array = array(log, WIDTH, HEIGHT, DEPTH)?;
            let rows = make_cudaPitchedPtr(s.ptr(), PITCH, WIDTH, HEIGHT);
            let extent = make_cudaExtent(WIDTH, HEIGHT, DEPTH);
            let mut parameters = into_array(array, rows, extent, cudaMemcpyDeviceToDevice);
            change(&mut parameters);
            copy(log, blocking, &parameters);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/a large array into a small one"), move |log| {
        let (large, small) = (array(log, WIDTH, HEIGHT, DEPTH)?, array(log, WIDTH / 2, HEIGHT, DEPTH)?);
        copy(
            log,
            blocking,
            &cudaMemcpy3DParms {
                srcArray: large,
                dstArray: small,
                extent: make_cudaExtent(WIDTH, HEIGHT, DEPTH),
                kind: cudaMemcpyDeviceToDevice,
                ..Default::default()
            },
        );
        Ok(())
    });
}

fn peer_copy(log: &mut Log, blocking: bool, parameters: &cudaMemcpy3DPeerParms) {
    if blocking {
        ask!(log, cudaMemcpy3DPeer(parameters));
    } else {
        ask!(log, cudaMemcpy3DPeerAsync(parameters, ptr::null_mut()));
    }
}

fn peers(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy3DPeer" } else { "cudaMemcpy3DPeerAsync" };
    let changes: [(&str, Change<cudaMemcpy3DPeerParms>); 10] = [
        ("on one device", |_| {}),
        ("source device -1", |p| p.srcDevice = -1),
        ("destination device -1", |p| p.dstDevice = -1),
        ("source device 100", |p| p.srcDevice = 100),
        ("destination device 100", |p| p.dstDevice = 100),
        ("no destination", |p| p.dstArray = ptr::null_mut()),
        ("no source", |p| p.srcArray = ptr::null_mut()),
        ("one column too many", |p| p.extent.width += 1),
        ("one row too many", |p| p.extent.height += 1),
        ("one layer too many", |p| p.extent.depth += 1),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/array to array, {what}"), move |log| {
            let (to, from) = (array(log, 16, 16, 4)?, array(log, 16, 16, 4)?);
            let mut parameters = cudaMemcpy3DPeerParms {
                srcArray: from,
                dstArray: to,
                extent: make_cudaExtent(16, 16, 4),
                ..Default::default()
            };
            change(&mut parameters);
            peer_copy(log, blocking, &parameters);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.two_devices(format!("{api}/pitched memory of one device to the other"), move |log| {
        let source = pattern(N, 1);
        let s = Block::with(log, Kind::Device, &source)?;
        need!(log, cudaSetDevice(1));
        let d = Block::new(log, Kind::Device, N)?;
        let rows = |block: Block| make_cudaPitchedPtr(block.ptr(), PITCH, PITCH, HEIGHT);
        let parameters = cudaMemcpy3DPeerParms {
            srcPtr: rows(s),
            srcDevice: 0,
            dstPtr: rows(d),
            dstDevice: 1,
            extent: make_cudaExtent(PITCH, HEIGHT, DEPTH),
            ..Default::default()
        };
        peer_copy(log, blocking, &parameters);
        ask!(log, cudaDeviceSynchronize());
        d.compare(log, "all bytes", &source)
    });
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        pitched(cases, blocking);
        arrays(cases, blocking);
        peers(cases, blocking);
    }
}
