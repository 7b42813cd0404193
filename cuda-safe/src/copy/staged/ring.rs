//! What a transfer works with: a ring of slots of pinned memory, and a stream with an event for each slot.
//!
//! Rings are kept for the next transfer and never freed while anything is under way: giving pinned memory back to the runtime
//! waits for all devices and holds up every other call meanwhile, so it happens only where the program itself frees
//! memory, or asks for it ([`release`]). Slabs are portable, so one store serves all devices; its size is bounded. Streams and events are
//! not on the tracker's books: nothing but a transfer uses them, and it has drained them when it ends.
//!
//! A ring whose stream cannot be drained, because the device's context is lost, is leaked: a device might still write there.
#![expect(unsafe_code, reason = "allocates pinned memory and makes streams and events by the raw functions")]

use std::ffi::c_void;
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{crew, quick, test};
use crate::device::Device;
use crate::error::Result;
use crate::memory::relax;
use crate::{check, sys};

/// As many slots of the largest size as a ring has where there is room for them: enough for the link to be busy while the host is at
/// other slots, and at 2 MiB each pinned in 5.5 ms. (With half of them the link has half its rate, with twice as many nothing is gained.)
pub(super) const SLOTS: usize = 8;

/// The most slots of a transfer whose blocks are smaller.
const EVENTS: usize = 2 * SLOTS;

/// What one transfer works with.
#[derive(Debug)]
pub(super) struct Ring {
    slab: Slab,
    lane: Lane,
}

/// Pinned memory of so many bytes.
#[derive(Debug)]
pub(super) struct Slab {
    pointer: *mut u8,
    bytes: usize,
    /// The device that was current when it was allocated: resetting that takes it away.
    device: Device,
}

// SAFETY: the memory is known to this value alone, and the runtime takes its address from any thread.
unsafe impl Send for Slab {}

/// A stream, and an event for each slot.
#[derive(Debug)]
struct Lane {
    device: Device,
    stream: sys::cudaStream_t,
    events: [sys::cudaEvent_t; EVENTS],
}

// SAFETY: handles are names that the runtime takes from any thread; this value is their only owner.
unsafe impl Send for Lane {}

/// A ring as all threads of a transfer see it, cut into slots. Its owner outlives the transfer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slots {
    pointer: *mut u8,
    bytes: usize,
    count: usize,
    pub(super) stream: sys::cudaStream_t,
    events: [sys::cudaEvent_t; EVENTS],
}

impl Slots {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// The first byte of the slot of a block.
    pub(super) fn slot(&self, block: usize) -> *mut u8 {
        self.pointer.wrapping_add(block % self.count * self.bytes)
    }

    /// The event of the slot of a block.
    pub(super) fn event(&self, block: usize) -> sys::cudaEvent_t {
        self.events[block % self.count]
    }
}

/// All slabs and lanes that nobody uses at present.
struct Store {
    slabs: Vec<Slab>,
    lanes: Vec<Lane>,
    /// Bytes of all slabs that there are, those in use and leaked ones included.
    held: usize,
    /// The most that `held` ever was.
    most: usize,
    /// Slabs in use, which will come back.
    out: usize,
    /// When one was used last.
    used: Option<Instant>,
    /// When it was last seen that the slot of small copies had been used.
    quick_used: Option<Instant>,
}

static STORE: Mutex<Store> = Mutex::new(Store {
    slabs: Vec::new(),
    lanes: Vec::new(),
    held: 0,
    most: 0,
    out: 0,
    used: None,
    quick_used: None,
});

fn store() -> MutexGuard<'static, Store> {
    STORE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Rings in use.
#[cfg(test)]
pub(super) fn in_use() -> usize {
    store().out
}

/// Bytes of pinned memory: held now, and the most that was ever held.
pub(super) fn pinned() -> (usize, usize) {
    let store = store();
    (store.held, store.most)
}

impl Ring {
    /// A ring for slots of `slot` bytes: one that there is, or else a new one, as long as all together stay within `limit` and within
    /// what is `earned`; none where that leaves none with two slots.
    ///
    /// # Errors
    /// What the runtime fails with.
    pub(super) fn take(device: Device, slot: usize, limit: usize, earned: usize) -> Result<Option<Self>> {
        let Some(slab) = Slab::take(device, slot, limit, earned)? else { return Ok(None) };
        match Lane::take(device) {
            Ok(lane) => Ok(Some(Self { slab, lane })),
            Err(error) => {
                slab.give_back();
                Err(error)
            }
        }
    }

