//! The host as one more agent: waiting for the work that uses memory, and for devices.
#![expect(unsafe_code, reason = "records events and waits for them and for devices")]

use std::ops::Range;

use super::legacy::LegacyStream;
use super::owned::Stream;
use super::port::{self, given_up, wait_device};
use super::tracker::{LEGACY, TRACKER};
use super::view::AsStream as _;
use super::{busy, deferred, host_function, pool};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::{check, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// Blocks until every operation is complete that conflicts with the host's doing this to the bytes `range`.
///
/// At once, and without a call, where nothing conflicts that is not known to be complete.
///
/// # Errors
/// `InCallback` or `Nested` where something conflicts and the thread may not wait; the failure of any work
/// that a device has done since. The memory may then still be in use.
#[track_caller]
pub(crate) fn wait_host(history: &AccessHistory, range: Range<usize>, mode: Mode) -> Result<()> {
    let access = Access::new(history, range, mode);
    if busy::ensure_idle("host access").is_err() {
        // Facts already known serve here too, but what is still being entered cannot be waited for.
        return if TRACKER.is_quiet(access) { Ok(()) } else { busy::ensure_idle("host access") };
    }
    let mut timelines: Vec<&Timeline> = Vec::new();
    for conflict in TRACKER.host_conflicts(access) {
        if let Some(timeline) = TRACKER.timeline(conflict.epoch.timeline)
            && !timelines.iter().any(|known| known.id == timeline.id)
        {
            timelines.push(timeline);
        }
    }
    if timelines.is_empty() {
        return Ok(());
    }
    let mut over = Ok(());
    for timeline in timelines {
        let waited = wait_slot(timeline);
        // Of a lost context who frees memory concludes that nothing uses it any more: so the others are
        // waited for all the same, and where that fails for another reason, that is the answer.
        if over.is_ok() || waited.as_ref().is_err_and(|error| !error.is_sticky()) {
            over = waited;
        }
    }
    over?;
    // What a refused operation left on an access history may be more than its stream can prove: the device can.
    while let Some(conflict) = TRACKER.host_conflicts(access).first() {
        let timeline = TRACKER.timeline(conflict.epoch.timeline);
        let Some(timeline) = timeline else {
            return Err(Error::refused("host access", Detail::HostBorrowed));
        };
        wait_device(Device::from_ordinal(timeline.device()))?;
    }
    // SAFETY: access histories are known to this tracker alone.
    unsafe { TRACKER.prune(access) };
    deferred::run();
    Ok(())
}

/// Whether nothing conflicts with the host's doing this to the bytes `range`, by facts already known. Asks
/// nobody.
pub(crate) fn is_quiet(history: &AccessHistory, range: Range<usize>, mode: Mode) -> bool {
    TRACKER.is_quiet(Access::new(history, range, mode))
}

/// Blocks until a stream has done all that it has been given so far, whatever became of its handle.
///
/// The handle of a per-thread stream means another stream on another thread. As long as its thread lives,
/// other threads wait for it by an event of the legacy stream, which comes after the work of all blocking
/// streams of the device.
#[track_caller]
fn wait_slot(timeline: &Timeline) -> Result<()> {
    let device = Device::from_ordinal(timeline.device());
    let elsewhere = timeline.kind == Kind::PerThread && !busy::is_mine(timeline);
    let mut snapshot = if elsewhere {
        TRACKER.snapshot_by_event(LegacyStream::of(device)?.as_stream().timeline())
    } else {
        TRACKER.snapshot_by_event(timeline)
    };
    // The last event of a stream that is gone may be used again as soon as its work is complete, so the host
    // waits for an event of its own behind it, on a stream that nobody else has.
    let is_gone = matches!(*timeline.wait_target(), WaitTarget::Event(_));
    let behind = if is_gone { Some(Stream::builder().device(device).non_blocking().build()?) } else { None };
    let event = pool::event(device, sys::cudaEventDisableTiming)?;
    // The handle is only held for the record: the wait may be long, and others may want to wait for the
    // stream meanwhile.
    let reach = timeline.wait_target();
    let recorded = match (*reach, &behind) {
        (WaitTarget::Nothing, _) => {
            pool::keep_event(device, sys::cudaEventDisableTiming, event);
            return Ok(());
        }
        (WaitTarget::Stream(number), _) => {
            let raw = if elsewhere { LEGACY } else { pool::raw_stream(number) };
            // SAFETY: the timeline's lock is held, so the handle that it names is live, as the legacy stream's
            // always is; the event is ours.
            unsafe { port::record(device, raw, timeline.kind, event.0) }
        }
        (WaitTarget::Event(number), Some(behind)) => {
            snapshot = TRACKER.snapshot_by_last_event(timeline);
            let (raw, last) = (behind.as_raw(), pool::raw_event(number));
            // SAFETY: the stream is ours; the event belongs to the timeline, whose lock is held, and is not
            // destroyed.
            let waits = unsafe { check!(cudaStreamWaitEvent(raw, last, 0)) };
            // SAFETY: the stream and the event are ours.
            waits.and_then(|()| unsafe { port::record(device, raw, Kind::NonBlocking, event.0) })
        }
        // Also where the stream has gone only now.
        (WaitTarget::Device | WaitTarget::Event(_), _) => {
            drop(reach);
            pool::keep_event(device, sys::cudaEventDisableTiming, event);
            return wait_device(device);
        }
    };
    drop(reach);
    let waited = recorded.and_then(|()| {
        // SAFETY: the event is ours.
        unsafe { check!(cudaEventSynchronize(event.0)) }
    });
    pool::keep_event(device, sys::cudaEventDisableTiming, event);
    given_up(device, &waited);
    waited?;
    // SAFETY: the call above has waited for it.
    unsafe { TRACKER.completed_all(&snapshot) };
    Ok(())
}

/// Blocks until a device has done all that it has been given so far.
///
/// What [`Device::synchronize`] is made of.
///
/// # Errors
/// The failure of any work that the device has done since; `InCallback` or `Nested` where the thread may not
/// wait.
#[track_caller]
pub(crate) fn synchronize_device(device: Device) -> Result<()> {
    busy::ensure_idle("Device::synchronize")?;
    wait_device(device)?;
    deferred::run();
    host_function::panicked_on(device.ordinal())
}
