//! Devices, versions, limits, and waits for all work.

use std::ffi::{c_int, c_void};

use cuda_sys as sys;
use cuda_sys::{cudaDeviceAttr, cudaDeviceProp};

use super::super::common::{
    N, add_case, begin, device, end, first_is, float_is, floats, integers, null, ready, scale, start, sum,
    taken, waits,
};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream};

unsafe extern "C" {
    safe fn cudaProfilerStop() -> sys::cudaError;
}

pub(super) fn add(cases: &mut Cases) {
    properties(cases);
    attributes(cases);
    counts(cases);
    chosen(cases);
    peers(cases);
    whole_device(cases);
}

/// Words about a device.
type Words = fn(&cudaDeviceProp) -> String;

fn properties(cases: &mut Cases) {
    let table: [(usize, &str, Words); 4] = [
        (204, "for a transform: versions and processors", |it| {
            format!("{}.{} {} {}", it.major, it.minor, it.multiProcessorCount > 0, it.l2CacheSize > 0)
        }),
        (245, "for launches from the device: what it can", |it| {
            format!(
                "{} {} {} {} {}",
                it.cooperativeLaunch,
                it.concurrentKernels,
                it.streamPrioritiesSupported,
                it.globalL1CacheSupported,
                it.localL1CacheSupported
            )
        }),
        (279, "for shared memory of a matrix product: its sizes", |it| {
            format!("{} {} {:?}", it.sharedMemPerMultiprocessor, it.sharedMemPerBlockOptin, it.maxThreadsDim)
        }),
        (281, "for an estimate: grids, textures, managed memory", |it| {
            format!(
                "{:?} {} {:?} {:?} {} {} {}",
                it.maxGridSize,
                it.maxTexture1D,
                it.maxTexture2D,
                it.maxTexture3D,
                it.pageableMemoryAccess,
                it.canMapHostMemory,
                it.integrated
            )
        }),
    ];
    for (number, situation, words) in table {
        add_case(cases, number, situation, move |log| {
            let mut found = cudaDeviceProp::default();
            ask!(log, cudaGetDeviceProperties(&raw mut found, 0));
            log.fact("it is", words(&found));
            let on = begin(log)?;
            ask!(log, "while a stream captures", cudaGetDeviceProperties(&raw mut found, 0));
            end(log, on);
            ask!(log, "-1", cudaGetDeviceProperties(&raw mut found, -1));
            taken(log)
        });
    }
}

fn attributes(cases: &mut Cases) {
    let table: [(usize, &str, &[u32]); 3] = [
        (212, "of pools and files, before a pool is made", &[115, 119, 118, 116, 117, 122]),
        (
            251,
            "whether it is part of the host, and what goes with that",
            &[18, 19, 41, 83, 88, 89, 91, 92, 95, 99, 100, 101],
        ),
        (
            267,
            "its version, for a library, then limits that go with it",
            &[75, 76, 1, 2, 5, 8, 9, 10, 11, 12, 14, 31, 39, 40, 78, 81, 82, 97, 106, 111, 120, 121],
        ),
    ];
    for (number, situation, list) in table {
        add_case(cases, number, situation, move |log| {
            for id in list {
                let mut value: c_int = -77;
                ask!(log, &format!("{id}"), cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(*id), 0));
                log.fact("value", value);
            }
            let mut value: c_int = -77;
            ask!(log, "of no device", cudaDeviceGetAttribute(&raw mut value, cudaDeviceAttr(list[0]), -1));
            log.fact("value", value);
            taken(log)
        });
    }
}

