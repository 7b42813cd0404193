//! Devices, versions, limits, errors, and waits for all work.

use std::ffi::CStr;
use std::thread;

use cuda_sys as sys;
use cuda_sys::cudaError;

use super::super::common::{
    N, add_case, begin, device, end, first_is, float_is, floats, null, ready, scale, shape, start, sum,
    taken, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, error_name, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    fn case_empty();
    fn case_heap();
    safe fn cudaProfilerStart() -> cudaError;
    safe fn cudaProfilerStop() -> cudaError;
}

pub(super) fn add(cases: &mut Cases) {
    chosen(cases);
    properties(cases);
    limits(cases);
    errors(cases);
    whole_device(cases);
}

fn current(log: &mut Log) {
    let mut device = 77;
    ask!(log, cudaGetDevice(&raw mut device));
    log.fact("current", device);
}

fn chosen(cases: &mut Cases) {
    add_case(cases, 14, "the first, then one that is not there", |log| {
        ask!(log, cudaSetDevice(0));
        current(log);
        ask!(log, "99", cudaSetDevice(99));
        ask!(log, "-1", cudaSetDevice(-1));
        current(log);
        taken(log)
    });
    add_case(cases, 73, "each device before its kernel", |log| {
        let mut count = 0;
        ask!(log, cudaGetDeviceCount(&raw mut count));
        for each in [0, count] {
            ask!(log, "set", cudaSetDevice(each));
            let (from, to) = (Block::with(log, Kind::Device, &floats([1.0; 64]))?, device(log)?);
            scale(log, "kernel", to, from, 5.0, 64, null());
            ask!(log, cudaDeviceSynchronize());
            float_is(log, to, 63)?;
            current(log);
        }
        Ok(())
    });
    add_case(cases, 100, "before the first call, and the context that it makes", |log| {
        ask!(log, cudaSetDevice(0));
        current(log);
        let mut flags = 99;
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        ask!(log, "null", cudaGetDevice(null()));
        let mut found = sys::cudaDeviceProp::default();
        ask!(log, cudaGetDeviceProperties(&raw mut found, 0));
        log.fact("version", format_args!("{}.{}", found.major, found.minor));
        Ok(())
    });
    add_case(cases, 109, "the one with the most processors, and what other threads have", |log| {
        let (mut count, mut best) = (0, (-1, -1));
        need!(log, cudaGetDeviceCount(&raw mut count));
        for each in 0..count {
            let mut found = sys::cudaDeviceProp::default();
            need!(log, cudaGetDeviceProperties(&raw mut found, each));
            best = best.max((found.multiProcessorCount, -each));
        }
        ask!(log, cudaSetDevice(-best.1));
        current(log);
        let codes = thread::spawn(|| {
            let mut device = 77;
            // SAFETY: the pointers are to live integers, and null stands for no place.
            unsafe {
                (
                    sys::cudaSetDevice(99).0,
                    sys::cudaGetDevice(&raw mut device).0,
                    device,
                    sys::cudaGetLastError().0,
                )
            }
        })
        .join();
        log.fact("in a thread", format_args!("{:?}", codes.expect("no panic")));
        taken(log)
    });
    add_case(cases, 141, "again and again, with streams and memory of before", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        for _ in 0..3 {
            ask!(log, cudaSetDevice(0));
            ask!(log, cudaMemsetAsync(block.ptr(), 3, N, on));
            ask!(log, cudaStreamSynchronize(on));
        }
        ask!(log, "initialised", cudaInitDevice(0, 0, 0));
        ask!(
            log,
            "with flags",
            cudaInitDevice(0, sys::cudaDeviceScheduleYield, sys::cudaInitDeviceFlagsAreValid)
        );
        let mut flags = 99;
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        ask!(log, "none such", cudaInitDevice(99, 0, 0));
        let got = block.load(log)?;
        log.fact("byte", got[N - 1]);
        Ok(())
    });
    add_case(cases, 145, "before the wait for its stream, which is held", |log| {
        let on = stream(log)?;
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaSetDevice(0));
        ask!(log, "held", cudaStreamQuery(on));
        waits(log, &gate, |log| {
            ask!(log, cudaSetDevice(0));
        });
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaStreamDestroy(on));
        current(log);
        Ok(())
    });
    add_case(cases, 79, "mapped memory, before and after there is a context", |log| {
        let flags = |log: &mut Log| {
            let mut flags = 99;
            ask!(log, cudaGetDeviceFlags(&raw mut flags));
            log.fact("flags", flags);
        };
        ask!(log, cudaSetDeviceFlags(sys::cudaDeviceMapHost));
        flags(log);
        ask!(log, "none such", cudaSetDeviceFlags(0x100));
        ask!(
            log,
            "two ways to wait",
            cudaSetDeviceFlags(sys::cudaDeviceScheduleSpin | sys::cudaDeviceScheduleYield)
        );
        flags(log);
        need!(log, cudaFree(null()));
        ask!(log, "later", cudaSetDeviceFlags(sys::cudaDeviceScheduleBlockingSync));
        flags(log);
        ask!(log, "none", cudaSetDeviceFlags(0));
        flags(log);
        taken(log)
    });
}

