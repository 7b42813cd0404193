//! Launches with attributes, and queries about kernels and their clusters.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};

unsafe extern "C" {
    fn case_empty();
    fn case_pairs();
    fn case_fill();
}

fn empty() -> *const c_void {
    case_empty as *const c_void
}

fn pairs() -> *const c_void {
    case_pairs as *const c_void
}

fn attribute(id: cudaLaunchAttributeID, val: cudaLaunchAttributeValue) -> cudaLaunchAttribute {
    cudaLaunchAttribute { id, pad: [0; 4], val }
}

fn cluster(x: u32, y: u32, z: u32) -> cudaLaunchAttribute {
    let mut val = cudaLaunchAttributeValue { pad: [0; 64] };
    (val.clusterDim.x, val.clusterDim.y, val.clusterDim.z) = (x, y, z);
    attribute(cudaLaunchAttributeClusterDimension, val)
}

fn config(blocks: [u32; 3], attributes: &mut [cudaLaunchAttribute]) -> cudaLaunchConfig_t {
    let [x, y, z] = blocks;
    cudaLaunchConfig_t {
        gridDim: dim3 { x, y, z },
        blockDim: dim3 { x: 32, y: 1, z: 1 },
        dynamicSmemBytes: 0,
        stream: ptr::null_mut(),
        attrs: attributes.as_mut_ptr(),
        numAttrs: attributes.len() as u32,
    }
}

/// Launches a kernel without parameters and waits for it.
fn launch(
    log: &mut Log,
    name: &str,
    kernel: *const c_void,
    blocks: [u32; 3],
    with: &mut [cudaLaunchAttribute],
) {
    let config = config(blocks, with);
    ask!(log, name, cudaLaunchKernelExC(&raw const config, kernel, ptr::null_mut()));
    // A refused launch leaves no error behind for the next one.
    // SAFETY: takes nothing.
    let _ = unsafe { cudaGetLastError() };
}

