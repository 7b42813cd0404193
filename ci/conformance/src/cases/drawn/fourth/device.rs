//! Devices, versions, and waits for all work.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, adds, attribute, begin, device, end, first_is, floats, holds, null, scale, start,
    taken, there, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, pattern, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
    fn case_heap();
    fn case_trap();
}

pub(super) fn add(cases: &mut Cases) {
    chosen(cases);
    asked(cases);
    properties(cases);
    attributes(cases);
    waiting(cases);
}

/// Notes the device of this thread.
fn current(log: &mut Log) {
    let mut it = 77;
    ask!(log, cudaGetDevice(&raw mut it));
    log.fact("device", it);
}

fn count(log: &mut Log) -> i32 {
    let mut count = -1;
    ask!(log, cudaGetDeviceCount(&raw mut count));
    log.fact("some", count > 0);
    count
}

fn chosen(cases: &mut Cases) {
    add_case(cases, 405, "the second of two where it is not there, before copies that go on", |log| {
        let (members, mut host) = (device(log)?, vec![0_u8; N]);
        let behind = count(log);
        ask!(log, cudaSetDevice(behind));
        let (up, there_) = (pattern(N, 2), sys::cudaMemcpyHostToDevice);
        ask!(log, "up", cudaMemcpy(members.ptr(), up.as_ptr().cast(), N, there_));
        scale(log, "kernel", members, members, 1.0, 0, null());
        ask!(log, "its error", cudaPeekAtLastError());
        adds(log, "kernel", members, 1, null());
        let back = sys::cudaMemcpyDeviceToHost;
        ask!(log, "down", cudaMemcpy(host.as_mut_ptr().cast(), members.ptr(), N, back));
        log.bytes("behind the first", &host[4..], &up[4..]);
        current(log);
        // SAFETY: takes numbers, or a live one.
        there(log, move || unsafe {
            let mut it = 77;
            let codes =
                [sys::cudaGetLastError(), sys::cudaSetDevice(behind), sys::cudaGetDevice(&raw mut it)];
            assert!(it == 0, "a thread begins with the first device");
            codes
        });
        taken(log)
    });
    add_case(cases, 434, "whose properties were asked before, with a check behind each", |log| {
        let devices = count(log);
        for it in [0, -1, devices, 0] {
            let mut found = sys::cudaDeviceProp::default();
            ask!(log, "properties", cudaGetDeviceProperties(&raw mut found, it));
            ask!(log, "check", cudaGetLastError());
            log.fact("good", found.major >= 1);
            ask!(log, "chosen", cudaSetDevice(it));
            ask!(log, "check", cudaGetLastError());
            current(log);
        }
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 1, N));
        ask!(log, cudaDeviceReset());
        ask!(log, "after a reset", cudaSetDevice(0));
        ask!(log, "check", cudaGetLastError());
        ask!(log, "its memory", cudaMemset(block.ptr(), 1, N));
        taken(log)
    });
}

