//! Memory pools.

use std::ffi::{c_int, c_void};
use std::ptr;

use cuda_sys::*;

use crate::case::{Cases, Change};
use crate::gate::Gate;
use crate::log::{Log, Setup, ask, need};
use crate::memory::{Block, Kind, pattern, stream};

/// The properties of a pool of device 0.
pub(super) fn props() -> cudaMemPoolProps {
    let mut props = cudaMemPoolProps::default();
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type_ = cudaMemLocationTypeDevice;
    props
}

pub(super) fn pool(log: &mut Log) -> Result<cudaMemPool_t, Setup> {
    let mut pool = ptr::null_mut();
    let props = props();
    need!(log, cudaMemPoolCreate(&raw mut pool, &raw const props));
    Ok(pool)
}

/// Notes an attribute of a pool.
pub(super) fn number(log: &mut Log, name: &str, pool: cudaMemPool_t, attribute: cudaMemPoolAttr) {
    let mut value = 0_u64;
    ask!(log, name, cudaMemPoolGetAttribute(pool, attribute, (&raw mut value).cast()));
    log.fact("is", value);
}

fn making(cases: &mut Cases) {
    let changes: [(&str, Change<cudaMemPoolProps>); 5] = [
        ("a pool", |_| {}),
        ("no kind of allocation", |p| p.allocType = cudaMemAllocationTypeInvalid),
        ("nowhere", |p| p.location.type_ = cudaMemLocationTypeInvalid),
        ("on device 100", |p| p.location.id = 100),
        ("on device -1", |p| p.location.id = -1),
    ];
    for (what, change) in changes {
        cases.add(format!("cudaMemPoolCreate/{what}"), move |log| {
            let mut pool = ptr::null_mut();
            let mut props = props();
            change(&mut props);
            ask!(log, cudaMemPoolCreate(&raw mut pool, &raw const props));
            if !pool.is_null() {
                ask!(log, cudaMemPoolDestroy(pool));
            }
            Ok(())
        });
    }
    cases.add("cudaMemPoolCreate/answer null", |log| {
        let props = props();
        ask!(log, cudaMemPoolCreate(ptr::null_mut(), &raw const props));
        Ok(())
    });
    cases.add("cudaMemPoolDestroy/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaMemPoolDestroy(ptr::null_mut()));
        Ok(())
    });
    cases.add("cudaMemPoolDestroy/the default pool", |log| {
        let mut pool = ptr::null_mut();
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        ask!(log, cudaMemPoolDestroy(pool));
        Ok(())
    });
    cases.add("cudaMemPoolDestroy/with memory that lives", |log| {
        let pool = pool(log)?;
        let mut start = ptr::null_mut();
        need!(log, cudaMallocFromPoolAsync(&raw mut start, 4096, pool, ptr::null_mut()));
        ask!(log, cudaMemPoolDestroy(pool));
        ask!(log, cudaMemset(start, 1, 4096));
        ask!(log, cudaFreeAsync(start, ptr::null_mut()));
        ask!(log, cudaDeviceSynchronize());
        Ok(())
    });
    for (what, null, device) in [
        ("the first device", false, 0),
        ("answer null", true, 0),
        ("device -1", false, -1),
        ("device 100", false, 100),
    ] {
        cases.add(format!("cudaDeviceGetDefaultMemPool/{what}"), move |log| {
            let mut pool = ptr::null_mut();
            let answer = if null { ptr::null_mut() } else { &raw mut pool };
            ask!(log, cudaDeviceGetDefaultMemPool(answer, device));
            ask!(log, cudaDeviceGetMemPool(answer, device));
            Ok(())
        });
    }
    cases.alone("cudaDeviceSetMemPool/its own, and the default again", |log| {
        let (mut default, mut got) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut default, 0));
        let own = pool(log)?;
        ask!(log, cudaDeviceSetMemPool(0, own));
        ask!(log, cudaDeviceGetMemPool(&raw mut got, 0));
        log.fact("own", got == own);
        let block = Block::new(log, Kind::Pool, 4096)?;
        number(log, "used", own, cudaMemPoolAttrUsedMemCurrent);
        ask!(log, cudaFreeAsync(block.ptr(), ptr::null_mut()));
        ask!(log, cudaDeviceSetMemPool(0, default));
        ask!(log, cudaMemPoolDestroy(own));
        Ok(())
    });
}

