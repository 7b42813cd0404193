//! Copies and fills.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    N, add_case, device, first_is, float_is, floats, integers, null, ready, scale, sum, taken, what,
};
use crate::case::Cases;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

const BACK: sys::cudaMemcpyKind = sys::cudaMemcpyDeviceToHost;
const THERE: sys::cudaMemcpyKind = sys::cudaMemcpyHostToDevice;

pub(super) fn add(cases: &mut Cases) {
    blocking(cases);
    asynchronous(cases);
    fills(cases);
}

fn blocking(cases: &mut Cases) {
    add_case(cases, 1, "the result of three kernels, no wait between, then the wrong direction", |log| {
        let row = || (0..1024).map(|i| i as f32);
        let (from, to) = (Block::with(log, Kind::Device, &floats(row()))?, device(log)?);
        for by in [3.0, 2.0, 0.5] {
            scale(log, "kernel", to, from, by, 1024, null());
        }
        let mut got = vec![0_u8; N];
        ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), to.ptr(), N, BACK));
        log.bytes("all bytes", &got, &floats(row().map(|x| x * 0.5)));
        ask!(log, "as if up", cudaMemcpy(got.as_mut_ptr().cast(), to.ptr(), N, THERE));
        ask!(
            log,
            "as if across",
            cudaMemcpy(got.as_mut_ptr().cast(), to.ptr(), N, sys::cudaMemcpyDeviceToDevice)
        );
        taken(log)
    });
    add_case(cases, 13, "two results after each other, the second one too large", |log| {
        let (list, count) = (device(log)?, Block::with(log, Kind::Device, &[9; 16])?);
        let mut got = vec![0_u8; N + 1];
        let to: *mut c_void = got.as_mut_ptr().cast();
        ask!(log, cudaMemcpy(to, list.ptr(), N, BACK));
        ask!(log, "none", cudaMemcpy(to, count.ptr(), 0, BACK));
        ask!(log, "all", cudaMemcpy(to, count.ptr(), 16, BACK));
        ask!(log, "one byte too many", cudaMemcpy(to, list.ptr(), N + 1, BACK));
        log.fact("first bytes", format_args!("{:?}", &got[..18]));
        taken(log)
    });
    add_case(cases, 61, "a picture that a kernel wrote, whole and from its second row", |log| {
        let (to, row) = (device(log)?, 256);
        crate::cases::kernel::fill(log, to.ptr(), 200, N, null())?;
        crate::cases::kernel::fill(log, to.at(row), 100, row, null())?;
        ask!(log, cudaDeviceSynchronize());
        let mut got = vec![1_u8; N];
        ask!(log, "rows 1 and 2", cudaMemcpy(got.as_mut_ptr().cast(), to.at(row), 2 * row, BACK));
        log.fact("at", format_args!("{} {} {}", got[row - 1], got[row], got[2 * row]));
        ask!(log, "all", cudaMemcpy(got.as_mut_ptr().cast(), to.ptr(), N, BACK));
        log.fact("at", format_args!("{} {} {}", got[row - 1], got[row], got[2 * row]));
        Ok(())
    });
    add_case(cases, 111, "a download of no elements, and with null on either side", |log| {
        let from = device(log)?;
        let mut got = [7_u8; 64];
        let to: *mut c_void = got.as_mut_ptr().cast();
        ask!(log, "none", cudaMemcpy(to, from.ptr(), 0, BACK));
        ask!(log, "none to null", cudaMemcpy(null(), from.ptr(), 0, BACK));
        ask!(log, "none from null", cudaMemcpy(to, null(), 0, BACK));
        ask!(log, "some to null", cudaMemcpy(null(), from.ptr(), 64, BACK));
        ask!(log, "some from null", cudaMemcpy(to, null(), 64, BACK));
        ask!(log, "some", cudaMemcpy(to, from.ptr(), 64, BACK));
        log.fact("last byte", got[63]);
        taken(log)
    });
}

