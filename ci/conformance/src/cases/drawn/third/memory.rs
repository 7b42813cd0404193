//! Memory that programs allocate, free, share, and move.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::cudaMemLocation;

use super::super::common::{
    Kernel, N, add_case, adds, begin, device, end, first, floats, null, scale, start, taken, there, waits,
    what,
};
use super::super::open::pool::{pool, value};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_empty();
}

pub(super) fn add(cases: &mut Cases) {
    frees(cases);
    allocations(cases);
    host(cases);
    streams(cases);
    add_case(cases, 400, "the rest of an allocation to the host, what is before it to the device", advice);
}

fn frees(cases: &mut Cases) {
    add_case(cases, 334, "the output of a picture, read by a texture that is left", |log| {
        let (block, mut made, like) = (device(log)?, 0, crate::cases::texture::plain());
        let image = crate::cases::texture::of_row(block.ptr(), N);
        ask!(log, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, null()));
        let mut got = vec![1_u8; N];
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), block.ptr(), N, sys::cudaMemcpyDeviceToHost));
        ask!(log, cudaFree(block.ptr()));
        what(log, "then", block.ptr());
        let mut found = sys::cudaResourceDesc::default();
        ask!(log, "the texture", cudaGetTextureObjectResourceDesc(&raw mut found, made));
        log.fact("of it", found.resType == sys::cudaResourceTypeLinear);
        ask!(log, cudaDestroyTextureObject(made));
        ask!(log, "again", cudaFree(block.ptr()));
        taken(log)
    });
    add_case(cases, 360, "twenty vectors of a solver, some of them none, one twice", |log| {
        let mut vectors = Vec::new();
        for i in 0..20 {
            vectors.push(if i % 5 == 4 {
                null()
            } else {
                Block::new(log, Kind::Device, 64 << (i % 8))?.ptr()
            });
        }
        let mut bad = 0;
        for at in &vectors {
            // SAFETY: memory of the device, or null.
            bad += i32::from(unsafe { sys::cudaFree(*at) } != sys::cudaSuccess);
        }
        log.fact("refused", bad);
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "the eleventh again", cudaFree(vectors[10]));
        for at in [vectors[0], vectors[19], vectors[4]] {
            what(log, "then", at);
        }
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 1, N));
        ask!(log, "a new one", cudaFree(block.ptr()));
        taken(log)
    });
}

fn allocations(cases: &mut Cases) {
    add_case(cases, 323, "a part in each of four threads, filled and freed there", |log| {
        for size in [1, 1000, 1 << 20, 0] {
            let parts: Vec<_> = (0..4_i32)
                .map(|i| {
                    std::thread::spawn(move || {
                        let (mut at, mut got) = (null::<c_void>(), vec![0_u8; size]);
                        let back = sys::cudaMemcpyDeviceToHost;
                        // SAFETY: memory that the thread has just got, as far as it got some.
                        let codes = unsafe {
                            [
                                sys::cudaMalloc(&raw mut at, size),
                                sys::cudaMemset(at, i, size),
                                sys::cudaMemcpy(got.as_mut_ptr().cast(), at, size, back),
                                sys::cudaFree(at),
                            ]
                        };
                        (codes.map(|code| code.0), got.iter().all(|byte| i32::from(*byte) == i))
                    })
                })
                .collect();
            for part in parts {
                log.fact(&format!("{size}"), format_args!("{:?}", part.join().expect("no panic")));
            }
        }
        taken(log)
    });
    add_case(cases, 327, "one each for fifty-one points, of a size that is no power of two", |log| {
        let mut points = Vec::new();
        for i in 0..51 {
            let mut at = null::<c_void>();
            need!(log, cudaMalloc(&raw mut at, 6724));
            need!(log, cudaMemset(at, i, 6724));
            points.push(at);
        }
        log.fact("aligned", points.iter().all(|at| at.addr().is_multiple_of(512)));
        let mut right = 0;
        for (i, at) in (0_u8..).zip(&points) {
            let mut got = vec![255_u8; 6724];
            need!(log, cudaMemcpy(got.as_mut_ptr().cast(), *at, 6724, sys::cudaMemcpyDeviceToHost));
            right += usize::from(got == [i; 6724]);
        }
        log.fact("right", right);
        what(log, "last byte", points[50].wrapping_byte_add(6723));
        for at in [points[50], points[0], points[50]] {
            ask!(log, cudaFree(at));
        }
        taken(log)
    });
    add_case(cases, 335, "two arrays, while the stream made before them is held", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        adds(log, "first", out, 1, on);
        need!(log, cudaStreamSynchronize(on));
        let (gate, mut all) = (Gate::hold(log, on)?, [null::<c_void>(); 3]);
        adds(log, "kernel", out, 1, on);
        waits(log, &gate, |log| {
            ask!(log, "data", cudaMalloc(&raw mut all[0], 1 << 20));
            ask!(log, "sums", cudaMalloc(&raw mut all[1], 8192 * 4));
            ask!(log, "managed", cudaMallocManaged(&raw mut all[2], N, sys::cudaMemAttachGlobal));
        });
        ask!(log, cudaStreamSynchronize(on));
        for at in all {
            ask!(log, cudaMemset(at, 1, N));
            ask!(log, cudaFree(at));
        }
        let number = first(log, out)?;
        log.fact("number", number);
        taken(log)
    });
    add_case(cases, 381, "of one mean a row, with an error of a launch left, sizes that wrap", |log| {
        start(log, "refused", case_empty as Kernel, [0, 1, 0], null(), &mut []);
        let (rows, mut at) = (8_usize * 1024, null::<c_void>());
        for (name, bytes) in [
            ("rows", rows * 4),
            ("in 32 bits", usize::try_from((rows * rows * 64) as u32).expect("it fits")),
            ("below zero", (-4_isize).cast_unsigned()),
            ("half of all addresses", 1 << 63),
        ] {
            ask!(log, name, cudaMalloc(&raw mut at, bytes));
            log.fact("address", if at.is_null() { "null" } else { "some" });
            ask!(log, cudaPeekAtLastError());
        }
        ask!(log, "no place", cudaMalloc(null(), 64));
        taken(log)
    });
}