fn attributes(cases: &mut Cases) {
    for (attribute, what) in [
        (cudaMemPoolReuseFollowEventDependencies, "reuse after events"),
        (cudaMemPoolReuseAllowOpportunistic, "reuse what happens to be done"),
        (cudaMemPoolReuseAllowInternalDependencies, "reuse with waits"),
        (cudaMemPoolAttrReleaseThreshold, "release threshold"),
        (cudaMemPoolAttrUsedMemCurrent, "used"),
        (cudaMemPoolAttrUsedMemHigh, "most used"),
        (cudaMemPoolAttrReservedMemCurrent, "reserved"),
        (cudaMemPoolAttrReservedMemHigh, "most reserved"),
    ] {
        cases.add(format!("cudaMemPoolGetAttribute/of a fresh pool, {what}"), move |log| {
            let pool = pool(log)?;
            number(log, "value", pool, attribute);
            Ok(())
        });
    }
    for (what, pool_null, data_null, attribute) in [
        ("pool null", true, false, cudaMemPoolAttrReleaseThreshold),
        ("answer null", false, true, cudaMemPoolAttrReleaseThreshold),
        ("no such attribute", false, false, cudaMemPoolAttr(99)),
    ] {
        cases.add(format!("cudaMemPoolGetAttribute/{what}"), move |log| {
            let own = pool(log)?;
            let mut value = 0_u64;
            let data = if data_null { ptr::null_mut() } else { (&raw mut value).cast() };
            let of = if pool_null { ptr::null_mut() } else { own };
            ask!(log, cudaMemPoolGetAttribute(of, attribute, data));
            if !data_null {
                ask!(log, cudaMemPoolSetAttribute(of, attribute, data));
            }
            Ok(())
        });
    }
    cases.add("cudaMemPoolSetAttribute/release threshold", |log| {
        let pool = pool(log)?;
        let mut value = u64::MAX;
        ask!(log, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, (&raw mut value).cast()));
        number(log, "release threshold", pool, cudaMemPoolAttrReleaseThreshold);
        Ok(())
    });
    cases.add("cudaMemPoolSetAttribute/marks of most used back to nothing only", |log| {
        let pool = pool(log)?;
        let (mut zero, mut one) = (0_u64, 1_u64);
        ask!(log, "zero", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, (&raw mut zero).cast()));
        ask!(log, "one", cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, (&raw mut one).cast()));
        ask!(
            log,
            "used now",
            cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, (&raw mut zero).cast())
        );
        Ok(())
    });
    cases.add("cudaMallocFromPoolAsync/use counts, and goes", |log| {
        let pool = pool(log)?;
        let on = stream(log)?;
        let mut start = ptr::null_mut();
        ask!(log, cudaMallocFromPoolAsync(&raw mut start, 4096, pool, on));
        let source = pattern(4096, 1);
        let back = Block::new(log, Kind::Pinned, 4096)?;
        ask!(log, cudaMemcpyAsync(start, source.as_ptr().cast(), 4096, cudaMemcpyDefault, on));
        ask!(log, cudaMemcpyAsync(back.ptr(), start, 4096, cudaMemcpyDefault, on));
        ask!(log, cudaStreamSynchronize(on));
        back.compare(log, "all bytes", &source)?;
        number(log, "used", pool, cudaMemPoolAttrUsedMemCurrent);
        ask!(log, cudaFreeAsync(start, on));
        ask!(log, cudaStreamSynchronize(on));
        number(log, "used then", pool, cudaMemPoolAttrUsedMemCurrent);
        number(log, "reserved then", pool, cudaMemPoolAttrReservedMemCurrent);
        number(log, "most used", pool, cudaMemPoolAttrUsedMemHigh);
        Ok(())
    });
    for (what, answer_null, pool_null, bytes) in [
        ("answer null", true, false, 4096),
        ("pool null", false, true, 4096),
        ("bytes without end", false, false, usize::MAX),
        ("no bytes", false, false, 0),
    ] {
        cases.add(format!("cudaMallocFromPoolAsync/{what}"), move |log| {
            let own = pool(log)?;
            let mut start = ptr::null_mut();
            let answer = if answer_null { ptr::null_mut() } else { &raw mut start };
            let from = if pool_null { ptr::null_mut() } else { own };
            ask!(log, cudaMallocFromPoolAsync(answer, bytes, from, ptr::null_mut()));
            Ok(())
        });
    }
    cases.alone("cudaMalloc/is not of the default pool", |log| {
        let mut pool = ptr::null_mut();
        need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 0));
        let _block = Block::new(log, Kind::Device, 1 << 20)?;
        number(log, "used", pool, cudaMemPoolAttrUsedMemCurrent);
        Ok(())
    });
    cases.add("cudaMemPoolTrimTo/null", |log| {
        need!(log, cudaFree(ptr::null_mut()));
        ask!(log, cudaMemPoolTrimTo(ptr::null_mut(), 0));
        Ok(())
    });
    cases.add("cudaMemPoolTrimTo/as far as live memory lets it", |log| {
        let pool = pool(log)?;
        let mut most = u64::MAX;
        need!(log, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, (&raw mut most).cast()));
        let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaMallocFromPoolAsync(&raw mut a, 64 << 20, pool, ptr::null_mut()));
        need!(log, cudaMallocFromPoolAsync(&raw mut b, 64 << 20, pool, ptr::null_mut()));
        need!(log, cudaFreeAsync(a, ptr::null_mut()));
        need!(log, cudaDeviceSynchronize());
        number(log, "reserved", pool, cudaMemPoolAttrReservedMemCurrent);
        ask!(log, cudaMemPoolTrimTo(pool, 0));
        number(log, "reserved then", pool, cudaMemPoolAttrReservedMemCurrent);
        Ok(())
    });
}

