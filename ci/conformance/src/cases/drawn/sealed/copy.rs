//! Copies and fills.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    N, add_case, device, end, first_is, float, floats, integers, null, scale, sum, taken, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream, stream_with};

const BACK: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToHost;
const THERE: sys::cudaMemcpyKind = sys::cudaMemcpyHostToDevice;

unsafe extern "C" {
    fn case_retire();
    fn case_retired_symbol() -> *const c_void;
}

pub(super) fn add(cases: &mut Cases) {
    copies(cases);
    fills(cases);
    add_case(cases, 295, "a counter before each of three launches, its offset and size wrong", retired);
}

fn copies(cases: &mut Cases) {
    add_case(cases, 167, "a table up, then a wait, then twice as much as there is", |log| {
        let (table, to) = (pattern(2 * N, 4), Block::new(log, Kind::Device, 2 << 20)?);
        let from: *const c_void = table.as_ptr().cast();
        ask!(log, cudaMemcpy(to.ptr(), from, 2 * N, THERE));
        ask!(log, cudaDeviceSynchronize());
        let got = to.load(log)?;
        log.bytes("all bytes", &got[..2 * N], &table);
        ask!(log, "over the end", cudaMemcpy(to.at((2 << 20) - N), from, 2 * N, THERE));
        ask!(
            log,
            "left open, over the end",
            cudaMemcpy(to.at((2 << 20) - 1), from, 2, sys::cudaMemcpyDefault)
        );
        ask!(log, "from the device's side", cudaMemcpy(to.ptr(), to.at(N), N, THERE));
        taken(log)
    });
    add_case(cases, 188, "one array to two buffers, the second part of it only", |log| {
        let (up, a, b) = (floats((0..1024).map(|i| i as f32)), device(log)?, device(log)?);
        ask!(log, cudaMemcpy(a.ptr(), up.as_ptr().cast(), N, THERE));
        ask!(log, cudaMemcpy(b.ptr(), up.as_ptr().cast(), 256, THERE));
        scale(log, "kernel", b, a, 2.0, 32, null());
        let got = (float(log, b, 31)?, float(log, b, 63)?, float(log, b, 64)?);
        log.fact("numbers", format_args!("{got:?}"));
        ask!(log, "a kind of 5", cudaMemcpy(b.ptr(), a.ptr(), 4, sys::cudaMemcpyKind(5)));
        ask!(log, "a kind of 5, none", cudaMemcpy(b.ptr(), a.ptr(), 0, sys::cudaMemcpyKind(5)));
        taken(log)
    });
    add_case(cases, 233, "down, compared with what the host computed, over parts that overlap", |log| {
        let from = Block::with(log, Kind::Device, &pattern(N, 1))?;
        let mut got = vec![0_u8; N];
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), from.ptr(), N, BACK));
        log.bytes("all bytes", &got, &pattern(N, 1));
        // Parts that overlap by no byte, and by none that changes.
        ask!(
            log,
            "side by side",
            cudaMemcpy(from.at(N / 2), from.ptr(), N / 2, sys::cudaMemcpyDeviceToDevice)
        );
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), from.ptr(), N, BACK));
        log.bytes("second half", &got[N / 2..], &pattern(N, 1)[..N / 2]);
        ask!(
            log,
            "within the host",
            cudaMemcpy(got.as_mut_ptr().cast(), got.as_ptr().cast(), 8, sys::cudaMemcpyHostToHost)
        );
        taken(log)
    });
    add_case(cases, 278, "a frame down between two records, which are in order", |log| {
        let (from, to, marks) =
            (device(log)?, Block::new(log, Kind::Pageable, N)?, [event(log)?, event(log)?]);
        ask!(log, cudaEventRecord(marks[0], null()));
        crate::cases::kernel::fill(log, from.ptr(), 31, N, null())?;
        ask!(log, cudaMemcpy(to.ptr(), from.ptr(), N, BACK));
        ask!(log, "before it", cudaEventQuery(marks[0]));
        ask!(log, cudaEventRecord(marks[1], null()));
        ask!(log, cudaEventSynchronize(marks[1]));
        let got = to.load(log)?;
        log.bytes("all bytes", &got, &[31; N]);
        Ok(())
    });
    add_case(cases, 176, "a picture to memory that was allocated while the kernel is held", |log| {
        let (on, from) = (stream(log)?, device(log)?);
        crate::cases::kernel::fill(log, from.ptr(), 1, N, on)?;
        need!(log, cudaStreamSynchronize(on));
        let (gate, mut to) = (Gate::hold(log, on)?, null());
        crate::cases::kernel::fill(log, from.ptr(), 44, N, on)?;
        ask!(log, cudaMallocHost(&raw mut to, N));
        waits(log, &gate, |log| {
            ask!(log, cudaMemcpyAsync(to, from.ptr(), N, BACK, on));
        });
        ask!(log, cudaStreamSynchronize(on));
        // SAFETY: it has so many bytes, and no work uses it.
        log.bytes("all bytes", unsafe { std::slice::from_raw_parts(to.cast(), N) }, &[44; N]);
        Ok(())
    });
    add_case(cases, 210, "pageable arrays to memory of the stream, and the last one back", |log| {
        let (on, up) = (stream(log)?, pattern(N, 6));
        let (mut a, mut b) = (null(), null());
        ask!(log, cudaMallocAsync(&raw mut a, N, on));
        ask!(log, cudaMallocAsync(&raw mut b, N, on));
        ask!(log, cudaMemcpyAsync(a, up.as_ptr().cast(), N, THERE, on));
        ask!(log, cudaMemcpyAsync(b, a, N, sys::cudaMemcpyDefault, on));
        let mut got = vec![0_u8; N];
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), b, N, BACK, on));
        ask!(log, cudaFreeAsync(a, on));
        ask!(log, "freed in the queue", cudaMemcpyAsync(b, a, N, sys::cudaMemcpyDeviceToDevice, null()));
        ask!(log, cudaStreamSynchronize(on));
        log.bytes("all bytes", &got, &up);
        taken(log)
    });
    add_case(cases, 255, "frames of a smaller pitch, row by row, and widths that do not fit", |log| {
        let (from, to) =
            (Block::with(log, Kind::Pinned, &pattern(N, 1))?, Block::new(log, Kind::Device, 2 * N)?);
        for (name, to_pitch, from_pitch, width, rows) in [
            ("frame", 256, 100, 100, 8),
            ("as wide as the pitch", 256, 256, 256, 4),
            ("too wide", 256, 100, 101, 2),
        ] {
            ask!(log, name, cudaMemcpy2D(to.ptr(), to_pitch, from.ptr(), from_pitch, width, rows, THERE));
            let got = to.load(log)?;
            log.fact("at", format_args!("{} {} {} {}", got[99], got[100], got[256], got[7 * 256 + 99]));
        }
        ask!(log, "a small pitch there", cudaMemcpy2D(to.ptr(), 64, from.ptr(), 100, 100, 2, THERE));
        ask!(log, "no rows", cudaMemcpy2D(to.ptr(), 64, from.ptr(), 100, 100, 0, THERE));
        ask!(log, "over the end", cudaMemcpy2D(to.ptr(), 1024, from.ptr(), 100, 100, 10, THERE));
        taken(log)
    });
}