fn counts(cases: &mut Cases) {
    add_case(cases, 189, "before a device of the command line is set", |log| {
        let mut count = -1;
        ask!(log, cudaGetDeviceCount(&raw mut count));
        ask!(log, "behind the last", cudaSetDevice(count));
        ask!(log, "the last", cudaSetDevice(count - 1));
        ask!(log, "null", cudaGetDeviceCount(null()));
        taken(log)
    });
    add_case(cases, 250, "for pairs of devices, each with itself", |log| {
        let (mut count, mut value) = (-1, 77);
        ask!(log, cudaGetDeviceCount(&raw mut count));
        for id in 1..=4 {
            ask!(
                log,
                &format!("pair {id}"),
                cudaDeviceGetP2PAttribute(&raw mut value, sys::cudaDeviceP2PAttr(id), 0, 0)
            );
        }
        log.fact("value", value);
        ask!(log, "none", cudaDeviceGetP2PAttribute(&raw mut value, sys::cudaDeviceP2PAttr(1), 0, count));
        taken(log)
    });
    add_case(cases, 272, "in a thread and here, and whether it makes a context", |log| {
        let there = std::thread::spawn(|| {
            let mut count = -1;
            // SAFETY: the pointer is to a live integer.
            (unsafe { sys::cudaGetDeviceCount(&raw mut count) }.0, count)
        });
        let there = there.join().expect("no panic");
        let mut count = -1;
        ask!(log, cudaGetDeviceCount(&raw mut count));
        log.fact("alike", there == (0, count));
        ask!(log, "flags then", cudaSetDeviceFlags(sys::cudaDeviceScheduleBlockingSync));
        let mut flags = 77;
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        taken(log)
    });
    for (number, situation, driver) in
        [(197, "for a text about the driver", true), (202, "for a text about the runtime", false)]
    {
        add_case(cases, number, situation, move |log| {
            let (mut version, on) = (-1, begin(log)?);
            let code = if driver {
                ask!(log, "while a stream captures", cudaDriverGetVersion(&raw mut version))
            } else {
                ask!(log, "while a stream captures", cudaRuntimeGetVersion(&raw mut version))
            };
            log.fact("a version", code == sys::cudaSuccess && version >= 13_000 && version % 10 == 0);
            end(log, on);
            taken(log)
        });
    }
    add_case(cases, 215, "before it was started, and on the way out", |log| {
        log.code("stop", cudaProfilerStop());
        taken(log)?;
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 0, N));
        log.code("stop", cudaProfilerStop());
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
}

fn chosen(cases: &mut Cases) {
    add_case(cases, 175, "for a context of a library, on no stream", |log| {
        let (mut it, mut flags) = (77, 77);
        ask!(log, cudaGetDevice(&raw mut it));
        log.fact("device", it);
        ask!(log, cudaStreamGetFlags(null(), &raw mut flags));
        log.fact("flags", flags);
        ask!(log, "null", cudaGetDevice(null()));
        ask!(log, "peek", cudaPeekAtLastError());
        ask!(log, cudaGetDevice(&raw mut it));
        taken(log)
    });
    add_case(cases, 181, "after a scope with another one, which failed", |log| {
        let mut it = 77;
        ask!(log, "outer", cudaSetDevice(0));
        ask!(log, "inner", cudaSetDevice(1000));
        ask!(log, cudaGetDevice(&raw mut it));
        log.fact("device", it);
        let on = begin(log)?;
        ask!(log, "while a stream captures", cudaGetDevice(&raw mut it));
        ask!(log, "set", cudaSetDevice(0));
        end(log, on);
        taken(log)
    });
    add_case(cases, 225, "each one before the wait for its kernel, and its error", |log| {
        let (from, to) = (Block::with(log, Kind::Device, &floats([2.0; 64]))?, device(log)?);
        scale(log, "kernel", to, from, 2.0, 64, null());
        ask!(log, cudaSetDevice(0));
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaGetLastError());
        ask!(log, "-2", cudaSetDevice(-2));
        float_is(log, to, 63)?;
        taken(log)
    });
    add_case(cases, 259, "in an engine, then after a reset", |log| {
        let block = device(log)?;
        ask!(log, cudaSetDevice(0));
        ask!(log, "reset", cudaDeviceReset());
        ask!(log, "memory of before", cudaMemset(block.ptr(), 0, N));
        ask!(log, "last", cudaGetLastError());
        ask!(log, cudaSetDevice(0));
        let block = device(log)?;
        ask!(log, cudaMemset(block.ptr(), 0, N));
        taken(log)
    });
    add_case(cases, 253, "at the end, with everything still there, and again", |log| {
        let (on, mut mark) = (stream(log)?, null());
        need!(log, cudaEventCreate(&raw mut mark));
        ask!(log, cudaDeviceSetLimit(sys::cudaLimitStackSize, 4096));
        ask!(log, cudaDeviceReset());
        ask!(log, "again", cudaDeviceReset());
        let mut value = 77;
        ask!(log, cudaDeviceGetLimit(&raw mut value, sys::cudaLimitStackSize));
        log.fact("stack", value);
        ask!(log, "an event", cudaEventDestroy(mark));
        ask!(log, "a stream", cudaStreamDestroy(on));
        taken(log)
    });
    add_case(cases, 153, "a stack of 8 KiB, and others, read back", |log| {
        let id = sys::cudaLimitStackSize;
        for bytes in [8192, 1, 1000, 0, 512 << 10, 1 << 30] {
            let mut value = 77;
            ask!(log, &format!("{bytes}"), cudaDeviceSetLimit(id, bytes));
            ask!(log, cudaDeviceGetLimit(&raw mut value, id));
            log.fact("value", value);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "fifo", cudaDeviceSetLimit(sys::cudaLimitPrintfFifoSize, 1 << 16));
        ask!(log, "null", cudaDeviceGetLimit(null(), id));
        taken(log)
    });
}

