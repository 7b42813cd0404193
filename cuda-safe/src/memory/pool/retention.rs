//! What the crate does about the release threshold of the devices' default pools: raises it where it is 0, once.
#![expect(unsafe_code, reason = "asks and sets an attribute of default pools")]

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering};

use super::super::relaxed::relax;
use super::gone;
use crate::device::Device;
use crate::{stream, sys};

/// Which devices' default pools are to be left as they are, by ordinal: nothing is done twice. Devices beyond are left
/// alone from the start.
static DONE: [AtomicBool; 256] = [const { AtomicBool::new(false) }; 256];

/// What the program wants, and if it says nothing, the environment.
static WANTED: AtomicBool = AtomicBool::new(true);

/// The environment variable that keeps the crate from raising thresholds, if it is `0`.
const VARIABLE: &str = "CUDA_SAFE_KEEP_POOL_MEMORY";

/// Whether a device's default pool is to keep the memory that is freed, from the device's first
/// [`alloc_async`](crate::DeviceBuffer::alloc_async) on. It is, if nothing is said.
///
/// Has no effect on devices that have had that already: see [`MemoryPool::set_release_threshold`](super::MemoryPool::set_release_threshold).
pub fn keep_pool_memory(keep: bool) {
    WANTED.store(keep, Ordering::Relaxed);
}

fn done(device: Device) -> Option<&'static AtomicBool> {
    DONE.get(usize::try_from(device.ordinal()).ok()?)
}

/// Says that the threshold is the program's own affair from now on.
pub(super) fn leave_alone(device: Device) {
    if let Some(done) = done(device) {
        done.store(true, Ordering::Relaxed);
    }
}

/// Has everything begin anew: the device is reset.
pub(in super::super) fn abandon(device: Device) {
    if let Some(done) = done(device) {
        done.store(false, Ordering::Relaxed);
    }
    gone::abandon(device);
}

/// Raises the threshold where that is wanted and was not done. Whatever fails, the allocation says so itself.
#[inline]
pub(in super::super) fn before_first_use(device: Device) {
    if let Some(done) = done(device)
        && !done.load(Ordering::Relaxed)
    {
        raise(device, done);
    }
}

#[cold]
fn raise(device: Device, done: &AtomicBool) {
    // What the allocation itself is about to refuse.
    if stream::in_callback() {
        return;
    }
    let wanted =
        WANTED.load(Ordering::Relaxed) && std::env::var_os(VARIABLE).is_none_or(|value| value != "0");
    if done.swap(true, Ordering::Relaxed) || !wanted {
        return;
    }
    if relax().is_err() {
        return;
    }
    let mut pool = std::ptr::null_mut();
    // SAFETY: the pointer is to a live variable of ours, which the call fills; the runtime checks the ordinal.
    let mut code = unsafe { sys::cudaDeviceGetDefaultMemPool(&raw mut pool, device.ordinal()) };
    let mut threshold = 0_u64;
    let value = (&raw mut threshold).cast::<c_void>();
    let attribute = sys::cudaMemPoolAttrReleaseThreshold;
    if code == sys::cudaSuccess {
        // SAFETY: a default pool is never destroyed; the attribute has 64 bits, which is what the pointer is to.
        code = unsafe { sys::cudaMemPoolGetAttribute(pool, attribute, value) };
    }
    if code == sys::cudaSuccess && threshold == 0 {
        threshold = u64::MAX;
        let value = (&raw mut threshold).cast::<c_void>();
        // SAFETY: as above.
        code = unsafe { sys::cudaMemPoolSetAttribute(pool, attribute, value) };
    }
    if code != sys::cudaSuccess {
        // SAFETY: takes nothing; it only clears the thread's slot, where one of these calls left its code.
        let _ = unsafe { sys::cudaGetLastError() };
    }
}