    /// The ring cut into slots of so many bytes, no more than it was taken for.
    pub(super) fn slots(&self, bytes: usize) -> Slots {
        let bytes = bytes.max(1);
        Slots {
            pointer: self.slab.pointer,
            bytes,
            count: (self.slab.bytes / bytes).clamp(1, EVENTS),
            stream: self.lane.stream,
            events: self.lane.events,
        }
    }

    /// Waits until nothing uses the ring any more, and gives it back.
    ///
    /// If the device's work has failed for good, the ring is leaked. If waiting fails for another reason, for the whole
    /// device too, the process is aborted: a device might go on writing to memory that the program has back.
    pub(super) fn drain(self) {
        // SAFETY: the stream is this ring's own and was never destroyed.
        let drained = unsafe { check!(cudaStreamSynchronize(self.lane.stream)) };
        let mut drained = drained.and_then(|()| test::point(test::Point::Drained));
        if let Err(error) = &drained
            && !error.is_sticky()
        {
            // SAFETY: the call takes nothing and waits.
            drained = unsafe { check!(cudaDeviceSynchronize()) };
        }
        match drained {
            Ok(()) => self.give_back(),
            Err(error) if error.is_sticky() => store().out -= 1,
            Err(error) => {
                eprintln!("cuda-safe: a staged copy could not be brought to its end: {error}");
                std::process::abort();
            }
        }
    }

    /// Keeps the ring for the next transfer. Nothing uses it any more.
    pub(super) fn give_back(self) {
        let Self { slab, lane } = self;
        store().lanes.push(lane);
        slab.give_back();
    }
}

impl Slab {
    fn take(device: Device, slot: usize, limit: usize, earned: usize) -> Result<Option<Self>> {
        let two = slot.saturating_mul(2);
        // Also where there is a ring from before the limit was lowered.
        if limit < two {
            return Ok(None);
        }
        let mut store = store();
        let largest = (0..store.slabs.len()).max_by_key(|&at| store.slabs[at].bytes);
        if let Some(at) = largest.filter(|&at| store.slabs[at].bytes >= two) {
            store.out += 1;
            return Ok(Some(store.slabs.swap_remove(at)));
        }
        let room = limit.saturating_sub(store.held);
        let bytes = room.min(slot.saturating_mul(SLOTS)) / slot * slot;
        if bytes < two || store.held + bytes > earned {
            return Ok(None);
        }
        store.out += 1;
        let slab = Self::add(store, device, bytes);
        if slab.is_err() {
            self::store().out -= 1;
        }
        slab.map(Some)
    }

    /// Memory for the slot of small copies, as long as all slabs together stay within `limit`.
    ///
    /// # Errors
    /// What the runtime fails with.
    pub(super) fn small(device: Device, bytes: usize, limit: usize) -> Result<Option<Self>> {
        let mut store = store();
        if limit.saturating_sub(store.held) < bytes {
            return Ok(None);
        }
        store.quick_used = Some(Instant::now());
        Self::add(store, device, bytes).map(Some)
    }

    /// A new one. It is counted before it is there, so that several threads together stay within the limit.
    fn add(mut store: MutexGuard<'static, Store>, device: Device, bytes: usize) -> Result<Self> {
        store.held += bytes;
        drop(store);
        let allocated = Self::allocate(device, bytes);
        let mut store = self::store();
        if allocated.is_err() {
            store.held -= bytes;
        }
        store.most = store.most.max(store.held);
        allocated
    }

    /// The first byte.
    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// The device that takes it along when it is reset.
    pub(super) fn device(&self) -> Device {
        self.device
    }

    fn allocate(device: Device, bytes: usize) -> Result<Self> {
        test::point(test::Point::Allocate)?;
        relax()?;
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaHostAlloc(&raw mut pointer, bytes, sys::cudaHostAllocPortable)) }?;
        Ok(Self { pointer: pointer.cast(), bytes, device })
    }

    fn give_back(self) {
        let mut store = store();
        store.slabs.push(self);
        store.out -= 1;
        store.used = Some(Instant::now());
    }
}

