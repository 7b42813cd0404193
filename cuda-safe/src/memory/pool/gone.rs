//! Pools without owners, until they can be destroyed.
//!
//! `cudaMemPoolDestroy` may be called while memory of the pool is in use or its free is pending. The pool
//! then ends by itself later, inside some other call. With driver 580 that is broken: beside
//! `cudaDeviceSynchronize` of another thread, both wait for ever for each other's locks (H100, after 5
//! pools), and allocations from other pools end in a segmentation fault (H200).
//!
//! Therefore a pool is destroyed only if nothing of it is left for later: none of its memory was in use
//! *before* the host waited for all work of the device, and all calls that freed it had returned
//! ([`calls`](super::calls)). So all frees were submitted and are complete. It does not suffice to ask after
//! the wait: another thread may submit the last free in between. A C++ program that asks after the wait
//! hangs or ends in a corrupted heap after some 10 pools; one that asks before it destroyed 13,000 beside all
//! other calls for pools.
//!
//! That is not the whole of it: a C++ program that destroys such pools, and frees memory on another stream
//! than it was taken on, hung after 12,000 pools, inside `cudaFreeAsync` and waits. One that kept its pools
//! did not. Therefore a pool is not destroyed but kept for a later one that is made alike, with the
//! attributes and the access of a new one. One that was exported is no exception: another process has none of
//! its memory open when all is freed ([`ImportedPool::open`](crate::memory::ImportedPool::open)). Only pools
//! that other code or another process made are destroyed, which safe code cannot have. See
//! [`soundness::drops`](crate::soundness::drops).
#![expect(unsafe_code, reason = "destroys pools by their handles")]

use std::cell::Cell;
use std::ffi::c_int;
use std::sync::Mutex;

use super::super::location::MemoryLocation;
use super::calls;
use super::reuse::RULES;
use crate::device::Device;
use crate::error::quietly;
use crate::lock::lock;
use crate::stream::relax;
use crate::{check, sys};

/// A pool of a device that only this list knows.
#[derive(Debug)]
pub(crate) struct Gone {
    raw: sys::cudaMemPool_t,
    device: Device,
    /// What the pool was made as, if another pool may be made of it.
    form: Option<Form>,
}

/// The properties that a pool was made with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Form {
    pub(super) device: Device,
    pub(super) max_bytes: usize,
    pub(super) shareable: bool,
}

// SAFETY: the handle of a pool is a name, which the runtime takes from any thread.
unsafe impl Send for Gone {}

static GONE: Mutex<Vec<Gone>> = Mutex::new(Vec::new());

/// Pools that other pools are made of.
static STORE: Mutex<Vec<Gone>> = Mutex::new(Vec::new());

static CURRENT: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether the thread holds [`CURRENT`].
    static CHANGES: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function that changes or asks for the current pool of a location, one at a time, so that [`bury`]
/// replaces no pool that another thread has chosen meanwhile. A failing call may call a function of the
/// program on this thread, which may come here again.
pub(super) fn change_current<T>(change: impl FnOnce() -> T) -> T {
    let turn = (!CHANGES.replace(true)).then(|| lock(&CURRENT));
    let changed = change();
    CHANGES.set(turn.is_none());
    changed
}

/// Takes a pool without owners, which `forget` takes from the list of pools with owners. If it is its
/// device's current pool, the default pool becomes current again. Its release threshold becomes 0, so that it
/// retains no unused memory. A pool of other memory than a device's is destroyed at once.
///
/// # Safety
/// The pool is live. Nobody else has the handle, and nobody else destroys the pool.
pub(super) unsafe fn bury(
    raw: sys::cudaMemPool_t,
    location: MemoryLocation,
    form: Option<Form>,
    forget: impl FnOnce(),
) {
    let _ = relax();
    let MemoryLocation::Device(device) = location else {
        // Before the runtime uses the address again.
        forget();
        // SAFETY: nobody else has the handle.
        quietly(unsafe { check!(cudaMemPoolDestroy(raw)) });
        return;
    };
    change_current(|| {
        give_up_current(raw, device.as_raw());
        forget();
    });
    let mut nothing = 0_u64;
    let threshold = sys::cudaMemPoolAttrReleaseThreshold;
    // SAFETY: the pool is live, and this attribute is a 64-bit number.
    quietly(unsafe { check!(cudaMemPoolSetAttribute(raw, threshold, (&raw mut nothing).cast())) });
    lock(&GONE).push(Gone { raw, device, form });
}

