//! Handles kept for the next user: events per device and flags, streams per device, kind and priority.
//!
//! Creating an event costs microseconds, so the waits that the tracker adds take theirs from here: a stream keeps the one that it
//! waits by for other streams of its device. Streams
//! are kept for another reason too: what a dropped stream was given may still be running, and another stream
//! or the host may yet have to wait for it. So a stream's handle and its timeline stay together here, are never
//! destroyed, and serve again only once the stream is drained.
#![expect(unsafe_code, reason = "creates and asks about streams and events")]

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::attributes;
use super::tracker::TRACKER;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};
use cuda_hazard::{Kind, Timeline, WaitTarget};

/// A raw event that nobody else has.
#[derive(Debug)]
pub(super) struct RawEvent(pub(super) sys::cudaEvent_t);

// SAFETY: an event handle is a name that the runtime takes from any thread; this value is its only owner.
unsafe impl Send for RawEvent {}

/// A raw stream with its timeline.
#[derive(Debug)]
struct Kept {
    raw: usize,
    device: i32,
    kind: Kind,
    priority: i32,
    timeline: &'static Timeline,
}

/// Events that nobody uses: device, flags, handle.
static EVENTS: Mutex<Vec<(i32, u32, RawEvent)>> = Mutex::new(Vec::new());

/// Streams that were dropped.
static STREAMS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An event of a device, from the pool or new.
#[track_caller]
pub(super) fn event(device: Device, flags: u32) -> Result<RawEvent> {
    {
        let mut events = lock(&EVENTS);
        let fits = |(of, with, _): &(i32, u32, RawEvent)| (*of, *with) == (device.ordinal(), flags);
        if let Some(at) = events.iter().rposition(fits) {
            return Ok(events.swap_remove(at).2);
        }
    }
    let _current = device.switch()?;
    let mut raw = std::ptr::null_mut();
    // SAFETY: the pointer is to a live variable of ours, which the call fills.
    unsafe { check!(cudaEventCreateWithFlags(&raw mut raw, flags)) }?;
    Ok(RawEvent(raw))
}

/// Keeps an event for the next user. Work recorded in it may still be pending: recording again replaces that.
pub(super) fn keep_event(device: Device, flags: u32, event: RawEvent) {
    lock(&EVENTS).push((device.ordinal(), flags, event));
}

/// A drained stream of this device, kind and priority, if one was dropped before.
pub(super) fn stream(device: Device, kind: Kind, priority: i32) -> Option<(usize, &'static Timeline)> {
    let kept = known_drained(device, kind, priority).or_else(|| found_drained(device, kind, priority))?;
    if !attributes::renew(raw_stream(kept.raw), device, priority) {
        // It stays as it is, for nobody.
        return None;
    }
    Some((kept.raw, kept.timeline))
}

/// Whether a kept stream is of this device, kind and priority.
fn fits(kept: &Kept, device: Device, kind: Kind, priority: i32) -> bool {
    (kept.device, kept.kind, kept.priority) == (device.ordinal(), kind, priority)
}

/// One that is known to be drained.
fn known_drained(device: Device, kind: Kind, priority: i32) -> Option<Kept> {
    let mut streams = lock(&STREAMS);
    let known = |kept: &Kept| fits(kept, device, kind, priority) && kept.timeline.is_drained();
    let at = streams.iter().position(known)?;
    Some(streams.swap_remove(at))
}

/// One that the runtime says is drained. It is asked outside of the lock: a call that fails may have a function of the program's called
/// (`logs::on_message`), on this thread, which may drop streams.
fn found_drained(device: Device, kind: Kind, priority: i32) -> Option<Kept> {
    let mut asked: Vec<Kept> =
        lock(&STREAMS).extract_if(.., |kept| fits(kept, device, kind, priority)).collect();
    let at = asked.iter().position(drained);
    let found = at.map(|at| asked.swap_remove(at));
    lock(&STREAMS).append(&mut asked);
    found
}

