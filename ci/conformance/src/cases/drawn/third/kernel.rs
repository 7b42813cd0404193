//! Kernels: launches, and how many blocks fit.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaLaunchAttribute, cudaLaunchConfig_t};

use super::super::common::{
    Kernel, N, add_case, arguments, begin, device, end, first_is, integers, nodes, null, shape, start, sum,
    taken, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_add();
    fn case_bounded();
    fn case_empty();
    fn case_pairs();
    fn case_shared();
    fn case_sum();
}

pub(super) fn add(cases: &mut Cases) {
    add_case(cases, 317, "by a description without attributes, with each, and with what is none", described);
    add_case(cases, 324, "for a kernel of 128 threads that was not launched, and its neighbours", |log| {
        let on = stream(log)?;
        let mut blocks = -1;
        for (name, kernel, threads, shared) in [
            ("it", case_empty as Kernel, 128, 0),
            ("with shared memory", case_shared as Kernel, 128, 20_000),
            ("bounded", case_bounded as Kernel, 128, 0),
            ("over its bound", case_bounded as Kernel, 129, 0),
            ("in pairs", case_pairs as Kernel, 128, 0),
        ] {
            let to = &raw mut blocks;
            ask!(log, name, cudaOccupancyMaxActiveBlocksPerMultiprocessor(to, kernel, threads, shared));
            log.fact("blocks", blocks);
        }
        for flags in [0, 1, 2] {
            let (to, it) = (&raw mut blocks, case_sum as Kernel);
            ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to, it, 128, 0, flags));
            log.fact("blocks", blocks);
        }
        start(log, "as many", case_empty as Kernel, [16 * 132, 128, 0], on, &mut []);
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 389, "in steps between a fill and a copy down that a host function reads", |log| {
        let (on, counter) = (stream(log)?, device(log)?);
        let (from, host) =
            (Block::with(log, Kind::Device, &integers([1; 200]))?, Block::new(log, Kind::Pinned, 8)?);
        for points in [200, 0, 65] {
            ask!(log, cudaMemsetAsync(counter.ptr(), 0, 4, on));
            sum(log, &format!("{points}"), counter, from, points, on);
            ask!(log, "last", cudaGetLastError());
            ask!(log, cudaMemcpyAsync(host.ptr(), counter.ptr(), 4, sys::cudaMemcpyDeviceToHost, on));
            ask!(log, cudaLaunchHostFunc(on, Some(triple), host.ptr()));
            ask!(log, cudaStreamSynchronize(on));
            let got = host.load(log)?;
            log.fact("both", format_args!("{} {}", got[0], u32::from(got[4]) + 256 * u32::from(got[5])));
        }
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            sum(log, "held", counter, from, 200, on);
            ask!(log, "last", cudaGetLastError());
        });
        ask!(log, cudaStreamSynchronize(on));
        first_is(log, "sum", counter)
    });
}

unsafe extern "C" fn triple(at: *mut c_void) {
    let at: *mut u32 = at.cast();
    // SAFETY: the case passes eight bytes of pinned memory, and waits.
    unsafe { *at.add(1) = 3 * *at };
}

/// A description of so many blocks and threads.
fn form(blocks: usize, threads: usize, on: sys::cudaStream_t) -> cudaLaunchConfig_t {
    cudaLaunchConfig_t { gridDim: shape(blocks), blockDim: shape(threads), stream: on, ..Default::default() }
}

fn described(log: &mut Log) -> Outcome {
    let (on, out) = (stream(log)?, device(log)?);
    let from = Block::with(log, Kind::Device, &integers([1; 128]))?;
    let (mut to, mut of, mut count) = (out.ptr(), from.ptr(), 128_i32);
    let (mut list, kernel) = (arguments![to, of, count], case_sum as Kernel);
    let mut wanted = form(2, 64, on);
    wanted.dynamicSmemBytes = 256;
    ask!(log, "no attributes", cudaLaunchKernelExC(&raw const wanted, kernel, list.as_mut_ptr()));
    ask!(log, cudaStreamSynchronize(on));
    first_is(log, "sum", out)?;
    for (name, blocks, id, value, kernel) in [
        ("cluster of 2", 4, 4, 2, case_empty as Kernel),
        ("cluster of 3", 4, 4, 3, case_empty as Kernel),
        ("cluster of 16", 16, 4, 16, case_empty as Kernel),
        ("pairs as pairs", 4, 4, 2, case_pairs as Kernel),
        ("pairs as fours", 4, 4, 4, case_pairs as Kernel),
        ("together", 4, 2, 1, case_empty as Kernel),
        ("too many together", 1 << 20, 2, 1, case_empty as Kernel),
        ("serialized by programs", 4, 6, 1, case_empty as Kernel),
        ("of a priority", 4, 8, -2, case_empty as Kernel),
        ("none such", 4, 99, 1, case_empty as Kernel),
        ("ignored", 4, 0, 1, case_empty as Kernel),
    ] {
        let mut attribute = cudaLaunchAttribute { id: sys::cudaLaunchAttributeID(id), ..Default::default() };
        if id == 4 {
            let x = u32::try_from(value).expect("a size");
            attribute.val.clusterDim = sys::cudaLaunchAttributeValue__bindgen_ty_1 { x, y: 1, z: 1 };
        } else {
            attribute.val.priority = value;
        }
        let mut wanted = form(blocks, 32, on);
        (wanted.attrs, wanted.numAttrs) = (&raw mut attribute, 1);
        ask!(log, name, cudaLaunchKernelExC(&raw const wanted, kernel, null()));
    }
    wanted.blockDim = shape(2000);
    ask!(log, "too many threads", cudaLaunchKernelExC(&raw const wanted, kernel, list.as_mut_ptr()));
    ask!(log, "no kernel", cudaLaunchKernelExC(&raw const wanted, null(), list.as_mut_ptr()));
    ask!(log, cudaStreamSynchronize(on));
    let captures = begin(log)?;
    let one = form(1, 1, captures);
    let (mut at, mut amount) = (out.at(N - 4), 1_i32);
    let mut list = arguments![at, amount];
    ask!(log, "captured", cudaLaunchKernelExC(&raw const one, case_add as Kernel, list.as_mut_ptr()));
    let graph = end(log, captures);
    nodes(log, graph);
    need!(log, cudaDeviceSynchronize());
    taken(log)
}