/// Makes the default pool of a device current if `raw` is.
fn give_up_current(raw: sys::cudaMemPool_t, number: c_int) {
    let mut current = std::ptr::null_mut();
    // SAFETY: the pointer is to a live local variable, which the call fills.
    let asked = quietly(unsafe { check!(cudaDeviceGetMemPool(&raw mut current, number)) });
    if asked.is_some() && current == raw {
        // SAFETY: the pointer is to a live local variable, which the call fills.
        let asked = quietly(unsafe { check!(cudaDeviceGetDefaultMemPool(&raw mut current, number)) });
        if asked.is_some() {
            // SAFETY: the device's default pool lives as long as the device.
            quietly(unsafe { check!(cudaDeviceSetMemPool(number, current)) });
        }
    }
}

/// Returns the pools of a device none of whose memory is in use. Call it before waiting for the device, and
/// pass the result to [`destroy`] afterwards. The thread may call CUDA.
pub(crate) fn of(device: Device) -> Vec<Gone> {
    // Without the lock: a failing call may call a function of the program on this thread.
    let pools: Vec<Gone> = lock(&GONE).extract_if(.., |gone| gone.device == device).collect();
    // First, allocations that began while one of the pools was current end. Nobody makes others, so a pool
    // that is unused now remains so. Then its last free ends.
    let settled = pools.is_empty() || calls::have_returned();
    let (unused, used): (Vec<Gone>, Vec<Gone>) =
        pools.into_iter().partition(|gone| settled && gone.is_unused());
    lock(&GONE).extend(used);
    if unused.is_empty() || calls::have_returned() {
        return unused;
    }
    lock(&GONE).extend(unused);
    Vec::new()
}

impl Gone {
    /// Returns whether none of the pool's memory is in use. Frees may be pending.
    fn is_unused(&self) -> bool {
        let mut used = u64::MAX;
        let current = sys::cudaMemPoolAttrUsedMemCurrent;
        if relax().is_err() {
            return false;
        }
        // SAFETY: the pool is live, and the attribute is a 64-bit number.
        let asked = unsafe { sys::cudaMemPoolGetAttribute(self.raw, current, (&raw mut used).cast()) };
        asked == sys::cudaSuccess && used == 0
    }
}

/// Destroys the pools that [`of`] returned if the host has waited for the whole device since, and retains
/// them otherwise. Waits for all streams do not suffice: they are for the operations that the tracker has
/// noted, and a free is noted after its call.
pub(crate) fn destroy(pools: Vec<Gone>, waited: bool) {
    if !waited || relax().is_err() {
        lock(&GONE).extend(pools);
        return;
    }
    for gone in pools {
        match gone.form {
            // If it cannot be like a new one, nobody has it again.
            Some(_) if !gone.renew() => {}
            Some(_) => lock(&STORE).push(gone),
            // SAFETY: nobody else has the handle, no memory of the pool is in use, and no free is pending.
            None => drop(quietly(unsafe { check!(cudaMemPoolDestroy(gone.raw)) })),
        }
    }
}

impl Gone {
    /// Gives the pool the attributes of a new one, and takes the access of other devices. Its threshold is 0
    /// since it has no owners. Returns whether that succeeded.
    fn renew(&self) -> bool {
        // SAFETY: nobody else has the pool.
        let trimmed = quietly(unsafe { check!(cudaMemPoolTrimTo(self.raw, 0)) }).is_some();
        let rules = RULES.into_iter().all(|(_, rule)| {
            let mut on: c_int = 1;
            // SAFETY: nobody else has the pool. The attribute is an `int`.
            quietly(unsafe { check!(cudaMemPoolSetAttribute(self.raw, rule, (&raw mut on).cast())) })
                .is_some()
        });
        let marks = [sys::cudaMemPoolAttrReservedMemHigh, sys::cudaMemPoolAttrUsedMemHigh];
        let marks = marks.into_iter().all(|mark| {
            let mut nothing = 0_u64;
            let value = (&raw mut nothing).cast();
            // SAFETY: nobody else has the pool. The attribute is a 64-bit number.
            quietly(unsafe { check!(cudaMemPoolSetAttribute(self.raw, mark, value)) }).is_some()
        });
        trimmed && rules && marks && self.close()
    }

