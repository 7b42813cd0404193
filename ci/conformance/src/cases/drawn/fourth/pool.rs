//! Pools, and memory that the host and devices share.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::{cudaMemLocation, cudaMemPool_t};

use super::super::common::{N, add_case, begin, device, end, null, taken, waits, what};
use super::super::open::pool::{pool, value};
use crate::case::Cases;
use crate::cases::kernel::fill;
use crate::gate::Gate;
use crate::log::{Log, Outcome, ask, need};
use crate::memory::{Block, Kind, stream, stream_with};

pub(super) fn add(cases: &mut Cases) {
    pools(cases);
    shared(cases);
}

/// Notes whether a pool has memory of the device now.
fn reserved(log: &mut Log, what: &str, pool: cudaMemPool_t) {
    let (mut bytes, id) = (77_u64, sys::cudaMemPoolAttrReservedMemCurrent);
    ask!(log, what, cudaMemPoolGetAttribute(pool, id, (&raw mut bytes).cast()));
    log.fact("reserved", if bytes == 0 { "none" } else { "some" });
}

/// Sets an attribute of 64 bits.
fn set(log: &mut Log, what: &str, pool: cudaMemPool_t, id: u32, mut value: u64) {
    ask!(log, what, cudaMemPoolSetAttribute(pool, sys::cudaMemPoolAttr(id), (&raw mut value).cast()));
}

fn pools(cases: &mut Cases) {
    add_case(cases, 412, "the threshold of a new pool, before it is primed, and what is not set", |log| {
        let (pool, on) = (pool(log, false)?, stream(log)?);
        let id = sys::cudaMemPoolAttrReleaseThreshold;
        value(log, "threshold", pool, id);
        for threshold in [u64::MAX, 0, 1 << 20] {
            set(log, &format!("{threshold}"), pool, id.0, threshold);
            value(log, "threshold", pool, id);
            let mut at = null::<c_void>();
            ask!(log, cudaMallocFromPoolAsync(&raw mut at, 1 << 20, pool, on));
            value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
            ask!(log, cudaFreeAsync(at, on));
            ask!(log, cudaStreamSynchronize(on));
            reserved(log, "after a wait", pool);
            value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        }
        for (id, number) in [(1, 0), (2, 1), (3, 2), (5, 0), (5, 1), (6, 0), (7, 0), (8, 0), (8, 7), (99, 0)]
        {
            set(log, &format!("{id} to {number}"), pool, id, number);
        }
        value(log, "most used", pool, sys::cudaMemPoolAttrUsedMemHigh);
        set(log, "no pool", null(), id.0, 0);
        taken(log)
    });
    add_case(cases, 420, "of the first device of a pair, before what is got from it", |log| {
        let (mut it, mut again, mut now, on) = (null(), null(), null(), stream(log)?);
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut it, 0));
        ask!(log, "again", cudaDeviceGetDefaultMemPool(&raw mut again, 0));
        ask!(log, "the current one", cudaDeviceGetMemPool(&raw mut now, 0));
        log.fact("the same", format_args!("{} {}", it == again, it == now));
        let other = pool(log, false)?;
        ask!(log, "another", cudaDeviceSetMemPool(0, other));
        ask!(log, "then", cudaDeviceGetDefaultMemPool(&raw mut again, 0));
        ask!(log, "the current one", cudaDeviceGetMemPool(&raw mut now, 0));
        log.fact("the same", format_args!("{} {}", it == again, it == now));
        let mut at = null::<c_void>();
        ask!(log, cudaMallocAsync(&raw mut at, N, on));
        for pool in [it, other] {
            value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        }
        ask!(log, cudaFreeAsync(at, on));
        for device in [-1, 1 << 20] {
            ask!(log, &format!("{device}"), cudaDeviceGetDefaultMemPool(&raw mut again, device));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "no place", cudaDeviceGetDefaultMemPool(null(), 0));
        ask!(log, "destroyed", cudaMemPoolDestroy(it));
        taken(log)
    });
    add_case(cases, 479, "to keep its memory, while a stream captures, and after a reset", |log| {
        let (on, mut it) = (stream(log)?, null());
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut it, 0));
        let id = sys::cudaMemPoolAttrReleaseThreshold;
        value(log, "threshold", it, id);
        set(log, "kept", it, id.0, u64::MAX);
        let mut at = null::<c_void>();
        for _ in 0..2 {
            ask!(log, cudaMallocAsync(&raw mut at, 1 << 20, on));
            ask!(log, cudaMemsetAsync(at, 1, 1 << 20, on));
            ask!(log, cudaFreeAsync(at, on));
            ask!(log, cudaStreamSynchronize(on));
            reserved(log, "it", it);
        }
        let captures = begin(log)?;
        ask!(log, "while a stream captures", cudaDeviceGetDefaultMemPool(&raw mut it, 0));
        set(log, "set meanwhile", it, id.0, 1 << 30);
        end(log, captures);
        value(log, "threshold", it, id);
        ask!(log, cudaDeviceReset());
        ask!(log, "after a reset", cudaDeviceGetDefaultMemPool(&raw mut it, 0));
        value(log, "threshold", it, id);
        reserved(log, "it", it);
        taken(log)
    });
    add_case(cases, 486, "of a pool that is not the current one, on streams that did not get it", |log| {
        let (pool, on) = (pool(log, false)?, stream(log)?);
        for (name, to) in [
            ("its own", on),
            ("default", null()),
            ("of the thread", sys::cudaStreamPerThread),
            ("legacy", sys::cudaStreamLegacy),
            ("another", stream_with(log, 0)?),
        ] {
            let mut at = null::<c_void>();
            need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
            ask!(log, cudaMemsetAsync(at, 1, N, on));
            ask!(log, cudaStreamSynchronize(on));
            ask!(log, name, cudaFreeAsync(at, to));
            ask!(log, "again", cudaFreeAsync(at, to));
            ask!(log, cudaStreamSynchronize(to));
            what(log, "then", at);
        }
        value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        let mut at = null::<c_void>();
        need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
        ask!(log, "within", cudaFreeAsync(at.wrapping_byte_add(256), on));
        ask!(log, "its pool before it", cudaMemPoolDestroy(pool));
        ask!(log, "set then", cudaMemsetAsync(at, 2, N, on));
        ask!(log, "then it", cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
}

fn place(kind: u32, id: i32) -> cudaMemLocation {
    cudaMemLocation { type_: sys::cudaMemLocationType(kind), id }
}

/// Notes where a range was moved last.
fn moved(log: &mut Log, block: Block) {
    let mut found = [77_i32; 1];
    let id = sys::cudaMemRangeAttributeLastPrefetchLocation;
    ask!(log, cudaMemRangeGetAttribute(found.as_mut_ptr().cast(), 4, id, block.ptr(), block.len));
    log.fact("moved to", found[0]);
}

fn shared(cases: &mut Cases) {
    add_case(cases, 452, "a vector that two sides write, of sizes and flags that do not fit", |log| {
        for (name, bytes, flags) in [
            ("a vector", N, 1),
            ("one byte", 1, 1),
            ("none", 0, 1),
            ("more than there is", 1 << 50, 1),
            ("no flags", N, 0),
            ("both flags", N, 3),
            ("single", N, 4),
        ] {
            let mut at = null::<c_void>();
            ask!(log, name, cudaMallocManaged(&raw mut at, bytes, flags));
            ask!(log, "last", cudaGetLastError());
            log.fact("address", if at.is_null() { "null" } else { "some" });
            what(log, "it", at);
        }
        let block = Block::with(log, Kind::Managed, &[1; N])?;
        fill(log, block.at(100), 2, 50, null())?;
        ask!(log, cudaDeviceSynchronize());
        block.store(log, &[3; 120])?;
        let got = block.load(log)?;
        log.fact("bytes", format_args!("{:?}", [got[0], got[119], got[120], got[149], got[150]]));
        ask!(log, "no place", cudaMallocManaged(null(), N, 1));
        taken(log)
    });
    add_case(cases, 454, "the second of three to all, while its stream is held, and what cannot be", |log| {
        let (on, mut three) = (stream(log)?, Vec::new());
        for byte in [1, 2, 3] {
            three.push(Block::with(log, Kind::Managed, &[byte; N])?);
        }
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            for block in &three {
                ask!(log, cudaStreamAttachMemAsync(on, block.ptr(), 0, sys::cudaMemAttachGlobal));
            }
        });
        ask!(log, cudaStreamSynchronize(on));
        let block = three[1];
        for (name, at, bytes, flags) in [
            ("of its size", block.ptr(), N, 1),
            ("a part", block.ptr(), N / 2, 1),
            ("within", block.at(N / 2), 0, 1),
            ("of the host", block.ptr(), 0, 2),
            ("two flags", block.ptr(), 0, 3),
            ("no such flag", block.ptr(), 0, 8),
            ("null", null(), 0, 1),
            ("of the device", device(log)?.ptr(), 0, 1),
        ] {
            ask!(log, name, cudaStreamAttachMemAsync(on, at, bytes, flags));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "to all again", cudaStreamAttachMemAsync(on, block.ptr(), 0, 1));
        fill(log, block.ptr(), 9, N, on)?;
        ask!(log, cudaStreamSynchronize(on));
        let got = block.load(log)?;
        log.fact("byte", got[N - 1]);
        taken(log)
    });
    add_case(cases, 455, "the second of three to the host, its number left open, and back", prefetches);
}