fn properties(cases: &mut Cases) {
    add_case(cases, 42, "at the start of a program for two devices", |log| {
        let mut count = -1;
        ask!(log, cudaGetDeviceCount(&raw mut count));
        log.fact("some", count > 0);
        ask!(log, "null", cudaGetDeviceCount(null()));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, "once more", cudaGetDeviceCount(&raw mut count));
        taken(log)
    });
    add_case(cases, 91, "where none would mean none that computes, and in a capture", |log| {
        let mut count = -1;
        ask!(log, cudaGetDeviceCount(&raw mut count));
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaGetDeviceCount(&raw mut count));
        let mut chosen = -1;
        let like = sys::cudaDeviceProp::default();
        ask!(log, cudaChooseDevice(&raw mut chosen, &raw const like));
        log.fact("chosen", chosen);
        end(log, on);
        Ok(())
    });
    add_case(cases, 69, "between a device and itself, and none", |log| {
        for (a, b) in [(0, 0), (0, 99), (99, 0), (-1, 0)] {
            let mut can = 77;
            ask!(log, &format!("{a} and {b}"), cudaDeviceCanAccessPeer(&raw mut can, a, b));
            log.fact("can", can);
        }
        ask!(log, "null", cudaDeviceCanAccessPeer(null(), 0, 0));
        taken(log)
    });
    add_case(cases, 95, "the size of the cache, against the properties, and what is no attribute", |log| {
        let (mut size, mut found) = (-1, sys::cudaDeviceProp::default());
        ask!(log, cudaDeviceGetAttribute(&raw mut size, sys::cudaDevAttrL2CacheSize, 0));
        ask!(log, cudaGetDeviceProperties(&raw mut found, 0));
        log.fact("some", size > 0);
        log.fact("alike", size == found.l2CacheSize);
        size = -1;
        for id in [0, 1000, -1_i32] {
            let id = sys::cudaDeviceAttr(id.cast_unsigned());
            ask!(log, "none such", cudaDeviceGetAttribute(&raw mut size, id, 0));
        }
        ask!(log, "no device", cudaDeviceGetAttribute(&raw mut size, sys::cudaDevAttrL2CacheSize, 99));
        log.fact("value", size);
        ask!(log, "null", cudaDeviceGetAttribute(null(), sys::cudaDevAttrL2CacheSize, 0));
        Ok(())
    });
    add_case(cases, 122, "of every device in a row, and of the one behind the last", |log| {
        let (mut count, mut found) = (0, sys::cudaDeviceProp::default());
        need!(log, cudaGetDeviceCount(&raw mut count));
        ask!(log, "first", cudaGetDeviceProperties(&raw mut found, 0));
        log.fact("warp", found.warpSize);
        log.fact("threads", found.maxThreadsPerBlock);
        log.fact("dimensions", format_args!("{:?} {:?}", found.maxThreadsDim, found.maxGridSize));
        log.fact(
            "of a processor",
            format_args!("{} {}", found.maxThreadsPerMultiProcessor, found.maxBlocksPerMultiProcessor),
        );
        ask!(log, "behind the last", cudaGetDeviceProperties(&raw mut found, count));
        log.fact("warp", found.warpSize);
        ask!(log, "null", cudaGetDeviceProperties(null(), 0));
        Ok(())
    });
    add_case(cases, 125, "of the current device: its name, memory, and engines", |log| {
        let (mut device, mut found) = (77, sys::cudaDeviceProp::default());
        ask!(log, cudaGetDevice(&raw mut device));
        ask!(log, cudaGetDeviceProperties(&raw mut found, device));
        log.fact("a name", found.name[0] != 0);
        log.fact(
            "shared",
            format_args!(
                "{} {} {}",
                found.sharedMemPerBlock, found.sharedMemPerMultiprocessor, found.sharedMemPerBlockOptin
            ),
        );
        log.fact("reserved", found.reservedSharedMemPerBlock);
        log.fact("registers", format_args!("{} {}", found.regsPerBlock, found.regsPerMultiprocessor));
        log.fact("constants", found.totalConstMem);
        log.fact(
            "pitch",
            format_args!("{} {} {}", found.memPitch, found.textureAlignment, found.texturePitchAlignment),
        );
        log.fact("engines", found.asyncEngineCount);
        log.fact(
            "can",
            format_args!(
                "{} {} {}",
                found.unifiedAddressing, found.managedMemory, found.concurrentManagedAccess
            ),
        );
        log.fact("bus", found.memoryBusWidth > 0);
        Ok(())
    });
    for (number, situation) in
        [(25, "beside the runtime's, before anything else"), (144, "in an initialiser of a function, twice")]
    {
        add_case(cases, number, situation, move |log| {
            let (mut driver, mut runtime) = (-1, -1);
            if number == 25 {
                ask!(log, cudaRuntimeGetVersion(&raw mut runtime));
                ask!(log, cudaDriverGetVersion(&raw mut driver));
                log.fact("not older", driver >= runtime);
            } else {
                ask!(log, cudaDriverGetVersion(&raw mut driver));
                let again = thread::spawn(|| {
                    let mut driver = -1;
                    // SAFETY: the pointer is to a live integer.
                    unsafe { sys::cudaDriverGetVersion(&raw mut driver) };
                    driver
                });
                log.fact("the same", again.join().expect("no panic") == driver);
                log.fact("new enough", driver >= 12_080);
            }
            ask!(log, "null", cudaDriverGetVersion(null()));
            taken(log)
        });
    }
    add_case(cases, 93, "behind the driver's, and for no place", |log| {
        let (mut driver, mut runtime) = (-1, -1);
        ask!(log, cudaDriverGetVersion(&raw mut driver));
        ask!(log, cudaRuntimeGetVersion(&raw mut runtime));
        log.fact("version", format_args!("{}.{}", runtime / 1000, runtime % 100 / 10));
        ask!(log, "null", cudaRuntimeGetVersion(null()));
        taken(log)
    });
}