fn access(cases: &mut Cases) {
    let (device, read_write) = (cudaMemLocationTypeDevice, cudaMemAccessFlagsProtReadWrite);
    for (what, pool_null, place, id, flags, count) in [
        ("its own device", false, device, 0, read_write, 1),
        ("pool null", true, device, 0, read_write, 1),
        ("device 100", false, device, 100, read_write, 1),
        ("device -1", false, device, -1, read_write, 1),
        ("nothing allowed to its own device", false, device, 0, cudaMemAccessFlagsProtNone, 1),
        ("no such right", false, device, 0, cudaMemAccessFlags(99), 1),
        ("none", false, device, 0, read_write, 0),
    ] {
        cases.add(format!("cudaMemPoolSetAccess/{what}"), move |log| {
            let own = pool(log)?;
            let list = [cudaMemAccessDesc { location: cudaMemLocation { type_: place, id }, flags }];
            let of = if pool_null { ptr::null_mut() } else { own };
            ask!(log, cudaMemPoolSetAccess(of, list.as_ptr(), count));
            Ok(())
        });
    }
    for (what, pool_null, place, id) in [
        ("its own device", false, device, 0),
        ("pool null", true, device, 0),
        ("nowhere", false, cudaMemLocationTypeInvalid, 0),
        ("device 100", false, device, 100),
    ] {
        cases.add(format!("cudaMemPoolGetAccess/{what}"), move |log| {
            let own = pool(log)?;
            let mut location = cudaMemLocation { type_: place, id };
            let mut flags = cudaMemAccessFlags(77);
            let of = if pool_null { ptr::null_mut() } else { own };
            ask!(log, cudaMemPoolGetAccess(&raw mut flags, of, &raw mut location));
            log.fact("flags", flags.0);
            Ok(())
        });
    }
    cases
        .add("cudaMemPoolSetAccess/the other device", move |log| {
            let own = pool(log)?;
            let location = cudaMemLocation { type_: device, id: 1 };
            let mut list = [cudaMemAccessDesc { location, flags: read_write }];
            let mut flags = cudaMemAccessFlags(77);
            ask!(log, cudaMemPoolGetAccess(&raw mut flags, own, &raw mut list[0].location));
            log.fact("flags", flags.0);
            ask!(log, cudaMemPoolSetAccess(own, list.as_ptr(), 1));
            ask!(log, cudaMemPoolGetAccess(&raw mut flags, own, &raw mut list[0].location));
            log.fact("flags", flags.0);
            Ok(())
        })
        .two_devices();
}