impl Lane {
    fn take(device: Device) -> Result<Self> {
        {
            let mut store = store();
            if let Some(at) = store.lanes.iter().rposition(|lane| lane.device == device) {
                return Ok(store.lanes.swap_remove(at));
            }
        }
        relax()?;
        let mut stream = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaStreamCreateWithFlags(&raw mut stream, sys::cudaStreamNonBlocking)) }?;
        let mut lane = Self { device, stream, events: [ptr::null_mut(); EVENTS] };
        match lane.make_events() {
            Ok(()) => Ok(lane),
            Err(error) => {
                lane.destroy();
                Err(error)
            }
        }
    }

    fn make_events(&mut self) -> Result<()> {
        for event in &mut self.events {
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaEventCreateWithFlags(&raw mut *event, sys::cudaEventDisableTiming)) }?;
        }
        Ok(())
    }

    /// Destroys the stream and the events that were made.
    fn destroy(self) {
        for event in self.events.into_iter().filter(|event| !event.is_null()) {
            // SAFETY: made in `make_events`, and nobody else has it.
            let _ = unsafe { sys::cudaEventDestroy(event) };
        }
        // SAFETY: made in `take`, idle, and nobody else has it.
        let _ = unsafe { sys::cudaStreamDestroy(self.stream) };
    }
}

/// Gives all pinned memory that no copy is using back to the runtime.
///
/// As everything that frees memory, this waits for all work of the devices. Without it, memory that no copy has used for
/// a second goes back when the program next frees memory of its own, device or pinned.
///
/// # Errors
/// What the runtime fails with.
#[doc(alias = "cudaFreeHost")]
#[track_caller]
pub fn release() -> Result<()> {
    let rings = release_rings();
    rings.and(release_slot())
}

#[track_caller]
fn release_rings() -> Result<()> {
    let slabs = {
        let mut store = store();
        store.used = None;
        std::mem::take(&mut store.slabs)
    };
    let mut freed = Ok(());
    for slab in slabs {
        let one = slab.free();
        freed = freed.and(one);
    }
    freed
}

#[track_caller]
fn release_slot() -> Result<()> {
    quick::withdraw().map_or(Ok(()), Slab::free)
}

impl Slab {
    #[track_caller]
    fn free(self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        // SAFETY: the memory came from cudaHostAlloc, this value is its only owner, and whoever used it has drained its stream.
        let freed = unsafe { check!(cudaFreeHost(self.pointer.cast())) };
        // Otherwise it is leaked: the runtime did not take it.
        if freed.is_ok() {
            store().held -= self.bytes;
        }
        freed
    }
}

/// How long slabs lie unused before the program's next free takes them along.
const IDLE: Duration = Duration::from_secs(1);

/// Gives back what has not been used for a while. To be called where the program frees memory, and so waits anyway.
pub(super) fn release_idle() {
    if crew::in_own_process() {
        release_unused_for(IDLE);
    }
}

/// Gives back what has not been used for so long.
pub(super) fn release_unused_for(time: Duration) {
    let idle = |used: Option<Instant>| used.is_some_and(|used| used.elapsed() >= time);
    let Ok(mut store) = STORE.try_lock() else { return };
    if quick::was_used() {
        store.quick_used = Some(Instant::now());
    }
    let (rings, slot) = (idle(store.used), idle(store.quick_used));
    if slot {
        store.quick_used = None;
    }
    drop(store);
    // The errors are those of earlier work; who synchronises gets them.
    if rings {
        let _ = release_rings();
    }
    if slot {
        let _ = release_slot();
    }
}

/// Forgets what a device that is reset has taken with it.
pub(crate) fn abandon(device: Device) {
    let mut store = store();
    store.lanes.retain(|lane| lane.device != device);
    let gone: usize = store.slabs.iter().filter(|slab| slab.device == device).map(|slab| slab.bytes).sum();
    store.slabs.retain(|slab| slab.device != device);
    store.held -= gone + quick::abandon(device).map_or(0, |slab| slab.bytes);
}
