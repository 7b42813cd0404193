//! Memory by streams, and pools.

use std::ffi::{c_int, c_void};

use cuda_sys as sys;
use cuda_sys::{cudaMemPool_t, cudaMemPoolAttr, cudaMemPoolProps, cudaStream_t};

use super::super::common::{N, add_case, null, taken, waits, what};
use crate::case::Cases;
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

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
}

fn pools(cases: &mut Cases) {
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
