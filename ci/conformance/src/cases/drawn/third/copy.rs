//! Copies and fills.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, adds, arguments, begin, device, end, first, first_is, holds, integers, null, start,
    sum, taken, waits,
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
    fn case_read_symbols();
    fn case_constant_symbol() -> *const c_void;
}

pub(super) fn add(cases: &mut Cases) {
    blocking(cases);
    asynchronous(cases);
    rows(cases);
    fills(cases);
    add_case(cases, 388, "the third of five tables, whole, a part, too much, from the device", constants);
}

fn blocking(cases: &mut Cases) {
    add_case(cases, 303, "as many results as a counter says, which came down before", |log| {
        let (counter, results) = (device(log)?, Block::with(log, Kind::Device, &pattern(N, 8))?);
        let mut got = vec![0_u8; N];
        for amount in [0, 300, 3796, 1] {
            adds(log, "kernel", counter, amount, null());
            let count = first(log, counter)?.unsigned_abs() as usize;
            ask!(log, &format!("{count}"), cudaMemcpy(got.as_mut_ptr().cast(), results.ptr(), count, BACK));
            log.fact("bytes", got.iter().filter(|byte| **byte != 0).count());
        }
        log.bytes("all bytes", &got, &pattern(N, 8));
        ask!(log, "below zero", cudaMemcpy(got.as_mut_ptr().cast(), results.ptr(), usize::MAX - 3, BACK));
        ask!(log, "from the end", cudaMemcpy(got.as_mut_ptr().cast(), results.at(N), 1, BACK));
        taken(log)
    });
}

fn asynchronous(cases: &mut Cases) {
    add_case(cases, 305, "a sum to the host, each round, while its stream is held", |log| {
        let (on, out, from) =
            (stream(log)?, device(log)?, Block::with(log, Kind::Device, &integers([2; 64]))?);
        for kind in [Kind::Pageable, Kind::Pinned, Kind::Registered, Kind::Managed] {
            let to = Block::new(log, kind, 8)?;
            need!(log, cudaMemsetAsync(out.ptr(), 0, 8, on));
            sum(log, "kernel", out, from, 64, on);
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            ask!(log, cudaMemsetAsync(out.ptr(), 0, 8, on));
            sum(log, "kernel", out, from, 64, on);
            waits(log, &gate, |log| {
                ask!(log, kind.name(), cudaMemcpyAsync(to.ptr(), out.ptr(), 8, BACK, on));
            });
            ask!(log, cudaStreamSynchronize(on));
            first_is(log, "sum", to)?;
        }
        taken(log)
    });
    add_case(cases, 315, "an element from the stack, which changes before the stream goes on", |log| {
        let on = stream(log)?;
        for kind in [Kind::Device, Kind::Pool, Kind::Managed, Kind::Pinned] {
            let (vector, mut value) = (Block::with(log, kind, &[1; N])?, 0x0505_0505_i32);
            need!(log, cudaDeviceSynchronize());
            let gate = Gate::hold(log, on)?;
            let (to, from) = (vector.at(4 * 7), &raw mut value);
            waits(log, &gate, |log| {
                ask!(log, kind.name(), cudaMemcpyAsync(to, from.cast(), 4, sys::cudaMemcpyDefault, on));
                // SAFETY: a live number. A copy that has not read it yet is what the case is about.
                unsafe { from.write_volatile(0x0909_0909) };
            });
            ask!(log, cudaStreamSynchronize(on));
            let got = vector.load(log)?;
            log.fact("bytes", format_args!("{} {} {}", got[27], got[28], got[32]));
        }
        let mut number = 1_i32;
        let at: *mut c_void = (&raw mut number).cast();
        ask!(log, "null", cudaMemcpyAsync(null(), at, 4, sys::cudaMemcpyDefault, on));
        taken(log)
    });
}

