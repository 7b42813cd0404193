//! Copies and fills.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, adds, arguments, device, end, first_is, floats, holds, integers, null, scale, start,
    sum, taken, there, waits,
};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern, stream, stream_with};

const ACROSS: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToDevice;
const BACK: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToHost;
const THERE: sys::cudaMemcpyKind = sys::cudaMemcpyHostToDevice;

unsafe extern "C" {
    fn case_empty();
    fn case_read_symbols();
    fn case_shape();
    fn case_trap();
    fn case_list_symbol() -> *const c_void;
}

pub(super) fn add(cases: &mut Cases) {
    down(cases);
    up(cases);
    fills(cases);
    add_case(cases, 500, "a structure each frame, from the stack, before a kernel reads it", frames);
}

fn down(cases: &mut Cases) {
    add_case(cases, 428, "who belongs where, behind a wait, while streams of each kind are held", |log| {
        let members = Block::with(log, Kind::Device, &integers(0..1024))?;
        let mut got = vec![0_u8; N];
        let to: *mut c_void = got.as_mut_ptr().cast();
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "it", cudaMemcpy(to, members.ptr(), N, BACK));
        log.bytes("all bytes", &got, &integers(0..1024));
        for (name, flags) in [("non-blocking", 1), ("blocking", 0)] {
            let on = stream_with(log, flags)?;
            let gate = Gate::hold(log, on)?;
            waits(log, &gate, |log| {
                ask!(log, name, cudaMemcpy(to, members.ptr(), N, BACK));
            });
        }
        ask!(log, "none, null", cudaMemcpy(null(), null(), 0, BACK));
        ask!(log, "to null", cudaMemcpy(null(), members.ptr(), N, BACK));
        ask!(log, "from null", cudaMemcpy(to, null(), N, BACK));
        ask!(log, "no direction", cudaMemcpy(to, members.ptr(), N, sys::cudaMemcpyKind(9)));
        log.bytes("all bytes", &got, &integers(0..1024));
        taken(log)
    });
    add_case(cases, 440, "results of one number to a million, some while a stream captures", |log| {
        let all = Block::with(log, Kind::Device, &pattern(4 << 20, 7))?;
        for count in [1_usize, 0, 128, 16_384, 1 << 20] {
            let mut got = vec![0_u8; 4 * count];
            let to: *mut c_void = got.as_mut_ptr().cast();
            ask!(log, &format!("{count}"), cudaMemcpy(to, all.ptr(), 4 * count, BACK));
            log.bytes("all bytes", &got, &pattern(4 << 20, 7)[..4 * count]);
        }
        let to = Block::new(log, Kind::Pageable, N)?;
        for (name, mode, flags) in [
            ("relaxed, non-blocking", 2, 1),
            ("relaxed, blocking", 2, 0),
            ("of a thread, non-blocking", 1, 1),
            ("global, non-blocking", 0, 1),
        ] {
            let on = stream_with(log, flags)?;
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            ask!(log, name, cudaMemcpy(to.ptr(), all.ptr(), N, BACK));
            ask!(log, "last", cudaGetLastError());
            end(log, on);
        }
        holds(log, to, &pattern(4 << 20, 7)[..N])
    });
    add_case(cases, 472, "a picture of a square of blocks, behind one refused, and behind a trap", |log| {
        let (out, mut got) = (device(log)?, [0_u8; 24]);
        let to: *mut c_void = got.as_mut_ptr().cast();
        for (name, blocks, threads) in [("whole", 8, 16), ("too many threads", 8, 33), ("small", 1, 1)] {
            let (grid, block) =
                (sys::dim3 { x: blocks, y: blocks, z: 1 }, sys::dim3 { x: threads, y: threads, z: 1 });
            let mut at = out.ptr();
            let mut list = arguments![at];
            let kernel = case_shape as Kernel;
            ask!(log, name, cudaLaunchKernel(kernel, grid, block, list.as_mut_ptr(), 0, null()));
            ask!(log, "down", cudaMemcpy(to, out.ptr(), 24, BACK));
            // SAFETY: the copy wrote these bytes, or left them.
            let shape: Vec<u8> =
                (0..6).map(|i| unsafe { to.cast::<u8>().add(4 * i).read_volatile() }).collect();
            log.fact("shape", format_args!("{shape:?}"));
            ask!(log, "peek", cudaPeekAtLastError());
        }
        start(log, "trap", case_trap as Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, "down", cudaMemcpy(to, out.ptr(), 24, BACK));
        ask!(log, "again", cudaMemcpy(to, out.ptr(), 24, BACK));
        ask!(log, "none", cudaMemcpy(to, out.ptr(), 0, BACK));
        ask!(log, "freed", cudaFree(out.ptr()));
        taken(log)
    });
    add_case(cases, 490, "partial sums into a vector, its code in an exception", |log| {
        let points = Block::with(log, Kind::Device, &integers([1; 1024]))?;
        for blocks in [4_usize, 1, 0] {
            let partial = Block::new(log, Kind::Device, 64)?;
            let mut results = vec![-1_i32; blocks];
            let to: *mut c_void = results.as_mut_ptr().cast();
            sum(log, "kernel", partial, points, 64 * blocks, null());
            ask!(log, &format!("{blocks}"), cudaMemcpy(to, partial.ptr(), 4 * blocks, BACK));
            log.fact("results", format_args!("{results:?}"));
            ask!(log, "peek", cudaPeekAtLastError());
        }
        let (a, mut b) = (device(log)?, vec![0_u8; 2 * N]);
        let to: *mut c_void = b.as_mut_ptr().cast();
        for (name, to, from, bytes, way) in [
            ("more than all", to, a.ptr(), 2 * N, BACK),
            ("over the end", to, a.at(N - 4), 8, BACK),
            ("as if across", to, a.ptr(), N, ACROSS),
            ("as if up", to, a.ptr(), N, THERE),
            ("within the host", to, a.ptr(), N, sys::cudaMemcpyHostToHost),
            ("left open", to, a.ptr(), N, sys::cudaMemcpyDefault),
            ("onto itself", a.ptr(), a.ptr(), N, ACROSS),
            ("over itself", a.at(16), a.ptr(), 64, ACROSS),
        ] {
            ask!(log, name, cudaMemcpy(to, from, bytes, way));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}

fn up(cases: &mut Cases) {
    add_case(cases, 418, "a table on the default stream, changed behind the call", |log| {
        let table = Block::new(log, Kind::Device, 1 << 18)?;
        fill(log, table.ptr(), 0, N, null())?;
        for bytes in [64_usize, N, 1 << 18] {
            for kind in [Kind::Pageable, Kind::Registered] {
                let host = Block::with(log, kind, &vec![5; bytes])?;
                need!(log, cudaDeviceSynchronize());
                let gate = Gate::hold(log, null())?;
                log.fact("bytes", format_args!("{bytes} {}", kind.name()));
                waits(log, &gate, |log| {
                    ask!(log, "up", cudaMemcpyAsync(table.ptr(), host.ptr(), bytes, THERE, null()));
                    if kind == Kind::Pageable {
                        // SAFETY: as many bytes of the case, which the call has read.
                        unsafe { host.ptr().cast::<u8>().write_bytes(6, bytes) };
                    }
                });
                ask!(log, cudaDeviceSynchronize());
                let got = table.load(log)?;
                log.fact("there", got[..bytes].iter().filter(|byte| **byte == 5).count());
                need!(log, cudaMemset(table.ptr(), 0, 1 << 18));
            }
        }
        ask!(log, "none", cudaMemcpyAsync(table.ptr(), null(), 0, THERE, null()));
        ask!(log, "from null", cudaMemcpyAsync(table.ptr(), null(), 4, THERE, null()));
        ask!(log, "over the end", cudaMemcpyAsync(table.at(1 << 18), table.ptr(), 4, ACROSS, null()));
        taken(log)
    });
}

fn fills(cases: &mut Cases) {
    add_case(cases, 417, "numbers that their stream has just got, before they are there", |log| {
        let (on, mut at, bytes) = (stream(log)?, null::<c_void>(), 256 * 4);
        let (one, host) =
            (Block::with(log, Kind::Device, &integers([1; 256]))?, Block::new(log, Kind::Pinned, bytes)?);
        let first = device(log)?;
        sum(log, "first", first, one, 1, on);
        // A pool that has memory, so that the allocation has nothing to wait for.
        need!(log, cudaMallocAsync(&raw mut at, bytes, on));
        need!(log, cudaFreeAsync(at, on));
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaMallocAsync(&raw mut at, bytes, on));
        ask!(log, cudaMemsetAsync(at, 0, bytes, on));
        ask!(log, "its end", cudaMemsetAsync(at.wrapping_byte_add(bytes - 4), 1, 4, on));
        sum(log, "kernel", one.moved(at), one, 256, on);
        ask!(log, "down", cudaMemcpyAsync(host.ptr(), at, bytes, BACK, on));
        ask!(log, "over the end", cudaMemsetAsync(at, 0, 64 << 20, on));
        ask!(log, "freed", cudaFreeAsync(at, on));
        ask!(log, "behind that", cudaMemsetAsync(at, 7, bytes, on));
        ask!(log, "last", cudaGetLastError());
        gate.open();
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", host)?;
        let got = host.load(log)?;
        log.fact("last", format_args!("{:?}", &got[bytes - 8..]));
        taken(log)
    });
    add_case(cases, 458, "three long numbers, then the room of a scan that has no place yet", |log| {
        let (out, tmp) = (Block::with(log, Kind::Device, &[9; 24])?, null::<c_void>());
        ask!(log, "out", cudaMemset(out.ptr(), 0, 24));
        holds(log, out, &[0; 24])?;
        ask!(log, "no room yet", cudaMemset(tmp, 0, 0));
        ask!(log, "too much for it", cudaMemset(tmp, 0, 1));
        ask!(log, "last", cudaGetLastError());
        for (name, value) in [("a byte", 255), ("more than a byte", 0x1_0203), ("below zero", -1)] {
            ask!(log, name, cudaMemset(out.at(8), value, 8));
            let got = out.load(log)?;
            log.fact("bytes", format_args!("{:?}", &got[7..17]));
        }
        ask!(log, "last, unaligned", cudaMemset(out.at(21), 4, 3));
        ask!(log, "over the end", cudaMemset(out.at(21), 4, 1 << 30));
        let mut number = 5_u64;
        ask!(log, "of the host", cudaMemset((&raw mut number).cast(), 0, 8));
        log.fact("number", number);
        let got = out.load(log)?;
        log.fact("bytes", format_args!("{:?}", &got[16..]));
        taken(log)
    });
    add_case(cases, 492, "of which a kernel sets only some, of memory of every kind", |log| {
        for kind in [Kind::Device, Kind::Managed, Kind::Pinned, Kind::Registered, Kind::Pool, Kind::Pageable]
        {
            let (block, from) = (Block::with(log, kind, &[1; N])?, device(log)?);
            need!(log, cudaMemset(from.ptr(), 1, N));
            need!(log, cudaDeviceSynchronize());
            let gate = Gate::hold(log, null())?;
            waits(log, &gate, |log| {
                ask!(log, kind.name(), cudaMemset(block.ptr(), 0, N));
            });
            ask!(log, cudaDeviceSynchronize());
            if kind == Kind::Pageable {
                continue;
            }
            scale(log, "kernel", block, from, 2.0, 100, null());
            ask!(log, cudaDeviceSynchronize());
            let got = block.load(log)?;
            log.fact("zeros", got[400..].iter().filter(|byte| **byte == 0).count());
        }
        let odd = Block::with(log, Kind::Device, &floats([1.0; 1 << 16]))?;
        ask!(log, "an odd size", cudaMemset(odd.at(5), 0, (1 << 18) - 12));
        let got = odd.load(log)?;
        log.fact("left", format_args!("{:?} {:?}", &got[..5], &got[(1 << 18) - 7..]));
        taken(log)
    });
}

/// What a kernel reads of the list: its second number.
fn second(log: &mut Log, out: Block) -> Outcome {
    let mut at = out.ptr();
    start(log, "kernel", case_read_symbols as Kernel, [1, 1, 0], null(), &mut arguments![at]);
    let got = out.load(log)?;
    log.fact("second", i32::from_le_bytes([got[4], got[5], got[6], got[7]]));
    Ok(())
}

fn frames(log: &mut Log) -> Outcome {
    // SAFETY: takes nothing.
    let (symbol, out) = (unsafe { case_list_symbol() }, Block::new(log, Kind::Device, 16)?);
    second(log, out)?;
    for frame in 0..3 {
        let mut change = [frame, 10 * frame, 100 * frame, 7];
        let from = (&raw mut change).cast::<c_void>();
        ask!(log, &format!("{frame}"), cudaMemcpyToSymbol(symbol, from, 16, 0, THERE));
        // SAFETY: a live array, which the call has read.
        unsafe { from.cast::<i32>().add(1).write_volatile(-5) };
        second(log, out)?;
    }
    let change = [1_i32, 2, 3, 4];
    let from = (&raw const change).cast::<c_void>();
    for (name, flags) in [("non-blocking", 1), ("blocking", 0)] {
        let on = stream_with(log, flags)?;
        adds(log, "first", out, 1, on);
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        log.fact("held", name);
        waits(log, &gate, |log| {
            ask!(log, "a frame", cudaMemcpyToSymbol(symbol, from, 16, 0, THERE));
        });
    }
    second(log, out)?;
    let mut at = null::<c_void>();
    ask!(log, cudaGetSymbolAddress(&raw mut at, symbol));
    ask!(log, "its address as a symbol", cudaMemcpyToSymbol(at, from, 4, 0, THERE));
    ask!(log, "a kernel as a symbol", cudaMemcpyToSymbol(case_empty as Kernel, from, 4, 0, THERE));
    ask!(log, "null as a symbol", cudaMemcpyToSymbol(null::<c_void>(), from, 4, 0, THERE));
    ask!(log, "to the last", cudaMemcpyToSymbol(symbol, from, 4, 60, THERE));
    ask!(log, "over the end", cudaMemcpyToSymbol(symbol, from, 4, 64, THERE));
    ask!(log, "down", cudaMemcpyToSymbol(symbol, from, 4, 0, BACK));
    // SAFETY: takes nothing.
    there(log, || unsafe { [sys::cudaGetLastError(), sys::cudaDeviceSynchronize()] });
    second(log, out)?;
    taken(log)
}
