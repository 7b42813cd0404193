//! Kernels: launches, attributes, handles, occupancy.

use std::ffi::{CStr, c_int, c_void};

use cuda_sys as sys;
use cuda_sys::{cudaFuncAttributes, cudaStream_t};

use super::super::common::{
    Kernel, add_case, arguments, begin, device, end, first_is, float_is, floats, nodes, null, scale, shape,
    start, sum, taken,
};
use crate::case::Cases;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_bounded();
    fn case_check();
    fn case_empty();
    fn case_fill();
    fn case_scale();
    fn case_shape();
    fn case_shared();
    fn case_sum();
    fn case_list_symbol() -> *const c_void;
}

/// Counts the bytes of `data` that differ from a value.
pub(super) fn check(log: &mut Log, wrong: Block, data: Block, value: u8, count: usize, on: cudaStream_t) {
    let form = [count.div_ceil(256), 256, 0];
    let (mut wrong, mut data, mut value, mut count) = (wrong.ptr(), data.ptr(), value, count as u32);
    start(log, "kernel", case_check as Kernel, form, on, &mut arguments![wrong, data, value, count]);
}

pub(super) fn add(cases: &mut Cases) {
    handles(cases);
    attributes(cases);
    occupancy(cases);
    launches(cases);
}

/// Notes the name of a function.
fn name(log: &mut Log, kernel: *const c_void) {
    let mut name = null::<std::ffi::c_char>().cast_const();
    ask!(log, cudaFuncGetName(&raw mut name, kernel));
    if !name.is_null() {
        // SAFETY: the runtime gave a string.
        log.fact("name", unsafe { CStr::from_ptr(name) }.to_string_lossy());
    }
}

fn handles(cases: &mut Cases) {
    add_case(cases, 7, "the same handle twice, another one, and launches by it", |log| {
        let [mut one, mut again, mut other] = [null(); 3];
        ask!(log, cudaGetKernel(&raw mut one, case_shape as Kernel));
        ask!(log, cudaGetKernel(&raw mut again, case_shape as Kernel));
        ask!(log, cudaGetKernel(&raw mut other, case_empty as Kernel));
        log.fact("alike", format_args!("{} {}", one == again, one == other));
        let out = Block::with(log, Kind::Device, &[0; 24])?;
        let mut at = out.ptr();
        start(log, "by its handle", one.cast_const().cast(), [3, 5, 0], null(), &mut arguments![at]);
        ask!(log, cudaDeviceSynchronize());
        let got = out.load(log)?;
        log.fact("shape", format_args!("{} {}", got[0], got[12]));
        name(log, one.cast_const().cast());
        Ok(())
    });
    add_case(cases, 56, "for a launch that is described, and of what is no kernel", |log| {
        let mut it = null();
        ask!(log, cudaGetKernel(&raw mut it, case_scale as Kernel));
        let (mut offset, mut size) = (77, 77);
        for index in 0..5 {
            ask!(
                log,
                "parameter",
                cudaFuncGetParamInfo(it.cast_const().cast(), index, &raw mut offset, &raw mut size)
            );
            log.fact("at", format_args!("{offset} {size}"));
        }
        ask!(log, "null", cudaGetKernel(&raw mut it, null()));
        let host: extern "C" fn() = nothing;
        ask!(log, "a function of the host", cudaGetKernel(&raw mut it, host as Kernel));
        // SAFETY: takes nothing.
        let variable = unsafe { case_list_symbol() };
        ask!(log, "a variable", cudaGetKernel(&raw mut it, variable));
        ask!(log, "answer null", cudaGetKernel(null(), case_scale as Kernel));
        taken(log)
    });
}

extern "C" fn nothing() {}