fn asked(cases: &mut Cases) {
    add_case(
        cases,
        438,
        "in a check of results, as the first call, with an error left, in captures",
        |log| {
            current(log);
            ask!(log, "an error", cudaSetDevice(-1));
            current(log);
            ask!(log, "peek", cudaPeekAtLastError());
            ask!(log, "no place", cudaGetDevice(null()));
            ask!(log, "peek", cudaPeekAtLastError());
            ask!(log, cudaGetLastError());
            let on = begin(log)?;
            current(log);
            end(log, on);
            // SAFETY: a live number.
            there(log, || unsafe {
                let mut it = 77;
                [sys::cudaGetDevice(&raw mut it), sys::cudaGetDevice(null())]
            });
            let mut found = sys::cudaFuncAttributes::default();
            ask!(log, "of a kernel", cudaFuncGetAttributes(&raw mut found, case_empty as Kernel));
            log.fact("new enough", found.ptxVersion >= 53);
            taken(log)
        },
    );
    add_case(cases, 498, "right behind the choice of the first, and what it is called", |log| {
        ask!(log, cudaSetDevice(0));
        current(log);
        let (mut found, mut again) = (sys::cudaDeviceProp::default(), sys::cudaDeviceProp::default());
        ask!(log, cudaGetDeviceProperties(&raw mut found, 0));
        log.fact("named", found.name[0] != 0);
        log.fact("its end", found.name.contains(&0));
        log.fact("a number of its own", found.uuid.bytes.iter().any(|byte| *byte != 0));
        ask!(log, cudaDeviceReset());
        current(log);
        ask!(log, cudaGetDeviceProperties(&raw mut again, 0));
        log.fact("the same", found.name == again.name && found.uuid.bytes == again.uuid.bytes);
        ask!(log, "initialised", cudaInitDevice(0, 0, 0));
        current(log);
        let mut bus = [0x55_u8; 16];
        ask!(log, "its bus", cudaDeviceGetPCIBusId(bus.as_mut_ptr().cast(), 16, 0));
        let length = bus.iter().position(|byte| *byte == 0);
        log.fact("length", format_args!("{length:?}"));
        ask!(log, "no room", cudaDeviceGetPCIBusId(bus.as_mut_ptr().cast(), 4, 0));
        ask!(log, "no room at all", cudaDeviceGetPCIBusId(bus.as_mut_ptr().cast(), 0, 0));
        taken(log)
    });
    add_case(cases, 423, "beside the runtime's, both printed in parts, while streams capture", |log| {
        let (mut driver, mut runtime) = (-1, -1);
        ask!(log, cudaDriverGetVersion(&raw mut driver));
        ask!(log, cudaRuntimeGetVersion(&raw mut runtime));
        log.fact("in order", driver >= runtime);
        log.fact("its parts", driver % 10 == 0 && runtime % 10 == 0 && driver >= 13_000);
        let (on, mut again) = (begin(log)?, -1);
        ask!(log, "while a stream captures", cudaDriverGetVersion(&raw mut again));
        ask!(log, "runtime's", cudaRuntimeGetVersion(&raw mut runtime));
        end(log, on);
        log.fact("the same", again == driver);
        ask!(log, "no place", cudaDriverGetVersion(null()));
        ask!(log, "peek", cudaPeekAtLastError());
        // SAFETY: takes nothing, or a live number.
        there(log, || unsafe {
            let mut it = 0;
            [sys::cudaDriverGetVersion(&raw mut it), sys::cudaGetLastError()]
        });
        taken(log)
    });
}