fn sharing(cases: &mut Cases) {
    let descriptor = cudaMemHandleTypePosixFileDescriptor;
    cases.add("cudaMemPoolExportToShareableHandle/a pool that is not for it", move |log| {
        let pool = pool(log)?;
        let mut handle: c_int = -1;
        ask!(log, cudaMemPoolExportToShareableHandle((&raw mut handle).cast(), pool, descriptor, 0));
        Ok(())
    });
    cases.add("cudaMemPoolExportToShareableHandle/answer null", move |log| {
        let mut pool = ptr::null_mut();
        let mut props = props();
        props.handleTypes = descriptor;
        need!(log, cudaMemPoolCreate(&raw mut pool, &raw const props));
        ask!(log, cudaMemPoolExportToShareableHandle(ptr::null_mut(), pool, descriptor, 0));
        let mut handle: c_int = -1;
        let none = cudaMemHandleTypeNone;
        ask!(
            log,
            "no kind of handle",
            cudaMemPoolExportToShareableHandle((&raw mut handle).cast(), pool, none, 0)
        );
        Ok(())
    });
    cases.add("cudaMemPoolImportFromShareableHandle/handle null", move |log| {
        need!(log, cudaFree(ptr::null_mut()));
        let mut pool = ptr::null_mut();
        ask!(
            log,
            cudaMemPoolImportFromShareableHandle(&raw mut pool, ptr::null_mut::<c_void>(), descriptor, 0)
        );
        Ok(())
    });
    cases.add("cudaMemPoolExportPointer/answer null", |log| {
        let block = Block::new(log, Kind::Pool, 4096)?;
        ask!(log, cudaMemPoolExportPointer(ptr::null_mut(), block.ptr()));
        Ok(())
    });
    cases.add("cudaMemPoolImportPointer/null", |log| {
        let pool = pool(log)?;
        let mut start = ptr::null_mut();
        let mut data = cudaMemPoolPtrExportData::default();
        ask!(log, "pool null", cudaMemPoolImportPointer(&raw mut start, ptr::null_mut(), &raw mut data));
        ask!(log, "data null", cudaMemPoolImportPointer(&raw mut start, pool, ptr::null_mut()));
        Ok(())
    });
}

