//! The CUDA side of the tracker: records events and makes streams wait for them.
//!
//! If only the host can wait, it blocks. All other waits are submitted to streams. To complete the
//! argument why safe code has no data race ([`enqueue`](super::enqueue)), each wait must establish the
//! order that the tracker asked for:
//!
//! - The event is recorded on the handle that the timeline stands for. A timeline keeps its handle as
//!   long as both exist: dropped streams go to a pool and are not destroyed, and a stream that leaves
//!   the crate (`into_raw`) leaves an event behind. The timeline's wait target is locked during the call, so
//!   it cannot change meanwhile.
//! - The handles of the legacy and the per-thread streams denote another stream on another device, so
//!   the device is made current for them. The per-thread handle also denotes another stream on another
//!   thread. Other threads record the event on the legacy stream of that device, which waits for all
//!   per-thread streams. A thread that ends leaves an event behind, and so does every stream that other
//!   code may destroy. The legacy stream is made to wait for these events.
//! - A stream's own event for such waits, or one from the pool, may be recorded again at once: a wait
//!   takes the event's state when it is submitted.
#![expect(unsafe_code, reason = "records events and waits for them on raw streams")]

use super::device_wait::wait_device;
use super::tracker::{LEGACY, TRACKER};
use super::{ownership, pool};
use crate::busy;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::{check, sys};
use cuda_hazard::{EventBackend, Kind, Timeline, WaitMethod, WaitTarget};

/// Adds the waits that the tracker requests, for the stream `raw`.
pub(super) struct Runtime {
    raw: sys::cudaStream_t,
}

impl Runtime {
    /// Makes the value for a stream, which must live as long as this is used.
    #[inline]
    pub(super) fn new(raw: sys::cudaStream_t) -> Self {
        Self { raw }
    }
}

// SAFETY: events are recorded and waited for as this file's documentation says.
unsafe impl EventBackend for Runtime {
    type Error = Error;

