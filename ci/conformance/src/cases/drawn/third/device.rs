//! Devices, versions, and waits for all work.

use std::ffi::c_void;

use cuda_sys as sys;

use super::super::common::{
    Kernel, N, add_case, adds, attribute, begin, device, end, first_is, float_is, floats, holds, integers,
    null, scale, start, sum, taken, there, waits, what,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, event, stream, stream_with};

unsafe extern "C" {
    fn case_empty();
    safe fn cudaProfilerStart() -> sys::cudaError;
    safe fn cudaProfilerStop() -> sys::cudaError;
}

pub(super) fn add(cases: &mut Cases) {
    versions(cases);
    counts(cases);
    chosen(cases);
    attributes(cases);
    peers(cases);
    profilers(cases);
    waiting(cases);
}

/// Notes the device of this thread.
fn current(log: &mut Log) {
    let mut it = 77;
    ask!(log, cudaGetDevice(&raw mut it));
    log.fact("device", it);
}

/// Notes the flags of the device.
fn flags(log: &mut Log) {
    let mut flags = 77;
    ask!(log, cudaGetDeviceFlags(&raw mut flags));
    log.fact("flags", flags);
}

/// The number of devices, which is noted as far as all machines agree.
fn count(log: &mut Log, what: &str) -> i32 {
    let mut count = -1;
    ask!(log, what, cudaGetDeviceCount(&raw mut count));
    log.fact("some", count > 0);
    count
}

fn versions(cases: &mut Cases) {
    add_case(cases, 306, "in a constructor of a library, again once the device was reset", |log| {
        let (mut first, mut again) = (-1, -1);
        ask!(log, cudaDriverGetVersion(&raw mut first));
        log.fact("an old one", first < 12_010);
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 0, N));
        ask!(log, "an error", cudaSetDevice(-1));
        ask!(log, cudaDriverGetVersion(&raw mut again));
        log.fact("the same", first == again);
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, cudaDeviceReset());
        ask!(log, cudaDriverGetVersion(&raw mut again));
        log.fact("the same", first == again);
        ask!(log, "null", cudaDriverGetVersion(null()));
        taken(log)
    });
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

fn counts(cases: &mut Cases) {
    add_case(cases, 307, "no code looked at, then each device is set and asked", |log| {
        let devices = count(log, "first");
        for it in [0, devices - 1, devices] {
            ask!(log, if it < devices { "a device" } else { "behind the last" }, cudaSetDevice(it));
            let mut properties = sys::cudaDeviceProp::default();
            ask!(log, "its properties", cudaGetDeviceProperties(&raw mut properties, it));
            log.fact("warp", properties.warpSize);
        }
        ask!(log, "peek", cudaPeekAtLastError());
        let again = count(log, "with an error left");
        log.fact("the same", again == devices);
        ask!(log, "null", cudaGetDeviceCount(null()));
        taken(log)
    });
    add_case(cases, 386, "none or some, while a stream captures, and after the end of the device", |log| {
        let (devices, on) = (count(log, "first"), begin(log)?);
        count(log, "while a stream captures");
        end(log, on);
        ask!(log, cudaDeviceReset());
        let again = count(log, "after a reset");
        log.fact("the same", again == devices);
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 1, N));
        let mut found = 77;
        ask!(log, "by its bus", cudaDeviceGetByPCIBusId(&raw mut found, c"ffff:ff:1f.0".as_ptr()));
        log.fact("found", found);
        ask!(log, "by no bus", cudaDeviceGetByPCIBusId(&raw mut found, c"nothing".as_ptr()));
        taken(log)
    });
}

