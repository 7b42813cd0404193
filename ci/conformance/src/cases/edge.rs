//! Single cases about memory: sizes at the limit, unusual flags, several threads.

use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern};

const N: usize = 4096;

fn pages(log: &mut Log) -> Result<*mut std::ffi::c_void, crate::log::Setup> {
    Ok(Block::new(log, Kind::Pageable, 8 * N)?.ptr())
}

fn host(cases: &mut Cases) {
    for (what, flags) in [
        ("read-only", cudaHostRegisterReadOnly),
        ("portable, mapped and read-only", cudaHostRegisterReadOnly | 3),
    ] {
        cases.add(format!("cudaHostRegister/{what}"), move |log| {
            let page = pages(log)?;
            let code = ask!(log, cudaHostRegister(page, N, flags));
            if code == cudaSuccess {
                ask!(log, cudaHostUnregister(page));
            }
            Ok(())
        });
    }
    cases.add("cudaHostRegister/memory that was freed, no bytes", |log| {
        let gone = Box::into_raw(Box::new([0_u8; 64]));
        // SAFETY: the pointer is of a box that nothing else owns.
        drop(unsafe { Box::from_raw(gone) });
        ask!(log, cudaHostRegister(gone.cast(), 0, 0));
        Ok(())
    });
    cases.add("cudaHostRegister/eight parts in turns", |log| {
        let start = pages(log)?;
        let mut right = 0;
        for _ in 0..3 {
            for part in 0..8 {
                need!(log, cudaHostRegister(start.wrapping_byte_add(part * N), N, 0));
            }
            for part in (0..8).rev() {
                need!(log, cudaHostUnregister(start.wrapping_byte_add(part * N)));
                right += 1;
            }
        }
        log.fact("right", right);
        Ok(())
    });
    cases.add("cudaHostUnregister/behind a part of two bytes, on its page", |log| {
        let page = pages(log)?;
        need!(log, cudaHostRegister(page, 2, 0));
        ask!(log, cudaHostUnregister(page.wrapping_byte_add(4)));
        ask!(log, cudaHostUnregister(page));
        Ok(())
    });
    cases.alone("cudaHostAlloc/by another thread", |log| {
        let start = std::thread::spawn(|| {
            let mut start = ptr::null_mut();
            // SAFETY: the pointer is to a live pointer.
            unsafe { cudaHostAlloc(&raw mut start, N, cudaHostAllocPortable) };
            start.expose_provenance()
        });
        let start = ptr::with_exposed_provenance_mut(start.join().unwrap());
        let mut flags = 77;
        ask!(log, cudaHostGetFlags(&raw mut flags, start));
        log.fact("flags", flags);
        ask!(log, cudaFreeHost(start));
        Ok(())
    });
}

fn device(cases: &mut Cases) {
    // A thread that has not used a device has no context to reset.
    for (what, uses) in
        [("another thread's reset", false), ("the reset of another thread with a device", true)]
    {
        cases.alone(format!("cudaFree/memory from before {what}"), move |log| {
            let block = Block::new(log, Kind::Device, N)?;
            let reset = move || {
                if uses {
                    // SAFETY: takes a number.
                    unsafe { cudaSetDevice(0) };
                }
                // SAFETY: the case uses no more of the device than an address that it tries to free.
                unsafe { cudaDeviceReset() }.0
            };
            let code = std::thread::spawn(reset).join().unwrap();
            log.code("reset", cudaError(code));
            ask!(log, cudaFree(block.ptr()));
            ask!(log, "again", cudaFree(block.ptr()));
            Ok(())
        });
    }
    cases.add("cudaMalloc3D/twenty extents, every byte of them set", |log| {
        let mut right = 0;
        for round in 1..=20 {
            let mut at = cudaPitchedPtr::default();
            let (w, h, d) = (round * 37 % 300 + 1, round * 11 % 40 + 1, round * 7 % 9 + 1);
            need!(log, cudaMalloc3D(&raw mut at, make_cudaExtent(w, h, d)));
            let all = at.pitch * h * d;
            need!(log, cudaMemset(at.ptr, 0x42, all));
            let mut got = vec![0_u8; all];
            need!(log, cudaMemcpy(got.as_mut_ptr().cast(), at.ptr, all, cudaMemcpyDeviceToHost));
            right += usize::from(got.iter().all(|byte| *byte == 0x42));
            need!(log, cudaFree(at.ptr));
        }
        log.fact("right", format_args!("{right} of 20"));
        Ok(())
    });
    // SAFETY: takes numbers.
    let bytes = || unsafe { cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindUnsigned) };
    let over = 1 << 20;
    for (what, (w, h, d)) in [
        ("higher than textures can be", (16, over, 8)),
        ("deeper than textures can be", (16, 16, over)),
        ("larger than textures can be, every way", (over, over, over)),
    ] {
        cases.add(format!("cudaMalloc3DArray/{what}"), move |log| {
            let (mut array, format) = (ptr::null_mut(), bytes());
            ask!(log, cudaMalloc3DArray(&raw mut array, &raw const format, make_cudaExtent(w, h, d), 0));
            log.fact("null", array.is_null());
            Ok(())
        });
    }
    for (what, flags) in
        [("for surfaces", cudaArraySurfaceLoadStore), ("for gathering", cudaArrayTextureGather)]
    {
        cases.add(format!("cudaMallocArray/without end, {what}"), move |log| {
            let (mut array, format) = (ptr::null_mut(), bytes());
            ask!(log, cudaMallocArray(&raw mut array, &raw const format, usize::MAX, usize::MAX, flags));
            log.fact("null", array.is_null());
            Ok(())
        });
    }
    for (what, plane) in
        [("one dimension, as wide as textures can be", false), ("two dimensions, likewise", true)]
    {
        cases.add(format!("cudaMallocArray/{what}"), move |log| {
            let mut size = [0; 2];
            if plane {
                need!(log, cudaDeviceGetAttribute(&raw mut size[0], cudaDevAttrMaxTexture2DWidth, 0));
                need!(log, cudaDeviceGetAttribute(&raw mut size[1], cudaDevAttrMaxTexture2DHeight, 0));
            } else {
                need!(log, cudaDeviceGetAttribute(&raw mut size[0], cudaDevAttrMaxTexture1DWidth, 0));
            }
            log.fact("extent", format_args!("{size:?}"));
            let (mut array, format) = (ptr::null_mut(), bytes());
            ask!(
                log,
                cudaMallocArray(
                    &raw mut array,
                    &raw const format,
                    size[0].cast_unsigned() as usize,
                    size[1].cast_unsigned() as usize,
                    0
                )
            );
            ask!(log, cudaFreeArray(array));
            Ok(())
        });
    }
    for blocking in [true, false] {
        let api = if blocking { "cudaMemcpyPeer" } else { "cudaMemcpyPeerAsync" };
        cases.add(format!("{api}/more bytes than there are"), move |log| {
            let (d, s) = (Block::new(log, Kind::Device, N)?, Block::new(log, Kind::Device, N)?);
            if blocking {
                ask!(log, cudaMemcpyPeer(d.ptr(), 0, s.ptr(), 0, 2 * N));
            } else {
                ask!(log, cudaMemcpyPeerAsync(d.ptr(), 0, s.ptr(), 0, 2 * N, ptr::null_mut()));
            }
            Ok(())
        });
    }
}

