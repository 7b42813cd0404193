//! Page-locked memory: the staging rings of transfers.
//!
//! A transfer works with a *staging ring*: a block of page-locked memory that it cuts into slots, a stream,
//! and an event for each slot. Rings are cached for the next transfer and never freed while anything is under
//! way: freeing page-locked memory waits for all devices and holds up every other call meanwhile. So it
//! happens only where the program itself frees memory, or asks for it ([`release`]). Blocks are portable, so
//! one cache serves all devices; its size is bounded. A ring whose stream cannot be drained, because the
//! device's context is lost, is leaked: a device might still write there.
#![expect(unsafe_code, reason = "allocates page-locked memory, streams and events, and copies through them")]

use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use cuda_sys as sys;

use crate::runtime::{CurrentDevice, Error, RelaxedCapture, Result, check, fail_point, lock, may_call};

/// Slots of the largest size in a ring, if the bound allows: enough for the link to be busy while the host is
/// at other slots, and at 2 MiB each page-locked in 5.5 ms. (With half of them the link has half its rate;
/// twice as many gain nothing.)
pub(crate) const SLOTS: usize = 8;

/// The maximum number of slots of a transfer with smaller chunks.
const EVENTS: usize = 2 * SLOTS;

/// The memory, stream and events of one transfer.
///
/// The drop returns it to the cache, and drains it before if a transfer is in flight.
#[derive(Debug)]
pub(crate) struct StagingRing {
    block: Block,
    queue: Queue,
    /// Whether a transfer has begun and is not known to be complete.
    pub(crate) is_in_flight: bool,
}

/// A block of page-locked memory. Dropping it leaks the memory. Only its owner copies it, to give it on.
#[derive(Clone, Copy, Debug)]
struct Block {
    pointer: *mut u8,
    bytes: usize,
    /// The device that was current when it was allocated: a reset of that device frees it.
    device: c_int,
}

// SAFETY: this value is the only owner of the memory, and the runtime accepts its address on any thread.
unsafe impl Send for Block {}

/// A stream, and an event for each slot. Only its owner copies it, to give it on.
#[derive(Clone, Copy, Debug)]
struct Queue {
    device: c_int,
    stream: sys::cudaStream_t,
    events: [sys::cudaEvent_t; EVENTS],
}

// SAFETY: handles are names that the runtime accepts on any thread. This value is their only owner.
unsafe impl Send for Queue {}

/// A ring as all threads of a transfer see it, cut into slots. Its owner outlives the transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slots {
    pointer: *mut u8,
    bytes: usize,
    count: usize,
    pub(crate) stream: sys::cudaStream_t,
    events: [sys::cudaEvent_t; EVENTS],
}

impl Slots {
    /// Returns the number of slots.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the first byte of the slot of a chunk.
    pub(crate) fn slot(&self, chunk: usize) -> *mut u8 {
        self.pointer.wrapping_add(chunk % self.count * self.bytes)
    }

    /// Returns the event of the slot of a chunk.
    pub(crate) fn event(&self, chunk: usize) -> sys::cudaEvent_t {
        self.events[chunk % self.count]
    }
}

/// All blocks and queues that are unused now.
struct Cache {
    blocks: Vec<Block>,
    queues: Vec<Queue>,
    /// Bytes of all blocks, those in use and leaked ones included.
    held: usize,
    /// The maximum that `held` ever was.
    most: usize,
    /// Rings in use, which will come back.
    in_use: usize,
    /// When a ring was used last.
    last_use: Option<Instant>,
}

static CACHE: Mutex<Cache> =
    Mutex::new(Cache { blocks: Vec::new(), queues: Vec::new(), held: 0, most: 0, in_use: 0, last_use: None });

fn cache() -> MutexGuard<'static, Cache> {
    lock(&CACHE)
}

/// Rings in use.
#[cfg(test)]
pub(crate) fn rings_in_use() -> usize {
    cache().in_use
}

/// Bytes of page-locked memory: held now, and the maximum that was ever held.
pub(crate) fn held() -> (usize, usize) {
    let cache = cache();
    (cache.held, cache.most)
}

