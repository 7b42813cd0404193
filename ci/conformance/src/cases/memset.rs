//! `cudaMemset`, `2D` and `3D`, and their asynchronous forms.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

const N: usize = 4096;

fn set(log: &mut Log, blocking: bool, to: *mut c_void, value: i32, bytes: usize) {
    if blocking {
        ask!(log, cudaMemset(to, value, bytes));
    } else {
        ask!(log, cudaMemsetAsync(to, value, bytes, ptr::null_mut()));
    }
}

fn set_2d(log: &mut Log, blocking: bool, to: *mut c_void, pitch: usize, width: usize, height: usize) {
    if blocking {
        ask!(log, cudaMemset2D(to, pitch, 0x42, width, height));
    } else {
        ask!(log, cudaMemset2DAsync(to, pitch, 0x42, width, height, ptr::null_mut()));
    }
}

fn set_3d(log: &mut Log, blocking: bool, to: cudaPitchedPtr, extent: cudaExtent) {
    if blocking {
        ask!(log, cudaMemset3D(to, 0x42, extent));
    } else {
        ask!(log, cudaMemset3DAsync(to, 0x42, extent, ptr::null_mut()));
    }
}

fn linear(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemset" } else { "cudaMemsetAsync" };
    for kind in [Kind::Device, Kind::Pinned, Kind::Registered, Kind::Managed, Kind::Pool] {
        for value in [0, 0x42, 0x1ff, -1] {
            cases.add(format!("{api}/{}, value {value}", kind.name()), move |log| {
                let mut want = pattern(N, 2);
                let block = Block::with(log, kind, &want)?;
                set(log, blocking, block.at(100), value, 1024);
                ask!(log, cudaDeviceSynchronize());
                want[100..1124].fill(value.to_le_bytes()[0]);
                block.compare(log, "all bytes", &want)
            });
        }
    }
    for (what, bytes, offset) in [
        ("one byte more than the memory has", N + 1, 0),
        ("twice as much as the memory has", 2 * N, 0),
        ("from one past the end", 1, N),
        ("from behind the end", 1, N + 1),
        ("over the end", N, 1),
    ] {
        cases.add(format!("{api}/{what}"), move |log| {
            let block = Block::new(log, Kind::Device, N)?;
            set(log, blocking, block.at(offset), 1, bytes);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/no bytes"), move |log| {
        let old = pattern(N, 2);
        let block = Block::with(log, Kind::Device, &old)?;
        set(log, blocking, block.ptr(), 1, 0);
        block.compare(log, "all bytes", &old)
    });
    cases.add(format!("{api}/null"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        set(log, blocking, ptr::null_mut(), 1, N);
        Ok(())
    });
    cases.add(format!("{api}/null, no bytes"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        set(log, blocking, ptr::null_mut(), 1, 0);
        Ok(())
    });
    cases.add(format!("{api}/an address that is nobody's"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        set(log, blocking, ptr::without_provenance_mut(0x7000_0000_0000), 1, N);
        Ok(())
    });
    cases.add(format!("{api}/pageable memory"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let block = Block::new(log, Kind::Pageable, N)?;
        set(log, blocking, block.ptr(), 1, N);
        Ok(())
    });
    for kind in [Kind::Device, Kind::Pinned] {
        cases.alone(format!("{api}/{}, waits for the held legacy stream", kind.name()), move |log| {
            let block = Block::new(log, kind, N)?;
            let gate = Gate::hold(log, ptr::null_mut())?;
            gate.waits(log, |log| set(log, blocking, block.ptr(), 7, N));
            ask!(log, cudaDeviceSynchronize());
            let got = block.load(log)?;
            log.bytes("all bytes", &got, &[7; N]);
            Ok(())
        });
    }
}

/// Whether a blocking fill of memory that the host reaches is complete when it returns.
fn complete(cases: &mut Cases) {
    for kind in [Kind::Pinned, Kind::Managed] {
        let id = format!("cudaMemset/64 MiB, {}, the legacy stream afterwards", kind.name());
        let case = cases.add(id, move |log| {
            let block = Block::new(log, kind, 64 << 20)?;
            set(log, true, block.ptr(), 7, 64 << 20);
            need!(log, cudaDeviceSynchronize());
            set(log, true, block.ptr(), 8, 64 << 20);
            ask!(log, cudaStreamQuery(ptr::null_mut()));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
        case.alone();
    }
}

/// A change of a plane's pitch, width and height.
type ChangePlane = fn(usize, usize, usize) -> (usize, usize, usize);

fn plane(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemset2D" } else { "cudaMemset2DAsync" };
    let changes: [(&str, ChangePlane); 10] = [
        ("all of it", |p, w, h| (p, w, h)),
        ("no width", |p, _, h| (p, 0, h)),
        ("no height", |p, w, _| (p, w, 0)),
        ("neither", |p, _, _| (p, 0, 0)),
        ("pitch 1", |_, w, h| (1, w, h)),
        ("pitch 0", |_, w, h| (0, w, h)),
        ("width over the pitch", |p, _, h| (p, p + 1, h)),
        ("one row too many", |p, w, h| (p, w, h + 1)),
        ("nine times the rows", |p, w, h| (p, w, 9 * h)),
        ("width without end", |p, _, h| (p, usize::MAX, h)),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/{what}"), move |log| {
            let (mut start, mut pitch) = (ptr::null_mut(), 0);
            need!(log, cudaMallocPitch(&raw mut start, &raw mut pitch, 100, 20));
            let (p, w, h) = change(pitch, 100, 20);
            set_2d(log, blocking, start, p, w, h);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/a rectangle within"), move |log| {
        let mut want = pattern(64 * 16, 2);
        let block = Block::with(log, Kind::Device, &want)?;
        set_2d(log, blocking, block.at(3 * 64 + 5), 64, 17, 6);
        ask!(log, cudaDeviceSynchronize());
        for row in 3..9 {
            want[row * 64 + 5..row * 64 + 22].fill(0x42);
        }
        block.compare(log, "all bytes", &want)
    });
    cases.add(format!("{api}/null"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        set_2d(log, blocking, ptr::null_mut(), 512, 100, 20);
        Ok(())
    });
    cases.add(format!("{api}/pageable memory"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let block = Block::new(log, Kind::Pageable, N)?;
        set_2d(log, blocking, block.ptr(), 64, 32, 8);
        Ok(())
    });
    cases.add(format!("{api}/from behind the end"), move |log| {
        let (mut start, mut pitch) = (ptr::null_mut(), 0);
        need!(log, cudaMallocPitch(&raw mut start, &raw mut pitch, 100, 20));
        set_2d(log, blocking, start.wrapping_byte_add(pitch * 20 + 1), pitch, 100, 20);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
}

/// A change of a volume's pitch and extent.
type ChangeVolume = fn(&mut cudaPitchedPtr, &mut cudaExtent);

fn volume(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemset3D" } else { "cudaMemset3DAsync" };
    let changes: [(&str, ChangeVolume); 13] = [
        ("all of it", |_, _| {}),
        ("whole rows with their padding", |at, extent| extent.width = at.pitch),
        ("no width", |_, extent| extent.width = 0),
        ("no height", |_, extent| extent.height = 0),
        ("no depth", |_, extent| extent.depth = 0),
        ("pitch 1", |at, _| at.pitch = 1),
        ("width over the pitch", |at, extent| extent.width = at.pitch + 1),
        ("one row too many", |_, extent| extent.height += 1),
        ("one layer too many", |_, extent| extent.depth += 1),
        ("width without end", |_, extent| extent.width = usize::MAX),
        ("height without end", |_, extent| extent.height = usize::MAX),
        ("null", |at, _| at.ptr = ptr::null_mut()),
        ("from behind the end", |at, _| at.ptr = at.ptr.wrapping_byte_add(at.pitch * at.ysize * 5 + 1)),
    ];
    for (what, change) in changes {
        cases.add(format!("{api}/{what}"), move |log| {
            let mut extent = make_cudaExtent(100, 20, 5);
            let mut at = cudaPitchedPtr::default();
            need!(log, cudaMalloc3D(&raw mut at, extent));
            change(&mut at, &mut extent);
            set_3d(log, blocking, at, extent);
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
    cases.add(format!("{api}/a box within"), move |log| {
        let mut want = pattern(64 * 8 * 4, 2);
        let block = Block::with(log, Kind::Device, &want)?;
        let at = make_cudaPitchedPtr(block.at(64 * 8 + 2 * 64 + 3), 64, 64, 8);
        set_3d(log, blocking, at, make_cudaExtent(10, 5, 2));
        ask!(log, cudaDeviceSynchronize());
        for layer in 1..3 {
            for row in 2..7 {
                let start = layer * 512 + row * 64 + 3;
                want[start..start + 10].fill(0x42);
            }
        }
        block.compare(log, "all bytes", &want)
    });
    cases.add(format!("{api}/pageable memory"), move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let block = Block::new(log, Kind::Pageable, N)?;
        set_3d(log, blocking, make_cudaPitchedPtr(block.ptr(), 64, 64, 8), make_cudaExtent(32, 8, 2));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    for blocking in [true, false] {
        linear(cases, blocking);
        plane(cases, blocking);
        volume(cases, blocking);
    }
    complete(cases);
    cases.add("cudaMemsetAsync/on a stream of its own", |log| {
        let block = Block::new(log, Kind::Device, N)?;
        let on = stream(log)?;
        ask!(log, cudaMemsetAsync(block.ptr(), 9, N, on));
        ask!(log, cudaStreamSynchronize(on));
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &[9; N]);
        Ok(())
    });
}
