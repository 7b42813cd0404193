//! The host as a further timeline: waits for the work that uses memory, for devices, and futures of events.
#![expect(unsafe_code, reason = "records events and waits for them and for devices")]

use std::ops::Range;

use super::device_wait::wait_device;
use super::done::Done;
use super::event::Event;
use super::host_function::drop_tasks_if_lost;
use super::legacy::LegacyStream;
use super::owned::Stream;
use super::tracker::{LEGACY, TRACKER};
use super::view::AsStream as _;
use super::{host_function, ownership, pool, port, recorder, relax};
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode, Policy};
use crate::{callback, check, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// Blocks until every operation that conflicts with this access of the host to the bytes `range` is
/// complete.
///
/// If everything that conflicts is known to be complete, this returns at once, without a CUDA call.
///
/// # Errors
/// Returns `InCallback` if something conflicts and the thread must not wait, and otherwise
/// the failure of any work that a device has run since the last check. After an error the memory may
/// still be in use.
#[track_caller]
pub(crate) fn wait_host(history: &AccessHistory, range: Range<usize>, mode: Mode) -> Result<()> {
    let access = Access::new(history, range, mode);
    if busy::ensure_idle("host access").is_err() {
        // Known facts suffice here too. But an operation that is being submitted cannot be waited for.
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
    let mut result = Ok(());
    for timeline in timelines {
        let waited = wait_timeline(timeline);
        // Callers that free memory conclude from a lost context that nothing uses the memory any more.
        // So the other timelines are waited for all the same, and if that fails for another reason, that
        // error is returned.
        if result.is_ok() || waited.as_ref().is_err_and(|error| !error.is_sticky()) {
            result = waited;
        }
    }
    result?;
    // A refused operation may leave an epoch in the access history that no wait for its stream proves
    // complete. A wait for the device does.
    while let Some(conflict) = TRACKER.host_conflicts(access).first() {
        let timeline = TRACKER.timeline(conflict.epoch.timeline);
        let Some(timeline) = timeline else {
            return Err(Error::refused("host access", Detail::HOST_BORROWED));
        };
        wait_streams_and_device(Device::from_ordinal(timeline.device()))?;
    }
    // SAFETY: only this tracker knows the access histories.
    unsafe { TRACKER.prune(access) };
    callback::run_deferred();
    Ok(())
}

/// Returns whether nothing conflicts with this access of the host to the bytes `range`, by facts that
/// are already known, without a CUDA call.
pub(crate) fn is_quiet(history: &AccessHistory, range: Range<usize>, mode: Mode) -> bool {
    TRACKER.is_quiet(Access::new(history, range, mode))
}

/// Blocks until a stream has completed everything submitted so far, even if its handle is gone.
///
/// The handle of a per-thread stream denotes another stream on another thread. While its thread lives,
/// other threads wait for it by an event of the legacy stream, which is ordered after the work of all
/// blocking streams of the device.
#[track_caller]
pub(super) fn wait_timeline(timeline: &Timeline) -> Result<()> {
    relax()?;
    let device = Device::from_ordinal(timeline.device());
    let elsewhere = timeline.kind == Kind::PerThread && !ownership::is_mine(timeline);
    let mut snapshot = if elsewhere {
        TRACKER.snapshot_by_event(LegacyStream::new(device)?.as_stream().timeline)
    } else {
        TRACKER.snapshot_by_event(timeline)
    };
    // The last event of a stream that is gone may be reused as soon as its work is complete. So the host
    // waits for an event of its own behind it, on a stream that nobody else has.
    let is_gone = matches!(*timeline.wait_target(), WaitTarget::Event(_));
    let behind = if is_gone { Some(Stream::builder().device(device).non_blocking().build()?) } else { None };
    let event = pool::event(device, sys::cudaEventDisableTiming)?;
    // The handle is locked only for the record: the wait may be long, and others may want to wait for
    // the stream meanwhile.
    let target = timeline.wait_target();
    let recorded = match (*target, &behind) {
        (WaitTarget::Nothing, _) => {
            pool::return_event(device, sys::cudaEventDisableTiming, event);
            return Ok(());
        }
        (WaitTarget::Stream(number), _) => {
            let raw = if elsewhere { LEGACY } else { pool::raw_stream(number) };
            // SAFETY: the timeline's lock is held, so the handle that it names is live, as the legacy
            // stream's always is. This function owns the event.
            unsafe { port::record(device, raw, timeline.kind, event.0) }
        }
        (WaitTarget::Event(number), Some(behind)) => {
            snapshot = TRACKER.snapshot_by_last_event(timeline);
            let (raw, last) = (behind.as_raw(), pool::raw_event(number));
            // SAFETY: this function owns the stream. The event belongs to the timeline, whose lock is
            // held, and is not destroyed.
            let waits = unsafe { check!(cudaStreamWaitEvent(raw, last, 0)) };
            match waits {
                // SAFETY: this function owns the stream and the event.
                Ok(()) => unsafe { port::record(device, raw, Kind::NonBlocking, event.0) },
                Err(error) => Err(error),
            }
        }
        // This includes a stream that was retired just now, and one whose last event was found complete while
        // the stream of this function was made.
        (WaitTarget::Device | WaitTarget::Event(_), _) => {
            drop(target);
            pool::return_event(device, sys::cudaEventDisableTiming, event);
            return if timeline.is_drained() { Ok(()) } else { wait_device(device) };
        }
    };
    drop(target);
    let waited = match recorded {
        // SAFETY: this function owns the event.
        Ok(()) => unsafe { check!(cudaEventSynchronize(event.0)) },
        Err(error) => Err(error),
    };
    pool::return_event(device, sys::cudaEventDisableTiming, event);
    drop_tasks_if_lost(device, &waited);
    waited?;
    // SAFETY: the call above has waited for this work.
    unsafe { TRACKER.completed_all(&snapshot) };
    Ok(())
}

/// Blocks until a device has completed everything submitted so far, also while other threads capture. Work
/// that raw code has put on streams of its own is then not waited for. The caller is not inside an operation.
///
/// Returns whether it has waited for the whole device.
///
/// # Errors
/// Returns the failure of any work that the device has run since the last check. While the tracker is off,
/// `Capture` as for [`wait_device`].
#[track_caller]
fn wait_streams_and_device(device: Device) -> Result<bool> {
    let snapshot = TRACKER.snapshot_of_device(device.as_raw());
    // Other threads' per-thread streams are waited for by way of the legacy stream, which makes blocking
    // streams wait for each other: only if there is no other way.
    let (others, plain): (Vec<_>, Vec<_>) = TRACKER
        .timelines(Some(device.as_raw()))
        .filter(|timeline| !timeline.is_drained())
        .partition(|timeline| timeline.kind == Kind::PerThread && !ownership::is_mine(timeline));
    // Loops, because a function that is passed on does not know its caller.
    for timeline in plain {
        wait_timeline(timeline)?;
    }
    match wait_device(device) {
        // While it is off, the tracker does not know the work.
        Err(error) if error.is_refused() && TRACKER.policy() != Policy::Off => {}
        waited => return waited.map(|()| true),
    }
    for timeline in others {
        wait_timeline(timeline)?;
    }
    // SAFETY: everything in the snapshot was submitted to a stream that the calls above have waited for, or
    // that was found complete.
    unsafe { TRACKER.completed_all(&snapshot) };
    Ok(false)
}

/// Blocks until a device has completed everything submitted so far. Returns whether it has waited for the
/// whole device.
///
/// The implementation of [`Device::synchronize`].
///
/// # Errors
/// Returns the failure of any work that the device has run since the last check, and `InCallback` if the
/// thread must not wait.
#[track_caller]
pub(crate) fn synchronize_device(device: Device) -> Result<bool> {
    busy::ensure_idle("Device::synchronize")?;
    recorder::ensure_none("Device::synchronize")?;
    let whole = wait_streams_and_device(device)?;
    callback::run_deferred();
    host_function::panicked_on(device.as_raw()).map(|()| whole)
}

impl Event {
    /// Returns a future that is ready when the work that the event stands for is complete. Later work of the
    /// event's stream does not delay it. Does not block, unless the device's queue is full.
    ///
    /// Recording the event again does not change the future. An event that was never recorded is ready.
    /// Everything else is as for [`StreamRef::done`](crate::stream::StreamRef::done): a stream of the
    /// future's own waits for the event.
    ///
    /// # Errors
    /// The future returns those of [`StreamRef::done`](crate::stream::StreamRef::done).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Event, Stream, memset_async};
    ///
    /// async fn first_half(stream: &Stream, buffer: &mut DeviceBuffer<u8>) -> cuda_safe::Result<()> {
    ///     memset_async(buffer, 1, stream)?;
    ///     let event = Event::without_timing()?;
    ///     event.record(stream)?;
    ///     memset_async(buffer, 2, stream)?;
    ///     event.done().await // does not wait for the second half
    /// }
    /// ```
    #[doc(alias = "cudaEventSynchronize")]
    #[track_caller]
    pub fn done(&self) -> Done {
        match self.follower() {
            Ok(Some(stream)) => Done::new(stream.as_stream()).keeping(stream),
            Ok(None) => Done::ready(Ok(())),
            Err(error) => Done::ready(Err(error)),
        }
    }

    /// Returns a stream that waits for the event. Returns `None` if it was never recorded.
    #[track_caller]
    fn follower(&self) -> Result<Option<Stream>> {
        busy::ensure_idle("Event::done")?;
        recorder::ensure_none("Event::done")?;
        if self.shared().last_record().is_none() {
            return Ok(None);
        }
        let stream = Stream::builder().device(self.device()).non_blocking().build()?;
        stream.wait(self)?;
        Ok(Some(stream))
    }
}
