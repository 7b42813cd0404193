//! Devices, versions, and waits for all work.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, attribute, begin, device, end, first_is, integers, null, sum, taken, what,
};
use crate::case::Cases;
use crate::log::{ask, need};
use crate::memory::{Block, Kind};

unsafe extern "C" {
    fn case_empty();
    safe fn cudaProfilerStart() -> sys::cudaError;
}

pub(super) fn add(cases: &mut Cases) {
    versions(cases);
    attributes(cases);
    peers(cases);
    profilers(cases);
}

fn versions(cases: &mut Cases) {
    add_case(cases, 384, "in an initialiser, behind what it needs of the device and the driver", |log| {
        attribute(log, sys::cudaDevAttrConcurrentManagedAccess.0);
        let (mut driver, mut runtime) = (-1, -1);
        ask!(log, cudaDriverGetVersion(&raw mut driver));
        ask!(log, cudaRuntimeGetVersion(&raw mut runtime));
        log.fact("enough", driver >= 12_060 && runtime >= 12_060);
        let mut place = sys::cudaMemLocation { type_: sys::cudaMemLocationTypeDevice, id: 0 };
        let (mut pool, mut it) = (null(), null::<c_void>());
        let kind = sys::cudaMemAllocationTypeManaged;
        ask!(log, "its pool", cudaMemGetDefaultMemPool(&raw mut pool, &raw mut place, kind));
        if !pool.is_null() {
            ask!(log, "memory", cudaMallocFromPoolAsync(&raw mut it, N, pool, null()));
            what(log, "it", it);
            ask!(log, cudaFreeAsync(it, null()));
        }
        ask!(log, "null", cudaRuntimeGetVersion(null()));
        taken(log)
    });
}

fn attributes(cases: &mut Cases) {
    let table: [(usize, &str, &[u32]); 2] = [
        (
            371,
            "what pools may share, and what goes with sharing",
            &[115, 119, 20, 35, 41, 46, 47, 116, 117, 118],
        ),
        (392, "processors, for blocks that fill the device", &[16, 10, 39, 106, 1, 12, 8, 82, 105, 108, 109]),
    ];
    for (number, situation, list) in table {
        add_case(cases, number, situation, move |log| {
            ask!(log, cudaSetDevice(0));
            for id in list {
                attribute(log, *id);
            }
            if number == 392 {
                let mut blocks = -1;
                let kernel = case_empty as Kernel;
                ask!(log, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut blocks, kernel, 32, 0));
                log.fact("blocks", blocks);
            }
            attribute(log, 0);
            attribute(log, 1_000_000);
            taken(log)
        });
    }
}

fn peers(cases: &mut Cases) {
    add_case(cases, 329, "this one and the chosen one, alike, then access of their pools", |log| {
        for device in [0, 0, -1] {
            ask!(log, cudaSetDevice(0));
            ask!(log, &format!("{device}"), cudaDeviceEnablePeerAccess(device, 0));
            ask!(log, "last", cudaGetLastError());
        }
        let (mut pool, mut wanted) = (null(), sys::cudaMemAccessDesc::default());
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        wanted.location.type_ = sys::cudaMemLocationTypeDevice;
        for (id, flags) in [(0, 3), (1 << 20, 3), (0, 1)] {
            (wanted.location.id, wanted.flags) = (id, sys::cudaMemAccessFlags(flags));
            ask!(log, &format!("{id} {flags}"), cudaMemPoolSetAccess(pool, &raw const wanted, 1));
        }
        taken(log)
    });
}

fn profilers(cases: &mut Cases) {
    add_case(cases, 338, "behind a wait, before batches, and never stopped", |log| {
        ask!(log, cudaDeviceSynchronize());
        log.code("start", cudaProfilerStart());
        let (from, out) = (Block::with(log, Kind::Device, &integers([1; 64]))?, device(log)?);
        for _ in 0..3 {
            sum(log, "batch", out, from, 64, null());
        }
        ask!(log, "an error", cudaSetDevice(-1));
        log.code("start", cudaProfilerStart());
        ask!(log, "peek", cudaPeekAtLastError());
        first_is(log, "sum", out)?;
        let on = begin(log)?;
        log.code("while a stream captures", cudaProfilerStart());
        end(log, on);
        taken(log)
    });
}