/// Notes what a fill with zero leaves, where the bytes were another value.
fn zeroed(log: &mut Log, block: Block, from: usize, bytes: usize) -> Outcome {
    ask!(log, cudaMemset(block.at(from), 0, bytes));
    let got = block.load(log)?;
    log.fact("zeros", got.iter().filter(|byte| **byte == 0).count());
    log.fact("the first", format_args!("{:?}", got.iter().position(|byte| *byte == 0)));
    Ok(())
}

fn fills(cases: &mut Cases) {
    add_case(cases, 172, "one byte between two launches of a graph", |log| {
        let (on, block, from) =
            (stream(log)?, device(log)?, Block::with(log, Kind::Device, &integers([1; 10]))?);
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        sum(log, "captured", block, from, 10, on);
        let graph = end(log, on);
        let run = super::super::common::ready(log, graph);
        for value in [0, 10, 200] {
            ask!(log, cudaMemset(block.ptr(), value, 1));
            ask!(log, cudaGraphLaunch(run, null()));
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "sum", block)?;
        }
        Ok(())
    });
    add_case(cases, 231, "the rows of a picture that are there to fill its last tile", |log| {
        let block = Block::with(log, Kind::Device, &[5; N])?;
        zeroed(log, block, 0, N)?;
        let block = Block::with(log, Kind::Device, &[5; N])?;
        zeroed(log, block, 3, 1000)?;
        zeroed(log, block, N - 1, 1)?;
        zeroed(log, block, N, 0)
    });
    add_case(cases, 236, "a result of four bytes each, over the copies before it", |log| {
        let block = device(log)?;
        for kind in [Kind::Pageable, Kind::Pinned] {
            let from = Block::with(log, kind, &[9; N])?;
            ask!(log, cudaMemcpy(block.ptr(), from.ptr(), N, THERE));
            zeroed(log, block, 4, 8)?;
        }
        ask!(log, "more than all", cudaMemset(block.ptr(), 0, usize::MAX));
        taken(log)
    });
    add_case(cases, 288, "floats of a step, by the host and by a kernel after that", |log| {
        for kind in [Kind::Managed, Kind::Pinned, Kind::Pool] {
            let (block, from) =
                (Block::with(log, kind, &[7; N])?, Block::with(log, Kind::Device, &floats([1.5; 8]))?);
            log.fact("memory", kind.name());
            zeroed(log, block, 0, N)?;
            scale(log, "kernel", block, from, 2.0, 8, null());
            ask!(log, cudaDeviceSynchronize());
            let got = (float(log, block, 7)?, float(log, block, 8)?);
            log.fact("numbers", format_args!("{got:?}"));
        }
        Ok(())
    });
    add_case(cases, 291, "does the host wait for it, by the kind of memory", |log| {
        let on = stream_with(log, sys::cudaStreamDefault)?;
        for kind in [Kind::Device, Kind::Managed, Kind::Pinned] {
            let block = Block::new(log, kind, N)?;
            need!(log, cudaMemset(block.ptr(), 1, N));
            need!(log, cudaDeviceSynchronize());
            let gate = Gate::hold(log, on)?;
            waits(log, &gate, |log| {
                ask!(log, kind.name(), cudaMemset(block.ptr(), 2, N));
            });
            need!(log, cudaDeviceSynchronize());
        }
        Ok(())
    });
    add_case(cases, 195, "the first of many offsets, behind a kernel on no stream", |log| {
        let (from, block) = (Block::with(log, Kind::Device, &integers([1; 64]))?, device(log)?);
        sum(log, "kernel", block, from, 64, null());
        ask!(log, cudaMemsetAsync(block.at(4), 1, 4, null()));
        sum(log, "kernel", block, from, 64, null());
        ask!(log, "captures nothing", cudaMemsetAsync(block.ptr(), 0, 0, sys::cudaStreamPerThread));
        ask!(log, cudaDeviceSynchronize());
        let got = block.load(log)?;
        log.fact("bytes", format_args!("{:?}", &got[..9]));
        Ok(())
    });
    add_case(cases, 282, "right after the allocation, on a stream that goes at once", |log| {
        let (mut at, on) = (null::<c_void>(), stream(log)?);
        ask!(log, cudaMalloc(&raw mut at, N));
        ask!(log, cudaMemsetAsync(at, 3, N, on));
        ask!(log, cudaStreamDestroy(on));
        let mut got = vec![0_u8; N];
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), at, N, BACK));
        log.bytes("all bytes", &got, &[3; N]);
        ask!(log, cudaFree(at));
        Ok(())
    });
}