fn rows(cases: &mut Cases) {
    add_case(cases, 352, "a picture of the host into rows of the device, each side its own pitch", |log| {
        let (mut at, mut pitch, up) = (null::<c_void>(), 0, pattern(N, 3));
        need!(log, cudaMallocPitch(&raw mut at, &raw mut pitch, 638, 6));
        need!(log, cudaMemset(at, 0, pitch * 6));
        log.fact("pitch", pitch);
        let from: *const c_void = up.as_ptr().cast();
        ask!(log, cudaMemcpy2D(at, pitch, from, 640, 638, 6, THERE));
        let mut got = vec![0_u8; pitch * 6];
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), at, pitch * 6, BACK));
        let right = (0..6).filter(|y| got[y * pitch..][..638] == up[y * 640..][..638]).count();
        log.fact("rows, behind them", format_args!("{right} {}", got[638..pitch].iter().all(|it| *it == 0)));
        for (name, to, there, way, width, height) in [
            ("left open", at, pitch, sys::cudaMemcpyDefault, 638, 6),
            ("as if down", at, pitch, BACK, 638, 6),
            ("as if across", at, pitch, ACROSS, 638, 6),
            ("wider than the pitch", at, pitch, THERE, pitch + 1, 2),
            ("no rows", at, pitch, THERE, 638, 0),
            ("to null", null(), pitch, THERE, 638, 6),
            ("no width", at, 0, THERE, 0, 6),
        ] {
            ask!(log, name, cudaMemcpy2D(to, there, from, 640, width, height, way));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 385, "the part of a result that has a whole mask, into a canvas", |log| {
        let (from, mut canvas) = (Block::with(log, Kind::Device, &pattern(N, 6))?, vec![9_u8; 4 * N]);
        let to: *mut c_void = canvas.as_mut_ptr().cast();
        ask!(log, cudaMemcpy2D(to, 60, from.at(3 * 64 + 3), 64, 58, 10, BACK));
        let right = (0..10).filter(|y| canvas[y * 60..][..58] == pattern(N, 6)[(y + 3) * 64 + 3..][..58]);
        log.fact("rows", right.count());
        log.fact("others", canvas.iter().filter(|byte| **byte == 9).count());
        for (name, there, here, width, height) in [
            ("the last row is no whole one", 60, 64, 32, 64),
            ("one column", 1, 64, 1, 64),
            ("over the end", 60, 64, 60, 65 + 64),
            ("the host's pitch too small", 57, 64, 58, 2),
            ("the device's pitch too small", 60, 57, 58, 2),
            ("pitches of one row", 58, 58, 58, 1),
            ("a pitch of all addresses", 60, usize::MAX, 58, 2),
            ("no height", 60, 64, 58, 0),
        ] {
            ask!(log, name, cudaMemcpy2D(to, there, from.ptr(), here, width, height, BACK));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}

fn fills(cases: &mut Cases) {
    add_case(cases, 304, "elements of every size to zero, the last one, and the one behind it", |log| {
        let on = stream(log)?;
        for kind in [Kind::Device, Kind::Pool] {
            let vector = Block::with(log, kind, &[255; N])?;
            for size in [1, 2, 4, 8, 16] {
                ask!(log, &format!("{size}"), cudaMemsetAsync(vector.at(size * 37), 0, size, on));
            }
            ask!(log, "last", cudaMemsetAsync(vector.at(N - 8), 0, 8, on));
            ask!(log, cudaStreamSynchronize(on));
            let got = vector.load(log)?;
            log.fact("zeros", got.iter().filter(|byte| **byte == 0).count());
            log.fact("first", format_args!("{:?}", got.iter().position(|byte| *byte == 0)));
        }
        let vector = device(log)?;
        ask!(log, "behind the last", cudaMemsetAsync(vector.at(N), 0, 8, on));
        ask!(log, "half behind it", cudaMemsetAsync(vector.at(N - 4), 0, 8, on));
        taken(log)
    });
    add_case(cases, 318, "mass and energy to zero, and the sums that are not set again", |log| {
        let (mass, energy) = (Block::new(log, Kind::Device, 8)?, Block::new(log, Kind::Device, 8)?);
        let from = Block::with(log, Kind::Device, &integers([3; 100]))?;
        for value in [0, 0, 256, 1] {
            ask!(log, "mass", cudaMemset(mass.ptr(), value, 8));
            sum(log, "kernel", mass, from, 100, null());
            sum(log, "kernel", energy, from, 100, null());
            let (a, b) = (first(log, mass)?, first(log, energy)?);
            log.fact("sums", format_args!("{a} {b}"));
        }
        ask!(log, "below zero", cudaMemset(mass.ptr(), -2, 8));
        first_is(log, "number", mass)?;
        let number = Block::new(log, Kind::Pageable, 8)?;
        ask!(log, "null", cudaMemset(null(), 0, 8));
        ask!(log, "at an odd place", cudaMemset(energy.at(3), 0, 5));
        ask!(log, "down", cudaMemcpy(number.ptr(), energy.ptr(), 8, BACK));
        first_is(log, "number", number)?;
        taken(log)
    });
    add_case(cases, 364, "a code to zero behind a copy across, while a stream is held", |log| {
        let (on, a, info) =
            (stream_with(log, 0)?, Block::with(log, Kind::Device, &pattern(N, 1))?, device(log)?);
        let copy = device(log)?;
        need!(log, cudaMemcpy(copy.ptr(), a.ptr(), 64, ACROSS));
        need!(log, cudaMemset(info.ptr(), 1, 4));
        need!(log, cudaDeviceSynchronize());
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, "across", cudaMemcpy(copy.ptr(), a.ptr(), N, ACROSS));
            ask!(log, cudaMemset(info.ptr(), 0, 4));
            ask!(log, "within the copy", cudaMemset(copy.at(16), 5, 4));
        });
        let mut code = -1_i32;
        ask!(log, cudaMemcpy((&raw mut code).cast(), info.ptr(), 4, BACK));
        let got = copy.load(log)?;
        log.fact("code", format_args!("{code} {:?}", &got[14..22]));
        log.bytes("behind it", &got[20..], &pattern(N, 1)[20..]);
        taken(log)
    });
    add_case(cases, 373, "two vectors before a relaxed capture, and one within it", |log| {
        let (a, b) = (device(log)?, device(log)?);
        for (name, flags) in [("non-blocking", 1), ("blocking", 0)] {
            ask!(log, "before", cudaMemset(a.ptr(), 1, N));
            ask!(log, "before", cudaMemset(b.ptr(), 1, N));
            let on = stream_with(log, flags)?;
            ask!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeRelaxed));
            ask!(log, "captured", cudaMemsetAsync(b.ptr(), 2, N, on));
            ask!(log, name, cudaMemset(a.ptr(), 3, N));
            ask!(log, "last", cudaGetLastError());
            end(log, on);
            holds(log, a, &[3; N])?;
            holds(log, b, &[1; N])?;
        }
        let on = begin(log)?;
        ask!(log, "in a capture that is not relaxed", cudaMemset(a.ptr(), 4, N));
        end(log, on);
        taken(log)
    });
}

