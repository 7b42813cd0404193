//! Handles for reuse: events by device and flags, streams by device, kind and priority.
//!
//! Creating an event costs microseconds, so the tracker's added waits take their events from here. A
//! stream keeps the event by which it waits for other streams of its device.
//!
//! Streams are pooled for another reason too: work of a dropped stream may still be running, and another
//! stream or the host may have to wait for it. So a stream's handle and its timeline stay together here.
//! They are never destroyed, and are reused only after the stream has completed all its work.
#![expect(unsafe_code, reason = "creates and asks about streams and events")]

use std::sync::Mutex;

use super::renewal;
use super::tracker::TRACKER;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::lock::lock;
use crate::{check, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// A raw event with a single owner.
#[derive(Debug)]
pub(super) struct RawEvent(pub(super) sys::cudaEvent_t);

// SAFETY: the runtime accepts an event's handle on any thread, and this value is its only owner.
unsafe impl Send for RawEvent {}

/// A raw stream with its timeline.
#[derive(Debug)]
struct PooledStream {
    raw: usize,
    device: i32,
    kind: Kind,
    priority: i32,
    timeline: &'static Timeline,
}

/// Events that nobody uses, with device and flags.
static EVENTS: Mutex<Vec<(i32, u32, RawEvent)>> = Mutex::new(Vec::new());

/// Streams that were dropped.
static STREAMS: Mutex<Vec<PooledStream>> = Mutex::new(Vec::new());

/// Returns an event of a device, from the pool or new.
#[track_caller]
pub(super) fn event(device: Device, flags: u32) -> Result<RawEvent> {
    {
        let mut events = lock(&EVENTS);
        let fits = |(of, with, _): &(i32, u32, RawEvent)| (*of, *with) == (device.as_raw(), flags);
        if let Some(at) = events.iter().rposition(fits) {
            return Ok(events.swap_remove(at).2);
        }
    }
    let _current = device.switch()?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is to a live local variable, which the call fills.
    unsafe { check!(cudaEventCreateWithFlags(&raw mut raw, flags)) }?;
    Ok(RawEvent(raw))
}

/// Returns an event to the pool. Work recorded in it may still be pending, because recording again
/// replaces that.
pub(super) fn return_event(device: Device, flags: u32, event: RawEvent) {
    lock(&EVENTS).push((device.as_raw(), flags, event));
}

/// Returns a dropped stream of this device, kind and priority that has completed all its work, if the
/// pool has one.
pub(super) fn stream(device: Device, kind: Kind, priority: i32) -> Option<(usize, &'static Timeline)> {
    let pooled = known_drained(device, kind, priority).or_else(|| found_drained(device, kind, priority))?;
    if !renewal::renew(raw_stream(pooled.raw), device, priority) {
        // The stream is not reused by anyone.
        return None;
    }
    pooled.timeline.begin_stream();
    Some((pooled.raw, pooled.timeline))
}

/// Returns whether a dropped stream is of this device, kind and priority.
fn fits(pooled: &PooledStream, device: Device, kind: Kind, priority: i32) -> bool {
    (pooled.device, pooled.kind, pooled.priority) == (device.as_raw(), kind, priority)
}

/// Returns a matching stream that is known to have completed its work.
fn known_drained(device: Device, kind: Kind, priority: i32) -> Option<PooledStream> {
    let mut streams = lock(&STREAMS);
    let known = |pooled: &PooledStream| fits(pooled, device, kind, priority) && pooled.timeline.is_drained();
    let at = streams.iter().position(known)?;
    Some(streams.swap_remove(at))
}

/// Returns a matching stream that has completed its work according to the runtime. The query is made
/// without the lock: a failing call may call a function of the program (`logs::on_message`) on this
/// thread, which may drop streams.
fn found_drained(device: Device, kind: Kind, priority: i32) -> Option<PooledStream> {
    let mut asked: Vec<PooledStream> =
        lock(&STREAMS).extract_if(.., |pooled| fits(pooled, device, kind, priority)).collect();
    let at = asked.iter().position(drained);
    let found = at.map(|at| asked.swap_remove(at));
    lock(&STREAMS).append(&mut asked);
    found
}

/// Adds a dropped stream.
pub(super) fn return_stream(
    raw: usize,
    device: Device,
    kind: Kind,
    priority: i32,
    timeline: &'static Timeline,
) {
    lock(&STREAMS).push(PooledStream { raw, device: device.as_raw(), kind, priority, timeline });
}

/// Forgets the handles of a device that is reset: they are invalid, and no work of the device is pending
/// any more.
pub(crate) fn abandon(device: Device) {
    let snapshot = TRACKER.snapshot_of_device(device.as_raw());
    lock(&EVENTS).retain(|(of, _, _)| *of != device.as_raw());
    renewal::abandon(device);
    lock(&STREAMS).retain(|pooled| pooled.device != device.as_raw());
    TRACKER.timelines(Some(device.as_raw())).for_each(Timeline::clear_backend_data);
    for timeline in TRACKER.retired().into_iter().filter_map(|id| TRACKER.timeline(id)) {
        if timeline.device() == device.as_raw() {
            // SAFETY: such a timeline is waited for by the whole device.
            *unsafe { timeline.wait_target_mut() } = WaitTarget::Device;
        }
    }
    // SAFETY: the device is reset, so nothing runs on it any more.
    unsafe { TRACKER.completed_all(&snapshot) };
}

/// Returns whether a dropped stream has completed all its work.
fn drained(pooled: &PooledStream) -> bool {
    if pooled.timeline.is_drained() {
        return true;
    }
    let snapshot = TRACKER.snapshot_of(pooled.timeline);
    // SAFETY: streams in the pool are never destroyed, so the handle is live. The query changes nothing.
    let answer = unsafe { sys::cudaStreamQuery(raw_stream(pooled.raw)) };
    if answer == sys::cudaSuccess {
        // SAFETY: the runtime has reported that the stream has completed everything.
        unsafe { TRACKER.completed_all(&snapshot) };
    }
    pooled.timeline.is_drained()
}

/// Returns a stream's handle from its stored address.
pub(super) fn raw_stream(number: usize) -> sys::cudaStream_t {
    std::ptr::with_exposed_provenance_mut(number)
}

/// Returns an event's handle from its stored address.
pub(super) fn raw_event(number: usize) -> sys::cudaEvent_t {
    std::ptr::with_exposed_provenance_mut(number)
}

/// Adds a stream to the tracker and returns its new timeline.
#[track_caller]
pub(super) fn add_timeline(device: Device, kind: Kind, raw: sys::cudaStream_t) -> Result<&'static Timeline> {
    reclaim();
    let target = WaitTarget::Stream(raw.expose_provenance());
    // SAFETY: the stream is live, is of this kind and device, and is retired before it is destroyed.
    unsafe { TRACKER.add_timeline(device.as_raw(), kind, target) }.map_err(|_| too_many())
}

/// Returns the refusal for a tracker without a free timeline.
#[cold]
#[track_caller]
pub(super) fn too_many() -> Error {
    Error::refused("Stream", Detail::limit("number of streams", 1 << 21, (1 << 21) - 1))
}

/// Reclaims the last events of streams that are gone and have completed their work. This also frees
/// their timelines.
fn reclaim() {
    for timeline in TRACKER.retired().into_iter().filter_map(|id| TRACKER.timeline(id)) {
        // SAFETY: below, it changes from an event that is complete to the device.
        let mut target = unsafe { timeline.wait_target_mut() };
        let WaitTarget::Event(number) = *target else { continue };
        let snapshot = TRACKER.snapshot_by_last_event(timeline);
        let raw = raw_event(number);
        // SAFETY: the event was recorded when the stream was retired. Only the timeline owns it, and
        // it has not been destroyed.
        if unsafe { sys::cudaEventQuery(raw) } == sys::cudaSuccess {
            // SAFETY: the event stands for everything in the snapshot, and is complete.
            unsafe { TRACKER.completed_all(&snapshot) };
            *target = WaitTarget::Device;
            return_event(Device::from_ordinal(timeline.device()), sys::cudaEventDisableTiming, RawEvent(raw));
        }
    }
}
