//! Events: which operation each one marks, and when that was done.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::names::OperationId;
use super::queue::Queue;
use super::shared_counters::{Await, SharedCounters};
use super::work::Record;
use crate::error::Answer;
use crate::memory::{IpcHandle, unnamed_file};
use crate::sys::*;

/// Where in a capture an event was recorded.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    /// The number of the capture.
    pub(crate) capture: u64,
    /// The nodes that it comes after.
    pub(crate) after: Vec<usize>,
}

/// One event.
#[derive(Debug, Default)]
pub(crate) struct Event {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    /// The operation of the last record, if there was one.
    pub(crate) id: Option<OperationId>,
    /// When that operation was done.
    pub(crate) at: Option<Instant>,
    /// The place of its last record in a capture, if that record was captured.
    mark: Option<Mark>,
    /// The counters that other processes know, once there may be any.
    pub(crate) moments: Option<Arc<SharedCounters>>,
    /// Where other processes find that.
    ipc_handle: Option<IpcHandle>,
    /// The numbers of records that are not done, for other processes.
    numbers: Vec<(OperationId, u64)>,
}

impl Event {
    fn new(device: usize, flags: u32) -> Self {
        Self { device, flags, ..Self::default() }
    }

    /// The moment that the event marks now, if other processes know it and it has not come.
    pub(crate) fn awaited(&self) -> Option<Await> {
        let moments = self.moments.as_ref()?;
        let number = moments.last();
        (!moments.reached(number)).then(|| Await { moments: Arc::clone(moments), number })
    }
}

/// All events of the process.
#[derive(Debug, Default)]
pub(crate) struct Events {
    last: usize,
    all: HashMap<usize, Event>,
}

/// Event handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x00ee_0000_0000;
const STRIDE: usize = 0x40;

impl Events {
    pub(crate) fn create(&mut self, device: usize, flags: u32) -> cudaEvent_t {
        self.last += 1;
        let handle = FIRST + self.last * STRIDE;
        self.all.insert(handle, Event::new(device, flags));
        core::ptr::without_provenance_mut::<CUevent_st>(handle)
    }

    pub(crate) fn get(&self, event: cudaEvent_t) -> Answer<&Event> {
        self.all.get(&event.addr()).ok_or(cudaErrorInvalidResourceHandle)
    }

    #[cfg(test)]
    fn get_mut(&mut self, event: cudaEvent_t) -> Answer<&mut Event> {
        self.all.get_mut(&event.addr()).ok_or(cudaErrorInvalidResourceHandle)
    }

    pub(crate) fn destroy(&mut self, event: cudaEvent_t) -> Answer {
        self.all.remove(&event.addr()).map(|_| ()).ok_or(cudaErrorInvalidResourceHandle)
    }

    /// Sets the operation of the last record of an event.
    pub(super) fn recorded(&mut self, event: usize, id: OperationId) {
        if let Some(event) = self.all.get_mut(&event) {
            event.id = Some(id);
            event.at = None;
            event.mark = None;
            if let Some(moments) = &event.moments {
                event.numbers.push((id, moments.record()));
            }
        }
    }

    /// Sets the place of the last record of an event in a capture.
    pub(crate) fn marked(&mut self, event: usize, mark: Mark) {
        if let Some(event) = self.all.get_mut(&event) {
            event.id = None;
            event.at = None;
            event.mark = Some(mark);
        }
    }

    /// Where in a capture the last record of an event is.
    pub(crate) fn mark(&self, event: usize) -> Option<&Mark> {
        self.all.get(&event)?.mark.as_ref()
    }

    /// The operation of the last record of an event.
    pub(crate) fn id(&self, event: usize) -> Option<OperationId> {
        self.all.get(&event)?.id
    }

    /// Lets other processes know an event. Returns the handle that they need.
    pub(crate) fn share(&mut self, event: cudaEvent_t, queue: &Queue) -> Answer<IpcHandle> {
        let event = self.all.get_mut(&event.addr()).ok_or(cudaErrorInvalidResourceHandle)?;
        if event.flags & cudaEventInterprocess == 0 {
            return Err(cudaErrorInvalidResourceHandle);
        }
        if event.moments.is_none() {
            let (file, ipc_handle) = unnamed_file(event.device).ok_or(cudaErrorMapBufferObjectFailed)?;
            let moments = SharedCounters::map(file).ok_or(cudaErrorMapBufferObjectFailed)?;
            if let Some(id) = event.id {
                let number = moments.record();
                if queue.pending(id) { event.numbers.push((id, number)) } else { moments.reach(number) }
            }
            event.moments = Some(Arc::new(moments));
            event.ipc_handle = Some(ipc_handle);
        }
        // An event that was itself opened is its own process's to share.
        event.ipc_handle.ok_or(cudaErrorInvalidResourceHandle)
    }

    /// Opens another process's event on a device, which need not be the one that it was made on.
    pub(crate) fn open(&mut self, ipc_handle: &IpcHandle, device: usize) -> Answer<cudaEvent_t> {
        let moments =
            ipc_handle.open().and_then(SharedCounters::map).ok_or(cudaErrorMapBufferObjectFailed)?;
        let handle = self.create(device, cudaEventDisableTiming | cudaEventInterprocess);
        if let Some(event) = self.all.get_mut(&handle.addr()) {
            event.moments = Some(Arc::new(moments));
        }
        Ok(handle)
    }

    /// Notes that a record's moment has come. Does nothing if the event is gone or was recorded again.
    pub(super) fn done(&mut self, record: Record, id: OperationId) {
        let Some(event) = self.all.get_mut(&record.event) else { return };
        if event.id == Some(id) {
            event.at = Some(Instant::now());
        }
        if let (Some(at), Some(moments)) = (event.numbers.iter().position(|it| it.0 == id), &event.moments) {
            moments.reach(event.numbers.swap_remove(at).1);
        }
    }

    /// Destroys the events of a device.
    pub(crate) fn reset(&mut self, device: usize) {
        self.all.retain(|_, event| event.device != device);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_record_of_an_event_counts() {
        let mut events = Events::default();
        let event = events.create(0, 0);
        events.get_mut(event).unwrap().id = Some(5);
        let record = Record { event: event.addr() };
        events.done(record, 4);
        assert!(events.get(event).unwrap().at.is_none());
        events.done(record, 5);
        assert!(events.get(event).unwrap().at.is_some());
    }

    #[test]
    fn a_destroyed_handle_is_known_no_more() {
        let mut events = Events::default();
        let event = events.create(0, 0);
        events.destroy(event).unwrap();
        assert_eq!(events.destroy(event), Err(cudaErrorInvalidResourceHandle));
        assert_ne!(events.create(0, 0), event);
    }
}
