//! Functions that a stream runs on the host.
//!
//! The runtime gets a number, not a pointer: the functions themselves wait with us, in spots that their stream has for them,
//! or, where these are taken, in a register. So one that
//! never runs, because the context was lost before its turn, can be dropped as soon as that is known, and if
//! the runtime came to it all the same, it would find nothing. A panic stays in Rust: it is caught, and the
//! stream's next synchronisation reports it.
#![expect(unsafe_code, reason = "gives the runtime a function to call")]

use std::collections::HashMap;
use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use cuda_hazard::Operation;

use super::busy;
use super::parcel::{self, Parcel, Ticket};
use super::view::StreamRef;
use crate::error::{Detail, Error, Result};
use crate::sys;
use cuda_hazard::{Place, Slot, SlotId};

/// A function that waits for its turn.
struct Waiting {
    parcel: Parcel,
    slot: SlotId,
    device: i32,
}

/// A function that panicked.
struct Panicked {
    /// The stream that ran it; none for one that a graph ran.
    slot: Option<SlotId>,
    device: i32,
    place: Place,
}

/// The functions for which there was no room elsewhere and whose turn has not come, by number.
struct Register {
    next: u64,
    waiting: Option<HashMap<u64, Waiting>>,
    panicked: Vec<Panicked>,
}

static REGISTER: Mutex<Register> = Mutex::new(Register { next: 1, waiting: None, panicked: Vec::new() });

/// Whether any panic is waiting to be reported, so that a synchronisation need not lock.
static PANICKED: AtomicBool = AtomicBool::new(false);

fn register() -> MutexGuard<'static, Register> {
    REGISTER.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StreamRef<'_> {
    /// Runs a function on the host once the stream has done all that it was given before. Does not block.
    ///
    /// The function runs on a thread of the runtime, and what the stream is given later waits for it. It may
    /// not call CUDA, nor wait for what does: this crate refuses with `InCallback`. What it drops is freed
    /// later. If it panics, the stream's next synchronisation says so. If the context is lost before its
    /// turn, it never runs and is dropped by whoever finds that out.
    ///
    /// Stands for [`cudaLaunchHostFunc`](sys::cudaLaunchHostFunc).
    ///
    /// # Errors
    /// What the runtime fails with; the function is dropped and never runs. A refusal inside another host
    /// function.
    ///
    /// # Examples
    /// ```compile_fail
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut count = 0;
    /// let stream = cuda_safe::stream::Stream::new()?;
    /// stream.launch_host_fn(|| count += 1)?; // would outlive the borrow
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaLaunchHostFunc")]
    #[doc(alias = "cudaStreamAddCallback")]
    #[track_caller]
    pub fn launch_host_fn(&self, f: impl FnOnce() + Send + 'static) -> Result<()> {
        let (api, place) = ("StreamRef::launch_host_fn", Location::caller());
        busy::ensure_idle(api)?;
        self.ensure_not_captured(api)?;
        let slot = self.slot();
        // SAFETY: the call puts nothing on the stream that reaches memory which streams use.
        let submission = unsafe { self.begin(Operation::new(&[]), place) }?;
        // SAFETY: the lane is locked until the operation is over.
        let number = match unsafe { parcel::put(slot, f, place) } {
            Ok(ticket) => ticket.number(),
            Err(f) => wait_elsewhere(slot, Parcel::of(f, place)),
        };
        // SAFETY: the stream lives while the view does.
        let code = unsafe { launch(self.as_raw(), number) };
        if code != sys::cudaSuccess {
            let back = take_back(number);
            submission.commit(false);
            // Once the stream is unlocked: what it owns may do anything.
            drop(back);
            return Err(Error::from_code("cudaLaunchHostFunc", code).at(place));
        }
        submission.commit(true);
        Ok(())
    }
}

/// Has the runtime call the function of this number.
///
/// # Safety
/// The stream is live.
#[inline]
unsafe fn launch(stream: sys::cudaStream_t, number: u64) -> sys::cudaError_t {
    let data = std::ptr::without_provenance_mut::<c_void>(usize::try_from(number).unwrap_or_default());
    // SAFETY: the caller vouches for the stream; the function may be called at any time, from any thread, with a number that
    // stands for a function or no longer does.
    unsafe { sys::cudaLaunchHostFunc(stream, Some(call), data) }
}

/// Takes a function back that the runtime refused. None where somebody else who found the context lost was faster: that one may still
/// be moving it out of its spot, which therefore stays taken.
#[cold]
fn take_back(number: u64) -> Option<Waiting> {
    let back = take(number)?;
    if number & REGISTERED == 0 {
        Ticket::of_number(number).free();
    }
    Some(back)
}

/// Marks the numbers of functions that wait in the register.
const REGISTERED: u64 = 1 << 63;

/// Has a function wait in the register; gives its number.
#[cold]
fn wait_elsewhere(slot: &Slot, parcel: Parcel) -> u64 {
    let mut register = register();
    let number = register.next | REGISTERED;
    register.next += 1;
    let waiting = Waiting { parcel, slot: slot.id, device: slot.device() };
    register.waiting.get_or_insert_default().insert(number, waiting);
    number
}