fn clusters(cases: &mut Cases) {
    cases.add("cudaLaunchKernelExC/clusters that divide the grid", |log| {
        launch(log, "two of four", empty(), [4, 1, 1], &mut [cluster(2, 1, 1)]);
        launch(log, "one", empty(), [3, 1, 1], &mut [cluster(1, 1, 1)]);
        launch(log, "in three dimensions", empty(), [4, 2, 6], &mut [cluster(2, 1, 3)]);
        launch(log, "eight", empty(), [8, 1, 1], &mut [cluster(8, 1, 1)]);
        launch(log, "declared", pairs(), [4, 1, 1], &mut []);
        launch(log, "declared and asked for", pairs(), [4, 1, 1], &mut [cluster(2, 1, 1)]);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaLaunchKernelExC/clusters that do not divide the grid, or of no blocks", |log| {
        launch(log, "two of three", empty(), [3, 1, 1], &mut [cluster(2, 1, 1)]);
        launch(log, "along y", empty(), [4, 1, 1], &mut [cluster(2, 2, 1)]);
        launch(log, "none along z", empty(), [4, 1, 1], &mut [cluster(2, 1, 0)]);
        launch(log, "none", empty(), [4, 1, 1], &mut [cluster(0, 0, 0)]);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaLaunchKernelExC/clusters that the kernel declares, and others", |log| {
        launch(log, "declared, of three blocks", pairs(), [3, 1, 1], &mut []);
        launch(log, "others", pairs(), [4, 1, 1], &mut [cluster(4, 1, 1)]);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.alone("cudaLaunchKernelExC/clusters of more than eight blocks", |log| {
        launch(log, "sixteen", empty(), [32, 1, 1], &mut [cluster(16, 1, 1)]);
        let id = cudaFuncAttributeNonPortableClusterSizeAllowed;
        ask!(log, "allowed", cudaFuncSetAttribute(empty(), id, 1));
        launch(log, "sixteen, allowed", empty(), [32, 1, 1], &mut [cluster(16, 1, 1)]);
        launch(log, "thirty-two, allowed", empty(), [32, 1, 1], &mut [cluster(32, 1, 1)]);
        ask!(log, "two", cudaFuncSetAttribute(empty(), id, 2));
        ask!(log, "not allowed", cudaFuncSetAttribute(empty(), id, 0));
        let id = cudaFuncAttributeClusterSchedulingPolicyPreference;
        ask!(log, "policy 2", cudaFuncSetAttribute(empty(), id, 2));
        ask!(log, "policy 3", cudaFuncSetAttribute(empty(), id, 3));
        ask!(log, "policy -1", cudaFuncSetAttribute(empty(), id, -1));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaFuncGetAttributes/of clusters", |log| {
        for (name, kernel) in [("none", empty()), ("pairs", pairs())] {
            let mut found = cudaFuncAttributes::default();
            need!(log, cudaFuncGetAttributes(&raw mut found, kernel));
            let sizes = [found.requiredClusterWidth, found.requiredClusterHeight, found.requiredClusterDepth];
            let must = (found.clusterDimMustBeSet, found.nonPortableClusterSizeAllowed);
            log.fact(name, format_args!("{sizes:?} {must:?} {}", found.clusterSchedulingPolicyPreference));
        }
        Ok(())
    });
}

fn occupancy(cases: &mut Cases) {
    cases.alone("cudaOccupancyMaxPotentialClusterSize/allowed and not", |log| {
        let mut size: c_int = -1;
        let plain = config([16, 1, 1], &mut []);
        let out = &raw mut size;
        ask!(log, "not allowed", cudaOccupancyMaxPotentialClusterSize(out, empty(), &raw const plain));
        log.fact("blocks", size);
        let id = cudaFuncAttributeNonPortableClusterSizeAllowed;
        need!(log, cudaFuncSetAttribute(empty(), id, 1));
        ask!(log, "allowed", cudaOccupancyMaxPotentialClusterSize(out, empty(), &raw const plain));
        log.fact("then", size);
        ask!(
            log,
            "answer null",
            cudaOccupancyMaxPotentialClusterSize(ptr::null_mut(), empty(), &raw const plain)
        );
        ask!(log, "kernel null", cudaOccupancyMaxPotentialClusterSize(out, ptr::null(), &raw const plain));
        Ok(())
    });
    cases.add("cudaOccupancyMaxActiveClusters/what is refused", |log| {
        let mut count: c_int = -1;
        let out = &raw mut count;
        for (name, blocks, size) in [("two", 16, 2), ("two of fifteen", 15, 2), ("sixteen", 16, 16)] {
            let mut with = [cluster(size, 1, 1)];
            let config = config([blocks, 1, 1], &mut with);
            ask!(log, name, cudaOccupancyMaxActiveClusters(out, empty(), &raw const config));
            log.fact("any", count > 0);
            count = -1;
        }
        let without = config([16, 1, 1], &mut []);
        ask!(log, "without", cudaOccupancyMaxActiveClusters(out, empty(), &raw const without));
        log.fact("any", count > 0);
        ask!(
            log,
            "answer null",
            cudaOccupancyMaxActiveClusters(ptr::null_mut(), empty(), &raw const without)
        );
        Ok(())
    });
}

fn others(cases: &mut Cases) {
    cases.add("cudaLaunchKernelExC/attributes of every kind, and of none", |log| {
        let nothing = cudaLaunchAttributeValue { pad: [0; 64] };
        launch(log, "ignored", empty(), [1, 1, 1], &mut [attribute(cudaLaunchAttributeIgnore, nothing)]);
        let priority =
            |priority| attribute(cudaLaunchAttributePriority, cudaLaunchAttributeValue { priority });
        launch(log, "priority -1", empty(), [1, 1, 1], &mut [priority(-1)]);
        launch(log, "priority -100", empty(), [1, 1, 1], &mut [priority(-100)]);
        let together = attribute(cudaLaunchAttributeCooperative, cudaLaunchAttributeValue { cooperative: 1 });
        launch(log, "cooperative", empty(), [1, 1, 1], &mut [together, priority(0)]);
        launch(log, "cooperative, too many", empty(), [1 << 24, 1, 1], &mut [together]);
        launch(log, "cooperative clusters", empty(), [4, 1, 1], &mut [together, cluster(2, 1, 1)]);
        launch(
            log,
            "no such attribute",
            empty(),
            [1, 1, 1],
            &mut [attribute(cudaLaunchAttributeID(1000), nothing)],
        );
        launch(log, "twice", empty(), [4, 1, 1], &mut [cluster(4, 1, 1), cluster(2, 1, 1)]);
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add(
        // (A null launch ends the process on an H200, and so do null configurations above.)
        "cudaLaunchKernelExC/null for the kernel, the attributes",
        |log| {
            let mut one = config([1, 1, 1], &mut []);
            let (null, none) = (ptr::null(), ptr::null_mut());
            ask!(log, "no kernel", cudaLaunchKernelExC(&raw const one, null, none));
            (one.attrs, one.numAttrs) = (ptr::null_mut(), 0);
            ask!(log, "no attributes", cudaLaunchKernelExC(&raw const one, empty(), none));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        },
    );
    cases.add("cudaFuncGetParamInfo/the parameters of a kernel", |log| {
        let (mut offset, mut size) = (usize::MAX, usize::MAX);
        let (at, bytes, kernel) = (&raw mut offset, &raw mut size, case_fill as *const c_void);
        for index in 0..4 {
            ask!(log, &format!("{index}"), cudaFuncGetParamInfo(kernel, index, at, bytes));
            log.fact("at", format_args!("{offset} of {size}"));
            (offset, size) = (usize::MAX, usize::MAX);
        }
        ask!(log, "offset null", cudaFuncGetParamInfo(kernel, 0, ptr::null_mut(), bytes));
        ask!(log, "size null", cudaFuncGetParamInfo(kernel, 0, at, ptr::null_mut()));
        ask!(log, "kernel null", cudaFuncGetParamInfo(ptr::null(), 0, at, bytes));
        ask!(log, "none", cudaFuncGetParamInfo(empty(), 0, at, bytes));
        Ok(())
    });
    cases.add("cudaFuncGetName/a kernel, none", |log| {
        let mut name = ptr::null();
        ask!(log, cudaFuncGetName(&raw mut name, empty()));
        if !name.is_null() {
            // SAFETY: the runtime gave a name that ends in a zero byte.
            let name = unsafe { std::ffi::CStr::from_ptr(name) };
            log.fact("name", name.to_string_lossy());
        }
        ask!(log, "kernel null", cudaFuncGetName(&raw mut name, ptr::null()));
        ask!(log, "answer null", cudaFuncGetName(ptr::null_mut(), empty()));
        Ok(())
    });
    cases.add("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags/both flags, others", |log| {
        let mut blocks: c_int = -1;
        let out = &raw mut blocks;
        for flags in [0, 1, 2, 4] {
            let name = format!("flags {flags}");
            ask!(
                log,
                &name,
                cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(out, empty(), 256, 0, flags)
            );
            log.fact("blocks", blocks);
            blocks = -1;
        }
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    clusters(cases);
    occupancy(cases);
    others(cases);
}
