//! The table of streams: resolves handles for the calling thread, and finds the dependencies of a new
//! operation.

use std::collections::{BTreeMap, HashMap};

use super::names::{OperationId, StreamId};
use super::queue::Queue;
use crate::error::Answer;
use crate::sys::*;
use crate::thread;

/// One stream.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) device: usize,
    pub(crate) flags: u32,
    pub(crate) priority: i32,
    /// The synchronisation policy, an attribute of streams.
    pub(crate) policy: u32,
    /// The other attributes, which mean nothing here.
    pub(crate) window: cudaAccessPolicyWindow,
    pub(crate) domain: cudaLaunchMemSyncDomain,
    pub(crate) domains: cudaLaunchMemSyncDomainMap,
    pub(crate) legacy: bool,
    /// The last operation given to it.
    tail: OperationId,
    /// Operations that are done, and that its next operation comes after too, if races are looked for.
    also: Vec<OperationId>,
    /// The operations that a wait for the stream waits for. The tail is not among them if it is a mark or a
    /// wait that only the legacy stream's order holds back. Hardware waits for it with events, and with later
    /// work, but not with the stream.
    owed: Vec<OperationId>,
    /// The stream's own work, as [`early`](super::early) counts it: no work that only the legacy stream's
    /// order puts first, and no marks.
    pub(super) own: Vec<OperationId>,
    /// Whether its handle is gone: it leaves the table when its work is done.
    destroyed: bool,
}

// SAFETY: the window's address is only a number here.
#[expect(unsafe_code, reason = "an attribute of streams carries an address")]
unsafe impl Send for Stream {}

impl Stream {
    fn new(device: usize, flags: u32, priority: i32) -> Self {
        Self {
            device,
            flags,
            priority,
            policy: u32::MAX,
            window: cudaAccessPolicyWindow::default(),
            domain: cudaLaunchMemSyncDomainDefault,
            domains: cudaLaunchMemSyncDomainMap { default_: 0, remote: 1 },
            legacy: false,
            tail: 0,
            also: Vec::new(),
            owed: Vec::new(),
            own: Vec::new(),
            destroyed: false,
        }
    }

    /// The operations that its next one comes after, by its own order.
    fn order(&self) -> Vec<OperationId> {
        let mut order = vec![self.tail];
        order.extend_from_slice(&self.also);
        order
    }

    /// Whether the legacy stream and this one wait for each other.
    fn blocking(&self) -> bool {
        self.flags & 1 == 0
    }
}

/// All streams of the process.
#[derive(Debug, Default)]
pub(crate) struct Streams {
    last: StreamId,
    all: BTreeMap<StreamId, Stream>,
    handles: HashMap<usize, StreamId>,
    /// The legacy stream of each device.
    legacy: Vec<StreamId>,
    /// The per-thread streams: by thread and device.
    per_thread: HashMap<(u64, usize), StreamId>,
}

/// The handles that stand for a stream without being one.
const LEGACY: usize = 1;
const PER_THREAD: usize = 2;
/// Stream handles start here, with gaps, so that small numbers are no handles.
const FIRST: usize = 0x0055_0000_0000;
const STRIDE: usize = 0x40;

impl Streams {
    pub(crate) fn new(devices: usize) -> Self {
        let mut streams = Self::default();
        for device in 0..devices {
            let key = streams.add(Stream { legacy: true, ..Stream::new(device, 0, 0) });
            streams.legacy.push(key);
        }
        streams
    }

    pub(crate) fn create(&mut self, device: usize, flags: u32, priority: i32) -> cudaStream_t {
        let key = self.add(Stream::new(device, flags, priority));
        let handle = FIRST + usize::try_from(key).unwrap_or(0) * STRIDE;
        self.handles.insert(handle, key);
        core::ptr::without_provenance_mut::<CUstream_st>(handle)
    }

    /// Resolves a handle for the calling thread. With `per_thread`, null is the thread's own stream.
    pub(crate) fn resolve(
        &mut self,
        stream: cudaStream_t,
        device: usize,
        per_thread: bool,
    ) -> Answer<StreamId> {
        match stream.addr() {
            0 if !per_thread => self.legacy(device),
            LEGACY => self.legacy(device),
            0 | PER_THREAD => Ok(self.of_thread(device)),
            handle => self.handles.get(&handle).copied().ok_or(cudaErrorInvalidResourceHandle),
        }
    }

