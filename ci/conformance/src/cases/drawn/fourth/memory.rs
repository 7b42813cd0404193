//! Memory of the device and of the host: how it is got, and how it goes.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, adds, device, end, first_is, floats, holds, integers, null, scale, start, sum,
    taken, there, waits, what,
};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, pattern, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
}

/// An address that nothing has.
const NOWHERE: *mut c_void = std::ptr::without_provenance_mut(64);

pub(super) fn add(cases: &mut Cases) {
    allocations(cases);
    sizes(cases);
    frees(cases);
    frees_at_work(cases);
    of_the_host(cases);
    pages(cases);
}

/// Asks for memory, and notes whether the place for the answer was written.
fn got(log: &mut Log, name: &str, bytes: usize) -> *mut c_void {
    let mut at = NOWHERE;
    ask!(log, name, cudaMalloc(&raw mut at, bytes));
    let answer = match at {
        NOWHERE => "as it was",
        it if it.is_null() => "null",
        _ => "some",
    };
    log.fact("address", answer);
    at
}

fn allocations(cases: &mut Cases) {
    add_case(cases, 403, "the last of a volume, to zero beside one nine times as large", |log| {
        let (volume, mut at) = (40 * 40 * 40 * 4, null::<c_void>());
        let sigma = Block::with(log, Kind::Device, &pattern(9 * volume, 1))?;
        ask!(log, cudaMalloc(&raw mut at, volume));
        let mut voltage = sigma.moved(at);
        voltage.len = volume;
        ask!(log, cudaMemset(at, 0, volume));
        holds(log, sigma, &pattern(9 * volume, 1))?;
        holds(log, voltage, &vec![0; volume])?;
        let (from, below) = (sigma.ptr().addr(), at.addr());
        log.fact("apart", below + volume <= from || from + 9 * volume <= below);
        what(log, "last byte", voltage.at(volume - 1));
        ask!(log, "more than both", cudaMemset(at, 0, 1 << 40));
        ask!(log, "a volume of all", cudaMemset(at, 0, usize::MAX));
        got(log, "nine times a size that wraps", 9_usize.wrapping_mul(1 << 62));
        taken(log)
    });
    add_case(cases, 421, "four pictures, between events and a default stream that is held", |log| {
        let (mut marks, bytes) = ([null(); 2], 1024 * 1024 * 4);
        for mark in &mut marks {
            ask!(log, cudaEventCreate(mark));
        }
        ask!(log, cudaEventRecord(marks[0], null()));
        let (gate, mut all) = (Gate::hold(log, null())?, [null::<c_void>(); 4]);
        ask!(log, cudaEventRecord(marks[1], null()));
        waits(log, &gate, |log| {
            for at in &mut all {
                ask!(log, cudaMalloc(at, bytes));
            }
            ask!(log, "start", cudaEventQuery(marks[0]));
            ask!(log, "stop", cudaEventQuery(marks[1]));
        });
        ask!(log, cudaEventSynchronize(marks[1]));
        let up = pattern(bytes, 4);
        let there = sys::cudaMemcpyHostToDevice;
        let mut down = vec![0_u8; bytes];
        ask!(log, "constants", cudaMemcpy(all[3], up.as_ptr().cast(), bytes, there));
        ask!(log, "across", cudaMemcpy(all[1], all[3], bytes, sys::cudaMemcpyDeviceToDevice));
        let back = sys::cudaMemcpyDeviceToHost;
        ask!(log, "down", cudaMemcpy(down.as_mut_ptr().cast(), all[1], bytes, back));
        log.bytes("all bytes", &down, &up);
        for at in all {
            ask!(log, cudaFree(at));
        }
        taken(log)
    });
    add_case(cases, 437, "the data, then the bins of a count, a code behind each", |log| {
        let (data, bins) = (got(log, "data", 64 << 20), got(log, "bins", 1024));
        ask!(log, "all data", cudaMemset(data, 3, 64 << 20));
        ask!(log, "bins", cudaMemset(bins, 0, 1024));
        let mut byte = [0_u8; 2];
        for (i, at) in
            [data.wrapping_byte_add((64 << 20) - 1), bins.wrapping_byte_add(1023)].iter().enumerate()
        {
            let to: *mut c_void = byte[i..].as_mut_ptr().cast();
            ask!(log, "last byte", cudaMemcpy(to, *at, 1, sys::cudaMemcpyDeviceToHost));
        }
        log.fact("bytes", format_args!("{byte:?}"));
        let mut all = vec![0_u8; 2048];
        let to: *mut c_void = all.as_mut_ptr().cast();
        ask!(log, "twice the bins", cudaMemcpy(to, bins, 2048, sys::cudaMemcpyDeviceToHost));
        ask!(log, "twice the data", cudaMemset(data, 0, 128 << 20));
        what(log, "the middle", data.wrapping_byte_add(32 << 20));
        ask!(log, "from the middle", cudaFree(data.wrapping_byte_add(32 << 20)));
        ask!(log, "data", cudaFree(data));
        ask!(log, "bins", cudaFree(bins));
        taken(log)
    });
    add_case(cases, 467, "one result a block, each behind a twin of the host", |log| {
        let (mut host, mut results, blocks) = (null::<c_void>(), null::<c_void>(), 128_usize);
        ask!(log, "vector", cudaMallocHost(&raw mut host, 4 * 64 * blocks));
        let vector = Block::new(log, Kind::Device, 4 * 64 * blocks)?;
        ask!(log, "results there", cudaMallocHost(&raw mut results, 4 * blocks));
        let mine = got(log, "results here", 4 * blocks);
        what(log, "there", results);
        what(log, "here", mine);
        let up = integers((0..64 * 128).map(|i| i % 3));
        let from = Block::with(log, Kind::Pageable, &up)?;
        ask!(log, "to the twin", cudaMemcpy(host, from.ptr(), up.len(), sys::cudaMemcpyDefault));
        ask!(log, "up", cudaMemcpy(vector.ptr(), host, up.len(), sys::cudaMemcpyHostToDevice));
        ask!(log, cudaMemset(mine, 0, 4 * blocks));
        sum(log, "kernel", vector.moved(mine), vector, 64 * blocks, null());
        ask!(log, "down", cudaMemcpy(results, mine, 4 * blocks, sys::cudaMemcpyDeviceToHost));
        // SAFETY: pinned memory of the case, which the copy has filled.
        log.fact("sum", unsafe { *results.cast::<i32>() });
        ask!(log, "results there, as if here", cudaFree(results));
        ask!(log, "results here, as if there", cudaFreeHost(mine));
        ask!(log, "results there", cudaFreeHost(results));
        ask!(log, "results here", cudaFree(mine));
        taken(log)
    });
    add_case(cases, 411, "source and result, while streams of the process capture", |log| {
        for (name, mode) in [("relaxed", 2), ("of another thread", 1)] {
            let on = stream(log)?;
            log.fact("capture", name);
            if mode == 2 {
                need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            } else {
                let at = on.expose_provenance();
                // SAFETY: a stream of the case, which nothing else uses meanwhile.
                there(log, move || unsafe {
                    let on = std::ptr::with_exposed_provenance_mut(at);
                    [sys::cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode))]
                });
            }
            let (from, to) = (got(log, "source", N), got(log, "result", N));
            log.fact("two", from != to);
            ask!(log, "captured", cudaMemsetAsync(to, 1, N, on));
            ask!(log, "freed", cudaFree(from));
            let mut graph = null();
            if mode == 2 {
                graph = end(log, on);
            } else {
                let at = on.expose_provenance();
                // SAFETY: as before; the thread before has ended.
                there(log, move || unsafe {
                    let (on, mut graph) = (std::ptr::with_exposed_provenance_mut(at), null());
                    [sys::cudaStreamEndCapture(on, &raw mut graph)]
                });
            }
            log.fact("a graph", !graph.is_null());
            ask!(log, "then", cudaMemset(to, 2, N));
            ask!(log, cudaFree(to));
        }
        taken(log)
    });
}