fn peers(cases: &mut Cases) {
    add_case(cases, 184, "to every other device, of which there is none", |log| {
        let (mut can, mut count) = (77, 0);
        need!(log, cudaGetDeviceCount(&raw mut count));
        for (name, a, b) in [("itself", 0, 0), ("behind the last", 0, count), ("none", -1, -1)] {
            ask!(log, name, cudaDeviceCanAccessPeer(&raw mut can, a, b));
            log.fact("can", can);
        }
        taken(log)
    });
    for (number, situation) in
        [(173, "itself, flags, and one that is not there"), (249, "the other way round, then not any more")]
    {
        add_case(cases, number, situation, move |log| {
            ask!(log, cudaSetDevice(0));
            ask!(log, "itself", cudaDeviceEnablePeerAccess(0, 0));
            ask!(log, "last", cudaGetLastError());
            if number == 173 {
                ask!(log, "flags", cudaDeviceEnablePeerAccess(0, 1));
                ask!(log, "none", cudaDeviceEnablePeerAccess(99, 0));
            } else {
                ask!(log, "not any more", cudaDeviceDisablePeerAccess(0));
                ask!(log, "last", cudaGetLastError());
                ask!(log, "none", cudaDeviceDisablePeerAccess(99));
                let (a, b) = (Block::with(log, Kind::Device, &[4; N])?, device(log)?);
                ask!(log, "a copy to itself", cudaMemcpyPeer(b.ptr(), 0, a.ptr(), 0, N));
                let got = b.load(log)?;
                log.fact("byte", got[N - 1]);
            }
            taken(log)
        });
    }
    add_case(cases, 158, "for a list that is none", |log| {
        for (name, device, flags) in
            [("wait", 0, 2), ("signal", 0, 1), ("no flags", 0, 0), ("no device", 99, 2)]
        {
            ask!(log, name, cudaDeviceGetNvSciSyncAttributes(null(), device, flags));
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
}

/// Numbers that a kernel adds up again and again.
fn adding(log: &mut Log, rounds: usize) -> Outcome {
    let (from, out) = (Block::with(log, Kind::Device, &integers([1; 256]))?, device(log)?);
    for _ in 0..rounds {
        sum(log, "kernel", out, from, 256, null());
        ask!(log, cudaDeviceSynchronize());
    }
    first_is(log, "sum", out)?;
    taken(log)
}

fn whole_device(cases: &mut Cases) {
    add_case(cases, 239, "after rounds of a sort, with a copy behind it", |log| adding(log, 4));
    add_case(cases, 159, "its successor, before the error is looked at", |log| adding(log, 1));
    add_case(cases, 283, "its successor, before results come down", |log| adding(log, 2));
    add_case(cases, 168, "its successor, as the first call of all", |log| {
        ask!(log, cudaDeviceSynchronize());
        let (mut flags, mut it) = (77, 77);
        ask!(log, cudaGetDeviceFlags(&raw mut flags));
        log.fact("flags", flags);
        ask!(log, cudaGetDevice(&raw mut it));
        log.fact("device", it);
        taken(log)
    });
    add_case(cases, 265, "after a launch with shared memory for each thread, too much then", |log| {
        let out = device(log)?;
        let mut at = out.ptr();
        for shared in [256, 48 << 10, (48 << 10) + 4] {
            start(
                log,
                &format!("{shared}"),
                super::kernel::shared(),
                [1, 64, shared],
                null(),
                &mut super::super::common::arguments![at],
            );
            ask!(log, cudaDeviceSynchronize());
            ask!(log, cudaGetLastError());
        }
        let got = out.load(log)?;
        log.fact("last number", got[63 * 4]);
        Ok(())
    });
    add_case(cases, 296, "behind the first allocation of a pool, and while streams are held", |log| {
        let (on, mut at) = (stream(log)?, null::<c_void>());
        ask!(log, cudaMallocAsync(&raw mut at, 1 << 20, null()));
        ask!(log, cudaDeviceSynchronize());
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, "the default stream", cudaStreamSynchronize(null()));
        });
        gate.open();
        ask!(log, cudaFreeAsync(at, null()));
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 299, "after two kernels and a graph, in a thread", |log| {
        let (from, out, on) =
            (Block::with(log, Kind::Device, &integers([2; 64]))?, device(log)?, begin(log)?);
        sum(log, "captured", out, from, 64, on);
        let graph = end(log, on);
        let run = ready(log, graph);
        sum(log, "kernel", out, from, 64, on);
        ask!(log, cudaGraphLaunch(run, on));
        // SAFETY: takes nothing.
        let code = std::thread::spawn(|| unsafe { sys::cudaDeviceSynchronize() }.0);
        log.fact("there", code.join().expect("no panic"));
        ask!(log, cudaStreamQuery(on));
        first_is(log, "sum", out)?;
        Ok(())
    });
}
