//! Writes of kernels to memory of every kind, as copies and the host see them.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, stream};

unsafe extern "C" {
    fn case_fill();
}

/// Fills memory by a kernel.
pub(super) fn fill(log: &mut Log, to: *mut c_void, value: u8, bytes: usize, on: cudaStream_t) -> Outcome {
    let (mut at, mut value, mut count) = (to, value, bytes as u32);
    let mut arguments: [*mut c_void; 3] =
        [(&raw mut at).cast(), (&raw mut value).cast(), (&raw mut count).cast()];
    let grid = dim3 { x: bytes.div_ceil(256) as u32, y: 1, z: 1 };
    let block = dim3 { x: 256, y: 1, z: 1 };
    need!(log, cudaLaunchKernel(case_fill as *const c_void, grid, block, arguments.as_mut_ptr(), 0, on));
    Ok(())
}

fn copies(cases: &mut Cases, blocking: bool) {
    let api = if blocking { "cudaMemcpy" } else { "cudaMemcpyAsync" };
    cases.add(format!("{api}/device to host, what a kernel wrote, in three sizes"), move |log| {
        let device = Block::new(log, Kind::Device, 8192)?;
        fill(log, device.ptr(), 42, 8192, ptr::null_mut())?;
        let (mut right, mut tried) = (0, 0);
        for kind in [Kind::Pageable, Kind::Pinned] {
            for way in [cudaMemcpyDeviceToHost, cudaMemcpyDefault] {
                for size in [2048, 4096, 8192] {
                    let to = Block::new(log, kind, size)?;
                    if blocking {
                        need!(log, cudaMemcpy(to.ptr(), device.ptr(), size, way));
                    } else {
                        need!(log, cudaMemcpyAsync(to.ptr(), device.ptr(), size, way, ptr::null_mut()));
                        need!(log, cudaStreamSynchronize(ptr::null_mut()));
                    }
                    tried += 1;
                    right += usize::from(to.load(log)? == vec![42; size]);
                }
            }
        }
        log.fact("right", format_args!("{right} of {tried}"));
        Ok(())
    });
}

fn host(cases: &mut Cases) {
    cases.add("cudaMallocHost/written by a kernel, waited for in three ways", |log| {
        let (block, on, mark) = (Block::new(log, Kind::Pinned, 4)?, stream(log)?, event(log)?);
        for (value, how) in [(1, "the device"), (2, "the stream"), (3, "an event")] {
            fill(log, block.ptr(), value, 4, on)?;
            match value {
                1 => ask!(log, cudaDeviceSynchronize()),
                2 => ask!(log, cudaStreamSynchronize(on)),
                _ => {
                    need!(log, cudaEventRecord(mark, on));
                    ask!(log, cudaEventSynchronize(mark))
                }
            };
            let got = block.load(log)?;
            log.bytes(how, &got, &[value; 4]);
        }
        Ok(())
    });
    cases.add("cudaHostGetDevicePointer/pinned memory, written by a kernel", |log| {
        let block = Block::new(log, Kind::Pinned, 4096)?;
        let mut mapped = ptr::null_mut();
        ask!(log, cudaHostGetDevicePointer(&raw mut mapped, block.ptr(), 0));
        fill(log, mapped, 7, 4096, ptr::null_mut())?;
        ask!(log, cudaDeviceSynchronize());
        let got = block.load(log)?;
        log.bytes("all bytes", &got, &[7; 4096]);
        Ok(())
    });
    cases.add("cudaHostRegister/a variable on the stack, written by a kernel", |log| {
        let mut here = [0_u8; 256];
        let (at, mut mapped) = (here.as_mut_ptr().cast(), ptr::null_mut());
        need!(log, cudaHostRegister(at, 256, 0));
        ask!(log, cudaHostGetDevicePointer(&raw mut mapped, at, 0));
        fill(log, mapped, 9, 256, ptr::null_mut())?;
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaHostUnregister(at));
        // SAFETY: the array is alive, and the kernel is done.
        let got = unsafe { ptr::read_volatile(&raw const here) };
        log.bytes("all bytes", &got, &[9; 256]);
        Ok(())
    });
}

fn ordered(cases: &mut Cases) {
    cases.add("cudaMallocAsync/what a kernel wrote, copied and freed in order", |log| {
        let (on, back) = (stream(log)?, Block::new(log, Kind::Pinned, 4096)?);
        let mut start = ptr::null_mut();
        ask!(log, cudaMallocAsync(&raw mut start, 4096, on));
        fill(log, start, 5, 4096, on)?;
        ask!(log, cudaMemcpyAsync(back.ptr(), start, 4096, cudaMemcpyDeviceToHost, on));
        ask!(log, cudaFreeAsync(start, on));
        ask!(log, cudaStreamSynchronize(on));
        let got = back.load(log)?;
        log.bytes("all bytes", &got, &[5; 4096]);
        Ok(())
    });
    cases.add("cudaMallocAsync/on eight streams at once", |log| {
        let mut streams = vec![ptr::null_mut(), cudaStreamPerThread];
        for _ in 0..6 {
            streams.push(stream(log)?);
        }
        let mut backs = Vec::new();
        for (seed, on) in (1_u8..).zip(&streams) {
            let (back, mut start) = (Block::new(log, Kind::Pinned, 4096)?, ptr::null_mut());
            need!(log, cudaMallocAsync(&raw mut start, 4096, *on));
            fill(log, start, seed, 4096, *on)?;
            need!(log, cudaMemcpyAsync(back.ptr(), start, 4096, cudaMemcpyDeviceToHost, *on));
            need!(log, cudaFreeAsync(start, *on));
            backs.push((back, seed));
        }
        ask!(log, cudaDeviceSynchronize());
        let mut right = 0;
        for (back, seed) in backs {
            right += usize::from(back.load(log)? == [seed; 4096]);
        }
        log.fact("right", format_args!("{right} of 8"));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    copies(cases, true);
    copies(cases, false);
    host(cases);
    ordered(cases);
}