/// Notes the sizes and limits of a kernel that the compiler does not choose.
fn limits(log: &mut Log, what: &str, kernel: *const c_void) {
    let mut found = cudaFuncAttributes::default();
    ask!(log, what, cudaFuncGetAttributes(&raw mut found, kernel));
    log.fact("shared", format_args!("{} {}", found.sharedSizeBytes, found.maxDynamicSharedSizeBytes));
    log.fact("threads", found.maxThreadsPerBlock);
    log.fact("carve-out", found.preferredShmemCarveout);
    log.fact("versions", format_args!("{} {}", found.ptxVersion, found.binaryVersion));
    log.fact("cache", format_args!("{} {}", found.cacheModeCA, found.constSizeBytes));
}

fn attributes(cases: &mut Cases) {
    add_case(cases, 34, "of the kernels of a program, before it chooses their blocks", |log| {
        for (what, kernel) in [
            ("scale", case_scale as Kernel),
            ("sum", case_sum as Kernel),
            ("bounded", case_bounded as Kernel),
            ("null", null::<c_void>().cast_const()),
        ] {
            limits(log, what, kernel);
            ask!(log, "last", cudaGetLastError());
        }
        // SAFETY: takes nothing.
        limits(log, "a variable", unsafe { case_list_symbol() });
        ask!(log, "answer null", cudaFuncGetAttributes(null(), case_sum as Kernel));
        Ok(())
    });
    add_case(cases, 47, "of a kernel that was not launched, then launched", |log| {
        limits(log, "before", case_bounded as Kernel);
        let out = device(log)?;
        let mut at = out.ptr();
        for threads in [128, 129, 3] {
            ask!(log, cudaMemset(out.ptr(), 0, 8));
            start(log, "launch", case_bounded as Kernel, [2, threads, 0], null(), &mut arguments![at]);
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "number", out)?;
            ask!(log, "last", cudaGetLastError());
        }
        limits(log, "after", case_bounded as Kernel);
        Ok(())
    });
    add_case(cases, 22, "shared memory that a block may get, at its limits", |log| {
        let (id, kernel) = (sys::cudaFuncAttributeMaxDynamicSharedMemorySize, case_shared as Kernel);
        let (out, mut most) = (device(log)?, 0);
        need!(log, cudaDeviceGetAttribute(&raw mut most, sys::cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
        let mut at = out.ptr();
        for size in [0, 49_152, 65_536, most, most + 1, -1] {
            let name = if size >= most { format!("most and {}", size - most) } else { format!("{size}") };
            ask!(log, &name, cudaFuncSetAttribute(kernel, id, size));
            start(log, "64 KiB", kernel, [1, 32, 65_536], null(), &mut arguments![at]);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "null", cudaFuncSetAttribute(null(), id, 1024));
        ask!(log, "none such", cudaFuncSetAttribute(kernel, sys::cudaFuncAttribute(99), 1));
        taken(log)
    });
    add_case(cases, 40, "every preference, and what the kernel tells", |log| {
        let kernel = case_sum as Kernel;
        for cache in [2, 0, 1, 3, 4] {
            ask!(log, &format!("{cache}"), cudaFuncSetCacheConfig(kernel, sys::cudaFuncCache(cache)));
        }
        ask!(log, "null", cudaFuncSetCacheConfig(null(), sys::cudaFuncCachePreferL1));
        let mut found = sys::cudaFuncCache(77);
        ask!(log, cudaDeviceGetCacheConfig(&raw mut found));
        log.fact("of the device", found.0);
        ask!(log, cudaDeviceSetCacheConfig(sys::cudaFuncCachePreferShared));
        ask!(log, cudaDeviceGetCacheConfig(&raw mut found));
        log.fact("of the device", found.0);
        limits(log, "then", kernel);
        taken(log)
    });
}

fn occupancy(cases: &mut Cases) {
    add_case(cases, 44, "for every size of block", |log| {
        let mut blocks: c_int = -1;
        for threads in [32, 64, 256, 1024, 1025, 0, -32, 33] {
            ask!(
                log,
                &format!("{threads}"),
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &raw mut blocks,
                    case_empty as Kernel,
                    threads,
                    0
                )
            );
            log.fact("blocks", blocks);
            blocks = -1;
        }
        ask!(log, "null", cudaOccupancyMaxActiveBlocksPerMultiprocessor(null(), case_empty as Kernel, 32, 0));
        ask!(log, "no kernel", cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, null(), 32, 0));
        taken(log)
    });
    add_case(cases, 137, "for a warp a block, by the shared memory that it takes", |log| {
        let mut blocks: c_int = -1;
        for shared in [0, 1024, 16_384, 49_152, 49_153, 100_000, 1 << 20] {
            ask!(
                log,
                &format!("{shared}"),
                cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                    &raw mut blocks,
                    case_shared as Kernel,
                    32,
                    shared
                )
            );
            log.fact("blocks", blocks);
            blocks = -1;
        }
        let mut room = 77;
        for (blocks, threads) in [(1, 32), (2, 1024), (8, 128), (0, 32)] {
            ask!(
                log,
                "room",
                cudaOccupancyAvailableDynamicSMemPerBlock(
                    &raw mut room,
                    case_shared as Kernel,
                    blocks,
                    threads
                )
            );
            log.fact("bytes", room);
        }
        taken(log)
    });
}