impl StagingRing {
    /// Takes a ring for slots of `slot` bytes from the cache, or else allocates one, if all together stay
    /// within `limit` and within `earned` bytes. Returns `None` if these leave no room for two slots.
    ///
    /// # Errors
    /// Those of the runtime.
    pub(crate) fn take(device: c_int, slot: usize, limit: usize, earned: usize) -> Result<Option<Self>> {
        let Some(block) = Block::take(device, slot, limit, earned)? else { return Ok(None) };
        match Queue::take(device) {
            Ok(queue) => Ok(Some(Self { block, queue, is_in_flight: false })),
            Err(error) => {
                block.give_back();
                Err(error)
            }
        }
    }

    /// Returns the ring cut into slots of this size, at most as many as it was taken for.
    pub(crate) fn slots(&self, bytes: usize) -> Slots {
        let bytes = bytes.max(1);
        Slots {
            pointer: self.block.pointer,
            bytes,
            count: (self.block.bytes / bytes).clamp(1, EVENTS),
            stream: self.queue.stream,
            events: self.queue.events,
        }
    }

    /// Waits until nothing uses the ring.
    ///
    /// Returns false if the context of the device is lost: the ring is then leaked. If the wait fails for
    /// another reason, and the wait for the whole device fails too, the process is aborted: a device might
    /// continue to write to memory that the program has back.
    fn drain(&self) -> bool {
        // SAFETY: the stream is this ring's own and was never destroyed.
        let drained = unsafe { check!(cudaStreamSynchronize(self.queue.stream)) };
        let mut drained = drained.and_then(|()| fail_point::at(fail_point::Point::Drained));
        if let Err(error) = &drained
            && !error.is_sticky()
        {
            // SAFETY: the call takes no arguments and waits.
            drained = unsafe { check!(cudaDeviceSynchronize()) };
        }
        match drained {
            Ok(()) => true,
            Err(error) if error.is_sticky() => false,
            Err(error) => {
                eprintln!("cuda-safe: a staged copy could not be brought to its end: {error}");
                std::process::abort();
            }
        }
    }
}

impl Drop for StagingRing {
    fn drop(&mut self) {
        if self.is_in_flight && !self.drain() {
            cache().in_use -= 1;
            return;
        }
        cache().queues.push(self.queue);
        self.block.give_back();
    }
}

impl Block {
    fn take(device: c_int, slot: usize, limit: usize, earned: usize) -> Result<Option<Self>> {
        let two = slot.saturating_mul(2);
        // Also if a block is from before the limit was lowered.
        if limit < two {
            return Ok(None);
        }
        let mut cache = cache();
        let largest = (0..cache.blocks.len()).max_by_key(|&at| cache.blocks[at].bytes);
        if let Some(at) = largest.filter(|&at| cache.blocks[at].bytes >= two) {
            cache.in_use += 1;
            return Ok(Some(cache.blocks.swap_remove(at)));
        }
        let left = limit.saturating_sub(cache.held);
        let bytes = left.min(slot.saturating_mul(SLOTS)) / slot * slot;
        if bytes < two || cache.held + bytes > earned {
            return Ok(None);
        }
        cache.in_use += 1;
        let block = Self::add(cache, device, bytes);
        if block.is_err() {
            self::cache().in_use -= 1;
        }
        block.map(Some)
    }

    /// Allocates a block. It is counted before it exists, so that several threads together stay within the
    /// limit.
    fn add(mut cache: MutexGuard<'static, Cache>, device: c_int, bytes: usize) -> Result<Self> {
        cache.held += bytes;
        drop(cache);
        let allocated = Self::allocate(device, bytes);
        let mut cache = self::cache();
        if allocated.is_err() {
            cache.held -= bytes;
        }
        cache.most = cache.most.max(cache.held);
        allocated
    }