    /// Disables the access of other devices. Returns whether that succeeded.
    fn close(&self) -> bool {
        let Some(devices) = quietly(Device::all()) else { return false };
        devices.filter(|device| *device != self.device).all(|device| {
            let mut location = MemoryLocation::Device(device).to_raw();
            let mut flags = sys::cudaMemAccessFlagsProtReadWrite;
            // SAFETY: nobody else has the pool. Both pointers are to live local variables.
            let asked = unsafe { check!(cudaMemPoolGetAccess(&raw mut flags, self.raw, &raw mut location)) };
            let none = sys::cudaMemAccessFlagsProtNone;
            if quietly(asked).is_some() && flags == none {
                return true;
            }
            let wanted = sys::cudaMemAccessDesc { location, flags: none };
            // SAFETY: nobody else has the pool, and none of its memory is in use, by work of no device. The
            // pointer is to one live local entry.
            quietly(unsafe { check!(cudaMemPoolSetAccess(self.raw, &raw const wanted, 1)) }).is_some()
        })
    }
}

/// Returns a pool without owners that is like a new one, if there is one of this form.
pub(super) fn again(form: Form) -> Option<sys::cudaMemPool_t> {
    let mut store = lock(&STORE);
    let at = store.iter().position(|gone| gone.form == Some(form))?;
    Some(store.swap_remove(at).raw)
}

/// Forgets the pools of a device that is reset, which destroys them.
pub(super) fn abandon(device: Device) {
    lock(&STORE).retain(|gone| gone.device != device);
    lock(&GONE).retain(|gone| gone.device != device);
}

#[cfg(test)]
mod tests {
    use super::{GONE, STORE, lock};
    use crate::memory::{MemoryPool, PoolAccess, PoolReuse};
    use crate::stream::{CAPTURE_OR_WAIT, Stream};
    use crate::{Device, DeviceBuffer};

    #[test]
    fn a_pool_is_made_again_with_the_attributes_of_a_new_one() {
        let _turn = lock(&CAPTURE_OR_WAIT);
        let device = Device::current().unwrap();
        let made = || MemoryPool::builder().max_bytes(3 << 20).build().unwrap();
        let first = made();
        let fresh = first.attributes().unwrap();
        first.set_reuse(PoolReuse::empty()).unwrap();
        first.set_release_threshold(1 << 20).unwrap();
        let stream = Stream::non_blocking().unwrap();
        drop(DeviceBuffer::<u8>::alloc_from(&first, 100, &stream).unwrap());
        let raw = first.as_raw();
        drop(first);
        assert_ne!(made().as_raw(), raw, "nobody has waited for the device since");
        device.synchronize().unwrap();
        let again: Vec<_> = (0..3).map(|_| made()).collect();
        let again = again.iter().find(|pool| pool.as_raw() == raw).unwrap();
        assert_eq!(again.attributes().unwrap(), fresh, "and no memory was ever in use");
        assert!(lock(&STORE).iter().all(|gone| gone.raw != raw));
    }

    /// Other processes and devices are let in by safe code, and the driver hangs when pools are destroyed.
    #[test]
    fn a_pool_that_was_open_to_others_is_kept_and_closed() {
        let _turn = lock(&CAPTURE_OR_WAIT);
        let device = Device::current().unwrap();
        let made = || MemoryPool::builder().max_bytes(5 << 20).shareable().build();
        // Not all machines share pools.
        let pool = made().or_else(|_| MemoryPool::builder().max_bytes(5 << 20).build()).unwrap();
        let raw = pool.as_raw();
        drop(pool.export());
        let others = || Device::all().unwrap().filter(|other| *other != device);
        let let_in: Vec<_> = others().filter(|other| pool.enable_access(*other).is_ok()).collect();
        assert!(let_in.iter().all(|other| pool.access(*other).unwrap() == PoolAccess::READ_WRITE));
        drop(pool);
        device.synchronize().unwrap();
        let kept = lock(&STORE).extract_if(.., |gone| gone.raw == raw).next();
        let kept = kept.expect("the pool is not destroyed");
        let again = MemoryPool::made(raw, device, kept.form);
        assert!(others().all(|other| again.access(other).unwrap() == PoolAccess::NONE));
    }

    #[test]
    fn a_pool_that_is_dropped_in_a_host_function_is_kept() {
        let _turn = lock(&CAPTURE_OR_WAIT);
        let (device, stream) = (Device::current().unwrap(), Stream::new().unwrap());
        let pool = MemoryPool::builder().max_bytes(7 << 20).build().unwrap();
        let raw = pool.as_raw();
        stream.launch_host_fn(move || drop(pool)).unwrap();
        stream.synchronize().unwrap();
        device.synchronize().unwrap();
        assert!(lock(&STORE).iter().any(|gone| gone.raw == raw));
    }

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