fn host(cases: &mut Cases) {
    add_case(cases, 319, "of a flag within a page, beside another one", |log| {
        let (page, mut there) = (Block::new(log, Kind::Pageable, 2 * N)?, null::<c_void>());
        let (flag, other) = (page.at(100), page.at(200));
        ask!(log, cudaHostRegister(flag, 4, sys::cudaHostRegisterMapped));
        ask!(log, cudaHostGetDevicePointer(&raw mut there, flag, 0));
        log.fact("the same", there == flag);
        adds(log, "kernel", page.moved(there), 7, null());
        ask!(log, cudaDeviceSynchronize());
        // SAFETY: the page is the case's, and nothing uses it now.
        log.fact("flag", unsafe { *flag.cast::<i32>() });
        what(log, "the byte behind it", page.at(104));
        what(log, "the next page", page.at(N));
        ask!(log, "other flag", cudaHostRegister(other, 4, sys::cudaHostRegisterMapped));
        ask!(log, "from its page", cudaHostUnregister(page.ptr()));
        ask!(log, "other flag", cudaHostUnregister(other));
        ask!(log, "flag", cudaHostUnregister(flag));
        ask!(log, "again", cudaHostUnregister(flag));
        taken(log)
    });
    add_case(cases, 331, "whether memory is pinned: of all kinds, of their ends, of what was freed", |log| {
        for kind in Kind::ALL {
            let block = Block::new(log, kind, N)?;
            what(log, kind.name(), block.at(N / 2));
        }
        let pinned = Block::new(log, Kind::Pinned, N)?;
        need!(log, cudaFreeHost(pinned.ptr()));
        what(log, "freed", pinned.ptr());
        what(log, "null", null());
        let mut number = 5_i32;
        what(log, "on the stack", (&raw mut number).cast());
        ask!(log, "no place", cudaPointerGetAttributes(null(), pinned.ptr()));
        taken(log)
    });
    add_case(cases, 351, "the data of each device, after the results, by their flags", |log| {
        for flags in [0, 1, 2, 4, 7] {
            let (mut at, to) = (null::<c_void>(), device(log)?);
            need!(log, cudaHostAlloc(&raw mut at, N, flags));
            need!(log, cudaMemcpyAsync(to.ptr(), at, N, sys::cudaMemcpyHostToDevice, null()));
            ask!(log, cudaSetDevice(0));
            ask!(log, &format!("{flags}"), cudaFreeHost(at));
            what(log, "then", at);
        }
        let (mut at, on) = (null::<c_void>(), begin(log)?);
        ask!(log, "allocated while a stream captures", cudaHostAlloc(&raw mut at, N, 0));
        ask!(log, "freed while it captures", cudaFreeHost(at));
        end(log, on);
        taken(log)
    });
}

