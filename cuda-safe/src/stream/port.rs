//! The port through which the tracker add their waits: an event recorded on one stream, and a wait for it on
//! another.
//!
//! Where the host can only wait itself, it blocks; all else is put on streams. What is left to show of why
//! safe code has no data race ([`enqueue`](super::enqueue)) is that the port keeps its word:
//!
//! - The event is recorded on the handle that the timeline stands for. A timeline keeps its handle for as long as
//!   both exist: dropped streams go to a pool and are not destroyed, and a stream that leaves the crate
//!   (`into_raw`) leaves an event behind. The timeline's reach is locked over the call, so it cannot change
//!   meanwhile.
//! - The handles of the legacy and the per-thread streams mean another stream on another device, so the
//!   device is made current for them. The per-thread handle means another stream on another thread; from
//!   elsewhere the event is recorded on the legacy stream of that device, which waits for all per-thread
//!   streams; a thread that ends leaves an event behind. So does whatever stream somebody else may destroy,
//!   and the legacy stream is made to wait for these events.
//! - A stream's event for such waits, or one from the pool, may be recorded again at once: the wait took what
//!   the event stood for when it was made.
//!
//! C functions: `cudaEventRecord`, `cudaStreamWaitEvent`.
#![expect(unsafe_code, reason = "records events and waits for them on raw streams")]

use super::tracker::{LEGACY, TRACKER};
use super::{busy, host_function, pool};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{check, sys};
use cuda_hazard::{EventBackend, Kind, Timeline, WaitMethod, WaitTarget};

/// Adds the waits that the tracker ask for, on behalf of the stream `raw`.
pub(super) struct Runtime {
    raw: sys::cudaStream_t,
}

impl Runtime {
    /// The stream must live as long as the port is used.
    #[inline]
    pub(super) fn new(raw: sys::cudaStream_t) -> Self {
        Self { raw }
    }
}

// SAFETY: events are recorded and waited for as the head of this file says.
unsafe impl EventBackend for Runtime {
    type Error = Error;

    #[inline(never)]
    fn order(&self, waiter: &Timeline, other: &Timeline, kept: &mut usize) -> Result<WaitMethod> {
        let device = Device::from_ordinal(other.device());
        let reach = other.wait_target();
        match *reach {
            WaitTarget::Event(number) => {
                // SAFETY: the waiting stream lives, as the caller borrows it; the event belongs to the other
                // timeline, whose lock is held, and is not destroyed.
                unsafe { check!(cudaStreamWaitEvent(self.raw, pool::raw_event(number), 0)) }?;
                Ok(WaitMethod::Event)
            }
            // It was not when the caller looked.
            WaitTarget::Nothing => Ok(WaitMethod::Host),
            WaitTarget::Device => {
                drop(reach);
                wait_device(device)?;
                Ok(WaitMethod::Host)
            }
            WaitTarget::Stream(number) => {
                let foreign = other.kind == Kind::PerThread && !busy::is_mine(other);
                // Of a stream's own event the stream would be told nothing, unless it is the legacy stream,
                // which does something then.
                let itself = other.id == waiter.id && other.kind != Kind::Legacy;
                let (raw, route) = if foreign || itself {
                    (LEGACY, WaitMethod::Legacy)
                } else {
                    (pool::raw_stream(number), WaitMethod::Stream)
                };
                let order = |event: sys::cudaEvent_t| {
                    // SAFETY: the timeline's lock is held, so the handle that it names is live.
                    unsafe { record(device, raw, other.kind, event) }?;
                    // SAFETY: the waiting stream lives, as the caller borrows it; the event is ours.
                    unsafe { check!(cudaStreamWaitEvent(self.raw, event, 0)) }
                };
                if other.device() == waiter.device() {
                    // The waiting stream has an event of its own for this, which nobody else needs a lock to
                    // stay away from.
                    if *kept == 0 {
                        *kept = pool::event(device, sys::cudaEventDisableTiming)?.0.expose_provenance();
                    }
                    order(pool::raw_event(*kept))?;
                } else {
                    let event = pool::event(device, sys::cudaEventDisableTiming)?;
                    let ordered = order(event.0);
                    pool::keep_event(device, sys::cudaEventDisableTiming, event);
                    ordered?;
                }
                Ok(route)
            }
        }
    }
}

/// Records an event on a stream of a device.
///
/// # Safety
/// Both handles are live, and `raw` is a stream of `device` of this kind.
#[inline]
#[track_caller]
pub(super) unsafe fn record(
    device: Device,
    raw: sys::cudaStream_t,
    kind: Kind,
    event: sys::cudaEvent_t,
) -> Result<()> {
    if matches!(kind, Kind::Legacy | Kind::PerThread) {
        // SAFETY: the caller vouches for both handles.
        return unsafe { record_there(device, raw, event) };
    }
    // SAFETY: the caller vouches for both handles.
    unsafe { check!(cudaEventRecord(event, raw)) }
}