fn properties(cases: &mut Cases) {
    add_case(cases, 427, "whether both sides may touch memory at once, and what goes with it", |log| {
        let mut it = sys::cudaDeviceProp::default();
        ask!(log, cudaGetDeviceProperties(&raw mut it, 0));
        log.fact("managed", format_args!("{} {}", it.managedMemory, it.concurrentManagedAccess));
        log.fact("directly", it.directManagedMemAccessFromHost);
        log.fact("host", format_args!("{} {}", it.canMapHostMemory, it.canUseHostPointerForRegisteredMem));
        log.fact("registers", format_args!("{} {}", it.hostRegisterSupported, it.hostNativeAtomicSupported));
        log.fact("addresses", format_args!("{} {}", it.unifiedAddressing, it.unifiedFunctionPointers));
        log.fact("kernels", format_args!("{} {}", it.concurrentKernels, it.computePreemptionSupported));
        log.fact("pools", format_args!("{} {}", it.memoryPoolsSupported, it.streamPrioritiesSupported));
        log.fact("launches", format_args!("{} {}", it.cooperativeLaunch, it.clusterLaunch));
        log.fact("kind", format_args!("{} {} {}", it.integrated, it.tccDriver, it.isMultiGpuBoard));
        log.fact(
            "arrays",
            format_args!("{} {}", it.sparseCudaArraySupported, it.deferredMappingCudaArraySupported),
        );
        let shared = Block::with(log, Kind::Managed, &[1; N])?;
        scale(log, "kernel", shared.moved(shared.at(2048)), shared, 1.0, 512, null());
        ask!(log, cudaDeviceSynchronize());
        holds(log, shared, &[1; N])?;
        for device in [-1, 1 << 20] {
            ask!(log, &format!("{device}"), cudaGetDeviceProperties(&raw mut it, device));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "no place", cudaGetDeviceProperties(null(), 0));
        taken(log)
    });
    add_case(cases, 443, "its generation, and what a block of threads may have there", |log| {
        let mut it = sys::cudaDeviceProp::default();
        ask!(log, cudaGetDeviceProperties(&raw mut it, 0));
        log.fact("generation", format_args!("{} {}", it.major, it.minor));
        log.fact("threads", format_args!("{} {:?}", it.maxThreadsPerBlock, it.maxThreadsDim));
        log.fact("grid", format_args!("{:?} warp {}", it.maxGridSize, it.warpSize));
        log.fact("registers", format_args!("{} {}", it.regsPerBlock, it.regsPerMultiprocessor));
        log.fact("shared", format_args!("{} {}", it.sharedMemPerBlock, it.sharedMemPerBlockOptin));
        log.fact(
            "of all",
            format_args!("{} {}", it.sharedMemPerMultiprocessor, it.reservedSharedMemPerBlock),
        );
        let (threads, blocks) = (it.maxThreadsPerMultiProcessor, it.maxBlocksPerMultiProcessor);
        log.fact("at once", format_args!("{threads} {blocks}"));
        log.fact("constants", format_args!("{} {}", it.totalConstMem, it.memPitch));
        log.fact("caches", format_args!("{} {}", it.globalL1CacheSupported, it.localL1CacheSupported));
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaGetDeviceProperties(&raw mut it, 0));
        end(log, on);
        ask!(log, "an error", cudaSetDevice(-1));
        ask!(log, "with an error left", cudaGetDeviceProperties(&raw mut it, 0));
        taken(log)
    });
    add_case(cases, 476, "of all, for the one with most processors, and the one that is like it", |log| {
        let (devices, mut best, mut most) = (count(log), -1, 0);
        for device in 0..devices {
            let mut it = sys::cudaDeviceProp::default();
            need!(log, cudaGetDeviceProperties(&raw mut it, device));
            if it.multiProcessorCount > most {
                (best, most) = (device, it.multiProcessorCount);
            }
        }
        log.fact("the first", best == 0);
        ask!(log, cudaSetDevice(best));
        let (mut it, mut value, mut chosen) = (sys::cudaDeviceProp::default(), -1, 77);
        need!(log, cudaGetDeviceProperties(&raw mut it, best));
        let id = sys::cudaDevAttrMultiProcessorCount;
        ask!(log, "as an attribute", cudaDeviceGetAttribute(&raw mut value, id, best));
        log.fact("the same", value == most);
        ask!(log, "like it", cudaChooseDevice(&raw mut chosen, &raw const it));
        log.fact("chosen", chosen);
        log.fact("rows", format_args!("{:?} {:?}", it.maxTexture1D, it.maxTexture1DLayered));
        log.fact("planes", format_args!("{:?} {:?}", it.maxTexture2D, it.maxTexture2DLinear));
        log.fact("solids", format_args!("{:?} {:?}", it.maxTexture3D, it.maxTexture3DAlt));
        log.fact("cubes", format_args!("{} {:?}", it.maxTextureCubemap, it.maxTextureCubemapLayered));
        log.fact("surfaces", format_args!("{} {:?} {:?}", it.maxSurface1D, it.maxSurface2D, it.maxSurface3D));
        let (rows, pitch, surface) = (it.textureAlignment, it.texturePitchAlignment, it.surfaceAlignment);
        log.fact("aligned", format_args!("{rows} {pitch} {surface}"));
        ask!(log, "like none", cudaChooseDevice(&raw mut chosen, null()));
        taken(log)
    });
}

fn attributes(cases: &mut Cases) {
    for (number, situation, list) in [
        (
            465,
            "whether there are pools, once, and what newer drivers tell",
            &[115, 119, 120, 122, 125, 126, 114][..],
        ),
        (
            470,
            "generation behind a version, for a library's context",
            &[75, 76, 10, 2, 5, 8, 9, 97, 7, 11, 14],
        ),
    ] {
        add_case(cases, number, situation, move |log| {
            for id in list {
                attribute(log, *id);
            }
            let mut value = -77;
            for device in [-1, 1 << 20] {
                let id = sys::cudaDeviceAttr(list[0]);
                ask!(log, &format!("of {device}"), cudaDeviceGetAttribute(&raw mut value, id, device));
                ask!(log, "last", cudaGetLastError());
            }
            ask!(log, "no place", cudaDeviceGetAttribute(null(), sys::cudaDeviceAttr(list[0]), 0));
            let on = begin(log)?;
            attribute(log, list[0]);
            end(log, on);
            taken(log)
        });
    }
}

/// Notes a limit before and after it is set.
fn limit(log: &mut Log, id: u32, value: usize) {
    let (mut found, id) = (77, sys::cudaLimit(id));
    ask!(log, &format!("limit {}", id.0), cudaDeviceGetLimit(&raw mut found, id));
    log.fact("is", found);
    ask!(log, &format!("to {value}"), cudaDeviceSetLimit(id, value));
    ask!(log, "then", cudaDeviceGetLimit(&raw mut found, id));
    log.fact("is", found);
}