fn streams(cases: &mut Cases) {
    add_case(cases, 312, "of a temporary buffer, and by another function where that fails", |log| {
        let on = stream(log)?;
        for kind in [Kind::Pool, Kind::Device, Kind::Managed, Kind::Pinned, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            need!(log, cudaDeviceSynchronize());
            ask!(log, kind.name(), cudaFreeAsync(block.ptr(), on));
            ask!(log, cudaGetLastError());
            ask!(log, "the other one", cudaFree(block.ptr()));
            ask!(log, cudaGetLastError());
        }
        ask!(log, "null", cudaFreeAsync(null(), on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 387, "of memory that others may have, after it was exported", |log| {
        let (pool, on) = (pool(log, true)?, stream(log)?);
        let (mut data, mut all) =
            (sys::cudaMemPoolPtrExportData { reserved: [0; 64] }, [null::<c_void>(); 3]);
        for at in &mut all {
            ask!(log, cudaMallocFromPoolAsync(at, N, pool, on));
            ask!(log, cudaMemPoolExportPointer(&raw mut data, *at));
        }
        for at in all {
            ask!(log, cudaFreeAsync(at, on));
        }
        ask!(log, "again", cudaFreeAsync(all[1], on));
        ask!(log, cudaStreamSynchronize(on));
        value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        value(log, "most", pool, sys::cudaMemPoolAttrUsedMemHigh);
        let mut at = null::<c_void>();
        need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
        let captures = begin(log)?;
        ask!(log, "in a capture that has not allocated it", cudaFreeAsync(at, captures));
        end(log, captures);
        taken(log)
    });
    add_case(cases, 394, "three vectors a round, nothing given back at a wait", |log| {
        let (on, mut pool, mut kept) = (stream(log)?, null(), u64::MAX);
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        let id = sys::cudaMemPoolAttrReleaseThreshold;
        ask!(log, cudaMemPoolSetAttribute(pool, id, (&raw mut kept).cast()));
        let (up, mut got) = (floats([2.0; 1024]), vec![0_u8; N]);
        for round in 0..3 {
            let mut all = [null::<c_void>(); 3];
            for at in &mut all {
                ask!(log, cudaMallocAsync(at, N, on));
            }
            let [a, _, c] = all.map(|at| Block::new(log, Kind::Pageable, N).map(|block| block.moved(at)));
            let (a, c) = (a?, c?);
            ask!(log, cudaMemcpyAsync(a.ptr(), up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice, on));
            scale(log, "kernel", c, a, 1.5, 1024, on);
            ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), c.ptr(), N, sys::cudaMemcpyDeviceToHost, on));
            for at in all {
                need!(log, cudaFreeAsync(at, on));
            }
            ask!(log, &format!("{round}"), cudaStreamSynchronize(on));
            log.bytes("all bytes", &got, &floats([3.0; 1024]));
        }
        for id in [sys::cudaMemPoolAttrUsedMemCurrent, sys::cudaMemPoolAttrUsedMemHigh, id] {
            value(log, "it", pool, id);
        }
        ask!(log, "trimmed", cudaMemPoolTrimTo(pool, 0));
        value(log, "kept", pool, sys::cudaMemPoolAttrReservedMemCurrent);
        taken(log)
    });
}

fn place(kind: u32, id: i32) -> cudaMemLocation {
    cudaMemLocation { type_: sys::cudaMemLocationType(kind), id }
}

/// Notes what a range prefers.
fn preferred(log: &mut Log, at: *mut c_void, bytes: usize) {
    let mut found = [77_i32; 1];
    let (to, id): (*mut c_void, _) = (found.as_mut_ptr().cast(), sys::cudaMemRangeAttribute(2));
    ask!(log, cudaMemRangeGetAttribute(to, 4, id, at, bytes));
    log.fact("prefers", found[0]);
}

fn advice(log: &mut Log) -> Outcome {
    let (block, part) = (Block::new(log, Kind::Managed, 4 << 20)?, 1 << 20);
    let id = sys::cudaMemAdviseSetPreferredLocation;
    ask!(log, "device", cudaMemAdvise(block.ptr(), part, id, place(1, 0)));
    preferred(log, block.ptr(), part);
    ask!(log, "host", cudaMemAdvise(block.at(part), (4 << 20) - part, id, place(2, 0)));
    preferred(log, block.at(part), 1 << 20);
    preferred(log, block.ptr(), 4 << 20);
    for (name, at, bytes, where_) in [
        ("within a page", block.at(part + 100), 8, place(2, 0)),
        ("a device of the host", block.at(part), part, place(2, 99)),
        ("a node of the host", block.at(part), part, place(3, 0)),
        ("this thread's node", block.at(part), part, place(4, 0)),
        ("nowhere", block.at(part), part, place(0, 0)),
        ("over the end", block.at(part), 64 << 20, place(2, 0)),
        ("null", null(), part, place(2, 0)),
    ] {
        ask!(log, name, cudaMemAdvise(at, bytes, id, where_));
        ask!(log, "last", cudaGetLastError());
    }
    block.store(log, &[5; N])?;
    ask!(log, cudaMemset(block.at(part), 6, part));
    ask!(log, cudaDeviceSynchronize());
    let got = block.load(log)?;
    log.fact("bytes", format_args!("{} {}", got[0], got[part]));
    // SAFETY: takes nothing.
    there(log, || unsafe { [sys::cudaGetLastError()] });
    taken(log)
}
