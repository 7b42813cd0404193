//! [`Event`]: a mark on a stream, to wait for or to measure time with.
#![expect(unsafe_code, reason = "calls the runtime's event functions")]

use std::panic::Location;

use bitflags::bitflags;

use super::pool::{self, RawEvent};
use super::tracker::TRACKER;
use super::view::AsStream;
use super::{busy, port};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{callback, check, process, sys};
use cuda_hazard::EventClock;

bitflags! {
    /// Properties of an event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A thread that waits for the event sleeps instead of spinning.
        #[doc(alias = "cudaEventBlockingSync")]
        const BLOCKING_SYNC = sys::cudaEventBlockingSync;
        /// The event does not measure time, which makes recording and waiting much cheaper.
        const DISABLE_TIMING = sys::cudaEventDisableTiming;
        /// The event can be shared with other processes, and does not measure time then: see
        /// [`Event::ipc_handle`](super::Event::ipc_handle).
        #[doc(alias = "cudaEventInterprocess")]
        const INTERPROCESS = sys::cudaEventInterprocess;
    }
}

bitflags! {
    /// How an event is recorded.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    #[doc(alias = "cudaEventRecordDefault")]
    pub struct RecordFlags: u32 {
        /// In a capture: every launch of the graph records the event, for waiters outside of the graph.
        #[doc(alias = "cudaEventRecordExternal")]
        const EXTERNAL = sys::cudaEventRecordExternal;
    }
}

/// A mark on a stream. After a record, it stands for everything submitted to the stream before that.
///
/// Recording again moves the mark. That needs `&mut`, so nobody can be waiting for the event at that
/// moment. A dropped event goes to a pool, because creating events is expensive.
#[derive(Debug)]
#[doc(alias = "cudaEventDestroy")]
#[doc(alias = "cudaEvent_t")]
pub struct Event {
    raw: RawEvent,
    device: Device,
    flags: EventFlags,
    mark: Mark,
    /// The mark after a record. If another process or a graph may record the event too, the mark is
    /// `Unknown`, and the event proves nothing here.
    recorded: Mark,
    /// The vector clock that the event stands for, if the mark is `Recorded`.
    event_clock: EventClock,
    /// Whether the event is left to others and not reused: to graphs, which may record it at any time or
    /// wait for it, or to the caller of `into_raw`.
    left: bool,
    process: u32,
}

/// The knowledge about the work that an event stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing: the event was never recorded. The handle may have been used before, so the runtime is
    /// not asked.
    Nothing,
    /// Everything that the stream was ordered after at the record, as the event's vector clock says.
    Recorded,
    /// The event was recorded by other code, or recording it failed.
    Unknown,
}

