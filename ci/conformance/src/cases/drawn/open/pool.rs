//! Memory by streams, and pools.

use std::ffi::{c_int, c_void};

use cuda_sys as sys;
use cuda_sys::{cudaMemPool_t, cudaMemPoolAttr, cudaMemPoolProps, cudaStream_t};

use super::super::common::{N, add_case, device, first_is, null, sum, taken, waits, what};
use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, event, pattern, stream};

/// What a pool of the device is made of, for files that other processes open or not.
pub(crate) fn wanted(shared: bool) -> cudaMemPoolProps {
    let mut wanted = cudaMemPoolProps { allocType: sys::cudaMemAllocationTypePinned, ..Default::default() };
    wanted.location.type_ = sys::cudaMemLocationTypeDevice;
    if shared {
        wanted.handleTypes = sys::cudaMemHandleTypePosixFileDescriptor;
    }
    wanted
}

pub(crate) fn pool(log: &mut Log, shared: bool) -> Result<cudaMemPool_t, Setup> {
    let (mut pool, wanted) = (null(), wanted(shared));
    need!(log, cudaMemPoolCreate(&raw mut pool, &raw const wanted));
    Ok(pool)
}

/// Notes an attribute of 64 bits.
pub(crate) fn value(log: &mut Log, what: &str, pool: cudaMemPool_t, id: cudaMemPoolAttr) {
    let mut value = 77_u64;
    ask!(log, what, cudaMemPoolGetAttribute(pool, id, (&raw mut value).cast()));
    log.fact("value", value);
}

/// Memory of the stream's pool.
fn memory(log: &mut Log, what: &str, bytes: usize, on: cudaStream_t) -> *mut c_void {
    let mut at = null();
    ask!(log, what, cudaMallocAsync(&raw mut at, bytes, on));
    at
}

pub(super) fn add(cases: &mut Cases) {
    allocations(cases);
    pools(cases);
    shared(cases);
}