fn sizes(cases: &mut Cases) {
    add_case(cases, 439, "coordinates by a product, no code looked at, then work on them", |log| {
        for (points, dimensions) in [(0_usize, 32_usize), (1, 1), (4096, 32), (1 << 30, 1 << 10), (3, 7)] {
            let bytes = 4 * points * dimensions;
            let at = got(log, &format!("{points} by {dimensions}"), bytes);
            if at != NOWHERE && points < 1 << 30 {
                ask!(log, "set", cudaMemset(at, 1, bytes));
                ask!(log, "freed", cudaFree(at));
            }
            ask!(log, "peek", cudaPeekAtLastError());
        }
        ask!(log, "to what is not there", cudaMemset(null(), 0, 64));
        ask!(log, "none to it", cudaMemset(null(), 0, 0));
        taken(log)
    });
    add_case(cases, 442, "eight bytes for each of a count, the last error looked at behind", |log| {
        for count in [10_000_usize, 1, 0, usize::MAX / 8 + 1, usize::MAX / 8] {
            let at = got(log, &format!("{count}"), count.wrapping_mul(8));
            ask!(log, cudaGetLastError());
            ask!(log, "freed", cudaFree(if at == NOWHERE { null() } else { at }));
        }
        let mut all: Vec<_> = (0..12).map(|i| got(log, "one of twelve", 8 * (i + 1))).collect();
        all.sort_unstable();
        let apart = all.windows(2).map(|two| two[1].addr() - two[0].addr());
        log.fact("apart enough", apart.clone().all(|by| by >= 256));
        log.fact("aligned", all.iter().all(|at| at.addr().is_multiple_of(256)));
        taken(log)
    });
}

