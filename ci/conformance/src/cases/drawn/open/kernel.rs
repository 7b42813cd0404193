//! Kernels: launches, attributes, handles, occupancy.

use std::ffi::{c_int, c_void};

use cuda_sys as sys;
use cuda_sys::cudaFuncAttributes;

use super::super::common::{Kernel, add_case, null, taken};
use crate::case::Cases;
use crate::log::{Log, ask};

unsafe extern "C" {
    fn case_shared();
    fn case_sum();
}

pub(super) fn add(cases: &mut Cases) {
    attributes(cases);
    occupancy(cases);
}

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
