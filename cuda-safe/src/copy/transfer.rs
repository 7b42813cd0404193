//! The copy core: checks two operands, selects the runtime call, and enters the copy in the tracker.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use std::panic::Location;

use cuda_hazard::Operation;

use super::checked::{CheckedCopy, CopyDirection};
use super::operand::Operand;
use super::staged::{self, Traffic};
use crate::check;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::hazard::{self, Access, AccessHistory, Mode, Policy, lend};
use crate::stream::{
    AsStream, Event, EventFlags, LegacyStream, StreamRef, StreamSubmission, ensure_idle, wait_host,
};
use crate::sys;

/// Submits the copy of `source` to `destination`. All asynchronous verbs call this.
///
/// It is inlined so that checks whose result follows from the operand types cost nothing.
#[expect(clippy::inline_always, reason = "measured: a third less for the smallest copy")]
#[inline(always)]
#[track_caller]
pub(super) fn enqueue(
    api: &'static str,
    stream: StreamRef<'_>,
    destination: Operand<'_>,
    source: Operand<'_>,
) -> Result<()> {
    let Some(copy) = CheckedCopy::new(api, destination, source)? else { return Ok(()) };
    let call_site = Location::caller();
    // SAFETY: the copy accesses no other tracked memory. Its owners wait for the copy before they free it.
    // Untracked memory is borrowed by a scope that outlives the copy: a copy that a graph would repeat after
    // that is refused.
    let begun = unsafe { begin(stream, copy.to.written(), copy.from.read(), call_site) };
    let submission = begun.map_err(|error| copy.about(error))?;
    // SAFETY: both sides are memory of the copy's shape that outlives it, and the stream is live.
    let code = unsafe { copy.call(Some(stream.as_raw())) };
    submission.commit(code == sys::cudaSuccess);
    copy.returned(code, true, call_site)
}

/// Begins a copy. The accesses are passed by value, without a heap allocation. A side without an access is
/// untracked memory.
///
/// # Safety
/// The duties of [`StreamRef::enqueue`], with these accesses. Untracked memory is borrowed until the copy is
/// complete.
#[expect(clippy::inline_always, reason = "measured: the types of the sides then decide how many there are")]
#[inline(always)]
pub(super) unsafe fn begin(
    stream: StreamRef<'_>,
    write: Option<Access<'_>>,
    read: Option<Access<'_>>,
    call_site: &'static Location<'static>,
) -> Result<StreamSubmission> {
    // SAFETY: the caller has the same duties.
    let begin = |operation: Operation<'_, '_>| unsafe { stream.begin(operation, call_site) };
    match (write, read) {
        (Some(write), Some(read)) => begin(Operation::new(&[write, read])),
        (Some(one), None) | (None, Some(one)) => begin(Operation::new(&[one]).with_untracked(true)),
        (None, None) => begin(Operation::new(&[]).with_untracked(true)),
    }
}

/// Copies `source` to `destination`, and returns when the host's side is complete. All blocking verbs
/// call this.
#[expect(clippy::inline_always, reason = "measured: the operands are then put into memory once")]
#[inline(always)]
#[track_caller]
pub(super) fn block(api: &'static str, destination: Operand<'_>, source: Operand<'_>) -> Result<()> {
    match CheckedCopy::new(api, destination, source)? {
        Some(copy) => block_checked(api, &copy, false),
        None => Ok(()),
    }
}

/// Makes a copy that is checked. `is_fresh` tells whether it writes host memory that was just allocated.
#[track_caller]
pub(super) fn block_checked(api: &'static str, copy: &CheckedCopy<'_>, is_fresh: bool) -> Result<()> {
    let copied = match copy.direction.device() {
        None => on_the_host(api, copy),
        Some(device) => by_a_device(device, copy, is_fresh),
    };
    copied.map_err(|error| copy.about(error))
}

/// Copies on the legacy stream of a device, or by `cuda-staging` in the order of that stream.
#[track_caller]
fn by_a_device(device: Device, copy: &CheckedCopy<'_>, is_fresh: bool) -> Result<()> {
    let legacy = LegacyStream::new(device)?;
    if let Some(copied) = staged::try_copy(legacy.as_stream(), copy, is_fresh, Traffic::OneWay) {
        return copied;
    }
    match copy.direction {
        CopyDirection::Peer { source, .. } if hazard::policy() == Policy::Error => {
            between_legacy(&LegacyStream::new(source)?, &legacy, copy)
        }
        _ => on_legacy(legacy.as_stream(), copy),
    }
}

