//! Memory that programs allocate, free, share, and move.

use std::ffi::c_void;
use std::thread;

use cuda_sys as sys;
use cuda_sys::cudaMemLocation;

use super::super::common::{
    N, add_case, begin, device, end, float_is, floats, holds, null, scale, taken, waits, what,
};
use super::super::open::pool::{pool, value, wanted};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

pub(super) fn add(cases: &mut Cases) {
    frees(cases);
    allocations(cases);
    host(cases);
    managed(cases);
    pools(cases);
    shared(cases);
}

fn frees(cases: &mut Cases) {
    add_case(cases, 169, "the inputs of kernels that were just launched, the output read then", |log| {
        let (from, to) = (Block::with(log, Kind::Device, &floats([1.0; 1024]))?, device(log)?);
        scale(log, "kernel", to, from, 3.0, 1024, null());
        ask!(log, cudaFree(from.ptr()));
        float_is(log, to, 1023)?;
        ask!(log, cudaFree(to.ptr()));
        taken(log)
    });
    add_case(cases, 205, "the output in another thread, then here again", |log| {
        let block = device(log)?;
        let address = block.ptr().expose_provenance();
        let code = thread::spawn(move || {
            // SAFETY: memory of the device, which nothing uses.
            unsafe { sys::cudaFree(std::ptr::with_exposed_provenance_mut(address)) }.0
        });
        log.fact("there", code.join().expect("no panic"));
        ask!(log, "here", cudaFree(block.ptr()));
        ask!(
            log,
            "a copy to it",
            cudaMemcpy(block.ptr(), (&raw const address).cast(), 8, sys::cudaMemcpyHostToDevice)
        );
        taken(log)
    });
    add_case(cases, 237, "pitched and managed memory, and memory of a stream", |log| {
        let (mut rows, mut pitch) = (null(), 0);
        need!(log, cudaMallocPitch(&raw mut rows, &raw mut pitch, 100, 10));
        let (managed, pooled) = (Block::new(log, Kind::Managed, N)?, Block::new(log, Kind::Pool, N)?);
        for (name, at) in [
            ("second row", rows.wrapping_byte_add(pitch)),
            ("rows", rows),
            ("managed", managed.ptr()),
            ("pooled", pooled.ptr()),
        ] {
            ask!(log, name, cudaFree(at));
            what(log, "then", at);
        }
        taken(log)
    });
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
    add_case(cases, 244, "operands, behind a launch that was refused", |log| {
        let blocks = [device(log)?, device(log)?];
        super::super::common::start(log, "launch", super::kernel::empty(), [1, 4096, 0], null(), &mut []);
        for block in blocks {
            ask!(log, cudaFree(block.ptr()));
        }
        ask!(log, "null", cudaFree(null()));
        taken(log)
    });
    add_case(cases, 271, "two small ones, by addresses of their bytes", |log| {
        let blocks = [Block::new(log, Kind::Device, 8)?, Block::new(log, Kind::Device, 4)?];
        ask!(log, "byte 1", cudaFree(blocks[0].at(1)));
        ask!(log, "the end", cudaFree(blocks[0].at(8)));
        let number: *mut c_void = std::ptr::without_provenance_mut(4096);
        ask!(log, "no address", cudaFree(number));
        for block in blocks {
            ask!(log, cudaFree(block.ptr()));
        }
        taken(log)
    });
    add_case(cases, 277, "after an array, each by the other's function", |log| {
        let (block, array) = (device(log)?, super::image::array(log, 16, 16)?);
        ask!(log, "array as memory", cudaFree(array.cast()));
        ask!(log, cudaFreeArray(array));
        ask!(log, cudaFree(block.ptr()));
        taken(log)
    });
}

