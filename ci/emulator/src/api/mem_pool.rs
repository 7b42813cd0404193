//! Memory pools: making and choosing them, their attributes, and access to their memory.
#![expect(unsafe_code, reason = "exports C functions")]

use core::ffi::{c_int, c_void};

use super::{Call, Out, api, follows_null, ordinal, put};
use crate::error::Answer;
use crate::machine::Guard;
use crate::memory::{Pool, PoolKey, PoolPlace, Pools};
use crate::sys::*;

/// A pool's largest size is a multiple of this. An H200 gives two allocations of 4 MiB from a pool of at most
/// 4 MiB.
const GRAIN: u64 = 32 << 20;

/// Where the pinned memory of a device is.
pub(super) fn device_place(device: usize) -> PoolPlace {
    PoolPlace {
        location: cudaMemLocationTypeDevice.0,
        id: c_int::try_from(device).unwrap_or(c_int::MAX),
        allocation: cudaMemAllocationTypePinned.0,
    }
}

/// The location that a program names, and the device that memory there is charged to.
fn place(
    machine: &Guard,
    location: cudaMemLocation,
    allocation: cudaMemAllocationType,
) -> Answer<(PoolPlace, usize)> {
    let managed = allocation == cudaMemAllocationTypeManaged;
    if !managed && allocation != cudaMemAllocationTypePinned {
        return Err(cudaErrorInvalidValue);
    }
    let (id, device) = match location.type_ {
        it if it == cudaMemLocationTypeDevice => {
            (location.id(), ordinal(machine, location.id()).map_err(|_| cudaErrorInvalidValue)?)
        }
        it if it == cudaMemLocationTypeHost => (0, 0),
        // There is one node.
        it if it == cudaMemLocationTypeHostNuma && location.id() == 0 => (0, 0),
        it if it == cudaMemLocationTypeNone && managed => (0, 0),
        _ => return Err(cudaErrorInvalidValue),
    };
    Ok((PoolPlace { location: location.type_.0, id, allocation: allocation.0 }, device))
}

/// A pool that a program's handle names.
fn named(machine: &mut Guard, pool: cudaMemPool_t) -> Answer<&mut Pool> {
    let key = machine.allocations.pools.named(pool)?;
    machine.allocations.pools.get_mut(key)
}

/// Reads the value of an attribute, which CUDA reads without a look at the address.
fn value<T: Copy>(call: &Call, from: *const T) -> T {
    read(from).unwrap_or_else(|_| follows_null(call, "the value of the attribute"))
}

/// Whether a location is the host, or a part of it.
fn is_host(location: cudaMemLocation) -> bool {
    [cudaMemLocationTypeHost, cudaMemLocationTypeHostNuma].contains(&location.type_)
}

/// Reads a value that a program passes by address.
fn read<T: Copy>(from: *const T) -> Answer<T> {
    if from.is_null() {
        return Err(cudaErrorInvalidValue);
    }
    // SAFETY: the program promises that a value of this type is there.
    Ok(unsafe { from.read_unaligned() })
}

/// Writes a value to an address of the program.
fn write<T>(to: *mut c_void, value: T) {
    // SAFETY: the program promises room for a value of this type, and the pointer is not null.
    unsafe { to.cast::<T>().write_unaligned(value) };
}

/// Which of the three rules of reuse an attribute is.
fn rule(attr: cudaMemPoolAttr) -> Option<usize> {
    let rules = [
        cudaMemPoolReuseFollowEventDependencies,
        cudaMemPoolReuseAllowOpportunistic,
        cudaMemPoolReuseAllowInternalDependencies,
    ];
    rules.iter().position(|it| *it == attr)
}

fn answer(out: Out<'_, cudaMemPool_t>, key: PoolKey) -> Answer {
    put(out, Pools::handle(key))
}

/// The default or the current pool of a device.
fn of_device(call: &Call, out: Out<'_, cudaMemPool_t>, device: c_int, default: bool) -> Answer {
    let out = out.ok_or(cudaErrorInvalidValue)?;
    let mut machine = call.machine()?;
    // The function for the current pool has no other code for it.
    let wrong = if default { cudaErrorInvalidDevice } else { cudaErrorInvalidValue };
    let device = ordinal(&machine, device).map_err(|_| wrong)?;
    let pools = &mut machine.allocations.pools;
    let place = device_place(device);
    answer(Some(out), if default { pools.default_of(place, device) } else { pools.current_of(place, device) })
}

