//! Pools without owners, until they can be destroyed.
//!
//! `cudaMemPoolDestroy` may be called while memory of the pool is in use or its free is pending. The pool
//! then ends by itself later. With driver 580 on an H200, an allocation from another pool at about that
//! time was seen to end in a segmentation fault inside the driver. Therefore a pool is destroyed only after
//! the host has waited for all work of the pool's device, and when none of the pool's memory is in use.
#![expect(unsafe_code, reason = "destroys pools by their handles")]

use std::sync::Mutex;

use super::super::location::MemoryLocation;
use super::super::relaxed::relax;
use crate::device::Device;
use crate::error::quietly;
use crate::lock::lock;
use crate::{check, sys};

/// A pool of a device that only this list knows.
#[derive(Debug)]
pub(crate) struct Gone {
    raw: sys::cudaMemPool_t,
    device: Device,
}

// SAFETY: the handle of a pool is a name, which the runtime takes from any thread.
unsafe impl Send for Gone {}

static GONE: Mutex<Vec<Gone>> = Mutex::new(Vec::new());

/// Takes a pool without owners. If it is its device's current pool, the default pool becomes current again.
/// Its release threshold becomes 0, so that it retains no unused memory. A pool of other memory than a
/// device's is destroyed at once.
///
/// # Safety
/// The pool is live. Nobody else has the handle, and nobody else destroys the pool.
pub(super) unsafe fn bury(raw: sys::cudaMemPool_t, location: MemoryLocation) {
    let _ = relax();
    let MemoryLocation::Device(device) = location else {
        // SAFETY: nobody else has the handle.
        quietly(unsafe { check!(cudaMemPoolDestroy(raw)) });
        return;
    };
    let (mut current, number) = (std::ptr::null_mut(), device.as_raw());
    // SAFETY: the pointer is to a live local variable, which the call fills.
    let asked = quietly(unsafe { check!(cudaDeviceGetMemPool(&raw mut current, number)) });
    if asked.is_some() && current == raw {
        // SAFETY: as above.
        let asked = quietly(unsafe { check!(cudaDeviceGetDefaultMemPool(&raw mut current, number)) });
        if asked.is_some() {
            // SAFETY: the device's default pool lives as long as the device.
            quietly(unsafe { check!(cudaDeviceSetMemPool(number, current)) });
        }
    }
    let mut nothing = 0_u64;
    let threshold = sys::cudaMemPoolAttrReleaseThreshold;
    // SAFETY: the pool is live, and this attribute is a 64-bit number.
    quietly(unsafe { check!(cudaMemPoolSetAttribute(raw, threshold, (&raw mut nothing).cast())) });
    lock(&GONE).push(Gone { raw, device });
}

/// Returns the pools of a device that are to be destroyed. Call it before waiting for the device, and pass
/// the result to [`destroy`] afterwards.
pub(crate) fn of(device: Device) -> Vec<Gone> {
    lock(&GONE).extract_if(.., |gone| gone.device == device).collect()
}

/// Destroys the pools whose memory is not in use, and retains the others for the next time. `waited` is
/// whether the host has waited for the device since [`of`] returned them.
pub(crate) fn destroy(pools: Vec<Gone>, waited: bool) {
    for gone in pools {
        let mut used = u64::MAX;
        let current = sys::cudaMemPoolAttrUsedMemCurrent;
        if waited && relax().is_ok() {
            // SAFETY: the pool is live, and the attribute is a 64-bit number.
            let asked = unsafe { sys::cudaMemPoolGetAttribute(gone.raw, current, (&raw mut used).cast()) };
            if asked == sys::cudaSuccess && used == 0 {
                // SAFETY: nobody else has the handle, and none of the pool's memory is in use.
                let _ = unsafe { sys::cudaMemPoolDestroy(gone.raw) };
                continue;
            }
        }
        lock(&GONE).push(gone);
    }
}

/// Forgets the pools of a device that is reset, which destroys them.
pub(super) fn abandon(device: Device) {
    lock(&GONE).retain(|gone| gone.device != device);
}

#[cfg(test)]
mod tests {
    use super::{GONE, lock};
    use crate::memory::MemoryPool;
    use crate::stream::{CAPTURE_OR_WAIT, Stream};
    use crate::{Device, DeviceBuffer};

    #[test]
    fn a_pool_without_owners_goes_when_its_device_has_been_waited_for_and_its_memory_is_gone() {
        let _turn = lock(&CAPTURE_OR_WAIT);
        let device = Device::current().unwrap();
        let stream = Stream::non_blocking().unwrap();
        let pool = MemoryPool::new().unwrap();
        let raw = pool.as_raw();
        let buffer = DeviceBuffer::<u8>::alloc_from(&pool, 100, &stream).unwrap();
        let waits = || lock(&GONE).iter().any(|gone| gone.raw == raw);
        assert!(!waits());
        drop(pool);
        assert!(waits());
        device.synchronize().unwrap();
        assert!(waits(), "a buffer is from it");
        drop(buffer);
        assert!(waits(), "nobody has waited for the device since");
        device.synchronize().unwrap();
        assert!(!waits());
    }
}