fn allocations(cases: &mut Cases) {
    add_case(cases, 11, "on a non-blocking stream, then access for the same device", |log| {
        let (on, block) = (stream(log)?, 1 << 16);
        let at = memory(log, "it", block, on);
        what(log, "at once", at);
        let (mut pool, mut access) = (null(), sys::cudaMemAccessDesc::default());
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        access.location.type_ = sys::cudaMemLocationTypeDevice;
        for flags in [3, 0, 1] {
            access.flags = sys::cudaMemAccessFlags(flags);
            ask!(log, &format!("access {flags}"), cudaMemPoolSetAccess(pool, &raw const access, 1));
        }
        ask!(log, cudaMemsetAsync(at, 2, block, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 46, "in the place of host memory, of sizes at the edge", |log| {
        let on = stream(log)?;
        for bytes in [1, 0, 511, 3 << 20] {
            let at = memory(log, &format!("{bytes}"), bytes, on);
            log.fact("address", if at.is_null() { "null" } else { "some" });
            log.fact("aligned", at.addr().is_multiple_of(256));
            ask!(log, cudaFreeAsync(at, on));
        }
        memory(log, "too many", 1 << 46, on);
        ask!(log, "answer null", cudaMallocAsync(null(), 64, on));
        ask!(log, cudaStreamSynchronize(on));
        taken(log)
    });
    add_case(cases, 62, "a counter, its fill, and the kernel that counts", |log| {
        let (on, data) = (stream(log)?, Block::with(log, Kind::Device, &[1; N])?);
        let mut out = device(log)?;
        let at = memory(log, "it", 4, on);
        ask!(log, cudaMemsetAsync(at, 0, 4, on));
        out = out.moved(at);
        super::kernel::check(log, out, data, 2, N, on);
        let mut got = -1_i32;
        ask!(log, cudaMemcpyAsync((&raw mut got).cast(), at, 4, sys::cudaMemcpyDeviceToHost, on));
        ask!(log, cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        log.fact("wrong", got);
        what(log, "freed", at);
        Ok(())
    });
    add_case(cases, 77, "on the default stream, for a temporary buffer that is freed in other ways", |log| {
        let on = stream(log)?;
        let [a, b, c] =
            [memory(log, "a", N, null()), memory(log, "b", N, null()), memory(log, "c", N, null())];
        ask!(log, "by its own", cudaFreeAsync(a, null()));
        ask!(log, "by the blocking one", cudaFree(b));
        ask!(log, "on another stream", cudaFreeAsync(c, on));
        ask!(log, "again", cudaFreeAsync(c, on));
        ask!(log, "again, blocking", cudaFree(b));
        ask!(log, "null", cudaFreeAsync(null(), on));
        ask!(log, cudaDeviceSynchronize());
        taken(log)
    });
    add_case(cases, 114, "for a copy up, an event behind it, a kernel elsewhere", |log| {
        let (a, b, mark) = (stream(log)?, stream(log)?, event(log)?);
        let (from, out) = (super::super::common::integers([4; 1024]), device(log)?);
        let at = memory(log, "it", N, a);
        ask!(log, cudaMemcpyAsync(at, from.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice, a));
        ask!(log, cudaEventRecord(mark, a));
        ask!(log, cudaStreamWaitEvent(b, mark, 0));
        sum(log, "kernel", out, out.moved(at), 1024, b);
        ask!(log, "there", cudaFreeAsync(at, b));
        ask!(log, cudaStreamSynchronize(b));
        first_is(log, "sum", out)?;
        Ok(())
    });
    add_case(cases, 132, "two vectors behind the copy down, the stream held", |log| {
        let (on, to) = (stream(log)?, Block::new(log, Kind::Pinned, N)?);
        let (a, b) = (memory(log, "a", N, on), memory(log, "b", N, on));
        need!(log, cudaStreamSynchronize(on));
        let gate = Gate::hold(log, on)?;
        waits(log, &gate, |log| {
            ask!(log, cudaMemsetAsync(b, 6, N, on));
            ask!(log, cudaMemcpyAsync(to.ptr(), b, N, sys::cudaMemcpyDeviceToHost, on));
            ask!(log, cudaFreeAsync(a, on));
            ask!(log, cudaFreeAsync(b, on));
            what(log, "freed in the queue", a);
            ask!(log, "within", cudaFreeAsync(b.wrapping_byte_add(16), on));
        });
        ask!(log, cudaStreamSynchronize(on));
        let got = to.load(log)?;
        log.bytes("all bytes", &got, &[6; N]);
        Ok(())
    });
    add_case(cases, 37, "a size from the caller, of a pool that the caller has", |log| {
        let (on, pool) = (stream(log)?, pool(log, false)?);
        for bytes in [4096, 0, 1 << 46] {
            let mut at = null();
            ask!(log, &format!("{bytes}"), cudaMallocFromPoolAsync(&raw mut at, bytes, pool, on));
            log.fact("address", if at.is_null() { "null" } else { "some" });
            value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        }
        let mut at = null();
        ask!(log, "no pool", cudaMallocFromPoolAsync(&raw mut at, 64, null(), on));
        ask!(log, "answer null", cudaMallocFromPoolAsync(null(), 64, pool, on));
        ask!(log, "default stream", cudaMallocFromPoolAsync(&raw mut at, 1 << 20, pool, null()));
        value(log, "used", pool, sys::cudaMemPoolAttrUsedMemCurrent);
        value(log, "most", pool, sys::cudaMemPoolAttrUsedMemHigh);
        taken(log)
    });
}

fn pools(cases: &mut Cases) {
    add_case(cases, 112, "for a device, with and without files, and what is refused", |log| {
        let mut pool = null();
        for shared in [true, false] {
            let wanted = wanted(shared);
            ask!(log, &format!("files {shared}"), cudaMemPoolCreate(&raw mut pool, &raw const wanted));
            for id in 1..=8 {
                let mut value = 77_u64;
                ask!(log, "get", cudaMemPoolGetAttribute(pool, cudaMemPoolAttr(id), (&raw mut value).cast()));
                // The first three have four bytes.
                log.fact(&format!("{id}"), if id < 4 { value & 0xffff_ffff } else { value });
            }
        }
        let changes: [(&str, Change<cudaMemPoolProps>); 7] = [
            ("no kind", |it| it.allocType = sys::cudaMemAllocationType(0)),
            ("no place", |it| it.location.type_ = sys::cudaMemLocationType(0)),
            ("no such device", |it| it.location.id = 99),
            ("the host", |it| it.location.type_ = sys::cudaMemLocationTypeHost),
            ("no such files", |it| it.handleTypes = sys::cudaMemAllocationHandleType(64)),
            ("one of another system", |it| it.handleTypes = sys::cudaMemHandleTypeWin32),
            ("at most a page", |it| it.maxSize = 4096),
        ];
        for (name, change) in changes {
            let mut wanted = wanted(false);
            change(&mut wanted);
            ask!(log, name, cudaMemPoolCreate(&raw mut pool, &raw const wanted));
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "null", cudaMemPoolCreate(&raw mut pool, null()));
        Ok(())
    });
    add_case(cases, 43, "after the last free of it, with memory left, and of the default one", |log| {
        let (on, first, second) = (stream(log)?, pool(log, true)?, pool(log, false)?);
        let (mut a, mut b, mut own) = (null(), null(), null());
        need!(log, cudaMallocFromPoolAsync(&raw mut a, N, first, on));
        need!(log, cudaMallocFromPoolAsync(&raw mut b, N, second, on));
        ask!(log, cudaFreeAsync(a, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "empty", cudaMemPoolDestroy(first));
        ask!(log, "with memory", cudaMemPoolDestroy(second));
        ask!(log, "a fill then", cudaMemsetAsync(b, 1, N, on));
        ask!(log, "a free then", cudaFreeAsync(b, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, cudaDeviceGetDefaultMemPool(&raw mut own, 0));
        ask!(log, "the default one", cudaMemPoolDestroy(own));
        ask!(log, "null", cudaMemPoolDestroy(null()));
        taken(log)
    });
    add_case(cases, 60, "of a pool's own device, of the host, of none", |log| {
        let pool = pool(log, true)?;
        let mut place = sys::cudaMemLocation { type_: sys::cudaMemLocationTypeDevice, ..Default::default() };
        for (name, kind, id) in
            [("device", 1, 0), ("host", 2, 0), ("no such device", 1, 99), ("no place", 0, 0)]
        {
            let mut flags = sys::cudaMemAccessFlags(77);
            (place.type_, place.id) = (sys::cudaMemLocationType(kind), id);
            ask!(log, name, cudaMemPoolGetAccess(&raw mut flags, pool, &raw mut place));
            log.fact("flags", flags.0);
            ask!(log, "last", cudaGetLastError());
        }
        ask!(log, "null", cudaMemPoolGetAccess(null(), pool, &raw mut place));
        Ok(())
    });
    add_case(cases, 120, "how much is kept at a wait: set, read, used", |log| {
        let (on, pool) = (stream(log)?, pool(log, false)?);
        let (id, kept) = (sys::cudaMemPoolAttrReleaseThreshold, sys::cudaMemPoolAttrReservedMemCurrent);
        let mut wanted = u64::MAX;
        value(log, "at first", pool, id);
        for _ in 0..2 {
            let mut at = null();
            need!(log, cudaMallocFromPoolAsync(&raw mut at, 1 << 20, pool, on));
            value(log, "reserved", pool, kept);
            need!(log, cudaFreeAsync(at, on));
            need!(log, cudaStreamSynchronize(on));
            value(log, "after the wait", pool, kept);
            ask!(log, "set", cudaMemPoolSetAttribute(pool, id, (&raw mut wanted).cast()));
        }
        value(log, "then", pool, id);
        ask!(log, "trimmed", cudaMemPoolTrimTo(pool, 0));
        value(log, "left", pool, kept);
        ask!(log, "read only", cudaMemPoolSetAttribute(pool, kept, (&raw mut wanted).cast()));
        ask!(log, "null", cudaMemPoolSetAttribute(pool, id, null()));
        ask!(log, "none such", cudaMemPoolSetAttribute(pool, cudaMemPoolAttr(99), (&raw mut wanted).cast()));
        taken(log)
    });
}

fn shared(cases: &mut Cases) {
    add_case(cases, 58, "a pool with files, one without, and other kinds", |log| {
        let (file, none) = (sys::cudaMemHandleTypePosixFileDescriptor, sys::cudaMemHandleTypeNone);
        for shared in [true, false] {
            let (pool, mut handle): (_, c_int) = (pool(log, shared)?, -1);
            let at: *mut c_void = (&raw mut handle).cast();
            ask!(log, &format!("files {shared}"), cudaMemPoolExportToShareableHandle(at, pool, file, 0));
            log.fact("a file", handle >= 0);
            ask!(log, "no kind", cudaMemPoolExportToShareableHandle(at, pool, none, 0));
            ask!(log, "flags", cudaMemPoolExportToShareableHandle(at, pool, file, 1));
            ask!(log, "null", cudaMemPoolExportToShareableHandle(null(), pool, file, 0));
        }
        let (mut own, mut handle): (_, c_int) = (null(), -1);
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut own, 0));
        let at: *mut c_void = (&raw mut handle).cast();
        ask!(log, "the default one", cudaMemPoolExportToShareableHandle(at, own, file, 0));
        taken(log)
    });
    add_case(cases, 4, "memory of pools with and without files, freed memory, other memory", |log| {
        let on = stream(log)?;
        let mut data = sys::cudaMemPoolPtrExportData { reserved: [0; 64] };
        for shared in [true, false] {
            let (pool, mut at) = (pool(log, shared)?, null());
            need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
            ask!(log, &format!("files {shared}"), cudaMemPoolExportPointer(&raw mut data, at));
            log.fact("something", data.reserved != [0; 64]);
            ask!(log, "within", cudaMemPoolExportPointer(&raw mut data, at.wrapping_byte_add(64)));
            need!(log, cudaFreeAsync(at, on));
            need!(log, cudaStreamSynchronize(on));
            ask!(log, "freed", cudaMemPoolExportPointer(&raw mut data, at));
            data.reserved = [0; 64];
        }
        for kind in [Kind::Device, Kind::Pool, Kind::Pageable] {
            let block = Block::new(log, kind, N)?;
            ask!(log, kind.name(), cudaMemPoolExportPointer(&raw mut data, block.ptr()));
        }
        ask!(log, "null", cudaMemPoolExportPointer(&raw mut data, null()));
        taken(log)
    });
    add_case(cases, 29, "in the process that made it, through a pool of the same file", imported);
}

fn imported(log: &mut Log) -> crate::log::Outcome {
    let (on, pool, file) = (stream(log)?, pool(log, true)?, sys::cudaMemHandleTypePosixFileDescriptor);
    let (mut at, mut handle): (_, c_int) = (null(), -1);
    need!(log, cudaMallocFromPoolAsync(&raw mut at, N, pool, on));
    need!(log, cudaMemPoolExportToShareableHandle((&raw mut handle).cast(), pool, file, 0));
    let mut data = sys::cudaMemPoolPtrExportData { reserved: [0; 64] };
    need!(log, cudaMemPoolExportPointer(&raw mut data, at));
    let up = pattern(N, 1);
    need!(log, cudaMemcpyAsync(at, up.as_ptr().cast(), N, sys::cudaMemcpyHostToDevice, on));
    need!(log, cudaStreamSynchronize(on));
    let (mut other, mut there) = (null(), null());
    let name = std::ptr::without_provenance_mut(handle.cast_unsigned() as usize);
    let code = ask!(log, "the pool", cudaMemPoolImportFromShareableHandle(&raw mut other, name, file, 0));
    ask!(log, "into the first", cudaMemPoolImportPointer(&raw mut there, pool, &raw mut data));
    if code == sys::cudaSuccess {
        ask!(log, "the memory", cudaMemPoolImportPointer(&raw mut there, other, &raw mut data));
        log.fact("the same address", at == there);
        ask!(log, "from an imported pool", cudaMallocFromPoolAsync(&raw mut there, N, other, on));
    }
    ask!(
        log,
        "no file",
        cudaMemPoolImportFromShareableHandle(
            &raw mut other,
            null::<c_void>().wrapping_byte_add(9999),
            file,
            0
        )
    );
    taken(log)
}