/// Takes a function out of where it waits.
fn take(number: u64) -> Option<Waiting> {
    if number & REGISTERED != 0 {
        return register().waiting.as_mut()?.remove(&number);
    }
    let parcel::Out { parcel, slot, device } = Ticket::of_number(number).take()?;
    Some(Waiting { parcel, slot, device })
}

/// What the runtime calls. Nothing unwinds out of here.
unsafe extern "C" fn call(data: *mut c_void) {
    let Ok(number) = u64::try_from(data.addr()) else { return };
    if number & REGISTERED != 0 {
        return call_registered(number);
    }
    let Some(claim) = Ticket::of_number(number).claim() else { return };
    let (slot, device, place) = (claim.slot(), claim.device(), claim.place());
    guarded(|| claim.run(), Some(slot), device, place);
}

/// Calls a function that waits in the register.
#[cold]
#[inline(never)]
fn call_registered(number: u64) {
    let Some(Waiting { parcel, slot, device }) = take(number) else { return };
    let place = parcel.place();
    guarded(|| parcel.run(), Some(slot), device, place);
}

/// Runs a function of the program's on a thread of the runtime's: nothing in it calls CUDA, and nothing unwinds out of it.
pub(crate) fn guarded(f: impl FnOnce(), slot: Option<SlotId>, device: i32, place: Place) {
    let _entered = busy::enter_callback();
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // What was thrown may itself panic when dropped.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            let _ = std::mem::ManuallyDrop::new(second);
        }
        register().panicked.push(Panicked { slot, device, place });
        PANICKED.store(true, Ordering::Release);
    }
}

/// Reports a panic in a host function of the stream, once.
///
/// # Errors
/// `CallbackPanicked`.
#[inline]
#[track_caller]
pub(super) fn panicked(slot: &Slot) -> Result<()> {
    if PANICKED.load(Ordering::Acquire) { report_of(slot) } else { Ok(()) }
}

#[cold]
#[track_caller]
fn report_of(slot: &Slot) -> Result<()> {
    let device = slot.device();
    report(|panicked| panicked.slot.map_or(panicked.device == device, |found| found == slot.id))
}

/// Reports a panic in a host function of any stream of the device, once.
///
/// # Errors
/// `CallbackPanicked`.
#[track_caller]
pub(super) fn panicked_on(device: i32) -> Result<()> {
    report(|panicked| panicked.device == device)
}

#[track_caller]
fn report(mut about: impl FnMut(&Panicked) -> bool) -> Result<()> {
    if !PANICKED.load(Ordering::Acquire) {
        return Ok(());
    }
    let mut register = register();
    let Some(at) = register.panicked.iter().position(&mut about) else { return Ok(()) };
    let launched = register.panicked.remove(at).place;
    // The same synchronisation is over for these: one report stands for all.
    register.panicked.retain(|panicked| !about(panicked));
    PANICKED.store(!register.panicked.is_empty(), Ordering::Release);
    drop(register);
    Err(Error::refused("host function", Detail::CallbackPanicked { launched }))
}

/// The device's context is lost: drops the functions that wait for a turn that will not come.
pub(super) fn abandon(device: i32) {
    let mut dropped = Vec::new();
    let parcels = parcel::abandon(device);
    if let Some(waiting) = register().waiting.as_mut() {
        let numbers: Vec<u64> = waiting
            .iter()
            .filter(|(_, waiting)| waiting.device == device)
            .map(|(number, _)| *number)
            .collect();
        dropped.extend(numbers.into_iter().filter_map(|number| waiting.remove(&number)));
    }
    // Outside the lock: what they own may do anything when it is dropped.
    drop((dropped, parcels));
}

#[cfg(test)]
mod tests {
    use std::panic::Location;

    use super::{parcel, take_back};
    use crate::hazard::Policy;
    use cuda_hazard::{Books, Kind, Reach};

    #[test]
    fn a_spot_serves_again_after_a_refusal_but_not_where_somebody_else_has_its_function() {
        // A device and a slot that no other test has.
        const DEVICE: i32 = 7777;
        let books: &'static Books = Box::leak(Box::new(Books::new(Policy::default)));
        // SAFETY: there is no such device, and nothing is given to its streams.
        let enrol = || unsafe { books.enrol(DEVICE, Kind::NonBlocking, Reach::Device) };
        let slot = (0..4000).map(|_| enrol().unwrap()).next_back();
        // SAFETY: nobody else has the slot, and so its lane.
        let put = || unsafe { parcel::put(slot.unwrap(), || (), Location::caller()) };
        let times = |count: usize| (0..count).filter(|_| put().is_ok()).count();
        for _ in 0..300 {
            let number = put().map_err(drop).expect("the spots serve again").number();
            assert!(take_back(number).is_some() && take_back(number).is_none());
        }
        let number = put().map_err(drop).unwrap().number();
        // Another thread finds that the context is lost while the launch fails for that reason.
        assert_eq!(parcel::abandon(DEVICE).len(), 1);
        assert!(take_back(number).is_none());
        assert_eq!(times(256), 255, "the other thread may still be reading what is in the spot");
    }
}