fn prefetches(log: &mut Log) -> Outcome {
    let (block, on) = (Block::with(log, Kind::Managed, &[6; N])?, stream(log)?);
    moved(log, block);
    for (name, kind, id) in [
        ("device", 1, 0),
        ("host", 2, 0),
        ("host by any number", 2, 12_345),
        ("host below zero", 2, -7),
        ("no such device", 1, 1 << 20),
        ("device below zero", 1, -1),
        ("nowhere", 0, 0),
        ("no such place", 77, 0),
    ] {
        ask!(log, name, cudaMemPrefetchAsync(block.ptr(), N, place(kind, id), 0, on));
        ask!(log, cudaStreamSynchronize(on));
        moved(log, block);
    }
    for (name, at, bytes, flags) in [
        ("flags", block.ptr(), N, 1),
        ("no bytes", block.ptr(), 0, 0),
        ("a part of a page", block.at(100), 8, 0),
        ("over the end", block.ptr(), 64 << 20, 0),
        ("null", null(), N, 0),
        ("of the device", device(log)?.ptr(), N, 0),
        ("pinned", Block::new(log, Kind::Pinned, N)?.ptr(), N, 0),
    ] {
        ask!(log, name, cudaMemPrefetchAsync(at, bytes, place(2, 0), flags, null()));
        ask!(log, "last", cudaGetLastError());
    }
    let gate = Gate::hold(log, on)?;
    waits(log, &gate, |log| {
        ask!(log, "held", cudaMemPrefetchAsync(block.ptr(), N, place(1, 0), 0, on));
    });
    ask!(log, cudaStreamSynchronize(on));
    let got = block.load(log)?;
    log.fact("byte", got[N - 1]);
    taken(log)
}
