//! [`MemoryPool`]: a pool of memory.
#![expect(unsafe_code, reason = "keeps and destroys handles of pools")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::super::location::MemoryLocation;
use super::super::relaxed::relax;
use super::gone;
use super::kind::PoolKind;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, process, stream, sys};

/// A pool of memory that stream-ordered allocations come from: one that the program made, or a device's own.
///
/// Dropping a pool that the program made does not wait, and buffers from it stay good. It is destroyed once the last of its memory
/// is freed and the host waits for its device ([`Device::synchronize`]). If it was current, the device's default pool is current again. A device's own pool is
/// never destroyed.
///
/// # Examples
/// ```
/// use cuda_safe::memory::MemoryPool;
/// use cuda_safe::stream::Stream;
/// use cuda_safe::{DeviceBuffer, memset_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let pool = MemoryPool::new()?;
/// pool.set_release_threshold(64 << 20)?;
/// let stream = Stream::new()?;
/// let mut scratch = DeviceBuffer::<u8>::alloc_from(&pool, 1024, &stream)?;
/// memset_async(&mut scratch, 7, &stream)?;
/// assert!(pool.statistics()?.used >= 1024);
/// drop(pool);
/// assert_eq!(scratch.to_vec()?, [7; 1024]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[doc(alias = "cudaMemPoolDestroy")]
#[doc(alias = "cudaMemPool_t")]
pub struct MemoryPool {
    handle: Arc<PoolHandle>,
}

/// The handle of a pool.
#[derive(Debug)]
pub(super) struct PoolHandle {
    raw: sys::cudaMemPool_t,
    location: MemoryLocation,
    kind: PoolKind,
    /// Whether it is to be destroyed.
    owned: bool,
    /// The process that it is of.
    process: u32,
}

// SAFETY: the handle of a pool is a name that the runtime takes from any thread.
unsafe impl Send for PoolHandle {}
// SAFETY: as above; the runtime locks the pool itself.
unsafe impl Sync for PoolHandle {}

/// The pools that the program owns, by the numbers of their handles.
static OWNED: Mutex<Vec<(usize, Weak<PoolHandle>)>> = Mutex::new(Vec::new());

fn owned() -> MutexGuard<'static, Vec<(usize, Weak<PoolHandle>)>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a pool has no device.
#[cold]
#[inline(never)]
#[track_caller]
fn of_no_device() -> Error {
    let detail = Detail::Unsupported { what: "a pool of other memory than a device's" };
    Error::refused("MemoryPool::device", detail)
}

impl MemoryPool {
    /// The owner of a pool that was just made.
    pub(super) fn own(raw: sys::cudaMemPool_t, device: Device) -> Self {
        let location = MemoryLocation::Device(device);
        let handle = Arc::new(PoolHandle {
            raw,
            location,
            kind: PoolKind::Pinned,
            owned: true,
            process: process::number(),
        });
        owned().push((raw.addr(), Arc::downgrade(&handle)));
        Self { handle }
    }

    /// A pool that is there by itself and stays.
    pub(super) fn default_one(raw: sys::cudaMemPool_t, location: MemoryLocation, kind: PoolKind) -> Self {
        Self {
            handle: Arc::new(PoolHandle { raw, location, kind, owned: false, process: process::number() }),
        }
    }

    /// The pool of the program's that has this handle, if it still lives.
    pub(super) fn find(raw: sys::cudaMemPool_t) -> Option<Self> {
        let owned = owned();
        let (_, handle) = owned.iter().find(|(number, _)| *number == raw.addr())?;
        Some(Self { handle: handle.upgrade()? })
    }

    /// Takes over a pool that was made elsewhere.
    ///
    /// # Safety
    /// `raw` is a live pool of memory of `device`, made by `cudaMemPoolCreate` or left by
    /// [`into_raw`](Self::into_raw), and destroyed by nobody else.
    #[must_use]
    pub unsafe fn from_raw(raw: sys::cudaMemPool_t, device: Device) -> Self {
        Self::own(raw, device)
    }

    /// Gives the pool up without destroying it, which is then the caller's affair; `None` where something else of the
    /// program still has it, or it is a device's own.
    #[must_use = "the pool is destroyed by nobody else"]
    pub fn into_raw(self) -> Option<sys::cudaMemPool_t> {
        let mut handle = Arc::into_inner(self.handle)?;
        if !handle.owned {
            return None;
        }
        handle.forget();
        handle.owned = false;
        Some(handle.raw)
    }

    /// The raw handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaMemPool_t {
        self.handle.raw
    }

    /// Where the pool's memory is.
    #[must_use]
    pub fn location(&self) -> MemoryLocation {
        self.handle.location
    }

    /// What kind of memory the pool is of.
    #[must_use]
    pub fn kind(&self) -> PoolKind {
        self.handle.kind
    }

    /// Whether it is a pool that CUDA made, and not the program.
    #[must_use]
    pub fn is_default(&self) -> bool {
        !self.handle.owned
    }

    /// The device whose memory the pool is of.
    ///
    /// # Errors
    /// A refusal where it is of the host's memory, or of managed memory.
    #[inline]
    #[track_caller]
    pub fn device(&self) -> Result<Device> {
        match (self.handle.location, self.handle.kind) {
            (MemoryLocation::Device(device), PoolKind::Pinned) => Ok(device),
            _ => Err(of_no_device()),
        }
    }

    /// Gives back to the device what the pool has reserved and does not use, down to `bytes_to_keep`.
    ///
    /// Stands for [`cudaMemPoolTrimTo`](sys::cudaMemPoolTrimTo). Memory whose free the host has not seen complete, by a
    /// synchronisation, can count as used.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaMemPoolTrimTo")]
    #[track_caller]
    pub fn trim_to(&self, bytes_to_keep: usize) -> Result<()> {
        enter("MemoryPool::trim_to")?;
        // SAFETY: the pool lives while the borrow does.
        unsafe { check!(cudaMemPoolTrimTo(self.as_raw(), bytes_to_keep)) }
    }
}

/// What every call about a pool begins with: it is not made in a host function, and no capture elsewhere minds.
#[track_caller]
pub(super) fn enter(api: &'static str) -> Result<()> {
    if stream::in_callback() {
        return Err(Error::refused(api, Detail::InCallback));
    }
    relax()
}

impl PoolHandle {
    /// Takes the handle out of the list. To be done before it is destroyed, as the number then serves again.
    fn forget(&self) {
        owned().retain(|(number, _)| *number != self.raw.addr());
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        // In the child of a fork the runtime is not usable and the pool is the parent's.
        if !self.owned || !process::is(self.process) {
            return;
        }
        self.forget();
        if stream::in_callback() {
            let later = Self { owned: true, ..*self };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        // SAFETY: the pool was made for this value alone, which nobody has any more, and is out of the list of those that are found.
        unsafe { gone::bury(self.raw, self.location) };
    }
}