/// The device that must be current for copies of another device's pool: the stream does not matter.
fn of_another_device(cases: &mut Cases) {
    for (what, current, access) in [
        ("the other device current", 0, false),
        ("its own device current", 1, false),
        ("the other device current, to which access was given", 0, true),
    ] {
        cases.two_devices(format!("cudaMallocAsync/copied with {what}"), move |log| {
            need!(log, cudaSetDevice(1));
            let on = stream(log)?;
            let device = Block::new(log, Kind::Device, 4096)?;
            let pinned = Block::new(log, Kind::Pinned, 4096)?;
            let (mut a, mut b) = (ptr::null_mut(), ptr::null_mut());
            need!(log, cudaMallocAsync(&raw mut a, 4096, on));
            need!(log, cudaMallocAsync(&raw mut b, 4096, on));
            need!(log, cudaMemsetAsync(b, 0, 4096, on));
            need!(log, cudaStreamSynchronize(on));
            if access {
                let mut pool = ptr::null_mut();
                need!(log, cudaDeviceGetDefaultMemPool(&raw mut pool, 1));
                let mut list = [cudaMemAccessDesc::default()];
                list[0].location.type_ = cudaMemLocationTypeDevice;
                list[0].flags = cudaMemAccessFlagsProtReadWrite;
                need!(log, cudaMemPoolSetAccess(pool, list.as_ptr(), 1));
            }
            need!(log, cudaSetDevice(current));
            let default = cudaMemcpyDefault;
            ask!(log, "within", cudaMemcpyAsync(a, b, 16, default, on));
            ask!(log, "from device memory", cudaMemcpyAsync(a, device.ptr(), 16, default, on));
            ask!(log, "from pinned memory", cudaMemcpyAsync(a, pinned.ptr(), 16, default, on));
            ask!(log, "to pinned memory", cudaMemcpyAsync(pinned.ptr(), a, 16, default, on));
            ask!(log, "rows", cudaMemcpy2DAsync(a, 64, b, 64, 16, 4, default, on));
            ask!(log, "blocking", cudaMemcpy(a, pinned.ptr(), 16, default));
            ask!(log, "peer", cudaMemcpyPeerAsync(a, 1, b, 1, 16, on));
            ask!(log, "set", cudaMemsetAsync(a, 1, 16, on));
            ask!(log, cudaDeviceSynchronize());
            Ok(())
        });
    }
}

/// Calls with memory whose free is pending on a stream.
fn freed_in_the_queue(cases: &mut Cases) {
    cases
        .add("cudaFreeAsync/what uses memory that is to be freed", |log| {
            let (on, other, mut at) =
                (stream(log)?, Block::new(log, Kind::Device, 4096)?, ptr::null_mut::<c_void>());
            need!(log, cudaMallocAsync(&raw mut at, 4096, on));
            need!(log, cudaStreamSynchronize(on));
            let gate = Gate::hold(log, on)?;
            need!(log, cudaFreeAsync(at, on));
            let default = cudaMemcpyDefault;
            ask!(log, "set", cudaMemsetAsync(at, 0, 16, on));
            ask!(log, "rows set", cudaMemset2DAsync(at, 64, 0, 16, 2, on));
            ask!(log, "to it", cudaMemcpyAsync(at, other.ptr(), 16, default, on));
            ask!(log, "from it", cudaMemcpyAsync(other.ptr(), at, 16, default, on));
            ask!(log, "rows of it", cudaMemcpy2DAsync(other.ptr(), 64, at, 64, 16, 2, default, on));
            ask!(log, "between devices", cudaMemcpyPeerAsync(other.ptr(), 0, at, 0, 16, on));
            ask!(log, "blocking", cudaMemcpy(other.ptr(), at, 16, default));
            ask!(log, "freed again", cudaFreeAsync(at, on));
            let (mut graph, mut node) = (ptr::null_mut(), ptr::null_mut());
            need!(log, cudaGraphCreate(&raw mut graph, 0));
            ask!(
                log,
                "in a node",
                cudaGraphAddMemcpyNode1D(&raw mut node, graph, ptr::null(), 0, other.ptr(), at, 16, default)
            );
            ask!(log, "freed by a node", cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 0, at));
            gate.open();
            ask!(log, cudaStreamSynchronize(on));
            ask!(log, "then", cudaMemsetAsync(at, 0, 16, on));
            Ok(())
        })
        .alone();
}

pub(super) fn add(cases: &mut Cases) {
    freed_in_the_queue(cases);
    making(cases);
    attributes(cases);
    access(cases);
    sharing(cases);
    of_another_device(cases);
    managed(cases);
}

