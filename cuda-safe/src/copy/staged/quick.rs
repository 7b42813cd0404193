//! Small copies from a device to pageable memory, by way of one pinned slot.
//!
//! `cudaMemcpy` goes to pageable memory by a buffer of its own and in small steps; to pinned memory it goes at once. So the device copies into
//! a slot of pinned memory here, by `cudaMemcpy` too, and the processor copies on from there. It is the same call with another
//! destination: the order, what it waits for and its errors are the same. The other way nothing is gained, for there `cudaMemcpy` returns
//! before the device has copied.
//!
//! Room that was allocated just now is in the caches as a rule, for somebody else had it before: to that, copies of up to 1 MiB are 12 to 30 %
//! faster so, measured on an H200's host with 1, 2 and 16 processors (driver 580). Memory that the program has may be there or not. If
//! not, the processor has to fetch what it then overwrites, and copies of 128 KiB and more would be 20 to 30 % slower; up to 4 KiB it is
//! 5 to 12 % faster wherever the memory is.
//!
//! There is one slot for the process, and who finds it taken goes without. It is made once a program has copied enough to make up for
//! pinning it, counts as pinned memory of the engine, and goes back as all of that does. No lock is held.
#![expect(unsafe_code, reason = "copies by way of memory that it owns")]

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering};

use super::ring::{self, Slab};
use super::{NEVER, Settings, WORTH, crew, settings};
use crate::device::Device;
use crate::error::Error;
use crate::{memory, stream, sys};

/// Bytes of the slot.
const BYTES: usize = NEVER;

/// What pageable memory is copied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Memory that the program has.
    Had,
    /// Memory that was allocated just now.
    New,
}

impl Room {
    /// The largest copy that is made by way of the slot.
    fn most(self) -> usize {
        match self {
            Self::Had => 4096,
            Self::New => BYTES,
        }
    }
}

/// A copy saves as much as so many bytes more would, however small it is.
const EACH: usize = 16 << 10;

/// The slot, a `Box<Slab>`, while nobody uses it.
static SLOT: AtomicPtr<Slab> = AtomicPtr::new(ptr::null_mut());

/// Whether the slot is used at all.
static ON: AtomicBool = AtomicBool::new(false);

/// Whether there is nothing to do for the slot to be there: it is, or could not be had.
static MADE: AtomicBool = AtomicBool::new(false);

/// What copies have come to since there was a slot last.
static TRAFFIC: AtomicUsize = AtomicUsize::new(0);

/// Whether the slot was used since somebody looked.
static USED: AtomicBool = AtomicBool::new(false);

/// Takes the settings over: a size from which on copies are staged is meant for all that are.
pub(super) fn remember(settings: &Settings) {
    ON.store(settings.enabled && settings.threshold.is_none() && settings.pinned >= BYTES, Ordering::Relaxed);
}

/// Notes a copy that is about to be made by [`down`], and makes the slot for it if it has come to enough by now. To be called where
/// the copy is not yet on the books: pinning memory may wait.
#[inline]
pub(crate) fn note(device: Device, bytes: usize, room: Room) {
    if bytes <= room.most() && ON.load(Ordering::Relaxed) && !MADE.load(Ordering::Relaxed) {
        make(device, bytes);
    }
}

#[cold]
#[inline(never)]
fn make(device: Device, bytes: usize) {
    let one = bytes.saturating_add(EACH);
    let traffic = TRAFFIC.fetch_add(one, Ordering::Relaxed).saturating_add(one) as u64;
    if traffic / WORTH < BYTES as u64 {
        return;
    }
    // Where the runtime takes no calls, the copy is going to be refused.
    if stream::in_callback() || !crew::in_own_process() || MADE.swap(true, Ordering::Relaxed) {
        return;
    }
    let Ok(_current) = device.switch() else { return };
    if let Ok(Some(slab)) = Slab::small(device, BYTES, settings().pinned) {
        memory::on_free(ring::release_idle);
        Slot(Box::new(slab)).give_back();
    }
}

/// The slot, for who has taken it.
struct Slot(Box<Slab>);

impl Slot {
    #[inline]
    fn take() -> Option<Self> {
        let slab = SLOT.swap(ptr::null_mut(), Ordering::Acquire);
        // SAFETY: what is stored there comes from a box, in `give_back`, and whoever swaps it out is the only one to have it.
        (!slab.is_null()).then(|| Self(unsafe { Box::from_raw(slab) }))
    }

    #[inline]
    fn give_back(self) {
        // There is but one, so nothing is overwritten.
        SLOT.store(Box::into_raw(self.0), Ordering::Release);
    }

    /// There is no slot any more; there can be another one when it has been earned anew.
    fn end(self) -> Slab {
        TRAFFIC.store(0, Ordering::Relaxed);
        MADE.store(false, Ordering::Relaxed);
        *self.0
    }
}

/// Copies from a device to pageable memory as `cudaMemcpy` does, and answers as it.
///
/// # Safety
/// So many bytes of a device's memory may be read, and of the host's written, until this returns.
pub(crate) unsafe fn down(to: *mut u8, from: *const u8, bytes: usize, room: Room) -> sys::cudaError_t {
    let kind = sys::cudaMemcpyDeviceToHost;
    let slot = if bytes <= room.most() && ON.load(Ordering::Relaxed) { Slot::take() } else { None };
    let Some(slot) = slot else {
        // SAFETY: as the caller says.
        return unsafe { sys::cudaMemcpy(to.cast(), from.cast(), bytes, kind) };
    };
    let pinned = slot.0.pointer();
    // SAFETY: as the caller says, and the slot has room for so many; nobody else uses it.
    let code = unsafe { sys::cudaMemcpy(pinned.cast(), from.cast(), bytes, kind) };
    if code != sys::cudaSuccess {
        return failed(slot, code);
    }
    // SAFETY: as the caller says; the call has returned, so the slot holds the bytes, and it is nobody else's memory.
    unsafe { ptr::copy_nonoverlapping(pinned, to, bytes) };
    USED.store(true, Ordering::Relaxed);
    slot.give_back();
    code
}

/// What becomes of the slot after a failure: of a context that is lost nobody knows what it still writes to, and the slot is leaked.
#[cold]
#[inline(never)]
fn failed(slot: Slot, code: sys::cudaError_t) -> sys::cudaError_t {
    // A slab that is dropped is not freed.
    if !Error::from_code("cudaMemcpy", code).is_sticky() {
        slot.give_back();
    }
    code
}

/// Takes the slot away, if nobody is using it: for who gives pinned memory back.
pub(super) fn withdraw() -> Option<Slab> {
    Slot::take().map(Slot::end)
}

/// Whether the slot was used since this was asked last.
pub(super) fn was_used() -> bool {
    USED.swap(false, Ordering::Relaxed)
}

/// Forgets the slot where a device that is reset has taken it along, and answers so.
pub(super) fn abandon(device: Device) -> Option<Slab> {
    let slot = Slot::take()?;
    if slot.0.device() != device {
        slot.give_back();
        return None;
    }
    Some(slot.end())
}