fn frees(cases: &mut Cases) {
    add_case(cases, 406, "the temperatures behind the power, one of them the result of steps", |log| {
        let (power, mut grids) = (device(log)?, [device(log)?, device(log)?]);
        grids[0].store(log, &floats([1.0; 1024]))?;
        for _ in 0..3 {
            scale(log, "step", grids[1], grids[0], 3.0, 1024, null());
            grids.reverse();
        }
        let mut result = vec![0_u8; N];
        let back = sys::cudaMemcpyDeviceToHost;
        ask!(log, "down", cudaMemcpy(result.as_mut_ptr().cast(), grids[0].ptr(), N, back));
        log.bytes("all bytes", &result, &floats([27.0; 1024]));
        for at in [power, grids[0], grids[1]] {
            ask!(log, cudaFree(at.ptr()));
        }
        for (name, at) in [
            ("the result again", grids[0].ptr()),
            ("within it", grids[0].at(256)),
            ("of the host", result.as_mut_ptr().cast()),
            ("nowhere", NOWHERE),
        ] {
            ask!(log, name, cudaFree(at));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "used then", cudaMemset(power.ptr(), 0, N));
        taken(log)
    });
    add_case(cases, 419, "all that began before an odd place, which was in use", |log| {
        let raw = device(log)?;
        for offset in [1, 3, 8] {
            fill(log, raw.at(offset), 5, 100, null())?;
            ask!(log, "set", cudaMemset(raw.at(offset + 200), 6, 100));
        }
        let bytes = raw.load(log)?;
        let count = |value| bytes.iter().filter(|byte| **byte == value).count();
        log.fact("bytes", format_args!("{} {}", count(5), count(6)));
        for offset in [1, 8, N - 1, N] {
            ask!(log, &format!("{offset}"), cudaFree(raw.at(offset)));
        }
        ask!(log, "left", cudaGetLastError());
        what(log, "still", raw.at(8));
        ask!(log, "all", cudaFree(raw.ptr()));
        what(log, "then", raw.at(8));
        taken(log)
    });
    add_case(cases, 489, "three products, shared with the host, and by the wrong function", |log| {
        for (flags, name) in [(1, "global"), (2, "of the host")] {
            let mut at = null::<c_void>();
            need!(log, cudaMallocManaged(&raw mut at, 1 << 20, flags));
            let mut block = device(log)?.moved(at);
            (block.kind, block.len) = (Kind::Managed, 1 << 20);
            block.store(log, &[4; N])?;
            ask!(log, "within", cudaFree(block.at(4096)));
            ask!(log, "as if pinned", cudaFreeHost(at));
            ask!(log, "in order", cudaFreeAsync(at, null()));
            ask!(log, name, cudaFree(at));
            what(log, "then", at);
            ask!(log, "again", cudaFree(at));
        }
        let (block, on) = (Block::with(log, Kind::Managed, &[1; N])?, stream(log)?);
        fill(log, block.ptr(), 2, N, on)?;
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, "while a stream is held", cudaFree(block.ptr()));
        });
        taken(log)
    });
    add_case(cases, 493, "of globals, one never there, once more in another round, after the end", |log| {
        let mut globals = [null::<c_void>(); 4];
        for round in 0..2 {
            for (at, bytes) in globals.iter_mut().zip([1_usize, 4096, 1 << 21]) {
                ask!(log, &format!("{round}"), cudaMalloc(at, bytes));
            }
            for at in globals {
                ask!(log, cudaFree(at));
            }
        }
        let addresses = globals.map(|at| at.expose_provenance());
        there(log, move || {
            // SAFETY: what was freed before, and is refused.
            addresses.map(|at| unsafe { sys::cudaFree(std::ptr::with_exposed_provenance_mut(at)) })
        });
        ask!(log, "last here", cudaGetLastError());
        let block = device(log)?;
        ask!(log, cudaDeviceReset());
        ask!(log, "after the end", cudaFree(block.ptr()));
        ask!(log, "last", cudaGetLastError());
        let fresh = got(log, "fresh", 1 << 20);
        ask!(log, cudaFree(fresh));
        taken(log)
    });
}