    /// The legacy stream of a device.
    pub(crate) fn legacy(&self, device: usize) -> Answer<StreamId> {
        self.legacy.get(device).copied().ok_or(cudaErrorInvalidResourceHandle)
    }

    fn of_thread(&mut self, device: usize) -> StreamId {
        let name = (thread::number(), device);
        if let Some(key) = self.per_thread.get(&name) {
            return *key;
        }
        let key = self.add(Stream::new(device, 0, 0));
        self.per_thread.insert(name, key);
        key
    }

    pub(crate) fn get(&self, key: StreamId) -> Answer<&Stream> {
        self.all.get(&key).ok_or(cudaErrorInvalidResourceHandle)
    }

    pub(crate) fn get_mut(&mut self, key: StreamId) -> Answer<&mut Stream> {
        self.all.get_mut(&key).ok_or(cudaErrorInvalidResourceHandle)
    }

    /// The dependencies of a new operation on a stream.
    pub(crate) fn before(&self, key: StreamId, queue: &Queue) -> Vec<OperationId> {
        let Some(stream) = self.all.get(&key) else { return Vec::new() };
        let mut before = stream.order();
        if stream.legacy {
            let others = self.all.values().filter(|it| it.device == stream.device && it.blocking());
            before.extend(others.flat_map(Stream::order));
        } else if let Some(legacy) = self.legacy_of(stream) {
            before.extend(legacy.order());
        }
        before.retain(|id| queue.matters(*id));
        before
    }

    /// The legacy stream's last operation, if a stream's own operations come after it.
    pub(super) fn legacy_tail(&self, stream: &Stream) -> Option<OperationId> {
        self.legacy_of(stream).map(|legacy| legacy.tail)
    }

    /// The legacy stream that a stream is ordered with, unless it is one itself.
    fn legacy_of(&self, stream: &Stream) -> Option<&Stream> {
        if stream.legacy || !stream.blocking() {
            return None;
        }
        self.legacy.get(stream.device).and_then(|key| self.all.get(key))
    }

    /// Makes the next operation of a stream come after one that is done.
    pub(crate) fn comes_after(&mut self, key: StreamId, done: OperationId) {
        if let Some(stream) = self.all.get_mut(&key) {
            stream.also.push(done);
        }
    }

    /// The operations that a wait for a stream waits for.
    pub(crate) fn owed(&self, key: StreamId, queue: &Queue) -> Vec<OperationId> {
        match self.all.get(&key) {
            Some(stream) if !stream.legacy => {
                let all = stream.owed.iter().chain(&stream.also).copied();
                all.filter(|id| queue.matters(*id)).collect()
            }
            _ => self.before(key, queue),
        }
    }

    /// The last operation of every stream of a device.
    pub(crate) fn tails(&self, device: usize) -> Vec<OperationId> {
        self.all.values().filter(|it| it.device == device).flat_map(Stream::order).collect()
    }

    /// Makes an operation the last one of a stream.
    pub(crate) fn append(&mut self, key: StreamId, id: OperationId, queue: &Queue) {
        if let Some(stream) = self.all.get_mut(&key) {
            stream.tail = id;
            stream.also.clear();
            stream.owed = vec![id];
        }
        self.all.retain(|_, stream| !stream.destroyed || queue.matters(stream.tail));
    }

    /// The same of a mark, or of a wait for `others`: nothing that the device does.
    pub(crate) fn append_mark(
        &mut self,
        key: StreamId,
        id: OperationId,
        others: &[OperationId],
        queue: &Queue,
    ) {
        let legacy = self.all.get(&key).and_then(|stream| self.legacy_tail(stream));
        if !legacy.is_some_and(|tail| queue.pending(tail)) {
            return self.append(key, id, queue);
        }
        if let Some(stream) = self.all.get_mut(&key) {
            stream.tail = id;
            stream.owed.append(&mut stream.also);
            stream.owed.retain(|owed| queue.matters(*owed));
            stream.owed.extend_from_slice(others);
        }
        self.all.retain(|_, stream| !stream.destroyed || queue.matters(stream.tail));
    }

    /// Makes an operation the last one of every stream of a device.
    pub(crate) fn append_everywhere(&mut self, device: usize, id: OperationId) {
        for stream in self.all.values_mut().filter(|it| it.device == device) {
            stream.tail = id;
            stream.also.clear();
            stream.owed = vec![id];
            stream.own = vec![id];
        }
    }