/// [`record`] where the handle means another stream on another device.
///
/// # Safety
/// As for `record`.
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn record_there(device: Device, raw: sys::cudaStream_t, event: sys::cudaEvent_t) -> Result<()> {
    let _current = device.switch()?;
    // SAFETY: the caller vouches for both handles.
    unsafe { check!(cudaEventRecord(event, raw)) }
}

/// Blocks until a device has done all that it has been given so far, also in the middle of an operation.
#[track_caller]
pub(super) fn wait_device(device: Device) -> Result<()> {
    let snapshot = TRACKER.snapshot_of_device(device.ordinal());
    let waited = {
        let _current = device.switch()?;
        // SAFETY: the call takes nothing and waits.
        unsafe { check!(cudaDeviceSynchronize()) }
    };
    given_up(device, &waited);
    waited?;
    // SAFETY: the call above has waited for it.
    unsafe { TRACKER.completed_all(&snapshot) };
    Ok(())
}

/// After a lost context no host function runs any more: drops those that are still waiting for their turn.
pub(super) fn given_up(device: Device, waited: &Result<()>) {
    if let Err(error) = waited
        && error.is_sticky()
    {
        host_function::abandon(device.ordinal());
    }
}

/// An event that stands for all that a stream was given, for when its handle is gone. The handle is live.
///
/// The legacy stream waits for the event: whether it waits for streams that are destroyed, or whose thread
/// has ended, is not said, and the tracker go on to rely on it. Where there can be no event, the work is waited
/// for.
pub(super) fn last_event(device: Device, raw: sys::cudaStream_t, timeline: &Timeline) -> WaitTarget {
    // In the middle of an operation, the stream's submit state may be locked, by this thread for one. A stream that
    // was only made to wait is not over: the legacy stream would be taken to wait for what it waits for.
    if TRACKER.is_idle(timeline) || busy::ensure_idle("Stream").is_err() {
        return WaitTarget::Device;
    }
    let farewell = || {
        let event = pool::event(device, sys::cudaEventDisableTiming)?;
        // SAFETY: the stream lives until the end of the caller, and the event is ours.
        let record = || unsafe { record(device, raw, timeline.kind, event.0) };
        // SAFETY: the call records an event, which is all that the stream is reached by from now on.
        let recorded = unsafe { TRACKER.record_last(timeline, record) }.and_then(|()| {
            if !timeline.kind.blocking() {
                return Ok(());
            }
            let _current = device.switch()?;
            // SAFETY: the legacy stream is always there; the event is ours.
            unsafe { check!(cudaStreamWaitEvent(LEGACY, event.0, 0)) }
        });
        if let Err(error) = recorded {
            pool::keep_event(device, sys::cudaEventDisableTiming, event);
            return Err(error);
        }
        Result::Ok(event)
    };
    if let Ok(event) = farewell() {
        return WaitTarget::Event(event.0.expose_provenance());
    }
    let _current = device.switch();
    // SAFETY: the stream lives until the end of the caller. If this fails too, the device is lost, or the
    // runtime gone.
    let _ = unsafe { sys::cudaStreamSynchronize(raw) };
    WaitTarget::Device
}

/// Held by a test that captures a stream, and by one that waits for its device, which CUDA refuses meanwhile
/// and ends the capture for.
#[cfg(test)]
pub(crate) static CAPTURE_OR_WAIT: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[cfg(test)]
mod tests {
    use std::sync::PoisonError;

    use super::{EventBackend as _, Runtime, WaitMethod, pool};
    use crate::stream::{AsStream as _, Stream};
    use crate::{DeviceBuffer, PinnedBuffer, memcpy, memset_async, sys};

    #[test]
    fn who_waits_for_what_a_stream_was_given_before_it_is_captured_becomes_no_part_of_the_capture() {
        let _turn = super::CAPTURE_OR_WAIT.lock().unwrap_or_else(PoisonError::into_inner);
        let (waiter, mut stream) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
        let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
        let event = pool::event(waiter.device(), sys::cudaEventDisableTiming).unwrap();
        let mut kept = event.0.expose_provenance();
        let mut apart = None;
        let graph = stream.capture(|captured| {
            let (waiter, captured) = (waiter.as_stream(), captured.as_stream());
            let (port, other) = (Runtime::new(waiter.as_raw()), captured.timeline());
            // As a thread does that has just found that the timeline had something to do.
            assert_eq!(port.order(waiter.timeline(), other, &mut kept)?, WaitMethod::Host);
            apart = Some(other);
            memset_async(&mut buffer, 7, &waiter)
        });
        assert_eq!(graph.unwrap().node_count().unwrap(), 0);
        // To pinned memory: beside this, other tests have copies of pageable memory fail.
        let mut host = PinnedBuffer::from_slice(&[0; 64]).unwrap();
        memcpy(&mut host, &buffer).unwrap();
        assert_eq!(host.host().unwrap()[..], [7; 64]);
        let answer =
            Runtime::new(waiter.as_raw()).order(waiter.as_stream().timeline(), apart.unwrap(), &mut kept);
        assert_eq!(answer.unwrap(), WaitMethod::Stream, "afterwards it can be waited for as before");
        pool::keep_event(waiter.device(), sys::cudaEventDisableTiming, event);
    }
}
