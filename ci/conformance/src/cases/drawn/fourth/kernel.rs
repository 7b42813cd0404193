//! Kernels: launches.

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, arguments, begin, device, end, first_is, float_is, floats, go, holds, integers,
    nodes, null, ready, scale, shape, start, sum, taken, waits,
};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_shape();
    fn case_sum();
}

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 414, "rows by warps, for blocks of every multiple of a warp, then a wait", |log| {
        let from = Block::with(log, Kind::Device, &integers([1; 1024]))?;
        for threads in [32, 64, 128, 256, 512, 1024, 1056, 2048] {
            let (out, blocks) = (device(log)?, 1024_usize.div_ceil(threads));
            let (mut to, mut at, mut count) = (out.ptr(), from.ptr(), 1024_i32);
            let mut list = arguments![to, at, count];
            start(
                log,
                &format!("{threads}"),
                case_sum as Kernel,
                [blocks, threads, 4 * threads],
                null(),
                &mut list,
            );
            ask!(log, cudaDeviceSynchronize());
            ask!(log, cudaGetLastError());
            first_is(log, "sum", out)?;
        }
        for kind in [Kind::Managed, Kind::Pinned, Kind::Registered, Kind::Pool] {
            let to = Block::new(log, kind, N)?;
            let from = Block::with(log, kind, &floats([3.0; 1024]))?;
            scale(log, kind.name(), to, from, 2.0, 1000, null());
            ask!(log, cudaDeviceSynchronize());
            float_is(log, to, 999)?;
            float_is(log, to, 1000)?;
        }
        taken(log)
    });
    add_case(cases, 451, "of a shape and a size of shared memory that a caller computed", |log| {
        let (out, mut at) = (Block::new(log, Kind::Device, 24)?, null::<std::ffi::c_void>());
        log.fact("none yet", at.is_null());
        for ([x, y, z], [a, b, c], shared) in [
            ([40, 30, 1], [16, 4, 1], 16 << 10),
            ([1, 65_535, 1], [1, 1, 1], 0),
            ([2, 1, 2], [32, 32, 1], 0),
            ([1, 65_536, 1], [1, 1, 1], 0),
            ([1, 1, 65], [1, 1, 64], 0),
            ([1, 1, 65_536], [1, 1, 1], 0),
            ([1, 1, 1], [1, 1, 65], 0),
            ([1, 1, 1], [32, 33, 1], 0),
            ([2, 0, 1], [16, 1, 1], 0),
            ([2, 1, 1], [16, 1, 1], 49_152),
            ([2, 1, 1], [16, 1, 1], 49_153),
            ([2, 1, 1], [16, 1, 1], usize::MAX),
        ] {
            need!(log, cudaMemset(out.ptr(), 0, 24));
            at = out.ptr();
            let (grid, block, mut list) =
                (sys::dim3 { x, y, z }, sys::dim3 { x: a, y: b, z: c }, arguments![at]);
            let name = format!("{x} {y} {z}, {a} {b} {c}, {shared}");
            ask!(
                log,
                &name,
                cudaLaunchKernel(case_shape as Kernel, grid, block, list.as_mut_ptr(), shared, null())
            );
            ask!(log, cudaGetLastError());
            let got = out.load(log)?;
            let two = |i: usize| u32::from(got[4 * i]) + 256 * u32::from(got[4 * i + 1]);
            log.fact("seen", format_args!("{:?}", (0..6).map(two).collect::<Vec<_>>()));
        }
        let (one, none) = (shape(1), null::<std::ffi::c_void>());
        ask!(log, "no kernel", cudaLaunchKernel(none, one, one, null(), 0, null()));
        ask!(log, "none needed", cudaLaunchKernel(case_empty as Kernel, one, one, null(), 0, null()));
        taken(log)
    });
    add_case(
        cases,
        484,
        "the buffers of all in turns, on a stream, an error looked for behind each",
        |log| {
            let (on, buffers) = (stream(log)?, [device(log)?, device(log)?, Block::new(log, Kind::Pool, N)?]);
            for turn in 0..3_u8 {
                for (i, buffer) in buffers.iter().enumerate() {
                    fill(log, buffer.at(i * 8), turn + 1, N - i * 8, on)?;
                    ask!(log, cudaGetLastError());
                    ask!(log, cudaStreamSynchronize(on));
                }
            }
            let got = buffers[2].load(log)?;
            log.fact("bytes", format_args!("{} {} {}", got[15], got[16], got[N - 1]));
            let (ones, out) = (Block::with(log, Kind::Device, &integers([1; 64]))?, device(log)?);
            sum(log, "first", out, ones, 64, on);
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            waits(log, &gate, |log| {
                for _ in 0..20 {
                    sum(log, "held", out, ones, 64, on);
                }
                ask!(log, cudaGetLastError());
            });
            ask!(log, cudaStreamSynchronize(on));
            first_is(log, "sum", out)?;
            let captures = begin(log)?;
            fill(log, buffers[0].ptr(), 9, N, captures)?;
            ask!(log, "captured", cudaGetLastError());
            let graph = end(log, captures);
            nodes(log, graph);
            holds(log, buffers[0], &[3; N])?;
            let run = ready(log, graph);
            go(log, run, on);
            holds(log, buffers[0], &[9; N])?;
            ask!(log, "then the stream", cudaStreamDestroy(captures));
            taken(log)
        },
    );
}