    /// Ends a handle; the stream's work goes on.
    pub(crate) fn destroy(&mut self, stream: cudaStream_t) -> Answer {
        let key = self.handles.remove(&stream.addr()).ok_or(cudaErrorInvalidResourceHandle)?;
        self.get_mut(key)?.destroyed = true;
        Ok(())
    }

    /// Destroys the streams of a device that the program made.
    pub(crate) fn reset(&mut self, device: usize) {
        let all = &mut self.all;
        self.handles.retain(|_, key| {
            let stays = all.get(key).is_none_or(|stream| stream.device != device);
            if !stays {
                all.remove(key);
            }
            stays
        });
    }

    fn add(&mut self, stream: Stream) -> StreamId {
        self.last += 1;
        self.all.insert(self.last, stream);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Schedule;
    use crate::stream::Work;

    struct World {
        streams: Streams,
        queue: Queue,
    }

    impl World {
        fn new() -> Self {
            Self { streams: Streams::new(2), queue: Queue::new(Schedule::Late) }
        }

        fn key(&mut self, stream: cudaStream_t) -> StreamId {
            self.streams.resolve(stream, 0, false).unwrap()
        }

        fn put(&mut self, key: StreamId) -> (OperationId, Vec<OperationId>) {
            let before = self.streams.before(key, &self.queue);
            let id = self.queue.push(0, "test", Work::Nothing, &before);
            self.streams.append(key, id, &self.queue);
            (id, before)
        }
    }

    const NULL: cudaStream_t = core::ptr::null_mut();

    #[test]
    fn the_legacy_stream_and_blocking_streams_wait_for_each_other_and_non_blocking_ones_do_not() {
        let mut world = World::new();
        let (blocking, free) = (world.streams.create(0, 0, 0), world.streams.create(0, 1, 0));
        let (blocking, free, legacy) = (world.key(blocking), world.key(free), world.key(NULL));
        let per_thread = world.streams.resolve(NULL, 0, true).unwrap();
        let elsewhere = world.streams.legacy(1).unwrap();
        let (a, _) = world.put(blocking);
        let (b, before_b) = world.put(free);
        let (t, before_t) = world.put(per_thread);
        assert_eq!((before_b, before_t), (vec![], vec![]));
        let (c, before_c) = world.put(legacy);
        assert_eq!(before_c, [a, t]);
        assert_eq!(world.put(blocking).1, [a, c]);
        assert_eq!(world.put(free).1, [b]);
        assert_eq!(world.put(elsewhere).1, [0_u64; 0]);
    }

    #[test]
    fn a_mark_behind_the_legacy_stream_is_no_debt_of_its_own_stream() {
        let mut world = World::new();
        let blocking = world.streams.create(0, 0, 0);
        let (blocking, legacy) = (world.key(blocking), world.key(NULL));
        let (held, _) = world.put(legacy);
        assert_eq!(world.streams.owed(blocking, &world.queue), [0_u64; 0]);
        let mark = world.queue.push(0, "mark", Work::Nothing, &[held]);
        world.streams.append_mark(blocking, mark, &[], &world.queue);
        assert_eq!(world.streams.owed(blocking, &world.queue), [0_u64; 0]);
        let (real, before) = world.put(blocking);
        assert_eq!(before, [mark, held]);
        assert_eq!(world.streams.owed(blocking, &world.queue), [real]);
    }

    #[test]
    fn a_destroyed_stream_still_counts_until_its_work_is_done() {
        let mut world = World::new();
        let handle = world.streams.create(0, 0, 0);
        let key = world.key(handle);
        let (id, _) = world.put(key);
        world.streams.destroy(handle).unwrap();
        assert_eq!(world.streams.resolve(handle, 0, false), Err(cudaErrorInvalidResourceHandle));
        let legacy = world.key(NULL);
        assert_eq!(world.put(legacy).1, [id]);
        assert!(world.streams.get(key).is_ok());
        world.queue.complete(id);
        world.put(legacy);
        assert!(world.streams.get(key).is_err());
    }

    #[test]
    fn each_thread_has_its_own_per_thread_stream() {
        let mut world = World::new();
        let two = core::ptr::without_provenance_mut(2);
        let mine = world.streams.resolve(two, 0, false).unwrap();
        assert_eq!(world.streams.resolve(NULL, 0, true), Ok(mine));
        let theirs = std::thread::scope(|scope| {
            let streams = &mut world.streams;
            let two = two.addr();
            scope
                .spawn(move || streams.resolve(core::ptr::without_provenance_mut(two), 0, false))
                .join()
                .unwrap()
        });
        assert_ne!(theirs, Ok(mine));
    }
}
