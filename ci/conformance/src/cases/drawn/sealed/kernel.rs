//! Kernels: launches, and their attributes.

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, arguments, begin, device, end, first_is, float, floats, integers, nodes, null,
    ready, scale, shape, start, sum, taken,
};
use crate::case::Cases;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_add();
    fn case_bounded();
    fn case_empty();
    fn case_shared();
    fn case_sum();
}

pub(super) fn empty() -> Kernel {
    case_empty as Kernel
}

pub(super) fn shared() -> Kernel {
    case_shared as Kernel
}

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 216, "to choose the size of a block, which is then too large", |log| {
        let (mut found, out) = (sys::cudaFuncAttributes::default(), device(log)?);
        ask!(log, cudaFuncGetAttributes(&raw mut found, case_bounded as Kernel));
        let most = found.maxThreadsPerBlock.unsigned_abs() as usize;
        log.fact("most", most);
        let mut at = out.ptr();
        for threads in [most / 2, most, most + 1] {
            start(
                log,
                &format!("{threads}"),
                case_bounded as Kernel,
                [1, threads, 0],
                null(),
                &mut arguments![at],
            );
            ask!(log, "last", cudaGetLastError());
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "number", out)?;
        }
        Ok(())
    });
    for (number, situation, size) in [
        (269, "for a product in two stages, 64 KiB", 64 << 10),
        (285, "for a product, all that a block may have", 227 << 10),
    ] {
        add_case(cases, number, situation, move |log| room(log, size));
    }
    add_case(cases, 223, "in 32 blocks of 256, for each device", |log| {
        let out = device(log)?;
        for amount in [1, -1, 5] {
            let (mut at, mut amount) = (out.ptr(), amount);
            start(log, "kernel", case_add as Kernel, [32, 256, 0], null(), &mut arguments![at, amount]);
        }
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "number", out)?;
        taken(log)
    });
    add_case(cases, 226, "between copies up and down, its partial sums added by the host", |log| {
        let (from, out) = (device(log)?, device(log)?);
        let up = integers(0..1024);
        ask!(log, cudaMemcpy(from.ptr(), up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice));
        sum(log, "kernel", out, from, 1024, null());
        first_is(log, "sum", out)?;
        // As many threads as no shared memory was asked for.
        let (mut to, mut of, mut count) = (out.ptr(), from.ptr(), 0_i32);
        start(log, "a block of one", case_sum as Kernel, [1, 1, 4], null(), &mut arguments![to, of, count]);
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "sum", out)?;
        taken(log)
    });
    add_case(cases, 268, "of two alternatives, captured, updated", |log| {
        let (on, a, b) = (stream(log)?, Block::with(log, Kind::Device, &floats([1.0; 64]))?, device(log)?);
        let mut run = null();
        for round in 0..3 {
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureModeGlobal));
            if round % 2 == 0 {
                scale(log, "even", b, a, 2.0, 64, on);
            } else {
                scale(log, "odd", a, b, 2.0, 64, on);
            }
            let (graph, mut result) = (end(log, on), sys::cudaGraphExecUpdateResultInfo::default());
            if round == 0 {
                nodes(log, graph);
                run = ready(log, graph);
            } else {
                ask!(log, cudaGraphExecUpdate(run, graph, &raw mut result));
                log.fact("result", result.result.0);
            }
            super::super::common::go(log, run, on);
        }
        let got = (float(log, a, 63)?, float(log, b, 63)?);
        log.fact("numbers", format_args!("{got:?}"));
        taken(log)
    });
    add_case(cases, 300, "in a thread of the host each, on that thread's stream", threads);
}

/// Asks for shared memory, launches with it, with more, and asks how many blocks fit.
fn room(log: &mut Log, size: usize) -> Outcome {
    let (id, out) = (sys::cudaFuncAttributeMaxDynamicSharedMemorySize, device(log)?);
    let mut at = out.ptr();
    start(log, "before", shared(), [1, 32, size], null(), &mut arguments![at]);
    ask!(log, "last", cudaGetLastError());
    ask!(log, cudaFuncSetAttribute(shared(), id, size as i32));
    start(log, "with it", shared(), [2, 32, size], null(), &mut arguments![at]);
    ask!(log, "last", cudaGetLastError());
    start(log, "with more", shared(), [1, 32, size + 1], null(), &mut arguments![at]);
    ask!(log, "last", cudaGetLastError());
    ask!(log, cudaDeviceSynchronize());
    let mut blocks = -1;
    ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, shared(), 256, size));
    log.fact("blocks", blocks);
    let mut found = sys::cudaFuncAttributes::default();
    ask!(log, cudaFuncGetAttributes(&raw mut found, shared()));
    log.fact("most", found.maxDynamicSharedSizeBytes);
    let carve = sys::cudaFuncAttributePreferredSharedMemoryCarveout;
    for percent in [50, 100, 101, -1, -2] {
        ask!(log, &format!("{percent} of 100"), cudaFuncSetAttribute(shared(), carve, percent));
    }
    ask!(log, "static size", cudaFuncSetAttribute(shared(), id, 228 << 10));
    taken(log)
}

fn threads(log: &mut Log) -> Outcome {
    let block = device(log)?;
    let address = block.ptr().expose_provenance();
    let started: Vec<_> = (0..4_i32)
        .map(|i| {
            std::thread::spawn(move || {
                let (mut at, mut amount) = (
                    std::ptr::with_exposed_provenance_mut::<std::ffi::c_void>(
                        address + 4 * i.unsigned_abs() as usize,
                    ),
                    i + 1,
                );
                let mut list = arguments![at, amount];
                let (kernel, own) = (case_add as Kernel, sys::cudaStreamPerThread);
                // SAFETY: the arguments are the kernel's, and the memory lives until the thread is joined.
                let codes = unsafe {
                    [
                        sys::cudaLaunchKernel(kernel, shape(2), shape(8), list.as_mut_ptr(), 0, own),
                        sys::cudaStreamSynchronize(own),
                    ]
                };
                codes.map(|code| code.0)
            })
        })
        .collect();
    for thread in started {
        log.fact("codes", format_args!("{:?}", thread.join().expect("no panic")));
    }
    let got = block.load(log)?;
    log.fact("numbers", format_args!("{} {} {} {}", got[0], got[4], got[8], got[12]));
    let on = begin(log)?;
    let (mut at, mut amount) = (block.ptr(), 1_i32);
    start(
        log,
        "on the default stream while one captures",
        case_add as Kernel,
        [1, 1, 0],
        null(),
        &mut arguments![at, amount],
    );
    end(log, on);
    taken(log)
}