    #[inline(never)]
    fn order(&self, waiter: &Timeline, other: &Timeline, kept: &mut usize) -> Result<WaitMethod> {
        let device = Device::from_ordinal(other.device());
        let target = other.wait_target();
        match *target {
            WaitTarget::Event(number) => {
                // SAFETY: the waiting stream is live, because the caller borrows it. The event belongs
                // to the other timeline, whose lock is held, and is not destroyed.
                unsafe { check!(cudaStreamWaitEvent(self.raw, pool::raw_event(number), 0)) }?;
                Ok(WaitMethod::Event)
            }
            // The work has completed since the caller checked.
            WaitTarget::Nothing => Ok(WaitMethod::Host),
            WaitTarget::Device => {
                drop(target);
                // The other stream may have been found complete since the caller looked.
                if !other.is_drained() {
                    wait_device(device)?;
                }
                Ok(WaitMethod::Host)
            }
            WaitTarget::Stream(number) => {
                let foreign = other.kind == Kind::PerThread && !ownership::is_mine(other);
                // A wait for an event of the same stream would have no effect, except on the legacy
                // stream.
                let itself = other.id == waiter.id && other.kind != Kind::Legacy;
                let (raw, route) = if foreign || itself {
                    (LEGACY, WaitMethod::Legacy)
                } else {
                    (pool::raw_stream(number), WaitMethod::Stream)
                };
                let order = |event: sys::cudaEvent_t| {
                    // SAFETY: the timeline's lock is held, so the handle that it names is live.
                    unsafe { record(device, raw, other.kind, event) }?;
                    // SAFETY: the waiting stream is live, because the caller borrows it. Nobody else
                    // uses the event.
                    unsafe { check!(cudaStreamWaitEvent(self.raw, event, 0)) }
                };
                if other.device() == waiter.device() {
                    // The waiting stream owns an event for this, so no lock is needed to protect the
                    // event.
                    if *kept == 0 {
                        *kept = pool::event(device, sys::cudaEventDisableTiming)?.0.expose_provenance();
                    }
                    order(pool::raw_event(*kept))?;
                } else {
                    let event = pool::event(device, sys::cudaEventDisableTiming)?;
                    let ordered = order(event.0);
                    pool::return_event(device, sys::cudaEventDisableTiming, event);
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
        // SAFETY: the caller guarantees that both handles are live.
        return unsafe { record_there(device, raw, event) };
    }
    // SAFETY: the caller guarantees that both handles are live.
    unsafe { check!(cudaEventRecord(event, raw)) }
}

/// [`record`] for a handle that denotes another stream on another device.
///
/// # Safety
/// As `record`.
#[cold]
#[inline(never)]
#[track_caller]
unsafe fn record_there(device: Device, raw: sys::cudaStream_t, event: sys::cudaEvent_t) -> Result<()> {
    let _current = device.switch()?;
    // SAFETY: the caller guarantees that both handles are live.
    unsafe { check!(cudaEventRecord(event, raw)) }
}

/// Returns the wait target of a stream whose handle is about to be given up: an event that stands for all its
/// work. The handle is still live.
///
/// The legacy stream is made to wait for the event. The tracker continues to rely on that order, and it is
/// undocumented whether the legacy stream waits for streams that are destroyed or whose thread has ended. If
/// no event can be recorded, this waits for the work, so that nobody has to wait for the device because of
/// it.
pub(super) fn last_event(device: Device, raw: sys::cudaStream_t, timeline: &Timeline) -> WaitTarget {
    // A stream that was only made to wait is not complete: otherwise the legacy stream would be assumed to
    // wait for what it waits for.
    if TRACKER.is_idle(timeline) {
        return WaitTarget::Device;
    }
    let record_last = || {
        let event = pool::event(device, sys::cudaEventDisableTiming)?;
        // SAFETY: the stream lives until the caller returns, and nobody else uses the event.
        let record = || unsafe { record(device, raw, timeline.kind, event.0) };
        // SAFETY: the call records an event, and from now on the stream is reached by this event only.
        let recorded = unsafe { TRACKER.record_last(timeline, record) }.and_then(|()| {
            if !timeline.kind.blocking() {
                return Ok(());
            }
            let _current = device.switch()?;
            // SAFETY: the legacy stream always exists, and nobody else uses the event.
            unsafe { check!(cudaStreamWaitEvent(LEGACY, event.0, 0)) }
        });
        if let Err(error) = recorded {
            pool::return_event(device, sys::cudaEventDisableTiming, event);
            return Err(error);
        }
        Result::Ok(event)
    };
    // Inside an operation, the stream's submit state may be locked, possibly by this thread.
    if busy::ensure_idle("Stream").is_ok()
        && let Ok(event) = record_last()
    {
        return WaitTarget::Event(event.0.expose_provenance());
    }
    let snapshot = TRACKER.snapshot_of(timeline);
    let _current = device.switch();
    // SAFETY: the stream lives until the caller returns. If this fails too, the device is lost, or the
    // runtime is gone.
    if unsafe { sys::cudaStreamSynchronize(raw) } == sys::cudaSuccess {
        // SAFETY: the stream had completed everything submitted before when the call above returned.
        unsafe { TRACKER.completed_all(&snapshot) };
    }
    WaitTarget::Device
}

/// Held by each test that captures a stream and by each that waits for its device. CUDA refuses such a
/// wait during a capture, and the wait ends the capture.
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
            let other = captured.as_stream().timeline;
            apart = Some(other);
            // As a thread does that has just found work on the timeline.
            let waits = || {
                let (view, kept) = (waiter.as_stream(), &mut kept);
                assert_eq!(Runtime::new(view.as_raw()).order(view.timeline, other, kept)?, WaitMethod::Host);
                memset_async(&mut buffer, 7, &view)
            };
            std::thread::scope(|threads| threads.spawn(waits).join()).unwrap()
        });
        assert_eq!(graph.unwrap().node_count().unwrap(), 0);
        // To pinned memory: other tests in this process make copies of pageable memory fail.
        let mut host = PinnedBuffer::from_slice(&[0; 64]).unwrap();
        memcpy(&mut host, &buffer).unwrap();
        assert_eq!(host.host().unwrap()[..], [7; 64]);
        let answer =
            Runtime::new(waiter.as_raw()).order(waiter.as_stream().timeline, apart.unwrap(), &mut kept);
        assert_eq!(answer.unwrap(), WaitMethod::Stream, "afterwards it can be waited for as before");
        pool::return_event(waiter.device(), sys::cudaEventDisableTiming, event);
    }
}