fn limits(cases: &mut Cases) {
    add_case(cases, 90, "launches from the device that may be pending", |log| {
        let limit = |log: &mut Log, id| {
            let mut value = 77;
            ask!(log, cudaDeviceGetLimit(&raw mut value, id));
            log.fact("value", value);
        };
        let id = sys::cudaLimitDevRuntimePendingLaunchCount;
        limit(log, id);
        ask!(log, cudaDeviceSetLimit(id, 4096));
        limit(log, id);
        ask!(log, "none", cudaDeviceSetLimit(id, 0));
        limit(log, id);
        ask!(log, "depth", cudaDeviceSetLimit(sys::cudaLimitDevRuntimeSyncDepth, 3));
        ask!(log, "no such limit", cudaDeviceSetLimit(sys::cudaLimit(99), 1));
        taken(log)
    });
    add_case(cases, 138, "128 MB of heap, then allocations in a kernel, then another size", |log| {
        let (out, id) = (device(log)?, sys::cudaLimitMallocHeapSize);
        ask!(log, cudaDeviceSetLimit(id, 128 << 20));
        let mut value = 77;
        ask!(log, cudaDeviceGetLimit(&raw mut value, id));
        log.fact("value", value);
        for bytes in [64_u64, 100 << 20, 256 << 20] {
            let (mut at, mut bytes) = (out.ptr(), bytes);
            ask!(log, cudaMemset(at, 0, 8));
            start(
                log,
                "kernel",
                case_heap as super::super::common::Kernel,
                [1, 1, 0],
                null(),
                &mut super::super::common::arguments![at, bytes],
            );
            ask!(log, cudaDeviceSynchronize());
            let got = out.load(log)?;
            log.fact("there and holds", format_args!("{} {}", got[0], got[4]));
        }
        ask!(log, "later", cudaDeviceSetLimit(id, 64 << 20));
        ask!(log, cudaDeviceGetLimit(&raw mut value, id));
        log.fact("value", value);
        taken(log)
    });
    add_case(cases, 49, "when no profiler is there, and again", |log| {
        log.code("start", cudaProfilerStart());
        log.code("again", cudaProfilerStart());
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 1, N));
        log.code("stop", cudaProfilerStop());
        log.code("stop again", cudaProfilerStop());
        taken(log)
    });
}