fn asynchronous(cases: &mut Cases) {
    add_case(cases, 27, "a number from the stack, which a graph reads, three times", |log| {
        let (on, count, out) = (stream(log)?, device(log)?, device(log)?);
        need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
        need!(log, cudaMemcpyAsync(out.ptr(), count.ptr(), 4, sys::cudaMemcpyDeviceToDevice, on));
        let graph = super::super::common::end(log, on);
        let run = ready(log, graph);
        for number in [1000_i32, 0, 1000] {
            ask!(log, cudaMemcpyAsync(count.ptr(), (&raw const number).cast(), 4, THERE, on));
            let poison = -1_i32;
            ask!(log, cudaMemcpyAsync(out.ptr(), (&raw const poison).cast(), 4, THERE, on));
            super::super::common::go(log, run, on);
            first_is(log, "number", out)?;
        }
        Ok(())
    });
    add_case(cases, 87, "one element of every kind of memory, direction left to the runtime", |log| {
        let on = stream(log)?;
        for kind in Kind::ALL {
            let (from, mut got) = (Block::with(log, kind, &pattern(N, 3))?, [0_u8; 4]);
            need!(log, cudaDeviceSynchronize());
            let to: *mut c_void = got.as_mut_ptr().cast();
            ask!(log, kind.name(), cudaMemcpyAsync(to, from.at(N - 4), 4, sys::cudaMemcpyDefault, on));
            ask!(log, cudaStreamSynchronize(on));
            log.bytes("element", &got, &pattern(N, 3)[N - 4..]);
        }
        Ok(())
    });
    add_case(cases, 121, "a block of a vector to another, to itself, and past its end", |log| {
        let (on, across) = (stream(log)?, sys::cudaMemcpyDeviceToDevice);
        let (from, to) = (Block::with(log, Kind::Device, &pattern(N, 1))?, device(log)?);
        ask!(log, cudaMemcpyAsync(to.at(512), from.ptr(), 1024, across, on));
        ask!(log, "itself", cudaMemcpyAsync(from.ptr(), from.ptr(), N, across, on));
        ask!(log, "none", cudaMemcpyAsync(to.ptr(), from.ptr(), 0, across, on));
        ask!(log, cudaStreamSynchronize(on));
        let got = to.load(log)?;
        let mut want = vec![0; N];
        want[512..1536].copy_from_slice(&pattern(N, 1)[..1024]);
        log.bytes("all bytes", &got, &want);
        from.compare(log, "source", &pattern(N, 1))
    });
    add_case(cases, 123, "sums back to pinned and to pageable memory on their stream", |log| {
        let on = stream(log)?;
        let (from, out) = (Block::with(log, Kind::Device, &integers(1..=1000))?, device(log)?);
        for kind in [Kind::Pinned, Kind::Pageable] {
            let to = Block::new(log, kind, 128)?;
            ask!(log, cudaMemsetAsync(out.ptr(), 0, 4, on));
            sum(log, "kernel", out, from, 1000, on);
            ask!(log, kind.name(), cudaMemcpyAsync(to.ptr(), out.ptr(), 128, BACK, on));
            ask!(log, cudaStreamSynchronize(on));
            ask!(log, cudaStreamQuery(on));
            first_is(log, "sum", to)?;
        }
        Ok(())
    });
    add_case(cases, 128, "down after an event of the stream that wrote", |log| {
        let (a, b, mark, block) = (stream(log)?, stream(log)?, event(log)?, device(log)?);
        crate::cases::kernel::fill(log, block.ptr(), 55, N, a)?;
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        let mut got = vec![0_u8; N];
        ask!(log, cudaMemcpyAsync(got.as_mut_ptr().cast(), block.ptr(), N, BACK, b));
        ask!(log, cudaStreamSynchronize(b));
        log.bytes("all bytes", &got, &[55; N]);
        ask!(log, "the other stream", cudaStreamQuery(a));
        Ok(())
    });
    add_case(cases, 134, "a count down to pinned memory, where a host function reads it", |log| {
        let (on, out, to) = (stream(log)?, device(log)?, Block::new(log, Kind::Pinned, 8)?);
        let from = Block::with(log, Kind::Device, &integers([1; 300]))?;
        sum(log, "kernel", out, from, 300, on);
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaMemcpyAsync(to.ptr(), out.ptr(), 4, BACK, on));
        ask!(log, cudaLaunchHostFunc(on, Some(double), to.ptr()));
        ask!(log, cudaStreamSynchronize(on));
        let got = to.load(log)?;
        log.fact("both", format_args!("{} {}", got[0], u32::from(got[4]) + 256 * u32::from(got[5])));
        Ok(())
    });
    add_case(cases, 139, "one double across, from within a block", |log| {
        let (on, across) = (stream(log)?, sys::cudaMemcpyDeviceToDevice);
        let (from, to) = (Block::with(log, Kind::Device, &pattern(N, 5))?, device(log)?);
        ask!(log, cudaMemcpyAsync(to.ptr(), from.at(8), 8, across, on));
        ask!(log, "odd places", cudaMemcpyAsync(to.at(9), from.at(3), 8, across, on));
        ask!(log, "no such stream's order", cudaMemcpyAsync(to.at(17), from.at(1), 1, across, null()));
        ask!(log, cudaDeviceSynchronize());
        let got = to.load(log)?;
        log.bytes("first", &got[..8], &pattern(N, 5)[8..16]);
        log.bytes("second", &got[9..17], &pattern(N, 5)[3..11]);
        log.bytes("third", &got[17..18], &pattern(N, 5)[1..2]);
        Ok(())
    });
}

unsafe extern "C" fn double(at: *mut c_void) {
    let at: *mut u32 = at.cast();
    // SAFETY: the case passes eight bytes of pinned memory, and waits.
    unsafe { *at.add(1) = 2 * *at };
}