/// A copy by five threads at a time, in all four directions.
fn threads(cases: &mut Cases) {
    for blocking in [true, false] {
        let api = if blocking { "cudaMemcpy" } else { "cudaMemcpyAsync" };
        cases.add(format!("{api}/five threads, in all four directions"), move |log| {
            need!(log, cudaFree(ptr::null_mut()));
            let threads: Vec<_> =
                (0..5).map(|seed| std::thread::spawn(move || around(blocking, seed))).collect();
            let right: usize = threads.into_iter().map(|thread| usize::from(thread.join().unwrap())).sum();
            log.fact("right", format_args!("{right} of 5"));
            Ok(())
        });
    }
}

/// Host to host, host to device, device to device and device to host. Returns whether the bytes came back
/// unchanged.
fn around(blocking: bool, seed: usize) -> bool {
    let mut log = Log::default();
    let bytes = pattern(N, 40 + seed);
    let mut block = |kind| Block::new(&mut log, kind, N).unwrap().ptr();
    let (pinned, back) = (block(Kind::Pinned), Block::new(&mut Log::default(), Kind::Pinned, N).unwrap());
    let (up, across) = (block(Kind::Device), block(Kind::Device));
    let source = bytes.as_ptr().cast::<std::ffi::c_void>();
    let steps = [
        (pinned, source, cudaMemcpyHostToHost),
        (up, pinned.cast_const(), cudaMemcpyHostToDevice),
        (across, up.cast_const(), cudaMemcpyDeviceToDevice),
        (back.ptr(), across.cast_const(), cudaMemcpyDeviceToHost),
    ];
    for _ in 0..10 {
        for (to, from, way) in steps {
            if blocking {
                ask!(log, cudaMemcpy(to, from, N, way));
            } else {
                ask!(log, cudaMemcpyAsync(to, from, N, way, ptr::null_mut()));
            }
        }
    }
    ask!(log, cudaDeviceSynchronize());
    back.load(&mut log).unwrap() == bytes
}

fn pools(cases: &mut Cases) {
    let none = ptr::without_provenance_mut(usize::MAX);
    cases.alone("cudaMallocAsync/a stream that is none", move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut start = ptr::null_mut();
        ask!(log, cudaMallocAsync(&raw mut start, N, none));
        Ok(())
    });
    cases.alone("cudaMallocFromPoolAsync/a stream that is none", move |log| {
        let (mut pool, mut start) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        ask!(log, cudaMallocFromPoolAsync(&raw mut start, N, pool, none));
        Ok(())
    });
    let entry = |kind, id| {
        let mut entry = cudaMemAccessDesc::default();
        (entry.location.type_, entry.location.id) = (kind, id);
        entry.flags = cudaMemAccessFlagsProtReadWrite;
        entry
    };
    for (what, kind, ids) in [
        ("more than there are devices", cudaMemLocationTypeDevice, 0..16),
        ("nowhere", cudaMemLocationTypeInvalid, 0..1),
    ] {
        cases.alone(format!("cudaMemPoolSetAccess/{what}"), move |log| {
            let pool = super::pool::pool(log)?;
            let list: Vec<_> = ids.clone().map(|id| entry(kind, id)).collect();
            ask!(log, cudaMemPoolSetAccess(pool, list.as_ptr(), list.len()));
            Ok(())
        });
    }
    cases.add("cudaMemPoolImportFromShareableHandle/no kind of handle", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let (mut pool, none) = (ptr::null_mut(), cudaMemHandleTypeNone);
        let handle = ptr::without_provenance_mut(1000);
        ask!(log, cudaMemPoolImportFromShareableHandle(&raw mut pool, handle, none, 0));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    host(cases);
    device(cases);
    threads(cases);
    pools(cases);
}