/// Keeps a stream that was dropped.
pub(super) fn keep_stream(
    raw: usize,
    device: Device,
    kind: Kind,
    priority: i32,
    timeline: &'static Timeline,
) {
    lock(&STREAMS).push(Kept { raw, device: device.ordinal(), kind, priority, timeline });
}

/// Forgets the handles of a device that is reset: they are gone, and so is all work that was under way.
pub(crate) fn abandon(device: Device) {
    let snapshot = TRACKER.snapshot_of_device(device.ordinal());
    lock(&EVENTS).retain(|(of, _, _)| *of != device.ordinal());
    attributes::abandon(device);
    lock(&STREAMS).retain(|kept| kept.device != device.ordinal());
    TRACKER.timelines(Some(device.ordinal())).for_each(Timeline::clear_backend_data);
    for timeline in TRACKER.retired().into_iter().filter_map(|id| TRACKER.timeline(id)) {
        if timeline.device() == device.ordinal() {
            // SAFETY: the whole device is waited for.
            *unsafe { timeline.wait_target_mut() } = WaitTarget::Device;
        }
    }
    // SAFETY: the device is reset: nothing of it runs any more.
    unsafe { TRACKER.completed_all(&snapshot) };
}

/// Whether nothing runs on a kept stream any more.
fn drained(kept: &Kept) -> bool {
    if kept.timeline.is_drained() {
        return true;
    }
    let snapshot = TRACKER.snapshot_of(kept.timeline);
    // SAFETY: kept streams are never destroyed, so the handle is live; asking changes nothing.
    let answer = unsafe { sys::cudaStreamQuery(raw_stream(kept.raw)) };
    if answer == sys::cudaSuccess {
        // SAFETY: the runtime has said so.
        unsafe { TRACKER.completed_all(&snapshot) };
    }
    kept.timeline.is_drained()
}

/// A stream's handle from the number that it is kept as.
pub(super) fn raw_stream(number: usize) -> sys::cudaStream_t {
    std::ptr::with_exposed_provenance_mut(number)
}

/// An event's handle from the number that it is kept as.
pub(super) fn raw_event(number: usize) -> sys::cudaEvent_t {
    std::ptr::with_exposed_provenance_mut(number)
}

/// Enrols a stream that has no timeline yet.
#[track_caller]
pub(super) fn enrol(device: Device, kind: Kind, raw: sys::cudaStream_t) -> Result<&'static Timeline> {
    reclaim();
    let reach = WaitTarget::Stream(raw.expose_provenance());
    // SAFETY: the stream is live, of this kind and device, and is dismissed before it goes.
    unsafe { TRACKER.add_timeline(device.ordinal(), kind, reach) }.map_err(|_| too_many())
}

/// The refusal where the tracker have no timeline left.
#[cold]
#[track_caller]
pub(super) fn too_many() -> Error {
    Error::refused(
        "Stream",
        Detail::Limit { what: "number of streams", asked: 1 << 21, limit: (1 << 21) - 1 },
    )
}

/// Takes back the last events of streams that are gone and whose work is done, which frees their timelines too.
fn reclaim() {
    for timeline in TRACKER.retired().into_iter().filter_map(|id| TRACKER.timeline(id)) {
        // SAFETY: below, it changes from an event that is over to the device.
        let mut reach = unsafe { timeline.wait_target_mut() };
        let WaitTarget::Event(number) = *reach else { continue };
        let snapshot = TRACKER.snapshot_by_last_event(timeline);
        let raw = raw_event(number);
        // SAFETY: the event was recorded when the stream went, belongs to the timeline alone and was not
        // destroyed.
        if unsafe { sys::cudaEventQuery(raw) } == sys::cudaSuccess {
            // SAFETY: the event stands for all of it, and is complete.
            unsafe { TRACKER.completed_all(&snapshot) };
            *reach = WaitTarget::Device;
            keep_event(Device::from_ordinal(timeline.device()), sys::cudaEventDisableTiming, RawEvent(raw));
        }
    }
}