/// Pools of managed memory: what their memory is, and what is done with it.
fn managed(cases: &mut Cases) {
    cases.alone("cudaMallocFromPoolAsync/managed memory", |log| {
        let (mut pool, mut at, mut other) = (ptr::null_mut(), ptr::null_mut::<c_void>(), ptr::null_mut());
        let mut wanted = props();
        wanted.allocType = cuda_sys::cudaMemAllocationTypeManaged;
        ask!(log, cudaMemPoolCreate(&raw mut pool, &raw const wanted));
        let on = stream(log)?;
        ask!(log, cudaMallocFromPoolAsync(&raw mut at, 4096, pool, on));
        ask!(log, cudaStreamSynchronize(on));
        let mut found = cuda_sys::cudaPointerAttributes::default();
        ask!(log, cudaPointerGetAttributes(&raw mut found, at));
        let same = |it: *mut c_void| it == at;
        log.fact(
            "it is",
            format_args!("{} {} {}", found.type_.0, same(found.devicePointer), same(found.hostPointer)),
        );
        ask!(log, cudaMemsetAsync(at, 3, 4096, on));
        ask!(log, cudaStreamSynchronize(on));
        if !at.is_null() {
            // SAFETY: managed memory, which nothing else uses.
            log.fact("byte", unsafe { *at.cast::<u8>() });
        }
        number(log, "used", pool, cuda_sys::cudaMemPoolAttrUsedMemCurrent);
        let place = cuda_sys::cudaMemLocation { type_: cuda_sys::cudaMemLocationTypeDevice, id: 0 };
        let advice = cuda_sys::cudaMemAdviseSetReadMostly;
        ask!(log, cudaMemAdvise(at, 4096, advice, place));
        ask!(log, cudaMemPrefetchAsync(at, 4096, place, 0, on));
        ask!(log, cudaStreamAttachMemAsync(on, at, 0, cuda_sys::cudaMemAttachSingle));
        let mut flags = 0;
        ask!(log, cudaHostGetFlags(&raw mut flags, at));
        ask!(log, cudaHostGetDevicePointer(&raw mut other, at, 0));
        ask!(log, "copy", cudaMemcpyAsync(at, at.wrapping_byte_add(64), 64, cuda_sys::cudaMemcpyDefault, on));
        ask!(log, "its end", cudaFreeAsync(at, on));
        ask!(log, cudaStreamSynchronize(on));
        number(log, "used", pool, cuda_sys::cudaMemPoolAttrUsedMemCurrent);
        ask!(log, cudaMallocFromPoolAsync(&raw mut at, 4096, pool, on));
        ask!(log, cudaStreamSynchronize(on));
        ask!(log, "its end", cudaFree(at));
        need!(log, cudaStreamBeginCapture(on, cuda_sys::cudaStreamCaptureModeGlobal));
        ask!(log, "captured", cudaMallocFromPoolAsync(&raw mut at, 4096, pool, on));
        let mut graph = ptr::null_mut();
        ask!(log, cudaStreamEndCapture(on, &raw mut graph));
        ask!(log, cudaMemPoolDestroy(pool));
        Ok(())
    });
    cases.alone("cudaFreeAsync/in a capture, memory that was allocated before", |log| {
        let (on, pool) = (stream(log)?, pool(log)?);
        let (mut own, mut default) = (ptr::null_mut(), ptr::null_mut());
        need!(log, cudaMallocFromPoolAsync(&raw mut own, 4096, pool, on));
        need!(log, cudaMallocAsync(&raw mut default, 4096, on));
        let device = Block::new(log, Kind::Device, 4096)?;
        for (name, at) in
            [("of a pool", own), ("of the default pool", default), ("of the device", device.ptr())]
        {
            let (mut graph, mut inside, mut node) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
            need!(log, cudaStreamBeginCapture(on, cuda_sys::cudaStreamCaptureModeGlobal));
            ask!(log, name, cudaFreeAsync(at, on));
            ask!(log, "inside", cudaMallocAsync(&raw mut inside, 4096, on));
            ask!(log, cudaStreamEndCapture(on, &raw mut graph));
            if !graph.is_null() {
                ask!(log, "node", cudaGraphAddMemFreeNode(&raw mut node, graph, ptr::null(), 0, at));
            }
        }
        Ok(())
    });
}