/// Copies between devices in the order of the legacy streams of both. The blocking calls of the runtime have
/// this order, but the tracker knows only that of the destination's stream, so `Policy::Error` would refuse
/// a correct program. The events are waits of the crate's own, and not added ones.
#[cold]
#[track_caller]
fn between_legacy(source: &LegacyStream, destination: &LegacyStream, copy: &CheckedCopy<'_>) -> Result<()> {
    follow(destination, source)?;
    on_legacy(destination.as_stream(), copy)?;
    follow(source, destination)
}

/// Makes all later work of a legacy stream wait for all earlier work of another device's.
#[track_caller]
fn follow(later: &LegacyStream, earlier: &LegacyStream) -> Result<()> {
    let event = Event::with_device(earlier.as_stream().device(), EventFlags::DISABLE_TIMING)?;
    event.record(earlier)?;
    later.wait(&event)
}

/// Copies within host memory. The host makes the copy, so it waits as a guard would, and nothing remains
/// in the tracker.
#[track_caller]
fn on_the_host(api: &'static str, copy: &CheckedCopy<'_>) -> Result<()> {
    // The host copies, but by a call of the runtime.
    ensure_idle(api)?;
    // Registered like guards, because a graph could access the memory without a borrow.
    let _destination = Lent::new(&copy.to, Mode::Write)?;
    let _source = Lent::new(&copy.from, Mode::Read)?;
    // SAFETY: both operands are borrowed host memory of the copy's shape. No device uses them any more,
    // nor starts to while they are lent.
    let code = unsafe { copy.call(None) };
    Error::check(copy.name(false), code)?;
    if copy.settles() {
        // A slice may be managed memory, for which the runtime promises nothing: the runtime recognizes
        // it by its address.
        let legacy = LegacyStream::new(Device::current()?)?;
        // SAFETY: the stream belongs to the current device.
        unsafe { check!(cudaStreamSynchronize(legacy.as_raw())) }?;
    }
    Ok(())
}

/// An operand that is lent to the host, if it is tracked memory.
struct Lent<'a>(Option<(&'a AccessHistory, Mode)>);

impl<'a> Lent<'a> {
    /// Registers the loan first and waits then, so that no conflicting work starts in between.
    #[track_caller]
    fn new(operand: &Operand<'a>, mode: Mode) -> Result<Self> {
        let Some((history, range)) = operand.tracked() else { return Ok(Self(None)) };
        lend(history, mode)?;
        let lent = Self(Some((history, mode)));
        wait_host(history, range, mode)?;
        Ok(lent)
    }
}

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        if let Some((history, mode)) = self.0.take() {
            // SAFETY: `new` has registered this loan, and it lends nothing any more.
            unsafe { history.remove_host_guard(mode) };
        }
    }
}

/// Copies on the legacy stream of a device, as `cudaMemcpy` does.
#[track_caller]
fn on_legacy(legacy: StreamRef<'_>, copy: &CheckedCopy<'_>) -> Result<()> {
    let (call_site, settles) = (Location::caller(), copy.settles());
    let waits = settles || copy.waits();
    // SAFETY: the call accesses no other tracked memory. If `waits` is set, it returns after the copy is
    // complete.
    let begun = unsafe { begin(legacy, copy.to.written(), copy.from.access(Mode::Read), call_site) };
    let submission = begun?;
    // Another thread may submit more during the call, so what the call waits for is read before it.
    let covered = if waits { submission.covers() } else { None };
    // SAFETY: both operands are borrowed memory of this shape. The host's side is borrowed as long as needed:
    // the call returns after the host's side is complete, or the code below waits for it.
    let mut code = unsafe { copy.call(None) };
    if code == sys::cudaSuccess && settles {
        // SAFETY: the stream is live, and its device is current.
        code = unsafe { sys::cudaStreamSynchronize(legacy.as_raw()) };
    }
    match code {
        // SAFETY: the call has waited for everything that was submitted to the stream.
        sys::cudaSuccess if waits => unsafe { submission.commit_blocking(covered) },
        _ => submission.commit(code == sys::cudaSuccess),
    }
    copy.returned(code, false, call_site)
}

/// Makes a staged copy between pageable memory and a device in the order of any stream of that device.
/// It is complete on return. Returns `None`, without starting the copy, if it is not to be staged.
#[track_caller]
pub(super) fn staged_on(
    stream: StreamRef<'_>,
    destination: &Operand<'_>,
    source: &Operand<'_>,
    traffic: Traffic,
) -> Option<Result<()>> {
    match CheckedCopy::new("staged copy", *destination, *source) {
        Ok(copy) => staged::try_copy(stream, &copy?, false, traffic),
        Err(error) => Some(Err(error)),
    }
}