api! {
    /// The pool that a device has by itself.
    allowed fn cudaDeviceGetDefaultMemPool(call, out: Out<'_, cudaMemPool_t>, device: c_int) {
        of_device(call, out, device, true)
    }

    /// The pool that memory of a device comes from.
    allowed fn cudaDeviceGetMemPool(call, out: Out<'_, cudaMemPool_t>, device: c_int) {
        of_device(call, out, device, false)
    }

    /// Chooses it.
    waits fn cudaDeviceSetMemPool(call, device: c_int, pool: cudaMemPool_t) {
        let mut machine = call.machine()?;
        let device = ordinal(&machine, device).map_err(|_| cudaErrorInvalidValue)?;
        let key = machine.allocations.pools.named(pool)?;
        machine.allocations.pools.set_current(device_place(device), key)
    }

    /// The pool that a place has by itself.
    allowed fn cudaMemGetDefaultMemPool(
        call, out: Out<'_, cudaMemPool_t>, location: *mut cudaMemLocation, allocation: cudaMemAllocationType,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        let (place, device) = place(&machine, read(location)?, allocation)?;
        answer(Some(out), machine.allocations.pools.default_of(place, device))
    }

    /// The pool that memory of a place comes from.
    allowed fn cudaMemGetMemPool(
        call, out: Out<'_, cudaMemPool_t>, location: *mut cudaMemLocation, allocation: cudaMemAllocationType,
    ) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        let (place, device) = place(&machine, read(location)?, allocation)?;
        answer(Some(out), machine.allocations.pools.current_of(place, device))
    }

    /// Chooses it.
    waits fn cudaMemSetMemPool(
        call, location: *mut cudaMemLocation, allocation: cudaMemAllocationType, pool: cudaMemPool_t,
    ) {
        let mut machine = call.machine()?;
        let (place, _) = place(&machine, read(location)?, allocation)?;
        let key = machine.allocations.pools.named(pool)?;
        machine.allocations.pools.set_current(place, key)
    }

    /// Makes a pool.
    waits fn cudaMemPoolCreate(call, out: Out<'_, cudaMemPool_t>, wanted: *const cudaMemPoolProps) {
        let out = out.ok_or(cudaErrorInvalidValue)?;
        let mut machine = call.machine()?;
        let wanted = read(wanted)?;
        let (place, device) = place(&machine, wanted.location, wanted.allocType)?;
        if wanted.reserved != [0; 53] || wanted.reserved1 != 0 {
            return Err(cudaErrorInvalidValue);
        }
        let handles = wanted.handleTypes.0;
        let known = cudaMemHandleTypePosixFileDescriptor.0;
        let shareable = wanted.location.type_ != cudaMemLocationTypeHost;
        if handles & !known != 0 || (handles != 0 && !shareable) {
            return Err(if handles == cudaMemHandleTypeFabric.0 { cudaErrorNotSupported } else { cudaErrorInvalidValue });
        }
        let key = machine.allocations.pools.create(place, device, handles, super::wide(wanted.maxSize).div_ceil(GRAIN) * GRAIN);
        answer(Some(out), key)
    }

    /// Ends a pool, as soon as the last of its memory is freed.
    waits fn cudaMemPoolDestroy(call, pool: cudaMemPool_t) {
        let mut machine = call.machine()?;
        let key = machine.allocations.pools.named(pool)?;
        machine.allocations.pools.destroy(key)
    }

    /// Releases memory that a pool has reserved and does not use.
    waits fn cudaMemPoolTrimTo(call, pool: cudaMemPool_t, keep: usize) {
        let mut machine = call.machine()?;
        named(&mut machine, pool)?.trim(super::wide(keep));
        Ok(())
    }

    /// Sets an attribute of a pool.
    waits fn cudaMemPoolSetAttribute(call, pool: cudaMemPool_t, attr: cudaMemPoolAttr, value: *mut c_void) {
        let mut machine = call.machine()?;
        let pool = named(&mut machine, pool)?;
        if let Some(rule) = rule(attr) {
            let value = self::value(call, value.cast::<c_int>());
            if let Some(rule) = pool.reuse.get_mut(rule) {
                *rule = c_int::from(value != 0);
            }
            return Ok(());
        }
        match attr {
            it if it == cudaMemPoolAttrReleaseThreshold => pool.threshold = self::value(call, value.cast::<u64>()),
            it if it == cudaMemPoolAttrReservedMemHigh && self::value(call, value.cast::<u64>()) == 0 => {
                pool.forget_reserved_high();
            }
            it if it == cudaMemPoolAttrUsedMemHigh && self::value(call, value.cast::<u64>()) == 0 => {
                pool.forget_used_high();
            }
            _ => {
                self::value(call, value.cast::<u8>());
                return Err(cudaErrorInvalidValue);
            }
        }
        Ok(())
    }

    /// An attribute of a pool.
    waits fn cudaMemPoolGetAttribute(call, pool: cudaMemPool_t, attr: cudaMemPoolAttr, value: *mut c_void) {
        let mut machine = call.machine()?;
        let pool = named(&mut machine, pool)?;
        if value.is_null() {
            return Err(cudaErrorInvalidValue);
        }
        if let Some(rule) = rule(attr) {
            write(value, pool.reuse.get(rule).copied().unwrap_or(0));
            return Ok(());
        }
        // The process that made a pool counts its memory.
        if pool.imported.is_some() {
            return Err(cudaErrorInvalidValue);
        }
        let (reserved, used) = (pool.reserved(), pool.used());
        let number = match attr {
            it if it == cudaMemPoolAttrReleaseThreshold => pool.threshold,
            it if it == cudaMemPoolAttrReservedMemCurrent => reserved.0,
            it if it == cudaMemPoolAttrReservedMemHigh => reserved.1,
            it if it == cudaMemPoolAttrUsedMemCurrent => used.0,
            it if it == cudaMemPoolAttrUsedMemHigh => used.1,
            _ => return Err(cudaErrorInvalidValue),
        };
        write(value, number);
        Ok(())
    }

    /// Lets devices reach a pool's memory, or no longer.
    waits fn cudaMemPoolSetAccess(call, pool: cudaMemPool_t, list: *const cudaMemAccessDesc, count: usize) {
        let mut machine = call.machine()?;
        let key = machine.allocations.pools.named(pool)?;
        if count > machine.devices.len() {
            return Err(cudaErrorInvalidDevice);
        }
        if list.is_null() && count > 0 {
            follows_null(call, "the list of accesses");
        }
        let list = (0..count).map(|at| read(list.wrapping_add(at))).collect::<Answer<Vec<_>>>()?;
        let mut wanted = Vec::new();
        for it in list {
            if it.location.type_ == cudaMemLocationTypeInvalid || is_host(it.location) {
                return Err(cudaErrorNotSupported);
            }
            if it.location.type_ != cudaMemLocationTypeDevice {
                return Err(cudaErrorInvalidValue);
            }
            let device = ordinal(&machine, it.location.id())?;
            let flags = it.flags;
            if flags == cudaMemAccessFlagsProtRead {
                return Err(cudaErrorNotSupported);
            }
            let known = flags == cudaMemAccessFlagsProtNone || flags == cudaMemAccessFlagsProtReadWrite;
            // A device is never kept from its own memory.
            let own = machine.allocations.pools.get(key)?.place == device_place(device);
            if !known {
                return Err(cudaErrorInvalidValue);
            }
            if own && flags != cudaMemAccessFlagsProtReadWrite {
                return Err(cudaErrorInvalidDevice);
            }
            wanted.push((device, flags));
        }
        let pool = machine.allocations.pools.get_mut(key)?;
        for (device, flags) in wanted {
            pool.set_access(device, flags);
        }
        Ok(())
    }

    /// The access of a device to a pool's memory.
    waits fn cudaMemPoolGetAccess(
        call, out: Out<'_, cudaMemAccessFlags>, pool: cudaMemPool_t, location: *mut cudaMemLocation,
    ) {
        let mut machine = call.machine()?;
        let location = read(location)?;
        let flags = if is_host(location) {
            let its_own = named(&mut machine, pool)?.place.is_host();
            if its_own { cudaMemAccessFlagsProtReadWrite } else { cudaMemAccessFlagsProtNone }
        } else if location.type_ == cudaMemLocationTypeDevice {
            let device = ordinal(&machine, location.id()).map_err(|_| cudaErrorInvalidValue)?;
            named(&mut machine, pool)?.access(device)
        } else {
            return Err(cudaErrorInvalidValue);
        };
        let Some(out) = out else { follows_null(call, "the place of the answer") };
        out.write(flags);
        Ok(())
    }
}