fn fills(cases: &mut Cases) {
    add_case(cases, 54, "a counter to zero before a kernel that counts", |log| {
        let (wrong, data) =
            (Block::with(log, Kind::Device, &[255; 4])?, Block::with(log, Kind::Device, &[6; N])?);
        for value in [6_u8, 7] {
            ask!(log, cudaMemset(wrong.ptr(), 0, 4));
            super::kernel::check(log, wrong, data, value, N, null());
            ask!(log, cudaGetLastError());
            first_is(log, "wrong", wrong)?;
        }
        ask!(log, "null", cudaMemset(null(), 0, 4));
        ask!(log, "null, none", cudaMemset(null(), 0, 0));
        ask!(log, "one byte too many", cudaMemset(data.ptr(), 0, N + 1));
        Ok(())
    });
    add_case(cases, 103, "a part of a buffer, from an offset", |log| {
        let (on, block) = (stream(log)?, Block::with(log, Kind::Device, &[9; N])?);
        ask!(log, cudaMemsetAsync(block.at(100), 0, 300, on));
        ask!(log, "none", cudaMemsetAsync(block.ptr(), 0, 0, on));
        ask!(log, "none, null", cudaMemsetAsync(null(), 0, 0, on));
        ask!(log, "null", cudaMemsetAsync(null(), 0, 8, on));
        ask!(log, cudaStreamSynchronize(on));
        let got = block.load(log)?;
        let mut want = vec![9; N];
        want[100..400].fill(0);
        log.bytes("all bytes", &got, &want);
        taken(log)
    });
    add_case(cases, 108, "a sum to zero in each round of a loop", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        let from = Block::with(log, Kind::Device, &integers([2; 1024]))?;
        for count in [1024, 1, 65] {
            ask!(log, cudaMemsetAsync(out.ptr(), 0, 8, on));
            sum(log, "kernel", out, from, count, on);
            let mut got = -1_i32;
            ask!(log, cudaMemcpyAsync((&raw mut got).cast(), out.ptr(), 4, BACK, on));
            ask!(log, cudaStreamSynchronize(on));
            log.fact("sum", got);
        }
        Ok(())
    });
    add_case(cases, 150, "on the default stream, with values of more than a byte", |log| {
        let block = device(log)?;
        for value in [0_i32, 0x1ff, -1, 0x4000] {
            ask!(log, &format!("{value}"), cudaMemsetAsync(block.ptr(), value, N, null()));
            let got = block.load(log)?;
            log.fact("bytes", format_args!("{} {}", got[0], got[N - 1]));
        }
        for kind in [Kind::Pinned, Kind::Managed, Kind::Registered, Kind::Pool, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaMemsetAsync(block.ptr(), 4, N, null()));
            ask!(log, cudaStreamSynchronize(null()));
            let got = block.load(log)?;
            log.fact("byte", got[N - 1]);
        }
        Ok(())
    });
    add_case(cases, 131, "rows of four floats each, and sizes at the edge", |log| {
        for (width, height) in [(256 * 16, 256), (100 * 16, 64), (1, 1), (512, 3), (513, 3), (0, 4), (4, 0)] {
            let (mut at, mut pitch) = (null(), 77);
            ask!(
                log,
                &format!("{width} x {height}"),
                cudaMallocPitch(&raw mut at, &raw mut pitch, width, height)
            );
            log.fact("pitch", pitch);
            log.fact("address", if at.is_null() { "null" } else { "some" });
            log.fact("aligned", at.addr().is_multiple_of(512));
        }
        let (mut at, mut pitch) = (null(), 0);
        ask!(log, "pitch null", cudaMallocPitch(&raw mut at, null(), 16, 16));
        ask!(log, "address null", cudaMallocPitch(null(), &raw mut pitch, 16, 16));
        ask!(log, "too large", cudaMallocPitch(&raw mut at, &raw mut pitch, 1 << 40, 1 << 10));
        taken(log)
    });
    add_case(cases, 72, "managed memory to all streams, by the default stream, and the other flags", |log| {
        let (on, block) = (stream(log)?, Block::new(log, Kind::Managed, N)?);
        ask!(log, "global", cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachGlobal));
        ask!(log, "host", cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachHost));
        ask!(
            log,
            "single, default",
            cudaStreamAttachMemAsync(null(), block.ptr(), 0, sys::cudaMemAttachSingle)
        );
        ask!(log, "single", cudaStreamAttachMemAsync(on, block.ptr(), 0, sys::cudaMemAttachSingle));
        ask!(log, "all bytes", cudaStreamAttachMemAsync(on, block.ptr(), N, sys::cudaMemAttachGlobal));
        ask!(log, "a part", cudaStreamAttachMemAsync(on, block.ptr(), 64, sys::cudaMemAttachGlobal));
        ask!(log, "no flag", cudaStreamAttachMemAsync(on, block.ptr(), 0, 0));
        ask!(log, "null", cudaStreamAttachMemAsync(on, null(), 0, sys::cudaMemAttachGlobal));
        let plain = device(log)?;
        ask!(log, "device memory", cudaStreamAttachMemAsync(on, plain.ptr(), 0, sys::cudaMemAttachGlobal));
        ask!(log, cudaDeviceSynchronize());
        what(log, "then", block.ptr());
        let from = Block::with(log, Kind::Managed, &floats([1.5; 4]))?;
        scale(log, "kernel", block, from, 2.0, 4, on);
        ask!(log, cudaDeviceSynchronize());
        float_is(log, block, 3)?;
        Ok(())
    });
}