/// Notes what a kernel reads of the table, from its third number.
fn table(log: &mut Log) -> Outcome {
    let out = Block::new(log, Kind::Device, 16)?;
    let mut at = out.ptr();
    start(log, "kernel", case_read_symbols as Kernel, [1, 1, 0], null(), &mut arguments![at]);
    let got = out.load(log)?;
    log.fact("third", i32::from_le_bytes([got[8], got[9], got[10], got[11]]));
    Ok(())
}

fn constants(log: &mut Log) -> Outcome {
    // SAFETY: takes nothing.
    let (symbol, numbers) = (unsafe { case_constant_symbol() }, integers(100..116));
    let from: *const c_void = numbers.as_ptr().cast();
    table(log)?;
    ask!(log, "whole", cudaMemcpyToSymbol(symbol, from, 64, 0, THERE));
    table(log)?;
    ask!(log, "a part, left open", cudaMemcpyToSymbol(symbol, from, 4, 8, sys::cudaMemcpyDefault));
    table(log)?;
    let block = device(log)?;
    fill(log, block.ptr(), 1, N, null())?;
    ask!(log, "across", cudaMemcpyToSymbol(symbol, block.ptr(), 64, 0, ACROSS));
    table(log)?;
    ask!(log, "as if up, from the device", cudaMemcpyToSymbol(symbol, block.ptr(), 64, 0, THERE));
    ask!(log, "one too many", cudaMemcpyToSymbol(symbol, from, 65, 0, THERE));
    ask!(log, "over the end", cudaMemcpyToSymbol(symbol, from, 8, 60, THERE));
    ask!(log, "an offset that wraps", cudaMemcpyToSymbol(symbol, from, 8, usize::MAX - 3, THERE));
    ask!(log, "within the host", cudaMemcpyToSymbol(symbol, from, 4, 0, sys::cudaMemcpyHostToHost));
    ask!(log, "none", cudaMemcpyToSymbol(symbol, from, 0, 0, THERE));
    ask!(log, "from null", cudaMemcpyToSymbol(symbol, null(), 4, 0, THERE));
    table(log)?;
    taken(log)
}
