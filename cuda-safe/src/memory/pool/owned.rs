//! [`MemoryPool`]: a pool of memory.
#![expect(unsafe_code, reason = "keeps and destroys handles of pools")]

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use super::super::location::MemoryLocation;
use super::super::relaxed::relax;
use super::gone;
use crate::device::Device;
use crate::error::{Detail, Error, Result, ensure_callable};
use crate::{check, process, stream, sys};

/// The kind of a pool's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PoolKind {
    /// Memory that stays at its location.
    Pinned,
    /// Memory that migrates between the host and the devices.
    Managed,
}

impl PoolKind {
    /// Returns C's number.
    #[cfg(cudart_13_0)]
    pub(super) fn to_raw(self) -> sys::cudaMemAllocationType {
        match self {
            Self::Pinned => sys::cudaMemAllocationTypePinned,
            Self::Managed => sys::cudaMemAllocationTypeManaged,
        }
    }
}

/// A pool of memory, from which stream-ordered allocations come: one that the program made, or the default
/// pool of a device.
///
/// Dropping a pool that the program made does not block, and buffers from it stay valid. The pool is
/// destroyed once the last of its memory is freed and the host waits for its device
/// ([`Device::synchronize`]). If it was current, the device's default pool becomes current again. A default
/// pool is never destroyed.
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
    /// Whether dropping the handle destroys the pool.
    owned: bool,
    /// The process that made the handle.
    process: u32,
}

// SAFETY: the handle of a pool is a name, which the runtime takes from any thread.
unsafe impl Send for PoolHandle {}
// SAFETY: as above. The runtime locks the pool itself.
unsafe impl Sync for PoolHandle {}

/// The pools that the program owns, by the addresses of their handles.
static OWNED: Mutex<Vec<(usize, Weak<PoolHandle>)>> = Mutex::new(Vec::new());

fn owned() -> MutexGuard<'static, Vec<(usize, Weak<PoolHandle>)>> {
    OWNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the error for a pool without a device.
#[cold]
#[inline(never)]
#[track_caller]
fn of_no_device() -> Error {
    let detail = Detail::Unsupported { what: "a pool of other memory than a device's" };
    Error::refused("MemoryPool::device", detail)
}

impl MemoryPool {
    /// Returns the owner of a pool that was just made.
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

    /// Returns a default pool, which is never destroyed.
    pub(super) fn default_one(raw: sys::cudaMemPool_t, location: MemoryLocation, kind: PoolKind) -> Self {
        Self {
            handle: Arc::new(PoolHandle { raw, location, kind, owned: false, process: process::number() }),
        }
    }

    /// Returns the program's pool with this handle, if it is still alive.
    pub(super) fn find(raw: sys::cudaMemPool_t) -> Option<Self> {
        let owned = owned();
        let (_, handle) = owned.iter().find(|(number, _)| *number == raw.addr())?;
        Some(Self { handle: handle.upgrade()? })
    }

    /// Takes over a pool that was made elsewhere.
    ///
    /// # Safety
    /// - `raw` is a live pool of memory of `device`, from `cudaMemPoolCreate` or
    ///   [`into_raw`](Self::into_raw).
    /// - Nobody else destroys it.
    #[must_use]
    pub unsafe fn from_raw(raw: sys::cudaMemPool_t, device: Device) -> Self {
        Self::own(raw, device)
    }

    /// Gives the pool up without destroying it; the caller destroys it. Returns `None` if the program has
    /// another owner of it, or if it is a default pool.
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

    /// Returns the raw handle.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaMemPool_t {
        self.handle.raw
    }

    /// Returns the location of the pool's memory.
    #[must_use]
    pub fn location(&self) -> MemoryLocation {
        self.handle.location
    }

    /// Returns the kind of the pool's memory.
    #[must_use]
    pub fn kind(&self) -> PoolKind {
        self.handle.kind
    }

    /// Returns whether CUDA made the pool, and not the program.
    #[must_use]
    pub fn is_default(&self) -> bool {
        !self.handle.owned
    }

    /// Returns the device whose memory the pool uses.
    ///
    /// # Errors
    /// Refused if the pool is of host memory or of managed memory.
    #[inline]
    #[track_caller]
    pub fn device(&self) -> Result<Device> {
        match (self.handle.location, self.handle.kind) {
            (MemoryLocation::Device(device), PoolKind::Pinned) => Ok(device),
            _ => Err(of_no_device()),
        }
    }

    /// Gives the pool's reserved but unused memory back to the device, until `bytes_to_keep` bytes are
    /// left.
    ///
    /// Stands for [`cudaMemPoolTrimTo`](sys::cudaMemPoolTrimTo). Memory can count as used until the host
    /// has seen its free complete by a synchronisation.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolTrimTo")]
    #[track_caller]
    pub fn trim_to(&self, bytes_to_keep: usize) -> Result<()> {
        enter("MemoryPool::trim_to")?;
        // SAFETY: the pool lives as long as the borrow.
        unsafe { check!(cudaMemPoolTrimTo(self.as_raw(), bytes_to_keep)) }
    }
}

/// Precedes every call about a pool: refuses it in a host function, and makes the thread relaxed so that no
/// capture forbids it.
#[track_caller]
pub(super) fn enter(api: &'static str) -> Result<()> {
    ensure_callable(api)?;
    relax()
}

impl PoolHandle {
    /// Removes the handle from the list. Must be called before the pool is destroyed, because the runtime
    /// then reuses the address.
    fn forget(&self) {
        owned().retain(|(number, _)| *number != self.raw.addr());
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        // In the child of a fork the runtime is unusable, and the pool is the parent's.
        if !self.owned || !process::is(self.process) {
            return;
        }
        self.forget();
        if stream::in_callback() {
            let later = Self { owned: true, ..*self };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        // SAFETY: the pool was made for this value alone. The value has no owners any more, and the list no
        // longer contains the handle.
        unsafe { gone::bury(self.raw, self.location) };
    }
}