fn frees_at_work(cases: &mut Cases) {
    add_case(cases, 495, "the source of a kernel that is held, an error looked for behind both", |log| {
        let (to, from) = (device(log)?, Block::with(log, Kind::Device, &floats([2.0; 1024]))?);
        scale(log, "first", to, from, 1.0, 1024, null());
        need!(log, cudaDeviceSynchronize());
        let gate = Gate::hold(log, null())?;
        scale(log, "kernel", to, from, 4.0, 1024, null());
        ask!(log, "behind the kernel", cudaGetLastError());
        waits(log, &gate, |log| {
            ask!(log, cudaFree(from.ptr()));
        });
        ask!(log, "behind it", cudaGetLastError());
        holds(log, to, &floats([8.0; 1024]))?;
        let gate = Gate::hold(log, null())?;
        waits(log, &gate, |log| {
            ask!(log, "none", cudaFree(null()));
            ask!(log, "what went", cudaFree(from.ptr()));
        });
        start(log, "one more", case_empty as Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 491, "the stack behind the ring of a sort, at streams that capture", |log| {
        let (ring, stack, more) = (device(log)?, device(log)?, device(log)?);
        let on = stream(log)?;
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
        ask!(log, "captured", cudaMemsetAsync(more.ptr(), 7, N, on));
        ask!(log, "ring", cudaFree(ring.ptr()));
        ask!(log, "stack", cudaFree(stack.ptr()));
        ask!(log, "stack again", cudaFree(stack.ptr()));
        ask!(log, "none", cudaFree(null()));
        let mut graph = end(log, on);
        let mut run = null();
        ask!(log, cudaGraphInstantiate(&raw mut run, graph, 0));
        ask!(log, cudaGraphLaunch(run, on));
        ask!(log, "launched", cudaFree(more.ptr()));
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        ask!(log, "in a capture that is not relaxed", cudaFree(null()));
        ask!(log, cudaStreamEndCapture(on, &raw mut graph));
        taken(log)
    });
}

fn of_the_host(cases: &mut Cases) {
    add_case(cases, 441, "the numbers of a generator, once its stream and its memory went", |log| {
        let (on, numbers) = (stream(log)?, Block::with(log, Kind::Device, &pattern(N, 5))?);
        let (host, other) = (Block::new(log, Kind::Pinned, N)?, Block::new(log, Kind::Pinned, N)?);
        ask!(log, cudaMemcpyAsync(host.ptr(), numbers.ptr(), N, sys::cudaMemcpyDeviceToHost, on));
        ask!(log, cudaStreamDestroy(on));
        ask!(log, cudaFree(numbers.ptr()));
        holds(log, host, &pattern(N, 5))?;
        ask!(log, cudaFreeHost(host.ptr()));
        ask!(log, "again", cudaFreeHost(host.ptr()));
        let (on, block) = (stream_with(log, 0)?, device(log)?);
        let gate = Gate::hold(log, on)?;
        ask!(log, "work on others", cudaMemsetAsync(block.ptr(), 1, N, on));
        waits(log, &gate, |log| {
            ask!(log, "while a stream is held", cudaFreeHost(other.ptr()));
        });
        ask!(log, "none", cudaFreeHost(null()));
        taken(log)
    });
    add_case(cases, 447, "the matrix, then its vector, of every kind, and from within", |log| {
        for kind in Kind::ALL {
            let block = Block::new(log, kind, 2 * N)?;
            ask!(log, "within", cudaFreeHost(block.at(N)));
            ask!(log, kind.name(), cudaFreeHost(block.ptr()));
            what(log, "then", block.ptr());
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "nowhere", cudaFreeHost(NOWHERE));
        let vector = Block::new(log, Kind::Pinned, N)?.ptr().expose_provenance();
        there(log, move || {
            let vector = std::ptr::with_exposed_provenance_mut(vector);
            // SAFETY: memory of the case, which nothing uses after this.
            unsafe { [sys::cudaFreeHost(vector), sys::cudaFreeHost(vector)] }
        });
        taken(log)
    });
    add_case(cases, 445, "a picture's bytes, its size of a product, a check behind it", |log| {
        for (name, bytes) in [
            ("a picture", 640 * 480 * 3),
            ("one byte", 1),
            ("none", 0),
            ("below zero", (-3_isize).cast_unsigned()),
            ("more than there is", 1 << 50),
        ] {
            let mut at = NOWHERE;
            ask!(log, name, cudaMallocHost(&raw mut at, bytes));
            ask!(log, "check", cudaGetLastError());
            let place = if at.is_null() {
                "null"
            } else if at == NOWHERE {
                "as it was"
            } else {
                "some"
            };
            log.fact("address", place);
            if place == "some" {
                let mut flags = 77;
                ask!(log, cudaHostGetFlags(&raw mut flags, at));
                log.fact("flags", flags);
                log.fact("aligned", at.addr().is_multiple_of(512));
                what(log, "last byte", at.wrapping_byte_add(bytes - 1));
            }
        }
        ask!(log, "no place", cudaMallocHost(null(), 64));
        taken(log)
    });
    add_case(cases, 448, "the second vector of three, mapped, for a kernel by its own address", |log| {
        let mut vectors = [null::<c_void>(); 3];
        for at in &mut vectors {
            ask!(log, cudaHostAlloc(at, N, sys::cudaHostAllocMapped));
        }
        let (mut seen, pinned) = (null::<c_void>(), Block::new(log, Kind::Pinned, N)?);
        ask!(log, cudaHostGetDevicePointer(&raw mut seen, vectors[1], 0));
        log.fact("the same", seen == vectors[1]);
        let [a, b] = [pinned.moved(vectors[0]), pinned.moved(vectors[1])];
        a.store(log, &floats([1.5; 1024]))?;
        scale(log, "kernel", b, a, 2.0, 1024, null());
        ask!(log, cudaDeviceSynchronize());
        holds(log, b, &floats([3.0; 1024]))?;
        for flags in [0, 3, 4, 6, 7, 8, 16, u32::MAX] {
            let (mut at, mut found) = (null::<c_void>(), 77);
            ask!(log, &format!("{flags}"), cudaHostAlloc(&raw mut at, N, flags));
            if !at.is_null() {
                ask!(log, cudaHostGetFlags(&raw mut found, at));
                log.fact("flags", found);
            }
        }
        ask!(log, "no bytes", cudaHostAlloc(&raw mut seen, 0, 2));
        ask!(log, "no place", cudaHostAlloc(null(), N, 2));
        taken(log)
    });
}

fn pages(cases: &mut Cases) {
    add_case(cases, 409, "a matrix that other code allocated, portable, then its tiles", |log| {
        let (matrix, mut flags) = (Block::new(log, Kind::Pageable, 8 * N)?, 77);
        ask!(log, "before", cudaHostGetFlags(&raw mut flags, matrix.ptr()));
        ask!(log, "it", cudaHostRegister(matrix.ptr(), 8 * N, sys::cudaHostRegisterPortable));
        ask!(log, cudaHostGetFlags(&raw mut flags, matrix.at(3 * N)));
        log.fact("flags", flags);
        what(log, "a tile", matrix.at(3 * N));
        ask!(log, "a tile of it", cudaHostRegister(matrix.at(N), N, 0));
        ask!(log, "over it", cudaHostRegister(matrix.ptr(), 8 * N, 0));
        ask!(log, "by a tile", cudaHostUnregister(matrix.at(N)));
        ask!(log, cudaHostUnregister(matrix.ptr()));
        what(log, "then", matrix.at(3 * N));
        for (name, at, bytes, flags) in [
            ("a tile", matrix.at(N), N, 0),
            ("over it", matrix.ptr(), 4 * N, 0),
            ("beside it", matrix.at(4 * N), N, 2),
            ("no bytes", matrix.at(6 * N), 0, 0),
            ("no such flag", matrix.at(6 * N), N, 32),
            ("null", null(), N, 0),
        ] {
            ask!(log, name, cudaHostRegister(at, bytes, flags));
            ask!(log, "last", cudaGetLastError());
        }
        for kind in [Kind::Device, Kind::Pinned, Kind::Managed] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaHostRegister(block.ptr(), N, 0));
        }
        taken(log)
    });
    add_case(cases, 401, "a flag for a kernel: by its flags, within, of other memory, no longer", |log| {
        for flags in [0, 1, 2, 3] {
            let (flag, mut seen) = (Block::new(log, Kind::Pageable, N)?, NOWHERE);
            need!(log, cudaHostRegister(flag.ptr(), 4, flags));
            ask!(log, &format!("{flags}"), cudaHostGetDevicePointer(&raw mut seen, flag.ptr(), 0));
            log.fact("the same", seen == flag.ptr());
            ask!(log, "within", cudaHostGetDevicePointer(&raw mut seen, flag.at(2), 0));
            log.fact("as far within", seen == flag.at(2));
            adds(log, "kernel", flag, 5, null());
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "flag", flag)?;
            ask!(log, cudaHostUnregister(flag.ptr()));
            ask!(log, "no longer", cudaHostGetDevicePointer(&raw mut seen, flag.ptr(), 0));
            log.fact("answer", if seen.is_null() { "null" } else { "some" });
        }
        let mut seen = NOWHERE;
        for kind in [Kind::Pinned, Kind::Device, Kind::Managed, Kind::Pool] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaHostGetDevicePointer(&raw mut seen, block.ptr(), 0));
            log.fact("the same", seen == block.ptr());
        }
        let pinned = Block::new(log, Kind::Pinned, N)?;
        ask!(log, "flags", cudaHostGetDevicePointer(&raw mut seen, pinned.ptr(), 1));
        ask!(log, "no place", cudaHostGetDevicePointer(null(), pinned.ptr(), 0));
        ask!(log, "null", cudaHostGetDevicePointer(&raw mut seen, null(), 0));
        taken(log)
    });
}
