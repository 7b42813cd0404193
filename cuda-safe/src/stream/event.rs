//! [`Event`]: a mark on a stream, to wait for or to take the time by.
#![expect(unsafe_code, reason = "calls the runtime's event functions")]

use std::panic::Location;

use bitflags::bitflags;

use super::pool::{self, RawEvent};
use super::tracker::TRACKER;
use super::view::AsStream;
use super::{busy, deferred, port};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, process, sys};
use cuda_hazard::EventClock;

bitflags! {
    /// What an event is to be like.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct EventFlags: u32 {
        /// A thread that waits for the event sleeps instead of spinning.
        #[doc(alias = "cudaEventBlockingSync")]
        const BLOCKING_SYNC = sys::cudaEventBlockingSync;
        /// The event takes no time, which makes recording and waiting much cheaper.
        const DISABLE_TIMING = sys::cudaEventDisableTiming;
        /// Other processes may be given the event, which then takes no time either: see
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
        /// In a capture: the event is recorded whenever the graph runs, for whoever is outside of it.
        #[doc(alias = "cudaEventRecordExternal")]
        const EXTERNAL = sys::cudaEventRecordExternal;
    }
}

/// A mark on a stream. Once recorded, it stands for all that the stream had been given until then.
///
/// Recording again moves the mark, which needs `&mut`: nobody can be waiting for it at that moment. A dropped
/// event goes to a pool, as creating one is dear.
#[derive(Debug)]
#[doc(alias = "cudaEventDestroy")]
#[doc(alias = "cudaEvent_t")]
pub struct Event {
    raw: RawEvent,
    device: Device,
    flags: EventFlags,
    mark: Mark,
    /// What it stands for once it is recorded: where another process or a graph may record it too, it stands for that, and proves
    /// nothing here.
    recorded: Mark,
    /// What that is, where it is known.
    event_clock: EventClock,
    /// Whether it is left to others: to graphs, which may record it nobody knows when, or wait for it, or to who took the handle.
    left: bool,
    process: u32,
}

/// What an event stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// Nothing: it was never recorded. The handle may have a former life, so the runtime is not asked.
    Nothing,
    /// All that the stream was ordered after then: the snapshot.
    Recorded,
    /// It was recorded behind the crate's back, or recording it failed.
    Unknown,
}

// SAFETY: the handle is a name that the runtime takes from any thread; through `&Event` it is only waited for
// and asked.
unsafe impl Sync for Event {}

