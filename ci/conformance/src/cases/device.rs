//! Devices, limits, flags, and launches.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_add();
    fn case_empty();
    fn case_shared();
}

fn choosing(cases: &mut Cases) {
    for (what, device) in [("0", 0), ("-1", -1), ("100", 100)] {
        cases.add(format!("cudaSetDevice/{what}"), move |log| {
            ask!(log, cudaSetDevice(device));
            let mut current = 77;
            ask!(log, cudaGetDevice(&raw mut current));
            log.fact("current", current);
            Ok(())
        });
    }
    cases.add("cudaGetDevice/answers null", |log| {
        ask!(log, cudaGetDevice(ptr::null_mut()));
        ask!(log, cudaGetDeviceCount(ptr::null_mut()));
        ask!(log, cudaGetDeviceFlags(ptr::null_mut()));
        ask!(log, cudaDriverGetVersion(ptr::null_mut()));
        ask!(log, cudaRuntimeGetVersion(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaGetDeviceProperties/no such device, answer null", |log| {
        let mut properties = cudaDeviceProp::default();
        ask!(log, "100", cudaGetDeviceProperties(&raw mut properties, 100));
        ask!(log, "-1", cudaGetDeviceProperties(&raw mut properties, -1));
        ask!(log, "null", cudaGetDeviceProperties(ptr::null_mut(), 0));
        Ok(())
    });
    cases.add("cudaDeviceGetAttribute/no such device, none such, answer null", |log| {
        let mut value = 0;
        let warp = cudaDevAttrWarpSize;
        ask!(log, "a warp", cudaDeviceGetAttribute(&raw mut value, warp, 0));
        log.fact("threads", value);
        ask!(log, "device 100", cudaDeviceGetAttribute(&raw mut value, warp, 100));
        ask!(log, "none such", cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(9999), 0));
        ask!(log, "answer null", cudaDeviceGetAttribute(ptr::null_mut(), warp, 0));
        Ok(())
    });
    cases.add("cudaDeviceGetStreamPriorityRange/the range", |log| {
        let (mut least, mut greatest) = (77, 77);
        ask!(log, cudaDeviceGetStreamPriorityRange(&raw mut least, &raw mut greatest));
        log.fact("range", format_args!("{least} to {greatest}"));
        ask!(log, "nobody asks", cudaDeviceGetStreamPriorityRange(ptr::null_mut(), ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaDeviceGetP2PAttribute/itself, no such device, answer null", |log| {
        let mut value: c_int = 77;
        let attribute = cudaDevP2PAttrAccessSupported;
        ask!(log, "itself", cudaDeviceGetP2PAttribute(&raw mut value, attribute, 0, 0));
        ask!(log, "device 100", cudaDeviceGetP2PAttribute(&raw mut value, attribute, 0, 100));
        ask!(log, "answer null", cudaDeviceGetP2PAttribute(ptr::null_mut(), attribute, 0, 1));
        Ok(())
    });
    cases.add("cudaDeviceGetByPCIBusId/there and back, nonsense, null", |log| {
        let mut text = [0; 32];
        ask!(log, cudaDeviceGetPCIBusId(text.as_mut_ptr(), 32, 0));
        let mut device = 77;
        ask!(log, cudaDeviceGetByPCIBusId(&raw mut device, text.as_ptr()));
        log.fact("device", device);
        ask!(log, "nonsense", cudaDeviceGetByPCIBusId(&raw mut device, c"no bus".as_ptr()));
        ask!(log, "null", cudaDeviceGetByPCIBusId(&raw mut device, ptr::null()));
        ask!(log, "device 100", cudaDeviceGetPCIBusId(text.as_mut_ptr(), 32, 100));
        ask!(log, "too short", cudaDeviceGetPCIBusId(text.as_mut_ptr(), 3, 0));
        Ok(())
    });
    cases.alone("cudaChooseDevice/any, answer null", |log| {
        let wish = cudaDeviceProp::default();
        let mut device = 77;
        ask!(log, cudaChooseDevice(&raw mut device, &raw const wish));
        log.fact("sensible", (0..2).contains(&device));
        ask!(log, "answer null", cudaChooseDevice(ptr::null_mut(), &raw const wish));
        Ok(())
    });
    cases.alone("cudaInitDevice/the first, none such", |log| {
        ask!(log, "the first", cudaInitDevice(0, 0, 0));
        ask!(log, "none such", cudaInitDevice(100, 0, 0));
        Ok(())
    });
    cases.alone("cudaSetValidDevices/one, none such, null", |log| {
        let mut list = [0];
        ask!(log, "one", cudaSetValidDevices(list.as_mut_ptr(), 1));
        let mut wrong = [100];
        ask!(log, "none such", cudaSetValidDevices(wrong.as_mut_ptr(), 1));
        ask!(log, "null", cudaSetValidDevices(ptr::null_mut(), 1));
        Ok(())
    });
}

fn settings(cases: &mut Cases) {
    for (limit, what) in [
        (cudaLimitStackSize, "stack"),
        (cudaLimitPrintfFifoSize, "printf"),
        (cudaLimitMallocHeapSize, "heap"),
        (cudaLimitMaxL2FetchGranularity, "fetch granularity"),
        (cudaLimitPersistingL2CacheSize, "persisting cache"),
        (cudaLimit(99), "none such"),
    ] {
        cases.alone(format!("cudaDeviceGetLimit/{what}"), move |log| {
            let mut value = 0;
            ask!(log, cudaDeviceGetLimit(&raw mut value, limit));
            // The other values depend on the device.
            if limit == cudaLimitStackSize || limit == cudaLimitMallocHeapSize {
                log.fact("value", value);
            }
            Ok(())
        });
    }
    cases.alone("cudaDeviceSetLimit/stack of 4096 bytes", |log| {
        ask!(log, cudaDeviceSetLimit(cudaLimitStackSize, 4096));
        let mut value = 0;
        ask!(log, cudaDeviceGetLimit(&raw mut value, cudaLimitStackSize));
        log.fact("value", value);
        ask!(log, "none such", cudaDeviceSetLimit(cudaLimit(99), 1));
        ask!(log, "answer null", cudaDeviceGetLimit(ptr::null_mut(), cudaLimitStackSize));
        Ok(())
    });
    cases.alone("cudaDeviceSetCacheConfig/there and back, none such, null", |log| {
        let mut config = cudaFuncCache(77);
        ask!(log, cudaDeviceGetCacheConfig(&raw mut config));
        log.fact("at first", config.0);
        ask!(log, cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
        ask!(log, cudaDeviceGetCacheConfig(&raw mut config));
        log.fact("then", config.0);
        ask!(log, "none such", cudaDeviceSetCacheConfig(cudaFuncCache(u32::MAX)));
        ask!(log, "null", cudaDeviceGetCacheConfig(ptr::null_mut()));
        Ok(())
    });
    for flags in [0, 1, 2, 4, 3, 8, 0x10, 0xff] {
        cases.alone(format!("cudaSetDeviceFlags/{flags:#x}"), move |log| {
            ask!(log, cudaSetDeviceFlags(flags));
            let mut given = 77;
            ask!(log, cudaGetDeviceFlags(&raw mut given));
            log.fact("flags", given);
            Ok(())
        });
    }
    cases.alone("cudaDeviceReset/memory and limits are gone", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        need!(log, cudaDeviceSetLimit(cudaLimitStackSize, 4096));
        ask!(log, cudaDeviceReset());
        ask!(log, "old memory", cudaMemset(block.ptr(), 0, 4096));
        let mut value = 0;
        ask!(log, cudaDeviceGetLimit(&raw mut value, cudaLimitStackSize));
        log.fact("stack", value);
        Ok(())
    });
}

/// A launch of one kernel.
fn launch(
    log: &mut Log,
    cooperative: bool,
    kernel: *const c_void,
    grid: (u32, u32, u32),
    block: (u32, u32, u32),
    shared: usize,
) {
    let dim = |(x, y, z)| dim3 { x, y, z };
    if cooperative {
        ask!(
            log,
            cudaLaunchCooperativeKernel(
                kernel,
                dim(grid),
                dim(block),
                ptr::null_mut(),
                shared,
                ptr::null_mut()
            )
        );
    } else {
        ask!(log, cudaLaunchKernel(kernel, dim(grid), dim(block), ptr::null_mut(), shared, ptr::null_mut()));
    }
    ask!(log, cudaDeviceSynchronize());
}

fn launches(cases: &mut Cases) {
    let one = (1, 1, 1);
    for cooperative in [false, true] {
        let api = if cooperative { "cudaLaunchCooperativeKernel" } else { "cudaLaunchKernel" };
        for (what, grid, block, shared) in [
            ("one thread", one, one, 0),
            ("no blocks in x", (0, 1, 1), one, 0),
            ("no blocks in y", (1, 0, 1), one, 0),
            ("no blocks in z", (1, 1, 0), one, 0),
            ("no threads in x", one, (0, 1, 1), 0),
            ("no threads in y", one, (1, 0, 1), 0),
            ("no threads in z", one, (1, 1, 0), 0),
            ("too many threads in x", one, (1025, 1, 1), 0),
            ("too many threads in y", one, (1, 1025, 1), 0),
            ("too many threads in z", one, (1, 1, 65), 0),
            ("too many threads in all", one, (32, 32, 2), 0),
            ("too many blocks in y", (1, 65536, 1), one, 0),
            ("too much shared memory", one, one, 1 << 20),
            ("more shared memory than without asking", one, one, 64 << 10),
        ] {
            cases.add(format!("{api}/{what}"), move |log| {
                launch(log, cooperative, case_empty as *const c_void, grid, block, shared);
                Ok(())
            });
        }
        cases.add(format!("{api}/kernel null"), move |log| {
            launch(log, cooperative, ptr::null(), one, one, 0);
            Ok(())
        });
        cases.add(format!("{api}/not a kernel"), move |log| {
            let no_kernel = 7;
            launch(log, cooperative, (&raw const no_kernel).cast(), one, one, 0);
            Ok(())
        });
    }
    cases.add("cudaLaunchCooperativeKernel/more blocks than can run at once", |log| {
        launch(log, true, case_empty as *const c_void, (1 << 20, 1, 1), (1024, 1, 1), 0);
        Ok(())
    });
    cases.add("cudaLaunchKernel/does what it says", |log| {
        let sum = Block::new(log, Kind::Managed, 4)?;
        let (mut to, mut amount) = (sum.ptr(), 3_i32);
        let mut arguments = [(&raw mut to).cast::<c_void>(), (&raw mut amount).cast()];
        let dim = |x| dim3 { x, y: 1, z: 1 };
        let on = stream(log)?;
        ask!(
            log,
            cudaLaunchKernel(case_add as *const c_void, dim(4), dim(32), arguments.as_mut_ptr(), 0, on)
        );
        ask!(log, cudaStreamSynchronize(on));
        sum.compare(log, "the sum", &384_i32.to_le_bytes())
    });
    let set = "cudaFuncSetAttribute";
    for (what, attribute, value) in [
        ("64 KiB of shared memory", cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10),
        ("-1 bytes of shared memory", cudaFuncAttributeMaxDynamicSharedMemorySize, -1),
        ("1 MiB of shared memory", cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20),
        ("carveout 50", cudaFuncAttributePreferredSharedMemoryCarveout, 50),
        ("carveout -2", cudaFuncAttributePreferredSharedMemoryCarveout, -2),
        ("carveout 101", cudaFuncAttributePreferredSharedMemoryCarveout, 101),
        ("none such", cudaFuncAttribute(99), 1),
    ] {
        cases.alone(format!("{set}/{what}"), move |log| {
            ask!(log, cudaFuncSetAttribute(case_shared as *const c_void, attribute, value));
            Ok(())
        });
    }
    cases.add("cudaFuncGetAttributes/answer null, kernel null", |log| {
        let mut attributes = cudaFuncAttributes::default();
        ask!(log, "a kernel", cudaFuncGetAttributes(&raw mut attributes, case_shared as *const c_void));
        ask!(log, "answer null", cudaFuncGetAttributes(ptr::null_mut(), case_shared as *const c_void));
        ask!(log, "kernel null", cudaFuncGetAttributes(&raw mut attributes, ptr::null()));
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    choosing(cases);
    settings(cases);
    launches(cases);
}