fn allocations(cases: &mut Cases) {
    add_case(cases, 170, "five buffers of a layer, filled, none over the other", |log| {
        let mut blocks = Vec::new();
        for (i, size) in [N * 8, 128, 128, N * 8, 1024].into_iter().enumerate() {
            let mut at = null::<c_void>();
            ask!(log, cudaMalloc(&raw mut at, size));
            ask!(log, cudaMemset(at, i as i32 + 1, size));
            blocks.push((at, size));
        }
        for (at, size) in blocks {
            let mut got = vec![0_u8; size];
            ask!(log, cudaMemcpy(got.as_mut_ptr().cast(), at, size, sys::cudaMemcpyDeviceToHost));
            log.fact("bytes", format_args!("{} {}", got[0], got[size - 1]));
        }
        Ok(())
    });
    add_case(cases, 206, "four bytes, and what the address says from its ends", |log| {
        let mut at = null::<c_void>();
        ask!(log, cudaMalloc(&raw mut at, 4));
        for offset in [0, 3, 4, 511, 512] {
            what(log, &format!("{offset}"), at.wrapping_byte_add(offset));
        }
        ask!(log, "four bytes from within", cudaMemset(at.wrapping_byte_add(2), 0, 4));
        taken(log)
    });
    add_case(cases, 260, "eight and four bytes, while a stream captures", |log| {
        for mode in [sys::cudaStreamCaptureModeRelaxed, sys::cudaStreamCaptureModeThreadLocal] {
            let (on, mut at) = (stream(log)?, null::<c_void>());
            need!(log, cudaStreamBeginCapture(on, mode));
            ask!(log, cudaMalloc(&raw mut at, 8));
            log.fact("address", if at.is_null() { "null" } else { "some" });
            end(log, on);
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
    add_case(cases, 297, "a power of two, up to what cannot be", |log| {
        for n in [0, 10, 20, 30, 43, 60, 63] {
            let mut at = null::<c_void>();
            ask!(log, &format!("2^{n}"), cudaMalloc(&raw mut at, 1 << n));
            ask!(log, cudaFree(at));
        }
        taken(log)
    });
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

/// Notes what there is to know about memory of the host.
fn about(log: &mut Log, at: *mut c_void) {
    let (mut flags, mut there) = (77, null());
    ask!(log, cudaHostGetFlags(&raw mut flags, at));
    log.fact("flags", flags);
    ask!(log, cudaHostGetDevicePointer(&raw mut there, at, 0));
    log.fact("the same address", there == at);
}

fn host(cases: &mut Cases) {
    add_case(cases, 192, "a vector and a matrix, cleared by the host, read from within", |log| {
        let (mut vector, mut matrix) = (null(), null());
        ask!(log, cudaMallocHost(&raw mut vector, 512 * 8));
        ask!(log, cudaMallocHost(&raw mut matrix, 512 * 512 * 4));
        about(log, vector);
        about(log, matrix.wrapping_byte_add(100));
        what(log, "the last byte", matrix.wrapping_byte_add(512 * 512 * 4 - 1));
        let to = Block::new(log, Kind::Device, N)?;
        ask!(log, cudaMemcpyAsync(to.ptr(), vector, N, sys::cudaMemcpyHostToDevice, null()));
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 203, "while a kernel is held, then read by the device", |log| {
        let (on, to, mut at) = (stream(log)?, device(log)?, null());
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, cudaMallocHost(&raw mut at, N));
        });
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "left open", cudaMemcpyAsync(to.ptr(), at, N, sys::cudaMemcpyDefault, on));
        ask!(log, "as if across", cudaMemcpyAsync(to.ptr(), at, N, sys::cudaMemcpyDeviceToDevice, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 232, "twice a device, each to be freed in another thread", |log| {
        for bytes in [128, 1 << 20] {
            let mut at = null::<c_void>();
            ask!(log, cudaMallocHost(&raw mut at, bytes));
            about(log, at);
            let address = at.expose_provenance();
            let code = thread::spawn(move || {
                // SAFETY: memory of the runtime, which nothing uses.
                unsafe { sys::cudaFreeHost(std::ptr::with_exposed_provenance_mut(address)) }.0
            });
            log.fact("there", code.join().expect("no panic"));
            what(log, "then", at);
        }
        Ok(())
    });
    add_case(cases, 185, "of a matrix, on the way out of a scope, while a copy is held", |log| {
        let (on, from, to) = (stream(log)?, Block::with(log, Kind::Pinned, &pattern(N, 1))?, device(log)?);
        need!(log, cudaMemcpyAsync(to.ptr(), from.ptr(), N, sys::cudaMemcpyHostToDevice, on));
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        need!(log, cudaMemcpyAsync(to.ptr(), from.ptr(), N, sys::cudaMemcpyHostToDevice, on));
        waits(log, &gate, |log| {
            ask!(log, cudaFreeHost(from.ptr()));
        });
        ask!(log, cudaStreamSynchronize(on));
        holds(log, to, &pattern(N, 1))?;
        Ok(())
    });
    add_case(cases, 284, "with no error before it, and one that is left by another call", |log| {
        let mut at = null::<c_void>();
        ask!(log, cudaPeekAtLastError());
        ask!(log, cudaHostAlloc(&raw mut at, N, sys::cudaHostAllocPortable));
        ask!(log, "an error", cudaMemcpy(null(), at, 4, sys::cudaMemcpyHostToDevice));
        ask!(log, cudaFreeHost(at));
        ask!(log, cudaPeekAtLastError());
        ask!(log, "again", cudaFreeHost(at));
        taken(log)
    });
    for (number, situation, flags, bytes) in [
        (155, "a matrix's values, mapped", sys::cudaHostAllocMapped, 3000),
        (
            178,
            "the third vector, mapped and written together",
            sys::cudaHostAllocMapped | sys::cudaHostAllocWriteCombined,
            N,
        ),
        (
            182,
            "the first vector, mapped for all devices",
            sys::cudaHostAllocMapped | sys::cudaHostAllocPortable,
            1 << 20,
        ),
    ] {
        add_case(cases, number, situation, move |log| {
            let mut at = null::<c_void>();
            ask!(log, cudaHostAlloc(&raw mut at, bytes, flags));
            about(log, at);
            let (block, from) = (device(log)?.moved(at), Block::with(log, Kind::Device, &floats([0.5; 64]))?);
            scale(log, "kernel", block, from, 4.0, 64, null());
            ask!(log, cudaDeviceSynchronize());
            // SAFETY: it has so many bytes, and no work uses it.
            log.fact("number", unsafe { *at.cast::<f32>().add(63) });
            ask!(log, "register", cudaHostRegister(at, 64, 0));
            ask!(log, "unregister", cudaHostUnregister(at));
            ask!(log, cudaFreeHost(at));
            taken(log)
        });
    }
}

fn place(kind: u32, id: i32) -> cudaMemLocation {
    cudaMemLocation { type_: sys::cudaMemLocationType(kind), id }
}

fn managed(cases: &mut Cases) {
    add_case(cases, 254, "for the host first, then for streams", |log| {
        let (mut at, on) = (null::<c_void>(), stream(log)?);
        ask!(log, cudaMallocManaged(&raw mut at, N, sys::cudaMemAttachHost));
        what(log, "it", at);
        ask!(log, cudaMemset(at, 6, N));
        ask!(log, cudaDeviceSynchronize());
        // SAFETY: it has so many bytes, and no work uses it.
        log.fact("byte", unsafe { *at.cast::<u8>().add(N - 1) });
        ask!(log, "to the stream", cudaStreamAttachMemAsync(on, at, 0, sys::cudaMemAttachSingle));
        ask!(log, "on another", cudaMemsetAsync(at, 7, N, null()));
        ask!(log, cudaDeviceSynchronize());
        ask!(log, cudaFree(at));
        taken(log)
    });
    add_case(cases, 275, "of the user, written by the host before the first kernel", |log| {
        let (from, to) = (Block::with(log, Kind::Managed, &floats((0..16).map(|i| i as f32)))?, device(log)?);
        scale(log, "kernel", to, from, 2.0, 16, null());
        float_is(log, to, 15)?;
        let mut range = [77_i32; 1];
        for id in [1, 2, 3, 4] {
            let (to, attribute): (*mut c_void, _) =
                (range.as_mut_ptr().cast(), sys::cudaMemRangeAttribute(id));
            ask!(log, &format!("{id}"), cudaMemRangeGetAttribute(to, 4, attribute, from.ptr(), 64));
            log.fact("value", range[0]);
        }
        taken(log)
    });
    add_case(cases, 179, "back to the host, and to places that are none", |log| {
        let (block, on) = (Block::new(log, Kind::Managed, N)?, stream(log)?);
        for (name, it) in [
            ("host", place(2, 0)),
            ("device", place(1, 0)),
            ("no device", place(1, 99)),
            ("nowhere", place(0, 0)),
            ("a node", place(3, 0)),
        ] {
            ask!(log, name, cudaMemPrefetchAsync(block.ptr(), N, it, 0, on));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "flags", cudaMemPrefetchAsync(block.ptr(), N, place(2, 0), 1, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 246, "three matrices to the device, parts, and other memory", |log| {
        let on = stream(log)?;
        for kind in [Kind::Managed, Kind::Device, Kind::Pinned, Kind::Registered] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaMemPrefetchAsync(block.ptr(), N, place(1, 0), 0, on));
            ask!(log, "last", cudaGetLastError());
        }
        let block = Block::new(log, Kind::Managed, N)?;
        ask!(log, "a part", cudaMemPrefetchAsync(block.at(100), 10, place(1, 0), 0, on));
        ask!(log, "none", cudaMemPrefetchAsync(block.ptr(), 0, place(1, 0), 0, on));
        ask!(log, "too much", cudaMemPrefetchAsync(block.ptr(), 64 << 20, place(1, 0), 0, on));
        ask!(log, "null", cudaMemPrefetchAsync(null(), N, place(1, 0), 0, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 240, "where memory prefers to be, and every other advice", advice);
}

fn advice(log: &mut Log) -> Outcome {
    let block = Block::new(log, Kind::Managed, 2 << 20)?;
    let mut got = [77_i32; 1];
    for (name, id) in [
        ("preferred", 3),
        ("not preferred", 4),
        ("mostly read", 1),
        ("not mostly", 2),
        ("accessed", 5),
        ("not accessed", 6),
        ("none such", 9),
    ] {
        ask!(log, name, cudaMemAdvise(block.ptr(), 1 << 20, sys::cudaMemoryAdvise(id), place(1, 0)));
        for attribute in [1, 2] {
            let (to, attribute): (*mut c_void, _) =
                (got.as_mut_ptr().cast(), sys::cudaMemRangeAttribute(attribute));
            need!(log, cudaMemRangeGetAttribute(to, 4, attribute, block.ptr(), 1 << 20));
            log.fact("has", got[0]);
        }
        ask!(log, "last", cudaGetLastError());
    }
    ask!(
        log,
        "no device",
        cudaMemAdvise(block.ptr(), N, sys::cudaMemAdviseSetPreferredLocation, place(1, 99))
    );
    ask!(log, "none", cudaMemAdvise(block.ptr(), 0, sys::cudaMemAdviseSetPreferredLocation, place(1, 0)));
    let plain = device(log)?;
    ask!(log, "device memory", cudaMemAdvise(plain.ptr(), N, sys::cudaMemAdviseSetReadMostly, place(1, 0)));
    taken(log)
}

fn pools(cases: &mut Cases) {
    add_case(cases, 180, "after the last use, behind an event of another stream", |log| {
        let (a, b, mark, pool) = (stream(log)?, stream(log)?, crate::memory::event(log)?, pool(log, false)?);
        let mut at = null::<c_void>();
        need!(log, cudaMallocFromPoolAsync(&raw mut at, 1 << 20, pool, a));
        need!(log, cudaMemsetAsync(at, 1, 1 << 20, a));
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        ask!(log, cudaFreeAsync(at, b));
        ask!(log, cudaStreamSynchronize(b));
        value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        value(log, "most", pool, sys::cudaMemPoolAttrUsedMemHigh);
        let plain = device(log)?;
        ask!(log, "other memory", cudaFreeAsync(plain.ptr(), b));
        taken(log)
    });
    add_case(cases, 270, "for this device, by what it supports, and its reuse", |log| {
        let (mut kinds, mut made) = (77, null());
        ask!(log, cudaDeviceGetAttribute(&raw mut kinds, sys::cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
        log.fact("files", kinds & 1);
        for usage in [0, 2, 4] {
            let wanted = sys::cudaMemPoolProps { usage, ..wanted(false) };
            ask!(log, &format!("usage {usage}"), cudaMemPoolCreate(&raw mut made, &raw const wanted));
            ask!(log, "last", cudaGetLastError());
        }
        let wanted = sys::cudaMemPoolProps { maxSize: 64 << 20, ..wanted(false) };
        ask!(log, "with a limit", cudaMemPoolCreate(&raw mut made, &raw const wanted));
        let (on, mut at) = (stream(log)?, null::<c_void>());
        ask!(log, "within", cudaMallocFromPoolAsync(&raw mut at, 32 << 20, made, on));
        ask!(log, "over it", cudaMallocFromPoolAsync(&raw mut at, 64 << 20, made, on));
        value(log, "reserved", made, sys::cudaMemPoolAttrReservedMemCurrent);
        ask!(log, "answer null", cudaMemPoolCreate(null(), &raw const wanted));
        taken(log)
    });
    add_case(cases, 208, "in a destructor, twice made, memory of the second one there", |log| {
        let (a, b, on, mut at) = (pool(log, false)?, pool(log, false)?, stream(log)?, null::<c_void>());
        need!(log, cudaDeviceSetMemPool(0, b));
        need!(log, cudaMallocAsync(&raw mut at, N, on));
        ask!(log, cudaMemPoolDestroy(a));
        ask!(log, "the current one", cudaMemPoolDestroy(b));
        let (mut now, mut own) = (null(), null());
        ask!(log, cudaDeviceGetMemPool(&raw mut now, 0));
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut own, 0));
        log.fact("the default one again", now == own);
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 241, "read and write for its own device, less, and the host", |log| access(log, true));
    add_case(cases, 273, "of the default pool, then of lists", |log| access(log, false));
    add_case(cases, 263, "of managed memory, of the device's, of the host's", |log| {
        for (kind, it) in [
            (3, place(1, 0)),
            (1, place(1, 0)),
            (1, place(2, 0)),
            (3, place(2, 0)),
            (0, place(1, 0)),
            (1, place(1, 99)),
            (3, place(0, 0)),
        ] {
            let (mut made, mut it, mut own) = (null(), it, null());
            ask!(
                log,
                &format!("{kind} {} {}", it.type_.0, it.id),
                cudaMemGetDefaultMemPool(&raw mut made, &raw mut it, sys::cudaMemAllocationType(kind))
            );
            need!(log, cudaDeviceGetDefaultMemPool(&raw mut own, 0));
            log.fact("the device's own", made == own);
            ask!(log, "last", cudaGetLastError());
        }
        Ok(())
    });
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