// SAFETY: the runtime accepts the handle on any thread. Through `&Event` it is only waited for and
// queried.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event of the current device that measures time.
    ///
    /// Stands for [`cudaEventCreate`](sys::cudaEventCreate).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device. Refused inside a host function.
    #[doc(alias = "cudaEventCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::with_flags(EventFlags::empty())
    }

    /// Makes an event of the current device that does not measure time. It is cheaper and suffices for
    /// ordering.
    ///
    /// Stands for [`cudaEventCreateWithFlags`](sys::cudaEventCreateWithFlags) with `cudaEventDisableTiming`.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device. Refused inside a host function.
    #[doc(alias = "cudaEventDisableTiming")]
    #[track_caller]
    pub fn without_timing() -> Result<Self> {
        Self::with_flags(EventFlags::DISABLE_TIMING)
    }

    /// Makes an event of the current device.
    ///
    /// Stands for [`cudaEventCreateWithFlags`](sys::cudaEventCreateWithFlags).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no device. Refused inside a host function.
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[track_caller]
    pub fn with_flags(flags: EventFlags) -> Result<Self> {
        busy::ensure_idle("Event::with_flags")?;
        Self::on(Device::current()?, flags)
    }

    /// Makes an event of `device`, which need not be current.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be made current. Refused inside a host function.
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[track_caller]
    pub fn on(device: Device, flags: EventFlags) -> Result<Self> {
        busy::ensure_idle("Event::on")?;
        callback::run_deferred();
        let raw = pool::event(device, flags.bits())?;
        Ok(Self::made(raw, device, flags, Mark::Nothing))
    }

    fn made(raw: RawEvent, device: Device, flags: EventFlags, mark: Mark) -> Self {
        let shared = flags.contains(EventFlags::INTERPROCESS);
        let recorded = if shared { Mark::Unknown } else { Mark::Recorded };
        let (event_clock, process) = (EventClock::new(), process::number());
        Self { raw, device, flags, mark, recorded, event_clock, left: false, process }
    }

    /// Records the event on a stream of the same device. It then stands for everything submitted to the
    /// stream so far.
    ///
    /// Stands for [`cudaEventRecord`](sys::cudaEventRecord). Does not block.
    ///
    /// # Errors
    /// - `DeviceMismatch` if the stream belongs to another device.
    /// - The runtime's error.
    /// - Refused inside a host function.
    #[doc(alias = "cudaEventRecord")]
    #[track_caller]
    pub fn record(&mut self, stream: &impl AsStream) -> Result<()> {
        let stream = stream.as_stream();
        let _entered = busy::enter("Event::record")?;
        stream.ensure_not_captured("Event::record")?;
        stream.ensure_not_ending("Event::record")?;
        let (found, needed) = (stream.device().ordinal(), self.device.ordinal());
        if found != needed {
            return Err(Error::refused(
                "Event::record",
                Detail::DeviceMismatch { what: "the stream", found, needed },
            ));
        }
        let (raw, timeline, call_site) = (self.as_raw(), stream.timeline(), Location::caller());
        // SAFETY: event and stream live as long as the borrows, and the stream belongs to the device
        // that its timeline names.
        let record = || unsafe { port::record(self.device, stream.as_raw(), timeline.kind, raw) };
        // If the call fails, it is unknown what the event stands for.
        self.mark = Mark::Unknown;
        // SAFETY: the call records this event, and nothing else uses its vector clock.
        unsafe { TRACKER.record_into(timeline, &mut self.event_clock, record) }
            .map_err(|error| error.at(call_site))?;
        self.mark = self.recorded;
        Ok(())
    }

    /// [`record`](Self::record) with flags.
    ///
    /// Stands for [`cudaEventRecordWithFlags`](sys::cudaEventRecordWithFlags). After `EXTERNAL`, the
    /// tracker does not know what the event stands for, because every launch of the graph records it
    /// again. The event can still be waited for, but proves nothing to the tracker. It is never
    /// destroyed, because the graph may outlive it.
    ///
    /// # Errors
    /// As [`record`](Self::record). `cudaErrorIllegalState` for `EXTERNAL` on a stream that is not being
    /// captured.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::stream::{Event, EventFlags, RecordFlags};
    /// use cuda_safe::Stream;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut event = Event::with_flags(EventFlags::BLOCKING_SYNC | EventFlags::DISABLE_TIMING)?;
    /// event.record_with(&stream, RecordFlags::empty())?;
    /// event.synchronize()?; // sleeps, and does not spin
    /// assert!(event.is_done()?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaEventRecordWithFlags")]
    #[track_caller]
    pub fn record_with(&mut self, stream: &impl AsStream, flags: RecordFlags) -> Result<()> {
        if flags.is_empty() {
            return self.record(stream);
        }
        let stream = stream.as_stream();
        let api = "Event::record_with";
        let _entered = busy::enter(api)?;
        let (found, needed) = (stream.device().ordinal(), self.device.ordinal());
        if found != needed {
            return Err(Error::refused(api, Detail::DeviceMismatch { what: "the stream", found, needed }));
        }
        let _current = stream.switch()?;
        // SAFETY: event and stream live as long as the borrows.
        unsafe { check!(cudaEventRecordWithFlags(self.as_raw(), stream.as_raw(), flags.bits())) }?;
        self.given_to_graphs(true);
        Ok(())
    }

    /// Leaves the event to graphs, which wait for it. If `recorded` is set, they also record it at times
    /// that are unknown here.
    pub(crate) fn given_to_graphs(&mut self, recorded: bool) {
        self.left = true;
        if recorded {
            (self.mark, self.recorded) = (Mark::Unknown, Mark::Unknown);
        }
    }

    /// Blocks until the work that the event stands for is complete. Returns at once if the event was
    /// never recorded.
    ///
    /// Stands for [`cudaEventSynchronize`](sys::cudaEventSynchronize).
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a
    /// host function.
    #[doc(alias = "cudaEventSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("Event::synchronize")?;
        if matches!(self.mark, Mark::Nothing) {
            return Ok(());
        }
        // SAFETY: the event lives as long as the borrow.
        unsafe { check!(cudaEventSynchronize(self.as_raw())) }?;
        self.completed();
        Ok(())
    }

    /// Returns whether the work that the event stands for is complete, and `true` if the event was never
    /// recorded. Does not block.
    ///
    /// Stands for [`cudaEventQuery`](sys::cudaEventQuery).
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a
    /// host function.
    #[doc(alias = "cudaEventQuery")]
    #[track_caller]
    pub fn is_done(&self) -> Result<bool> {
        busy::ensure_idle("Event::is_done")?;
        if matches!(self.mark, Mark::Nothing) {
            return Ok(true);
        }
        // SAFETY: the event lives as long as the borrow.
        let code = unsafe { sys::cudaEventQuery(self.as_raw()) };
        if code == sys::cudaErrorNotReady {
            return Ok(false);
        }
        Error::check("cudaEventQuery", code)?;
        self.completed();
        Ok(true)
    }

    /// Returns the milliseconds from `start` to this event, both complete. Negative if `start` came
    /// later.
    ///
    /// Stands for [`cudaEventElapsedTime`](sys::cudaEventElapsedTime).
    ///
    /// # Errors
    /// - `cudaErrorNotReady` while either event is pending.
    /// - `cudaErrorInvalidResourceHandle` if either does not measure time or was never recorded, with the
    ///   one that is meant, or belongs to another device.
    /// - Refused inside a host function.
    #[doc(alias = "cudaEventElapsedTime")]
    #[track_caller]
    pub fn elapsed_ms(&self, start: &Self) -> Result<f32> {
        busy::ensure_idle("Event::elapsed_ms")?;
        if let Some(why) = self.not_measurable(start) {
            return Err(Error::refused("Event::elapsed_ms", Detail::Elapsed { why }));
        }
        let mut milliseconds = 0.0;
        // SAFETY: both events live as long as the borrows. The pointer is to a live number, which the
        // call fills.
        unsafe { check!(cudaEventElapsedTime(&raw mut milliseconds, start.as_raw(), self.as_raw())) }?;
        Ok(milliseconds)
    }

    /// Returns why no time is measured from `start` to this event. Events of different devices are left to
    /// the runtime.
    fn not_measurable(&self, start: &Self) -> Option<&'static str> {
        let recorded = |event: &Self| !matches!(event.mark, Mark::Nothing);
        let timed = |event: &Self| !event.flags.contains(EventFlags::DISABLE_TIMING);
        match (recorded(start), recorded(self), timed(start) && timed(self)) {
            (true, true, true) => None,
            (_, _, false) => {
                Some("an event measures no time if it is made without timing: use `Event::new` for both")
            }
            (false, ..) => Some("the start was never recorded: `start.record(&stream)?` before the work"),
            (_, false, _) => Some("the end was never recorded: `end.record(&stream)?` after the work"),
        }
    }

    /// Returns the device of the event.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the flags that the event was made with.
    #[must_use]
    pub fn flags(&self) -> EventFlags {
        self.flags
    }

    /// Returns the raw handle. If other code records the event, the tracker does not notice and keeps
    /// the former mark.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> sys::cudaEvent_t {
        self.raw.0
    }

    /// Takes ownership of an event that other code made. The tracker does not know what it stands for so
    /// far.
    ///
    /// # Safety
    /// - `raw` is a live event of `device`, made with `flags`.
    /// - Nobody else uses it, and no graph records it.
    #[must_use]
    pub unsafe fn from_raw(raw: sys::cudaEvent_t, device: Device, flags: EventFlags) -> Self {
        Self::made(RawEvent(raw), device, flags, Mark::Unknown)
    }

    /// Returns the raw handle without destroying the event. The caller owns it from now on.
    #[must_use = "the event is destroyed by nobody else"]
    pub fn into_raw(mut self) -> sys::cudaEvent_t {
        self.left = true;
        self.raw.0
    }

    #[inline]
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the vector clock that the event stands for, valid if the mark is `Recorded`.
    #[inline]
    pub(super) fn event_clock(&self) -> &EventClock {
        &self.event_clock
    }

    /// Informs the tracker that the work before the event is complete.
    fn completed(&self) {
        if self.mark == Mark::Recorded {
            // SAFETY: the runtime has reported that the event is complete.
            unsafe { TRACKER.completed_event(&self.event_clock) };
        }
        callback::run_deferred();
    }
}

impl Drop for Event {
    /// Returns the handle to the pool. This makes no CUDA call, so it may happen anywhere. An event that
    /// other processes may have is destroyed instead, and one that graphs may record is left to them.
    fn drop(&mut self) {
        if !self.left && process::is(self.process) {
            // This is the only copy of the handle from now on.
            let raw = RawEvent(self.raw.0);
            if self.flags.contains(EventFlags::INTERPROCESS) {
                destroy(raw);
            } else {
                pool::return_event(self.device, self.flags.bits(), raw);
            }
        }
    }
}

/// Destroys an event. If the thread must not call the runtime, this happens later.
fn destroy(raw: RawEvent) {
    if callback::in_callback() {
        callback::defer(Box::new(move || destroy(raw)));
        return;
    }
    // SAFETY: this value is the only owner of the handle. Waits for the event took its state when they
    // were submitted.
    let _ = unsafe { sys::cudaEventDestroy(raw.0) };
}