fn waiting(cases: &mut Cases) {
    add_case(cases, 415, "behind rounds of each channel on its own memory, one of which traps", |log| {
        let channels = [device(log)?, device(log)?, device(log)?];
        for round in 0..2 {
            for (i, channel) in (1..).zip(channels) {
                adds(log, &format!("{round}"), channel, i, null());
            }
        }
        ask!(log, cudaDeviceSynchronize());
        for channel in channels {
            first_is(log, "number", channel)?;
        }
        need!(log, cudaDeviceSynchronize());
        start(log, "trap", case_trap as Kernel, [1, 1, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        let mut at = null::<c_void>();
        ask!(log, "an allocation", cudaMalloc(&raw mut at, N));
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaDeviceSynchronize(), sys::cudaGetLastError()] });
        let mut it = -1;
        ask!(log, "what needs no work", cudaGetDevice(&raw mut it));
        ask!(log, "nor this", cudaDeviceGetAttribute(&raw mut it, sys::cudaDevAttrWarpSize, 0));
        taken(log)
    });
    add_case(cases, 429, "between a filter and a copy down, while streams capture", |log| {
        let (to, from) = (device(log)?, Block::with(log, Kind::Device, &floats([2.0; 1024]))?);
        scale(log, "filter", to, from, 0.5, 1024, null());
        ask!(log, cudaDeviceSynchronize());
        holds(log, to, &floats([1.0; 1024]))?;
        for (name, mode, flags) in
            [("relaxed", 2, 1), ("relaxed, blocking", 2, 0), ("of this thread", 1, 1), ("global", 0, 1)]
        {
            let on = stream_with(log, flags)?;
            need!(log, cudaStreamBeginCapture(on, sys::cudaStreamCaptureMode(mode)));
            need!(log, cudaMemsetAsync(to.ptr(), 0, N, on));
            ask!(log, name, cudaDeviceSynchronize());
            ask!(log, "last", cudaGetLastError());
            end(log, on);
            ask!(log, "behind it", cudaDeviceSynchronize());
            ask!(log, "last", cudaGetLastError());
        }
        holds(log, to, &floats([1.0; 1024]))
    });
    add_case(cases, 446, "behind limits of work that kernels launch, and of their memory", |log| {
        for (id, value) in [(4, 4096), (3, 16), (2, 32 << 20), (0, 2048), (1, 1 << 21)] {
            limit(log, id, value);
            ask!(log, "last", cudaGetLastError());
        }
        let (out, on) = (device(log)?, stream(log)?);
        for bytes in [16_u64, 1 << 24, 1 << 30] {
            let (mut at, mut wanted) = (out.ptr(), bytes);
            let mut list = super::super::common::arguments![at, wanted];
            start(log, &format!("{bytes}"), case_heap as Kernel, [1, 1, 0], on, &mut list);
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "room", out)?;
        }
        let mut found = 77;
        ask!(log, "of the heap", cudaDeviceSetLimit(sys::cudaLimitMallocHeapSize, 64 << 20));
        ask!(log, cudaDeviceGetLimit(&raw mut found, sys::cudaLimitMallocHeapSize));
        log.fact("is", found);
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 463, "its successor, its code handed on with a message, in several threads", threads);
}

fn threads(log: &mut Log) -> Outcome {
    let (out, on) = (device(log)?, stream(log)?);
    adds(log, "kernel", out, 1, on);
    // SAFETY: takes nothing.
    log.code("a check", unsafe { sys::cudaDeviceSynchronize() });
    first_is(log, "number", out)?;
    let parts: Vec<_> = (0..3)
        .map(|i| {
            let at = out.at(256 * (i + 1)).expose_provenance();
            std::thread::spawn(move || {
                let at: *mut c_void = std::ptr::with_exposed_provenance_mut(at);
                // SAFETY: memory of the case, a part for each thread.
                let set = unsafe { sys::cudaMemsetAsync(at, 3, 256, sys::cudaStreamPerThread) };
                // SAFETY: takes nothing.
                let waited = unsafe { sys::cudaDeviceSynchronize() };
                (set.0, waited.0)
            })
        })
        .collect();
    for part in parts {
        log.fact("codes", format_args!("{:?}", part.join().expect("no panic")));
    }
    let got = out.load(log)?;
    log.fact("set", got.iter().filter(|byte| **byte == 3).count());
    let gate = Gate::hold(log, on)?;
    adds(log, "held", out, 1, on);
    waits(log, &gate, |log| {
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaDeviceSynchronize()] });
    });
    first_is(log, "number", out)?;
    ask!(log, "an error", cudaSetDevice(-1));
    ask!(log, cudaDeviceSynchronize());
    taken(log)
}
