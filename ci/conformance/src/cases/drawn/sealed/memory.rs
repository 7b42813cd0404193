//! Memory that programs allocate, free, share, and move.

use std::ffi::c_void;

use cuda_sys as sys;
use cuda_sys::cudaMemLocation;

use super::super::common::{N, add_case, begin, device, end, null, taken};
use super::super::open::pool::pool;
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, stream};

pub(super) fn add(cases: &mut Cases) {
    frees(cases);
    allocations(cases);
    pools(cases);
    shared(cases);
}

fn frees(cases: &mut Cases) {
    add_case(cases, 238, "after the device was reset", |log| {
        let (block, host, on) = (device(log)?, Block::new(log, Kind::Pinned, N)?, stream(log)?);
        ask!(log, cudaDeviceReset());
        ask!(log, "device", cudaFree(block.ptr()));
        ask!(log, "host", cudaFreeHost(host.ptr()));
        ask!(log, "stream", cudaStreamQuery(on));
        let block = device(log)?;
        ask!(log, "of the new one", cudaFree(block.ptr()));
        taken(log)
    });
}

fn allocations(cases: &mut Cases) {
    add_case(cases, 207, "after memory of a graph was asked for, and given back", |log| {
        let (mut free, mut total, mut value) = (0, 0, 77_u64);
        let (on, mut at) = (begin(log)?, null::<c_void>());
        need!(log, cudaMallocAsync(&raw mut at, 1 << 20, on));
        need!(log, cudaFreeAsync(at, on));
        let graph = end(log, on);
        let run = super::super::common::ready(log, graph);
        super::super::common::go(log, run, on);
        ask!(log, cudaMemGetInfo(&raw mut free, &raw mut total));
        log.fact("some", free > 0 && free <= total);
        for id in 0..4 {
            let to: *mut c_void = (&raw mut value).cast();
            ask!(log, "graphs", cudaDeviceGetGraphMemAttribute(0, sys::cudaGraphMemAttributeType(id), to));
            log.fact(&format!("{id}"), value);
        }
        ask!(log, cudaDeviceGraphMemTrim(0));
        taken(log)
    });
}

fn place(kind: u32, id: i32) -> cudaMemLocation {
    cudaMemLocation { type_: sys::cudaMemLocationType(kind), id }
}

fn pools(cases: &mut Cases) {
    add_case(cases, 241, "read and write for its own device, less, and the host", |log| access(log, true));
    add_case(cases, 273, "of the default pool, then of lists", |log| access(log, false));
}

fn access(log: &mut Log, own: bool) -> Outcome {
    let mut it = null();
    if own {
        it = pool(log, true)?;
    } else {
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut it, 0));
    }
    let one = |kind, id, flags| sys::cudaMemAccessDesc {
        location: place(kind, id),
        flags: sys::cudaMemAccessFlags(flags),
    };
    for list in [
        vec![one(1, 0, 3)],
        vec![one(1, 0, 1)],
        vec![one(2, 0, 3)],
        vec![one(1, 99, 3)],
        vec![one(1, 0, 7)],
        vec![one(1, 0, 3), one(1, 0, 3)],
        vec![],
    ] {
        let name: Vec<String> = list
            .iter()
            .map(|it| format!("{} {} {}", it.location.type_.0, it.location.id, it.flags.0))
            .collect();
        ask!(log, &name.join(", "), cudaMemPoolSetAccess(it, list.as_ptr(), list.len()));
        ask!(log, "last", cudaGetLastError());
    }
    let (mut flags, mut here) = (sys::cudaMemAccessFlags(77), place(1, 0));
    ask!(log, cudaMemPoolGetAccess(&raw mut flags, it, &raw mut here));
    log.fact("flags", flags.0);
    ask!(log, "no list", cudaMemPoolSetAccess(it, null(), 1));
    taken(log)
}

fn handle(log: &mut Log, what: &str, at: *mut c_void) -> sys::cudaIpcMemHandle_t {
    let mut handle = sys::cudaIpcMemHandle_t::default();
    ask!(log, what, cudaIpcGetMemHandle(&raw mut handle, at));
    handle
}

fn shared(cases: &mut Cases) {
    add_case(cases, 290, "of large and small memory, of the same one twice, of other kinds", |log| {
        let large = Block::new(log, Kind::Device, 4 << 20)?;
        let (one, again) = (handle(log, "large", large.ptr()), handle(log, "again", large.ptr()));
        log.fact("alike", one.reserved == again.reserved);
        handle(log, "within", large.at(64));
        for kind in [Kind::Pinned, Kind::Managed, Kind::Pool, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            handle(log, kind.name(), block.ptr());
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "null", cudaIpcGetMemHandle(null(), large.ptr()));
        taken(log)
    });
    add_case(cases, 248, "in the process that has the memory, and of handles that are none", opened);
}

fn opened(log: &mut Log) -> Result<(), Setup> {
    let block = Block::new(log, Kind::Device, 2 << 20)?;
    let (mut at, lazily) = (null::<c_void>(), sys::cudaIpcMemLazyEnablePeerAccess);
    let own = handle(log, "its own", block.ptr());
    ask!(log, "opened", cudaIpcOpenMemHandle(&raw mut at, own, lazily));
    ask!(log, "answer null", cudaIpcOpenMemHandle(null(), own, lazily));
    ask!(log, "closed", cudaIpcCloseMemHandle(at));
    let zeros = sys::cudaIpcMemHandle_t::default();
    ask!(log, "zeros", cudaIpcOpenMemHandle(&raw mut at, zeros, lazily));
    ask!(log, "flags 2", cudaIpcOpenMemHandle(&raw mut at, own, 2));
    ask!(log, "close null", cudaIpcCloseMemHandle(null()));
    let mut event = null();
    let marks = sys::cudaIpcEventHandle_t::default();
    ask!(log, "an event of zeros", cudaIpcOpenEventHandle(&raw mut event, marks));
    taken(log)
}
