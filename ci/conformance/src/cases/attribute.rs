//! Attributes of functions, devices and launches, occupancy, limits, functions of the driver, and texts of
//! errors.

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::Cases;
use crate::log::{Log, ask, error_name, need};
use crate::memory::{Block, Kind, event, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_add();
    fn case_pairs();
    fn case_shared();
    fn ins_bounds();
    fn ins_static_shared();
}

const EMPTY: unsafe extern "C" fn() = case_empty;

fn function(kernel: unsafe extern "C" fn()) -> *const c_void {
    kernel as *const c_void
}

/// Asks how many blocks of a kernel are active at a time.
fn occupancy(
    log: &mut Log,
    name: &str,
    blocks: *mut c_int,
    kernel: *const c_void,
    threads: c_int,
    bytes: usize,
) {
    ask!(log, name, cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, threads, bytes));
}

fn functions(cases: &mut Cases) {
    cases.add("cudaFuncGetAttributes/bounds, shared memory, and after changes", |log| {
        let tell = |log: &mut Log, name: &str, kernel| {
            let mut it = cudaFuncAttributes::default();
            ask!(log, name, cudaFuncGetAttributes(&raw mut it, function(kernel)));
            let (shared, dynamic) = (it.sharedSizeBytes, it.maxDynamicSharedSizeBytes);
            log.fact("threads", it.maxThreadsPerBlock);
            log.fact("shared", format_args!("{shared} {dynamic} {}", it.preferredShmemCarveout));
            log.fact("local, constant", format_args!("{} {}", it.localSizeBytes, it.constSizeBytes));
            log.fact("versions", format_args!("{} {}", it.ptxVersion, it.binaryVersion));
        };
        tell(log, "bounds", ins_bounds);
        tell(log, "static", ins_static_shared);
        tell(log, "empty", case_empty);
        let dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
        let carveout = cudaFuncAttributePreferredSharedMemoryCarveout;
        let kernel = function(ins_static_shared);
        ask!(log, "all that there is", cudaFuncSetAttribute(kernel, dynamic, 227 << 10));
        ask!(log, "but its own", cudaFuncSetAttribute(kernel, dynamic, 187 << 10));
        ask!(log, "carveout", cudaFuncSetAttribute(kernel, carveout, 100));
        tell(log, "static", ins_static_shared);
        ask!(log, "less", cudaFuncSetAttribute(kernel, dynamic, 100));
        ask!(log, "carveout", cudaFuncSetAttribute(kernel, carveout, -1));
        tell(log, "static", ins_static_shared);
        Ok(())
    });
    cases.alone("cudaFuncSetAttribute/every number", |log| {
        for number in [0, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, u32::MAX] {
            for value in [0, 1, 2] {
                let attribute = cudaFuncAttribute(number);
                let name = format!("{} {value}", number.cast_signed());
                ask!(log, &name, cudaFuncSetAttribute(function(case_add), attribute, value));
            }
        }
        ask!(log, "null", cudaFuncSetAttribute(ptr::null(), cudaFuncAttribute(8), 0));
        Ok(())
    });
    cases.alone("cudaFuncSetAttribute/of a kernel that declares its clusters", |log| {
        for number in 10..=15 {
            let attribute = cudaFuncAttribute(number);
            ask!(log, &number.to_string(), cudaFuncSetAttribute(function(case_pairs), attribute, 1));
        }
        let mut it = cudaFuncAttributes::default();
        ask!(log, cudaFuncGetAttributes(&raw mut it, function(case_pairs)));
        let wide = (it.requiredClusterWidth, it.requiredClusterHeight, it.requiredClusterDepth);
        log.fact("clusters", format_args!("{wide:?} {}", it.nonPortableClusterSizeAllowed));
        Ok(())
    });
    cases.alone("cudaOccupancyMaxActiveBlocksPerMultiprocessor/of kernels with memory and bounds", |log| {
        for (what, kernel, threads, bytes) in [
            ("40 KiB of its own", ins_static_shared as unsafe extern "C" fn(), 32, 0),
            ("40 KiB of its own, and 8", ins_static_shared, 32, 8 << 10),
            ("40 KiB of its own, and 9", ins_static_shared, 32, 9 << 10),
            ("bounds of 64", ins_bounds, 64, 0),
            ("beyond its bounds", ins_bounds, 65, 0),
            ("512 threads", case_empty, 512, 0),
            ("1000 threads", case_empty, 1000, 0),
            ("10 KiB", case_empty, 32, 10 << 10),
            ("48 KiB", case_empty, 32, 48 << 10),
        ] {
            let mut blocks = 77;
            let kernel = function(kernel);
            occupancy(log, what, &raw mut blocks, kernel, threads, bytes);
            log.fact("blocks", blocks);
        }
        let none = ptr::null_mut();
        occupancy(log, "null", none, function(EMPTY), 32, 0);
        let mut blocks = 77;
        occupancy(log, "no kernel", &raw mut blocks, ptr::null(), 32, 0);
        Ok(())
    });
    cases.alone("cudaOccupancyMaxActiveBlocksPerMultiprocessor/allowed more, and with carveouts", |log| {
        let (kernel, mut blocks) = (function(case_shared), 77);
        let dynamic = cudaFuncAttributeMaxDynamicSharedMemorySize;
        let carveout = cudaFuncAttributePreferredSharedMemoryCarveout;
        need!(log, cudaFuncSetAttribute(kernel, dynamic, 227 << 10));
        for part in [-1, 0, 50, 100] {
            ask!(log, &format!("carveout {part}"), cudaFuncSetAttribute(kernel, carveout, part));
            for bytes in [0, 50 << 10, 113 << 10, 114 << 10, 227 << 10, 228 << 10] {
                occupancy(log, "blocks", &raw mut blocks, kernel, 128, bytes);
                log.fact("are", blocks);
            }
        }
        Ok(())
    });
    cases.alone("cudaOccupancyAvailableDynamicSMemPerBlock/blocks, threads, and none", |log| {
        let (kernel, mut bytes) = (function(case_shared), 77);
        for (blocks, threads) in
            [(1, 32), (2, 32), (4, 1024), (2, 1024), (32, 64), (33, 64), (0, 32), (1, 0), (-1, 32), (1, 2048)]
        {
            let name = format!("{blocks} of {threads}");
            ask!(
                log,
                &name,
                cudaOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, kernel, blocks, threads)
            );
            log.fact("bytes", bytes);
        }
        ask!(log, "no kernel", cudaOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, ptr::null(), 1, 32));
        let own = function(ins_static_shared);
        ask!(log, "with its own", cudaOccupancyAvailableDynamicSMemPerBlock(&raw mut bytes, own, 2, 32));
        log.fact("bytes", bytes);
        Ok(())
    });
    cases.alone("cudaOccupancyMaxActiveClusters/of sizes and blocks", |log| {
        for (cluster, grid, threads, bytes) in
            [(1, 64, 128, 0), (2, 64, 1024, 0), (8, 64, 32, 0), (4, 64, 32, 48 << 10)]
        {
            let mut attribute = cudaLaunchAttribute::default();
            attribute.id = cudaLaunchAttributeClusterDimension;
            attribute.val.clusterDim = cudaLaunchAttributeValue__bindgen_ty_1 { x: cluster, y: 1, z: 1 };
            let it = cudaLaunchConfig_t {
                gridDim: dim3 { x: grid, y: 1, z: 1 },
                blockDim: dim3 { x: threads, y: 1, z: 1 },
                dynamicSmemBytes: bytes,
                stream: ptr::null_mut(),
                attrs: &raw mut attribute,
                numAttrs: 1,
            };
            let (mut clusters, mut largest) = (77, 77);
            ask!(log, cudaOccupancyMaxActiveClusters(&raw mut clusters, function(case_empty), &raw const it));
            log.fact("some", clusters > 0);
            ask!(
                log,
                cudaOccupancyMaxPotentialClusterSize(&raw mut largest, function(case_empty), &raw const it)
            );
            log.fact("largest", largest);
        }
        Ok(())
    });
    cases.add("cudaFuncGetName/of kernels, and of what is none", |log| {
        for (what, at) in [("with bounds", function(ins_bounds)), ("null", ptr::null())] {
            let mut name = ptr::null();
            ask!(log, what, cudaFuncGetName(&raw mut name, at));
            if !name.is_null() {
                // SAFETY: the runtime's string.
                log.fact("name", unsafe { CStr::from_ptr(name) }.to_string_lossy());
            }
        }
        Ok(())
    });
    cases.add("cudaGetFuncBySymbol/a kernel's function and handle, and of nothing", |log| {
        let (mut it, mut kernel) = (ptr::null_mut(), ptr::null_mut());
        ask!(log, cudaGetFuncBySymbol(&raw mut it, function(case_empty)));
        log.fact("function", !it.is_null());
        ask!(log, cudaGetKernel(&raw mut kernel, function(case_empty)));
        log.fact("kernel", !kernel.is_null());
        ask!(log, "of nothing", cudaGetFuncBySymbol(&raw mut it, ptr::null()));
        ask!(log, "of nothing", cudaGetKernel(&raw mut kernel, ptr::without_provenance(64)));
        ask!(log, "to null", cudaGetFuncBySymbol(ptr::null_mut(), function(case_empty)));
        ask!(log, "to null", cudaGetKernel(ptr::null_mut(), function(case_empty)));
        let one = dim3 { x: 1, y: 1, z: 1 };
        let launched = kernel.cast_const().cast::<c_void>();
        ask!(log, cudaGetKernel(&raw mut kernel, function(case_empty)));
        log.fact("the same", launched == kernel.cast_const().cast());
        ask!(log, cudaLaunchKernel(launched, one, one, ptr::null_mut(), 0, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.add("cudaLaunchCooperativeKernel/as many blocks as fit, and one more", |log| {
        let (mut fit, mut processors) = (0, 0);
        need!(
            log,
            cudaOccupancyMaxActiveBlocksPerMultiprocessor(&raw mut fit, function(case_empty), 1024, 0)
        );
        let count = cudaDevAttrMultiProcessorCount;
        need!(log, cudaDeviceGetAttribute(&raw mut processors, count, 0));
        let threads = dim3 { x: 1024, y: 1, z: 1 };
        for (what, blocks) in [("all", fit * processors), ("one more", fit * processors + 1)] {
            let grid = dim3 { x: blocks.cast_unsigned(), y: 1, z: 1 };
            let (none, on) = (ptr::null_mut(), ptr::null_mut());
            ask!(log, what, cudaLaunchCooperativeKernel(function(case_empty), grid, threads, none, 0, on));
            ask!(log, cudaGetLastError());
        }
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    cases.alone("cudaLaunchKernelExC/serialised programmatically, with events", |log| {
        let (on, first, second) = (stream(log)?, event(log)?, event(log)?);
        let mut attributes = [cudaLaunchAttribute::default(); 2];
        let launch = |log: &mut Log, name: &str, attributes: &mut [cudaLaunchAttribute]| {
            let it = cudaLaunchConfig_t {
                gridDim: dim3 { x: 2, y: 1, z: 1 },
                blockDim: dim3 { x: 32, y: 1, z: 1 },
                dynamicSmemBytes: 0,
                stream: on,
                attrs: attributes.as_mut_ptr(),
                numAttrs: attributes.len() as u32,
            };
            ask!(log, name, cudaLaunchKernelExC(&raw const it, function(case_empty), ptr::null_mut()));
        };
        launch(log, "plain", &mut []);
        attributes[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attributes[0].val.programmaticStreamSerializationAllowed = 1;
        launch(log, "serialised", &mut attributes[..1]);
        attributes[0].id = cudaLaunchAttributeProgrammaticEvent;
        attributes[0].val.programmaticEvent =
            cudaLaunchAttributeValue__bindgen_ty_2 { event: first, flags: 0, triggerAtBlockStart: 1 };
        launch(log, "with an event", &mut attributes[..1]);
        attributes[0].val.programmaticEvent.event = ptr::null_mut();
        launch(log, "with no event", &mut attributes[..1]);
        attributes[0] = cudaLaunchAttribute::default();
        attributes[0].id = cudaLaunchAttributeLaunchCompletionEvent;
        attributes[0].val.launchCompletionEvent.event = second;
        launch(log, "at its start", &mut attributes[..1]);
        attributes[0] = cudaLaunchAttribute::default();
        attributes[0].id = cudaLaunchAttributeMemSyncDomain;
        attributes[0].val.memSyncDomain.0 = 1;
        launch(log, "of the remote domain", &mut attributes[..1]);
        attributes[0].val.memSyncDomain.0 = 5;
        launch(log, "of no domain", &mut attributes[..1]);
        attributes[0].id = cudaLaunchAttributePreferredSharedMemoryCarveout;
        attributes[0].val.sharedMemCarveout = 200;
        launch(log, "no such carveout", &mut attributes[..1]);
        ask!(log, cudaEventSynchronize(second));
        ask!(log, cudaEventSynchronize(first));
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
}

fn devices(cases: &mut Cases) {
    cases.add("cudaGetDeviceProperties/agrees with the attributes", |log| {
        let mut it = cudaDeviceProp::default();
        ask!(log, cudaGetDeviceProperties(&raw mut it, 0));
        let attribute = |number| {
            let mut value = -7;
            // SAFETY: the pointer is to a live integer.
            let code = unsafe { cudaDeviceGetAttribute(&raw mut value, number, 0) };
            (code == cudaSuccess).then_some(value)
        };
        for (what, value, number) in [
            ("processors", it.multiProcessorCount, cudaDevAttrMultiProcessorCount),
            ("major", it.major, cudaDevAttrComputeCapabilityMajor),
            ("registers", it.regsPerBlock, cudaDevAttrMaxRegistersPerBlock),
            ("warp", it.warpSize, cudaDevAttrWarpSize),
            ("bus", it.pciBusID, cudaDevAttrPciBusId),
            ("cache", it.l2CacheSize, cudaDevAttrL2CacheSize),
            ("width", it.memoryBusWidth, cudaDevAttrGlobalMemoryBusWidth),
            ("grid", it.maxGridSize[1], cudaDevAttrMaxGridDimY),
            ("texture", it.maxTexture2D[1], cudaDevAttrMaxTexture2DHeight),
            ("blocks", it.maxBlocksPerMultiProcessor, cudaDevAttrMaxBlocksPerMultiprocessor),
            ("persisting", it.persistingL2CacheMaxSize, cudaDevAttrMaxPersistingL2CacheSize),
        ] {
            log.fact(what, Some(value) == attribute(number));
        }
        let shared = (it.sharedMemPerBlock, it.sharedMemPerBlockOptin, it.sharedMemPerMultiprocessor);
        log.fact("shared", format_args!("{shared:?} {}", it.reservedSharedMemPerBlock));
        log.fact("threads", format_args!("{} {}", it.maxThreadsPerBlock, it.maxThreadsPerMultiProcessor));
        log.fact("constant, pitch", format_args!("{} {}", it.totalConstMem, it.memPitch));
        log.fact(
            "alignments",
            format_args!("{} {} {}", it.textureAlignment, it.texturePitchAlignment, it.surfaceAlignment),
        );
        log.fact(
            "yes and no",
            format_args!(
                "{} {} {} {}",
                it.canMapHostMemory, it.integrated, it.concurrentKernels, it.asyncEngineCount
            ),
        );
        log.fact(
            "of memory",
            format_args!("{} {} {}", it.managedMemory, it.concurrentManagedAccess, it.pageableMemoryAccess),
        );
        log.fact(
            "more",
            format_args!(
                "{} {} {}",
                it.cooperativeLaunch, it.unifiedAddressing, it.streamPrioritiesSupported
            ),
        );
        Ok(())
    });
    cases.add("cudaDeviceGetTexture1DLinearMaxWidth/of formats", |log| {
        for (what, format) in [
            ("bytes", (8, 0, 0, 0, 1)),
            ("four floats", (32, 32, 32, 32, 2)),
            ("two halves", (16, 16, 0, 0, 2)),
            ("three bytes", (8, 8, 8, 0, 1)),
            ("of no bits", (0, 0, 0, 0, 1)),
        ] {
            let kind = cudaChannelFormatKind(format.4);
            let format =
                cudaChannelFormatDesc { x: format.0, y: format.1, z: format.2, w: format.3, f: kind };
            let mut width = 77;
            ask!(log, what, cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, &raw const format, 0));
            log.fact("width", width);
        }
        let mut width = 77;
        ask!(log, "null", cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, ptr::null(), 0));
        let format = cudaChannelFormatDesc { x: 8, ..cudaChannelFormatDesc::default() };
        ask!(log, "to null", cudaDeviceGetTexture1DLinearMaxWidth(ptr::null_mut(), &raw const format, 0));
        ask!(log, "device 100", cudaDeviceGetTexture1DLinearMaxWidth(&raw mut width, &raw const format, 100));
        Ok(())
    });
    cases.add("cudaDeviceGetHostAtomicCapabilities/of every operation", |log| {
        let operations: [_; 13] = std::array::from_fn(|it| cudaAtomicOperation(it as u32));
        let mut values = [77_u32; 13];
        ask!(log, cudaDeviceGetHostAtomicCapabilities(values.as_mut_ptr(), operations.as_ptr(), 13, 0));
        log.fact("are", format_args!("{values:?}"));
        let wrong = cudaAtomicOperation(50);
        ask!(
            log,
            "none such",
            cudaDeviceGetHostAtomicCapabilities(values.as_mut_ptr(), &raw const wrong, 1, 0)
        );
        ask!(
            log,
            "no operations",
            cudaDeviceGetHostAtomicCapabilities(values.as_mut_ptr(), operations.as_ptr(), 0, 0)
        );
        ask!(
            log,
            "device 100",
            cudaDeviceGetHostAtomicCapabilities(values.as_mut_ptr(), operations.as_ptr(), 1, 100)
        );
        ask!(
            log,
            "to itself",
            cudaDeviceGetP2PAtomicCapabilities(values.as_mut_ptr(), operations.as_ptr(), 1, 0, 0)
        );
        ask!(log, "null", cudaDeviceGetHostAtomicCapabilities(ptr::null_mut(), operations.as_ptr(), 1, 0));
        Ok(())
    });
    cases.alone("cudaDeviceSetLimit/a limit while memory is in use, none such", |log| {
        let block = Block::new(log, Kind::Device, 4096)?;
        let mut value = 77;
        ask!(log, "stack", cudaDeviceSetLimit(cudaLimitStackSize, 3000));
        ask!(log, cudaDeviceGetLimit(&raw mut value, cudaLimitStackSize));
        log.fact("stack", value);
        ask!(log, "heap", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 10_000_000));
        ask!(log, cudaDeviceGetLimit(&raw mut value, cudaLimitMallocHeapSize));
        log.fact("heap", value);
        ask!(log, "fetch", cudaDeviceSetLimit(cudaLimitMaxL2FetchGranularity, 100));
        ask!(log, cudaDeviceGetLimit(&raw mut value, cudaLimitMaxL2FetchGranularity));
        log.fact("fetch", value);
        ask!(log, "none such", cudaDeviceSetLimit(cudaLimit(50), 1));
        ask!(log, "to null", cudaDeviceGetLimit(ptr::null_mut(), cudaLimitStackSize));
        ask!(log, cudaMemset(block.ptr(), 0, 16));
        Ok(())
    });
    cases.alone("cudaDeviceFlushGPUDirectRDMAWrites/of this device, and to nobody", |log| {
        for (target, scope) in [(0, 100), (0, 200), (0, 300), (1, 100)] {
            let (to, how) =
                (cudaFlushGPUDirectRDMAWritesTarget(target), cudaFlushGPUDirectRDMAWritesScope(scope));
            ask!(log, &format!("{target} {scope}"), cudaDeviceFlushGPUDirectRDMAWrites(to, how));
        }
        Ok(())
    });
    cases.alone("cudaDeviceReset/objects of before, used after", |log| {
        let (on, mark, block) = (stream(log)?, event(log)?, Block::new(log, Kind::Device, 4096)?);
        let pinned = Block::new(log, Kind::Pinned, 4096)?;
        ask!(log, cudaDeviceReset());
        ask!(log, cudaPeekAtLastError());
        ask!(log, "memory", cudaMemset(block.ptr(), 0, 16));
        ask!(log, "freed", cudaFree(block.ptr()));
        ask!(log, "pinned", cudaFreeHost(pinned.ptr()));
        ask!(log, cudaGetLastError());
        let again = Block::new(log, Kind::Device, 4096)?;
        ask!(log, "new memory", cudaMemset(again.ptr(), 0, 16));
        let one = dim3 { x: 1, y: 1, z: 1 };
        ask!(log, cudaLaunchKernel(function(case_empty), one, one, ptr::null_mut(), 0, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        let _ = (on, mark);
        Ok(())
    });
    cases.alone("cudaDeviceCanAccessPeer/of one device, and what needs two", |log| {
        let mut can = 77;
        ask!(log, "itself", cudaDeviceCanAccessPeer(&raw mut can, 0, 0));
        log.fact("can", can);
        ask!(log, "on", cudaDeviceEnablePeerAccess(0, 0));
        ask!(log, "flags", cudaDeviceEnablePeerAccess(0, 1));
        let (a, b) = (Block::with(log, Kind::Device, &[5; 64])?, Block::new(log, Kind::Device, 64)?);
        ask!(log, cudaMemcpyPeer(b.ptr(), 0, a.ptr(), 0, 64));
        let got = b.load(log)?;
        log.bytes("bytes", &got, &[5; 64]);
        ask!(log, "device 100", cudaMemcpyPeer(b.ptr(), 100, a.ptr(), 0, 64));
        ask!(log, "device -1", cudaMemcpyPeerAsync(b.ptr(), 0, a.ptr(), -1, 64, ptr::null_mut()));
        Ok(())
    });
    for (what, value) in
        [("of codes below 100", 0), ("of codes below 300", 100), ("of codes below 1000", 300)]
    {
        cases.add(format!("cudaGetErrorString/{what}"), move |log| {
            let end = if value == 0 {
                100
            } else if value == 100 {
                300
            } else {
                1000
            };
            for code in value..end {
                // SAFETY: takes any code and returns a string that lives for ever.
                let text = unsafe { CStr::from_ptr(cudaGetErrorString(cudaError(code))) };
                let name = error_name(cudaError(code));
                if text.to_bytes() != b"unrecognized error code" || name != "unrecognized error code" {
                    log.fact(&code.to_string(), name);
                }
            }
            Ok(())
        });
    }
}

fn driver(cases: &mut Cases) {
    cases.alone("cudaGetDriverEntryPointByVersion/functions by version and flags", |log| {
        for (name, version, flags) in [
            (c"cuMemAlloc", 13_000, 0),
            (c"cuMemAlloc", 3_000, 0),
            (c"cuMemAlloc", 1_000, 0),
            (c"cuGetErrorString", 13_000, 1),
            (c"cuStreamSynchronize", 13_000, 2),
            (c"cuStreamSynchronize", 13_000, 7),
            (c"cuGraphAddNode", 11_000, 0),
            (c"cuMemAlloc_v2", 13_000, 0),
            (c"cudaMalloc", 13_000, 0),
            (c"cuLaunchKernelEx", 13_000, 0),
        ] {
            let (mut function, mut status) = (ptr::null_mut(), cudaDriverEntryPointQueryResult(77));
            let what = format!("{} {version} {flags}", name.to_string_lossy());
            let (at, answer) = (name.as_ptr(), &raw mut function);
            ask!(log, &what, cudaGetDriverEntryPointByVersion(at, answer, version, flags, &raw mut status));
            log.fact("status, null", format_args!("{} {}", status.0, function.is_null()));
        }
        let mut function = ptr::null_mut();
        let (at, answer) = (c"cuInit".as_ptr(), &raw mut function);
        ask!(
            log,
            "without a status",
            cudaGetDriverEntryPointByVersion(at, answer, 13_000, 0, ptr::null_mut())
        );
        log.fact("null", function.is_null());
        Ok(())
    });
    cases.alone("cudaGetDriverEntryPointByVersion/functions, called", |log| {
        let get = |name: &CStr| {
            let (mut function, mut status) = (ptr::null_mut(), cudaDriverEntryPointQueryResult(77));
            let (out, status) = (&raw mut function, &raw mut status);
            // SAFETY: the pointers are to live values.
            unsafe { cudaGetDriverEntryPointByVersion(name.as_ptr(), out, 13_000, 0, status) };
            function
        };
        let (version, count, current) =
            (get(c"cuDriverGetVersion"), get(c"cuDeviceGetCount"), get(c"cuCtxGetCurrent"));
        let (mut driver, mut runtimes) = (0, 0);
        need!(log, cudaDriverGetVersion(&raw mut runtimes));
        type One = unsafe extern "C" fn(*mut c_int) -> u32;
        if !version.is_null() && !count.is_null() {
            // SAFETY: the driver's functions have this form.
            let (version, count) = unsafe {
                (
                    std::mem::transmute::<*mut c_void, One>(version),
                    std::mem::transmute::<*mut c_void, One>(count),
                )
            };
            // SAFETY: the pointers are to live integers.
            let codes = unsafe { (version(&raw mut driver), count(ptr::null_mut())) };
            log.fact("codes", format_args!("{codes:?}"));
            log.fact("one version", driver == runtimes);
        }
        log.fact("current", !current.is_null());
        Ok(())
    });
    cases.alone("cudaGetDriverEntryPoint/without a version", |log| {
        for name in [c"cuMemAlloc", c"cuTeaMake"] {
            let (mut function, mut status) = (ptr::null_mut(), cudaDriverEntryPointQueryResult(77));
            ask!(log, cudaGetDriverEntryPoint(name.as_ptr(), &raw mut function, 0, &raw mut status));
            log.fact("status, null", format_args!("{} {}", status.0, function.is_null()));
        }
        Ok(())
    });
    cases.add("cudaGetLastError/which calls leave one, and which do not", |log| {
        let mut value = 0;
        for (what, code) in [
            ("a device", unsafe { cudaSetDevice(100) }),
            ("an attribute", unsafe { cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(9999), 0) }),
            ("a free", unsafe { cudaFree(ptr::without_provenance_mut(64)) }),
            ("a name", unsafe {
                let _ = cudaGetErrorName(cudaError(12345));
                cudaSuccess
            }),
        ] {
            log.fact(what, error_name(code));
        }
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "get", cudaGetLastError());
        let mut start = ptr::null_mut();
        ask!(log, "too much", cudaMalloc(&raw mut start, usize::MAX / 2));
        ask!(log, "right", cudaMalloc(&raw mut start, 64));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "right", cudaFree(start));
        ask!(log, "twice", cudaFree(start));
        ask!(log, "get", cudaGetLastError());
        ask!(log, "get", cudaGetLastError());
        ask!(log, cudaProfilerStart());
        ask!(log, cudaProfilerStop());
        Ok(())
    });
}

pub(super) fn add(cases: &mut Cases) {
    functions(cases);
    devices(cases);
    driver(cases);
}