fn launches(cases: &mut Cases) {
    add_case(cases, 64, "after a wait, in blocks of three dimensions", |log| {
        ask!(log, cudaDeviceSynchronize());
        let out = Block::with(log, Kind::Device, &[0; 24])?;
        let (grid, mut at) = (sys::dim3 { x: 2, y: 3, z: 4 }, out.ptr());
        for (x, y, z) in [(4, 2, 8), (1, 1, 64), (16, 64, 1), (32, 33, 1), (1024, 1, 1)] {
            let block = sys::dim3 { x, y, z };
            let mut list = arguments![at];
            let name = format!("{x} {y} {z}");
            ask!(
                log,
                &name,
                cudaLaunchKernel(case_shape as Kernel, grid, block, list.as_mut_ptr(), 0, null())
            );
            ask!(log, cudaDeviceSynchronize());
            let got = out.load(log)?;
            let shape: Vec<u32> =
                got.chunks(4).map(|it| u32::from_le_bytes(it.try_into().expect("four bytes"))).collect();
            log.fact("shape", format_args!("{shape:?}"));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 66, "of one kernel many times, its results not read between", |log| {
        let (a, b) = (Block::with(log, Kind::Device, &floats([1.0; 512]))?, device(log)?);
        for i in 0..50_usize {
            let (to, from) = if i.is_multiple_of(2) { (b, a) } else { (a, b) };
            let by = if i.is_multiple_of(4) {
                2.0
            } else if i % 4 == 2 {
                0.5
            } else {
                1.0
            };
            if i.is_multiple_of(10) {
                scale(log, "kernel", to, from, by, 512, null());
            } else {
                let (mut to, mut from, mut by, mut count) = (to.ptr(), from.ptr(), by, 512_i32);
                let mut list = arguments![to, from, by, count];
                need!(
                    log,
                    cudaLaunchKernel(
                        case_scale as Kernel,
                        shape(4),
                        shape(128),
                        list.as_mut_ptr(),
                        0,
                        null()
                    )
                );
            }
        }
        float_is(log, a, 511)?;
        taken(log)
    });
    add_case(cases, 124, "on its own stream, and on one that captures", |log| {
        let (on, out) = (stream(log)?, device(log)?);
        let from = Block::with(log, Kind::Device, &super::super::common::integers(0..1024))?;
        sum(log, "kernel", out, from, 1024, on);
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", out)?;
        let captures = begin(log)?;
        sum(log, "captured", out, from, 1024, captures);
        let (mut at, mut value, mut count) = (out.ptr(), 1_u8, 4_u32);
        start(
            log,
            "too many threads",
            case_fill as Kernel,
            [1, 2000, 0],
            captures,
            &mut arguments![at, value, count],
        );
        let graph = end(log, captures);
        if !graph.is_null() {
            nodes(log, graph);
        }
        taken(log)
    });
}