/// Notes a code's name, and how long its text is.
fn text(log: &mut Log, code: u32) {
    // SAFETY: takes any code.
    let text = unsafe { sys::cudaGetErrorString(cudaError(code)) };
    // SAFETY: not null, so it is a string that lives for ever.
    let length = if text.is_null() { 0 } else { unsafe { CStr::from_ptr(text) }.count_bytes() };
    log.fact(&error_name(cudaError(code)), length);
}

fn errors(cases: &mut Cases) {
    add_case(cases, 6, "of every code that a wait may return", |log| {
        for code in
            [0, 1, 2, 3, 4, 9, 98, 100, 101, 201, 214, 700, 701, 702, 704, 709, 710, 716, 717, 719, 720, 999]
        {
            text(log, code);
        }
        Ok(())
    });
    add_case(cases, 97, "of the error that is taken, on the spot", |log| {
        let over = [1, 1025, 0];
        for form in [over, [1, 1, 1 << 20], [0, 1, 0]] {
            start(log, "launch", case_empty as super::super::common::Kernel, form, null(), &mut []);
            // SAFETY: takes nothing.
            text(log, unsafe { sys::cudaGetLastError() }.0);
        }
        for code in [400, 401, 600, 708, 712, 713, 801, 802, 900, 901, 903, 904, 906, 907, 910, 10_000] {
            text(log, code);
        }
        Ok(())
    });
    add_case(cases, 31, "between two launches and their waits", |log| {
        for _ in 0..2 {
            start(log, "launch", case_empty as super::super::common::Kernel, [1, 2, 0], null(), &mut []);
            ask!(log, cudaGetLastError());
            ask!(log, cudaDeviceSynchronize());
        }
        start(log, "no threads", case_empty as super::super::common::Kernel, [1, 0, 0], null(), &mut []);
        ask!(log, "wait", cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        ask!(log, cudaGetLastError());
        Ok(())
    });
    add_case(cases, 65, "in a function that prints, behind calls that fail in other ways", |log| {
        let mut at = null();
        ask!(log, cudaMalloc(&raw mut at, 1 << 46));
        ask!(log, "one that succeeds", cudaMalloc(&raw mut at, 64));
        ask!(log, cudaGetLastError());
        ask!(log, "event", cudaEventQuery(null()));
        ask!(log, "device", cudaSetDevice(99));
        ask!(log, "the later one", cudaGetLastError());
        ask!(log, "stream", cudaStreamSynchronize(null()));
        ask!(log, cudaGetLastError());
        Ok(())
    });
    add_case(cases, 85, "behind a launch on a stream, good and bad ones", |log| {
        let on = stream(log)?;
        let (mut big, kernel) = (shape(1), case_empty as super::super::common::Kernel);
        for form in [[1, 32, 0], [65_536, 1, 0], [1, 1024, 49_152], [1, 32, 49_153], [1 << 31, 1, 0]] {
            start(log, &format!("{form:?}"), kernel, form, on, &mut []);
            ask!(log, cudaGetLastError());
        }
        for (y, z) in [(65_535, 1), (65_536, 1), (1, 65_536), (0, 1)] {
            (big.y, big.z) = (y, z);
            ask!(log, &format!("{y} {z}"), cudaLaunchKernel(kernel, big, shape(1), null(), 0, on));
            ask!(log, cudaGetLastError());
        }
        let deep = sys::dim3 { x: 1, y: 1, z: 65 };
        ask!(log, "65 deep", cudaLaunchKernel(kernel, shape(1), deep, null(), 0, on));
        ask!(log, cudaGetLastError());
        ask!(log, cudaStreamSynchronize(on));
        Ok(())
    });
}

/// Notes whether a wait for the device waits for a held stream, and the number that a kernel wrote.
fn whole_device(cases: &mut Cases) {
    add_case(cases, 24, "after many launches of one kernel", |log| {
        let (from, out) =
            (Block::with(log, Kind::Device, &super::super::common::integers([1; 64]))?, device(log)?);
        for _ in 0..100 {
            sum(log, "kernel", out, from, 64, null());
        }
        ask!(log, cudaDeviceSynchronize());
        first_is(log, "sum", out)?;
        taken(log)
    });
    add_case(cases, 74, "before a graph goes, whose launch is held", |log| {
        let (on, block) = (begin(log)?, device(log)?);
        ask!(log, cudaMemsetAsync(block.ptr(), 8, N, on));
        let graph = end(log, on);
        let run = ready(log, graph);
        super::super::common::go(log, run, on);
        need!(log, cudaMemset(block.ptr(), 0, N));
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaGraphLaunch(run, on));
        waits(log, &gate, |log| {
            ask!(log, cudaDeviceSynchronize());
        });
        ask!(log, cudaGraphExecDestroy(run));
        ask!(log, cudaGraphDestroy(graph));
        let got = block.load(log)?;
        log.fact("byte", got[N - 1]);
        Ok(())
    });
    add_case(cases, 117, "with nothing to wait for, and while a stream captures", |log| {
        ask!(log, cudaDeviceSynchronize());
        let (block, on) = (device(log)?, begin(log)?);
        ask!(log, "captured", cudaMemsetAsync(block.ptr(), 1, N, on));
        ask!(log, "while it captures", cudaDeviceSynchronize());
        end(log, on);
        taken(log)?;
        ask!(log, "after it", cudaDeviceSynchronize());
        Ok(())
    });
    add_case(cases, 17, "its successor, after steps that each read what the last one wrote", steps);
}

fn steps(log: &mut Log) -> Outcome {
    let (a, b) = (Block::with(log, Kind::Device, &floats([1.0; 1024]))?, device(log)?);
    for step in 0..10 {
        let (to, from) = if step % 2 == 0 { (b, a) } else { (a, b) };
        scale(log, "kernel", to, from, 2.0, 1024, null());
    }
    ask!(log, cudaDeviceSynchronize());
    float_is(log, a, 1023)?;
    taken(log)
}
