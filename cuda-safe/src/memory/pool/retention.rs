//! The release threshold of the devices' default pools, which the crate raises once if it is 0.

use std::sync::atomic::{AtomicBool, Ordering};

use super::gone;
use crate::device::Device;
use crate::error::quietly;
use crate::stream;

/// Whether the default pool of a device is done or to be left alone, by ordinal. Devices beyond the list
/// are always left alone.
static DONE: [AtomicBool; 256] = [const { AtomicBool::new(false) }; 256];

/// The program's choice. The environment variable can override `true`.
static WANTED: AtomicBool = AtomicBool::new(true);

/// The environment variable that prevents the crate from raising thresholds, if it is `0`.
const VARIABLE: &str = "CUDA_SAFE_KEEP_POOL_MEMORY";

/// Sets whether a device's default pool retains freed memory, from the device's first
/// [`alloc_async`](crate::DeviceBuffer::alloc_async) on. The default is `true`.
///
/// Has no effect on devices that have had their first `alloc_async`: see
/// [`MemoryPool::set_release_threshold`](super::MemoryPool::set_release_threshold).
pub fn keep_pool_memory(keep: bool) {
    WANTED.store(keep, Ordering::Relaxed);
}

fn done(device: Device) -> Option<&'static AtomicBool> {
    DONE.get(device.ordinal())
}

/// Leaves the threshold to the program from now on.
pub(super) fn leave_alone(device: Device) {
    if let Some(done) = done(device) {
        done.store(true, Ordering::Relaxed);
    }
}

/// Starts again for a device that is reset.
pub(crate) fn abandon(device: Device) {
    if let Some(done) = done(device) {
        done.store(false, Ordering::Relaxed);
    }
    gone::abandon(device);
}

/// Raises the threshold if that is wanted and not yet done. Ignores failures, because the allocation itself
/// reports them.
#[inline]
pub(crate) fn before_first_use(device: Device) {
    if let Some(done) = done(device)
        && !done.load(Ordering::Relaxed)
    {
        raise(device, done);
    }
}

#[cold]
fn raise(device: Device, done: &AtomicBool) {
    // The allocation itself is refused next.
    if stream::in_callback() {
        return;
    }
    let wanted =
        WANTED.load(Ordering::Relaxed) && std::env::var_os(VARIABLE).is_none_or(|value| value != "0");
    if done.swap(true, Ordering::Relaxed) || !wanted {
        return;
    }
    let raised = device.default_memory_pool().and_then(|pool| {
        match pool.number(crate::sys::cudaMemPoolAttrReleaseThreshold)? {
            0 => pool.set_release_threshold(u64::MAX),
            _ => Ok(()),
        }
    });
    quietly(raised);
}