fn chosen(cases: &mut Cases) {
    add_case(cases, 357, "the one of a simulation, its code in an exception", |log| {
        let devices = count(log, "count");
        for (name, it) in [("good", 0), ("-1", -1), ("behind the last", devices), ("largest", i32::MAX)] {
            ask!(log, name, cudaSetDevice(it));
            ask!(log, "peek", cudaPeekAtLastError());
            current(log);
        }
        ask!(log, "good again", cudaSetDevice(0));
        ask!(log, "peek", cudaPeekAtLastError());
        taken(log)
    });
    add_case(cases, 374, "as the first call of all, with flags around it", |log| {
        ask!(log, "before", cudaSetDeviceFlags(sys::cudaDeviceScheduleYield));
        ask!(log, cudaSetDevice(0));
        flags(log);
        for value in [sys::cudaDeviceScheduleBlockingSync, sys::cudaDeviceLmemResizeToMax, 3, 0x1000, 0] {
            ask!(log, &format!("{value}"), cudaSetDeviceFlags(value));
            flags(log);
        }
        ask!(log, "initialised", cudaInitDevice(0, sys::cudaDeviceScheduleSpin, 0));
        flags(log);
        taken(log)
    });
    add_case(cases, 376, "the other one of a pair, while a stream of the first is held", |log| {
        let (a, mark, mut at) = (stream(log)?, event(log)?, null::<c_void>());
        need!(log, cudaMallocAsync(&raw mut at, N, a));
        need!(log, cudaStreamSynchronize(a));
        let gate = Gate::hold(log, a)?;
        ask!(log, cudaMemsetAsync(at, 4, N, a));
        ask!(log, cudaEventRecord(mark, a));
        waits(log, &gate, |log| {
            ask!(log, "the first", cudaStreamQuery(a));
            ask!(log, cudaSetDevice(0));
            current(log);
        });
        let (b, mut to) = (stream(log)?, null::<c_void>());
        ask!(log, cudaMallocAsync(&raw mut to, N, b));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        ask!(log, cudaMemcpyAsync(to, at, N, sys::cudaMemcpyDeviceToDevice, b));
        ask!(log, cudaStreamSynchronize(b));
        let got = device(log)?.moved(to).load(log)?;
        log.fact("byte", got[N - 1]);
        taken(log)
    });
    add_case(cases, 379, "the one behind the last, its code not looked at, and the work after it", |log| {
        let mut devices = 0;
        need!(log, cudaGetDeviceCount(&raw mut devices));
        ask!(log, cudaSetDevice(devices));
        current(log);
        let mut at = null::<c_void>();
        ask!(log, "memory", cudaMalloc(&raw mut at, N));
        ask!(log, "fill", cudaMemset(at, 3, N));
        ask!(log, cudaPeekAtLastError());
        start(log, "kernel", case_empty as Kernel, [1, 32, 0], null(), &mut []);
        ask!(log, "its error", cudaGetLastError());
        ask!(log, cudaDeviceSynchronize());
        ask!(log, "initialised", cudaInitDevice(devices, 0, 0));
        ask!(log, "a list", cudaSetValidDevices(&raw mut devices, 1));
        taken(log)
    });
    add_case(cases, 391, "the first one, before places of threads that set their own", |log| {
        count(log, "count");
        ask!(log, cudaSetDevice(0));
        // SAFETY: takes numbers.
        there(log, || unsafe { [sys::cudaSetDevice(-1), sys::cudaGetLastError(), sys::cudaSetDevice(0)] });
        current(log);
        let block = device(log)?.ptr().expose_provenance();
        // SAFETY: memory of the device, which nothing uses.
        there(log, move || unsafe {
            let at = std::ptr::with_exposed_provenance_mut(block);
            [sys::cudaMemset(at, 1, N), sys::cudaFree(at), sys::cudaDeviceSynchronize()]
        });
        ask!(log, cudaSetDevice(0));
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaSetDevice(0));
        end(log, on);
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
    for (number, situation) in [
        (329, "this one and the chosen one, alike, then access of their pools"),
        (349, "the chosen one and this one, with memory that was there before"),
    ] {
        add_case(cases, number, situation, move |log| {
            let (a, b) = (Block::with(log, Kind::Device, &[4; N])?, device(log)?);
            for device in [0, 0, -1] {
                ask!(log, cudaSetDevice(0));
                ask!(log, &format!("{device}"), cudaDeviceEnablePeerAccess(device, 0));
                ask!(log, "last", cudaGetLastError());
            }
            if number == 329 {
                let (mut pool, mut wanted) = (null(), sys::cudaMemAccessDesc::default());
                need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
                wanted.location.type_ = sys::cudaMemLocationTypeDevice;
                for (id, flags) in [(0, 3), (1 << 20, 3), (0, 1)] {
                    (wanted.location.id, wanted.flags) = (id, sys::cudaMemAccessFlags(flags));
                    ask!(log, &format!("{id} {flags}"), cudaMemPoolSetAccess(pool, &raw const wanted, 1));
                }
            } else {
                let on = stream(log)?;
                for (name, to, from) in [("itself", 0, 0), ("none", 0, -1), ("none there", 1 << 20, 0)] {
                    ask!(log, name, cudaMemcpyPeerAsync(b.ptr(), to, a.ptr(), from, N, on));
                }
                ask!(log, cudaStreamSynchronize(on));
                let got = b.load(log)?;
                log.fact("byte", got[N - 1]);
            }
            taken(log)
        });
    }
    add_case(cases, 332, "both ways, for each of the chosen ones, behind its mode", |log| {
        attribute(log, sys::cudaDevAttrComputeMode.0);
        let devices = count(log, "count");
        for (name, a, b) in
            [("itself", 0, 0), ("to none", 0, devices), ("from none", devices, 0), ("from -1", -1, 0)]
        {
            let mut can = 77;
            ask!(log, name, cudaDeviceCanAccessPeer(&raw mut can, a, b));
            log.fact("can", can);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "answer null", cudaDeviceCanAccessPeer(null(), 0, 0));
        let (on, mut can) = (begin(log)?, 77);
        ask!(log, "while a stream captures", cudaDeviceCanAccessPeer(&raw mut can, 0, 0));
        end(log, on);
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
    add_case(cases, 399, "before all devices are waited for, in a thread, while one is held", |log| {
        let (on, block) = (stream(log)?, device(log)?);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaMemsetAsync(block.ptr(), 1, N, on));
        waits(log, &gate, |log| {
            ask!(log, "held", cudaStreamQuery(on));
            log.code("start", cudaProfilerStart());
        });
        there(log, || [cudaProfilerStop(), cudaProfilerStop(), cudaProfilerStart()]);
        ask!(log, cudaDeviceSynchronize());
        log.code("stop", cudaProfilerStop());
        ask!(log, cudaDeviceReset());
        log.code("stop", cudaProfilerStop());
        taken(log)
    });
}

/// Rounds of a kernel, each of which may have an error.
fn rounds(log: &mut Log, a: Block, b: Block) -> Outcome {
    for step in 0..3 {
        let (to, from) = if step % 2 == 0 { (b, a) } else { (a, b) };
        scale(log, "step", to, from, 2.0, 1024, null());
        ask!(log, cudaGetLastError());
    }
    Ok(())
}

fn waiting(cases: &mut Cases) {
    add_case(cases, 320, "its successor, after steps that were each looked at, one refused", |log| {
        let (a, b) = (Block::with(log, Kind::Device, &floats([1.0; 1024]))?, device(log)?);
        rounds(log, a, b)?;
        start(log, "refused", case_empty as Kernel, [1, 2000, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        rounds(log, b, a)?;
        ask!(log, cudaDeviceSynchronize());
        float_is(log, a, 1023)?;
        float_is(log, b, 1023)?;
        taken(log)
    });
    add_case(cases, 328, "after a loop that launched by a size, of streams of every kind", |log| {
        let out = Block::new(log, Kind::Device, 16)?;
        ask!(log, "nothing launched", cudaDeviceSynchronize());
        for (name, on) in [
            ("non-blocking", stream(log)?),
            ("blocking", stream_with(log, 0)?),
            ("of the thread", sys::cudaStreamPerThread),
            ("default", null()),
        ] {
            adds(log, "first", out, 1, on);
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            adds(log, name, out, 10, on);
            waits(log, &gate, |log| {
                ask!(log, cudaDeviceSynchronize());
            });
            first_is(log, "number", out)?;
        }
        taken(log)
    });
    add_case(cases, 354, "between a kernel with its own shared memory and the copies down", |log| {
        let (from, work, on) =
            (Block::with(log, Kind::Device, &integers(0..1024))?, device(log)?, stream_with(log, 0)?);
        for count in [1024, 100, 0, 1] {
            ask!(log, cudaMemsetAsync(work.ptr(), 0, N, null()));
            sum(log, "kernel", work, from, count, null());
            ask!(log, cudaDeviceSynchronize());
            first_is(log, "sum", work)?;
        }
        ask!(log, "behind the wait", cudaStreamQuery(on));
        taken(log)
    });
    add_case(cases, 393, "behind copies up, before the first launch, with flags for the wait", |log| {
        let (on, block, from) = (stream(log)?, device(log)?, Block::with(log, Kind::Pinned, &[5; N])?);
        ask!(log, cudaSetDeviceFlags(sys::cudaDeviceScheduleBlockingSync));
        flags(log);
        let gate = Gate::hold(log, on)?;
        ask!(log, cudaMemcpyAsync(block.ptr(), from.ptr(), N, sys::cudaMemcpyHostToDevice, on));
        waits(log, &gate, |log| {
            ask!(log, cudaDeviceSynchronize());
        });
        holds(log, block, &[5; N])?;
        ask!(log, "nothing left", cudaDeviceSynchronize());
        // SAFETY: takes nothing.
        there(log, || unsafe { [sys::cudaDeviceSynchronize(), sys::cudaGetLastError()] });
        start(log, "kernel", case_empty as Kernel, [4, 256, 0], null(), &mut []);
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
}