fn retired(log: &mut Log) -> Outcome {
    let (out, on): (_, sys::cudaStream_t) = (device(log)?, null());
    // SAFETY: takes nothing.
    let symbol = unsafe { case_retired_symbol() };
    let ask_for = |log: &mut Log| -> Result<(), Setup> {
        let mut at = out.ptr();
        super::super::common::start(
            log,
            "kernel",
            case_retire as super::super::common::Kernel,
            [5, 1, 0],
            on,
            &mut super::super::common::arguments![at],
        );
        let mut left = 77_u32;
        let to: *mut c_void = (&raw mut left).cast();
        ask!(log, "from it", cudaMemcpyFromSymbol(to, symbol, 4, 0, BACK));
        log.fact("left", left);
        Ok(())
    };
    for count in [0_u32, 3, 5] {
        ask!(log, cudaMemcpyToSymbol(symbol, (&raw const count).cast(), 4, 0, THERE));
        ask_for(log)?;
    }
    let count = 1_u64;
    let from: *const c_void = (&raw const count).cast();
    ask!(log, "too large", cudaMemcpyToSymbol(symbol, from, 8, 0, THERE));
    ask!(log, "behind it", cudaMemcpyToSymbol(symbol, from, 4, 4, THERE));
    ask!(log, "the wrong way", cudaMemcpyToSymbol(symbol, from, 4, 0, BACK));
    let mut size = 77;
    ask!(log, cudaGetSymbolSize(&raw mut size, symbol));
    log.fact("size", size);
    taken(log)
}
