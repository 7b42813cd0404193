//! [`Event`]: a mark on a stream, to wait for or to measure time with.
#![expect(unsafe_code, reason = "calls the runtime's event functions")]

use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use bitflags::bitflags;

use super::pool::{self, RawEvent};
use super::tracker::TRACKER;
use super::view::AsStream;
use super::{port, recorder, relax};
use crate::busy;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::{callback, check, process, sys, thread_state};
use cuda_hazard::SharedEvent;

bitflags! {
    /// Properties of an event.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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

impl EventFlags {
    /// No flag: the event measures time, and a thread that waits for it spins.
    #[doc(alias = "cudaEventDefault")]
    pub const DEFAULT: Self = Self::empty();
}

bitflags! {
    /// How an event is recorded.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[doc(alias = "cudaEventRecordDefault")]
    pub struct RecordFlags: u32 {
        /// In a capture: every launch of the graph records the event, for waiters outside of the graph.
        #[doc(alias = "cudaEventRecordExternal")]
        const EXTERNAL = sys::cudaEventRecordExternal;
    }
}

/// A mark on a stream. After a record, it stands for everything submitted to the stream before that.
///
/// Recording again moves the mark. Threads may share an event, as in C++: one records it while others wait
/// for it or query it. Each of these calls is for the last record before it. A dropped event goes to a pool,
/// because creating events is expensive.
#[derive(Debug)]
#[doc(alias = "cudaEventDestroy")]
#[doc(alias = "cudaEvent_t")]
pub struct Event {
    raw: RawEvent,
    device: Device,
    flags: EventFlags,
    /// The work that the event stands for. If another process or a graph may record it too, it proves
    /// nothing here.
    shared: SharedEvent,
    /// Whether the event is left to others and not reused: to graphs, which may record it at any time or
    /// wait for it, or to the caller of `into_raw`.
    left: AtomicBool,
    /// No other event of the process has or had this number. Handles are reused.
    number: u64,
    process: u32,
}

// SAFETY: the runtime accepts the handle on any thread and serializes its calls. The tracker's side of the
// event is made for many threads: `SharedEvent` says why it never claims more than the last record does. Only
// a drop gives the handle away, and a drop has no borrows beside it.
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
        Self::with_device(Device::current()?, flags)
    }

    /// Makes an event of `device`, which need not be current.
    ///
    /// # Errors
    /// Returns the runtime's error if the device cannot be made current. Refused inside a host function.
    #[doc(alias = "cudaEventCreateWithFlags")]
    #[track_caller]
    pub fn with_device(device: Device, flags: EventFlags) -> Result<Self> {
        busy::ensure_idle("Event::with_device")?;
        callback::run_deferred();
        let raw = pool::event(device, flags.bits())?;
        Ok(Self::made(raw, device, flags, SharedEvent::new()))
    }

    fn made(raw: RawEvent, device: Device, flags: EventFlags, shared: SharedEvent) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        if flags.contains(EventFlags::INTERPROCESS) {
            // Another process may record it, too, before this one does and afterwards.
            shared.set_opaque();
        }
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { raw, device, flags, shared, left: AtomicBool::new(false), number, process: process::number() }
    }

    /// Records the event on a stream of the same device. It then stands for everything submitted to the
    /// stream so far.
    ///
    /// In a capture, the record counts for that capture alone: streams that wait for the event there become
    /// part of it, and the event itself does not change.
    ///
    /// Stands for [`cudaEventRecord`](sys::cudaEventRecord). Does not block. A thread that waits for the
    /// event at this moment waits for this record or for the one before.
    ///
    /// # Errors
    /// - `Device` if the stream belongs to another device.
    /// - The runtime's error.
    /// - Refused inside a host function.
    #[doc(alias = "cudaEventRecord")]
    #[track_caller]
    pub fn record(&self, stream: &impl AsStream) -> Result<()> {
        let stream = stream.as_stream();
        let _entered = busy::enter("Event::record")?;
        stream.ensure_not_ending("Event::record")?;
        stream.device().ensure_is(self.device, "Event::record", "the stream")?;
        let (raw, timeline, call_site) = (self.as_raw(), stream.timeline, Location::caller());
        if let Some(recorder) = stream.recorder() {
            return recorder.record("Event::record", timeline, self.number);
        }
        // SAFETY: event and stream live as long as the borrows, and the stream belongs to the device
        // that its timeline names.
        let record = || unsafe { port::record(self.device, stream.as_raw(), timeline.kind, raw) };
        // SAFETY: the call records this event. Once graphs or other processes may record it, it is opaque,
        // and an execution context records it by `record_unknown`.
        unsafe { TRACKER.record_shared(timeline, &self.shared, record) }.map_err(|error| error.at(call_site))
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
    /// let event = Event::with_flags(EventFlags::BLOCKING_SYNC | EventFlags::DISABLE_TIMING)?;
    /// event.record_with(&stream, RecordFlags::empty())?;
    /// event.synchronize()?; // sleeps, and does not spin
    /// assert!(event.is_done()?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaEventRecordWithFlags")]
    #[track_caller]
    pub fn record_with(&self, stream: &impl AsStream, flags: RecordFlags) -> Result<()> {
        if flags.is_empty() {
            return self.record(stream);
        }
        let stream = stream.as_stream();
        let api = "Event::record_with";
        let _entered = busy::enter(api)?;
        stream.device().ensure_is(self.device, api, "the stream")?;
        let _current = stream.switch()?;
        // SAFETY: event and stream live as long as the borrows.
        unsafe { check!(cudaEventRecordWithFlags(self.as_raw(), stream.as_raw(), flags.bits())) }?;
        self.given_to_graphs(true);
        Ok(())
    }

    /// Leaves the event to graphs, which wait for it. If `recorded` is set, they also record it at times
    /// that are unknown here. The thread is not inside an operation.
    pub(crate) fn given_to_graphs(&self, recorded: bool) {
        self.left.store(true, Ordering::Relaxed);
        if recorded {
            self.shared.set_opaque();
        }
    }

    /// Blocks until the work that the event stands for is complete. Returns at once if the event was
    /// never recorded. If another thread records it meanwhile, this waits for the former record.
    ///
    /// Stands for [`cudaEventSynchronize`](sys::cudaEventSynchronize).
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a
    /// host function, and while the thread makes a capture.
    #[doc(alias = "cudaEventSynchronize")]
    #[track_caller]
    pub fn synchronize(&self) -> Result<()> {
        busy::ensure_idle("Event::synchronize")?;
        recorder::ensure_none("Event::synchronize")?;
        let Some(record) = self.shared.last_record() else { return Ok(()) };
        relax()?;
        // SAFETY: the event lives as long as the borrow.
        unsafe { check!(cudaEventSynchronize(self.as_raw())) }?;
        self.completed(record);
        Ok(())
    }

    /// Returns whether the work that the event stands for is complete, and `true` if the event was never
    /// recorded. Does not block.
    ///
    /// Stands for [`cudaEventQuery`](sys::cudaEventQuery).
    ///
    /// # Errors
    /// Returns the failure of any work that the device has run since the last check. Refused inside a
    /// host function, and in a capture in which the event was recorded.
    #[doc(alias = "cudaEventQuery")]
    #[track_caller]
    pub fn is_done(&self) -> Result<bool> {
        busy::ensure_idle("Event::is_done")?;
        if let Some(recorder) = recorder::current() {
            recorder.ensure_not_recorded("Event::is_done", self.number)?;
        }
        let Some(record) = self.shared.last_record() else { return Ok(true) };
        relax()?;
        // SAFETY: the event lives as long as the borrow.
        let code = unsafe { sys::cudaEventQuery(self.as_raw()) };
        if code == sys::cudaErrorNotReady {
            return Ok(false);
        }
        Error::check("cudaEventQuery", code)?;
        self.completed(record);
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
            return Err(Error::refused(
                "Event::elapsed_ms",
                Detail::new(ErrorKind::Argument, why).or_code(sys::cudaErrorInvalidResourceHandle),
            ));
        }
        let records = [start, self].map(|event| event.shared.last_record());
        let mut milliseconds = 0.0;
        // SAFETY: both events live as long as the borrows. The pointer is to a live number, which the
        // call fills.
        unsafe { check!(cudaEventElapsedTime(&raw mut milliseconds, start.as_raw(), self.as_raw())) }?;
        // The runtime measures only between events that are complete.
        for (event, record) in [start, self].into_iter().zip(records) {
            record.into_iter().for_each(|record| event.completed(record));
        }
        Ok(milliseconds)
    }

    /// Returns why no time is measured from `start` to this event. Events of different devices are left to
    /// the runtime.
    fn not_measurable(&self, start: &Self) -> Option<&'static str> {
        let recorded = |event: &Self| event.shared.last_record().is_some();
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
        Self::made(RawEvent(raw), device, flags, SharedEvent::recorded_elsewhere())
    }

    /// Returns the raw handle without destroying the event. The caller owns it from now on.
    #[must_use = "the event is destroyed by nobody else"]
    pub fn into_raw(self) -> sys::cudaEvent_t {
        self.left.store(true, Ordering::Relaxed);
        self.raw.0
    }

    /// Returns the number of the event.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the tracker's side of the event.
    #[inline]
    pub(super) fn shared(&self) -> &SharedEvent {
        &self.shared
    }

    /// Informs the tracker that the work before record number `record` is complete, if no other record has
    /// come since.
    fn completed(&self, record: u64) {
        // SAFETY: the runtime has reported that the event is complete, in a call after the number was read.
        unsafe { TRACKER.completed_shared(&self.shared, record) };
        callback::run_deferred();
    }
}

impl Drop for Event {
    /// Returns the handle to the pool. This makes no CUDA call, so it may happen anywhere. An event that
    /// other processes may have is destroyed instead, and one that graphs may record is left to them.
    fn drop(&mut self) {
        if !*self.left.get_mut() && process::is(self.process) {
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
    if thread_state::in_callback() {
        callback::defer(Box::new(move || destroy(raw)));
        return;
    }
    // SAFETY: this value is the only owner of the handle. Waits for the event took its state when they
    // were submitted.
    let _ = unsafe { sys::cudaEventDestroy(raw.0) };
}