impl Event {
    /// Makes an event of the current device that takes the time.
    ///
    /// Stands for [`cudaEventCreate`](sys::cudaEventCreate).
    ///
    /// # Errors
    /// Where there is no device; a refusal inside a host function.
    #[doc(alias = "cudaEventCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::with_flags(EventFlags::empty())
    }

    /// Makes an event of the current device that takes no time: the cheap one, for ordering.
    ///
    /// Stands for [`cudaEventCreateWithFlags`](sys::cudaEventCreateWithFlags) with `cudaEventDisableTiming`.
    ///
    /// # Errors
    /// Where there is no device; a refusal inside a host function.
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
    /// Where there is no device; a refusal inside a host function.
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[track_caller]
    pub fn with_flags(flags: EventFlags) -> Result<Self> {
        busy::ensure_idle("Event::with_flags")?;
        Self::on(Device::current()?, flags)
    }

    /// Makes an event of `device`, which need not be current.
    ///
    /// # Errors
    /// Where the device cannot be made current; a refusal inside a host function.
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[track_caller]
    pub fn on(device: Device, flags: EventFlags) -> Result<Self> {
        busy::ensure_idle("Event::on")?;
        deferred::run();
        let raw = pool::event(device, flags.bits())?;
        Ok(Self::made(raw, device, flags, Mark::Nothing))
    }

    fn made(raw: RawEvent, device: Device, flags: EventFlags, mark: Mark) -> Self {
        let shared = flags.contains(EventFlags::INTERPROCESS);
        let recorded = if shared { Mark::Unknown } else { Mark::Recorded };
        let (event_clock, process) = (EventClock::new(), process::number());
        Self { raw, device, flags, mark, recorded, event_clock, left: false, process }
    }

    /// Puts the mark on a stream of the same device: it stands for all that the stream has been given so far.
    ///
    /// Stands for [`cudaEventRecord`](sys::cudaEventRecord). Does not block.
    ///
    /// # Errors
    /// `DeviceMismatch` if the stream is of another device; what the runtime fails with; a refusal inside a
    /// host function.
    #[doc(alias = "cudaEventRecord")]
    #[track_caller]
    pub fn record(&mut self, stream: &impl AsStream) -> Result<()> {
        let stream = stream.as_stream();
        let _entered = busy::enter("Event::record")?;
        stream.ensure_not_captured("Event::record")?;
        stream.ensure_going_on("Event::record")?;
        let (found, needed) = (stream.device().ordinal(), self.device.ordinal());
        if found != needed {
            return Err(Error::refused(
                "Event::record",
                Detail::DeviceMismatch { what: "the stream", found, needed },
            ));
        }
        let (raw, timeline, call_site) = (self.as_raw(), stream.timeline(), Location::caller());
        // SAFETY: event and stream live while the borrows do, and the stream is of the device that its timeline
        // says.
        let record = || unsafe { port::record(self.device, stream.as_raw(), timeline.kind, raw) };
        // If the call fails, there is no telling what the event stands for.
        self.mark = Mark::Unknown;
        // SAFETY: the call records this event, which has the snapshot to itself.
        unsafe { TRACKER.record_into(timeline, &mut self.event_clock, record) }
            .map_err(|error| error.at(call_site))?;
        self.mark = self.recorded;
        Ok(())
    }

    /// [`record`](Self::record) with flags.
    ///
    /// Stands for [`cudaEventRecordWithFlags`](sys::cudaEventRecordWithFlags). With `EXTERNAL` the tracker does not know what
    /// the event stands for, as any launch of the graph records it again: from then on it is waited for as it is, and proves
    /// nothing. It is never destroyed, since the graph may outlive it.
    ///
    /// # Errors
    /// As [`record`](Self::record); `cudaErrorIllegalState` for `EXTERNAL` on a stream that is not being captured.
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
        // SAFETY: event and stream live while the borrows do.
        unsafe { check!(cudaEventRecordWithFlags(self.as_raw(), stream.as_raw(), flags.bits())) }?;
        self.given_to_graphs(true);
        Ok(())
    }

    /// Leaves the event to graphs, which record it, nobody knows when, or only wait for it.
    pub(crate) fn given_to_graphs(&mut self, recorded: bool) {
        self.left = true;
        if recorded {
            (self.mark, self.recorded) = (Mark::Unknown, Mark::Unknown);
        }
    }

    /// Blocks until what the event stands for is complete. At once if it was never recorded.
    ///
    /// Stands for [`cudaEventSynchronize`](sys::cudaEventSynchronize).
    ///
    /// # Errors
    /// The failure of any work that the device has done since; a refusal inside a host function.
    #[doc(alias = "cudaEventSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("Event::synchronize")?;
        if matches!(self.mark, Mark::Nothing) {
            return Ok(());
        }
        // SAFETY: the event lives while the borrow does.
        unsafe { check!(cudaEventSynchronize(self.as_raw())) }?;
        self.completed();
        Ok(())
    }

    /// Whether what the event stands for is complete; so too if it was never recorded. Does not block.
    ///
    /// Stands for [`cudaEventQuery`](sys::cudaEventQuery).
    ///
    /// # Errors
    /// The failure of any work that the device has done since; a refusal inside a host function.
    #[doc(alias = "cudaEventQuery")]
    #[track_caller]
    pub fn is_done(&self) -> Result<bool> {
        busy::ensure_idle("Event::is_done")?;
        if matches!(self.mark, Mark::Nothing) {
            return Ok(true);
        }
        // SAFETY: the event lives while the borrow does.
        let code = unsafe { sys::cudaEventQuery(self.as_raw()) };
        if code == sys::cudaErrorNotReady {
            return Ok(false);
        }
        Error::check("cudaEventQuery", code)?;
        self.completed();
        Ok(true)
    }

    /// The milliseconds from `start` to this event, both complete. Negative if `start` came later.
    ///
    /// Stands for [`cudaEventElapsedTime`](sys::cudaEventElapsedTime).
    ///
    /// # Errors
    /// `cudaErrorNotReady` while either is pending, `cudaErrorInvalidResourceHandle` where one takes no time,
    /// was never recorded or is of another device; a refusal inside a host function.
    #[doc(alias = "cudaEventElapsedTime")]
    #[track_caller]
    pub fn elapsed_ms(&self, start: &Self) -> Result<f32> {
        busy::ensure_idle("Event::elapsed_ms")?;
        if [self, start].iter().any(|event| matches!(event.mark, Mark::Nothing)) {
            return Err(Error::from_code("cudaEventElapsedTime", sys::cudaErrorInvalidResourceHandle));
        }
        let mut milliseconds = 0.0;
        // SAFETY: both events live while the borrows do; the pointer is to a live number, which the call
        // fills.
        unsafe { check!(cudaEventElapsedTime(&raw mut milliseconds, start.as_raw(), self.as_raw())) }?;
        Ok(milliseconds)
    }

    /// The device that the event is of.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// What the event was made with.
    #[must_use]
    pub fn flags(&self) -> EventFlags {
        self.flags
    }

    /// The raw handle. Recording it behind the crate's back does not change what the tracker thinks that it
    /// stands for.
    #[must_use]
    #[inline]
    pub fn as_raw(&self) -> sys::cudaEvent_t {
        self.raw.0
    }

    /// Takes over an event that was made elsewhere. What it stands for so far, the tracker does not know.
    ///
    /// # Safety
    /// `raw` is a live event of `device`, made with `flags`, not in use by anybody else, and no graph records it.
    #[must_use]
    pub unsafe fn from_raw(raw: sys::cudaEvent_t, device: Device, flags: EventFlags) -> Self {
        Self::made(RawEvent(raw), device, flags, Mark::Unknown)
    }

    /// Gives the event up without destroying it, which is then the caller's affair.
    #[must_use = "the event is destroyed by nobody else"]
    pub fn into_raw(mut self) -> sys::cudaEvent_t {
        self.left = true;
        self.raw.0
    }

    /// What the event stands for.
    #[inline]
    pub(super) fn mark(&self) -> Mark {
        self.mark
    }

    /// What that is, where the mark says that it is known.
    #[inline]
    pub(super) fn event_clock(&self) -> &EventClock {
        &self.event_clock
    }

    /// What the event stands for has completed.
    fn completed(&self) {
        if self.mark == Mark::Recorded {
            // SAFETY: the runtime has said so.
            unsafe { TRACKER.completed_event(&self.event_clock) };
        }
        deferred::run();
    }
}

impl Drop for Event {
    /// Keeps the handle for the next event. No call, so it may happen anywhere. An event that other processes may have is
    /// destroyed instead, and one that graphs may record is left to them.
    fn drop(&mut self) {
        if !self.left && process::is(self.process) {
            // There is no other one of it from here on.
            let raw = RawEvent(self.raw.0);
            if self.flags.contains(EventFlags::INTERPROCESS) {
                destroy(raw);
            } else {
                pool::keep_event(self.device, self.flags.bits(), raw);
            }
        }
    }
}

/// Destroys an event; later, where the thread may not call the runtime.
fn destroy(raw: RawEvent) {
    if busy::in_callback() {
        deferred::defer(Box::new(move || destroy(raw)));
        return;
    }
    // SAFETY: the handle is this value's alone. What waits for the event has taken what it stands for.
    let _ = unsafe { sys::cudaEventDestroy(raw.0) };
}