    fn allocate(device: c_int, bytes: usize) -> Result<Self> {
        fail_point::at(fail_point::Point::Allocate)?;
        let _relaxed = RelaxedCapture::new()?;
        let mut pointer: *mut c_void = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaHostAlloc(&raw mut pointer, bytes, sys::cudaHostAllocPortable)) }?;
        Ok(Self { pointer: pointer.cast(), bytes, device })
    }

    fn give_back(self) {
        let mut cache = cache();
        cache.blocks.push(self);
        cache.in_use -= 1;
        cache.last_use = Some(Instant::now());
    }

    /// Frees the memory. If the runtime refuses the call, the block stays in the cache, and the next release
    /// tries again.
    fn free(self) -> Result<()> {
        let freed = self.try_free();
        let mut cache = cache();
        match &freed {
            Ok(()) => cache.held -= self.bytes,
            Err(error) if error.is_refusal() => {
                cache.blocks.push(self);
                cache.last_use = Some(Instant::now());
            }
            // Leaked: the runtime may or may not have freed it.
            Err(_) => {}
        }
        freed
    }

    fn try_free(&self) -> Result<()> {
        let _current = CurrentDevice::new(self.device)?;
        let _relaxed = RelaxedCapture::new()?;
        fail_point::at(fail_point::Point::Free)?;
        // SAFETY: the memory came from cudaHostAlloc, this value is its only owner, and every user of it has
        // drained its stream.
        unsafe { check!(cudaFreeHost(self.pointer.cast())) }
    }
}

impl Queue {
    fn take(device: c_int) -> Result<Self> {
        {
            let mut cache = cache();
            if let Some(at) = cache.queues.iter().rposition(|queue| queue.device == device) {
                return Ok(cache.queues.swap_remove(at));
            }
        }
        let _relaxed = RelaxedCapture::new()?;
        let mut stream = ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaStreamCreateWithFlags(&raw mut stream, sys::cudaStreamNonBlocking)) }?;
        let mut queue = Self { device, stream, events: [ptr::null_mut(); EVENTS] };
        match queue.create_events() {
            Ok(()) => Ok(queue),
            Err(error) => {
                queue.destroy();
                Err(error)
            }
        }
    }

    fn create_events(&mut self) -> Result<()> {
        for event in &mut self.events {
            // SAFETY: the pointer is to a live variable, which the call fills.
            unsafe { check!(cudaEventCreateWithFlags(&raw mut *event, sys::cudaEventDisableTiming)) }?;
        }
        Ok(())
    }

    /// Destroys the stream and the events that were created.
    fn destroy(self) {
        for event in self.events.into_iter().filter(|event| !event.is_null()) {
            // SAFETY: created in `create_events`, and nobody else has it.
            let _ = unsafe { sys::cudaEventDestroy(event) };
        }
        // SAFETY: created in `take`, idle, and nobody else has it.
        let _ = unsafe { sys::cudaStreamDestroy(self.stream) };
    }
}

/// Frees all page-locked memory that no copy uses.
///
/// As everything that frees memory, this waits for all work of the devices.
///
/// # Errors
/// Those of the runtime; `cudaErrorNotPermitted` in a host function and in the child of a `fork`. Memory that
/// the runtime refuses to free stays cached.
pub fn release() -> Result<()> {
    if !may_call() {
        return Err(Error::new("cudaFreeHost", sys::cudaErrorNotPermitted));
    }
    release_rings()
}

fn release_rings() -> Result<()> {
    let blocks = {
        let mut cache = cache();
        cache.last_use = None;
        std::mem::take(&mut cache.blocks)
    };
    let mut freed = Ok(());
    for block in blocks {
        let one = block.free();
        freed = freed.and(one);
    }
    freed
}

/// How long memory lies unused before [`release_idle`] frees it.
const IDLE_TIME: Duration = Duration::from_secs(1);

/// Frees page-locked memory that no copy has used for a second. The layer above calls this where the program
/// frees memory, and so waits for the devices anyway.
pub fn release_idle() {
    if may_call() {
        release_unused_for(IDLE_TIME);
    }
}

/// Frees page-locked memory that no copy has used for this long.
pub(crate) fn release_unused_for(time: Duration) {
    let Ok(cache) = CACHE.try_lock() else { return };
    let is_idle = cache.last_use.is_some_and(|last| last.elapsed() >= time);
    drop(cache);
    if is_idle {
        // The errors are those of earlier work; the next synchronisation reports them.
        let _ = release_rings();
    }
}

/// Forgets what a reset of a device has freed. The layer above calls this after the reset.
pub fn abandon(device: c_int) {
    let mut cache = cache();
    cache.queues.retain(|queue| queue.device != device);
    let gone: usize =
        cache.blocks.iter().filter(|block| block.device == device).map(|block| block.bytes).sum();
    cache.blocks.retain(|block| block.device != device);
    cache.held -= gone;
}
