//! [`MemoryPool`]: how a pool is made and found, its attributes, and the devices that can access it.
#![expect(unsafe_code, reason = "makes, finds, configures and destroys pools through the runtime")]

use std::ffi::{c_int, c_void};
use std::sync::{Arc, Mutex, Weak};

use super::super::location::MemoryLocation;
use super::gone::{self, Form};
use super::reuse::{PoolReuse, RULES};
use super::{calls, retention};
use crate::device::Device;
use crate::device::peer_access::{self, Fact};
use crate::error::{AtCaller as _, Detail, Error, Result, ensure, ensure_callable, quietly};
use crate::lock::lock;
use crate::stream::relax;
use crate::{check, process, stream, sys, system};

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
    fn to_raw(self) -> sys::cudaMemAllocationType {
        match self {
            Self::Pinned => sys::cudaMemAllocationTypePinned,
            Self::Managed => sys::cudaMemAllocationTypeManaged,
        }
    }
}

/// A pool of memory, from which stream-ordered allocations come: one that the program made, or the default
/// pool of a device.
///
/// Dropping a pool that the program made does not block, and buffers from it stay valid. Once the last of
/// its memory is freed and the host waits for its device ([`Device::synchronize`]), the pool holds no memory
/// and is kept for a later one. If it was current, the device's default pool becomes current again. A default
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
/// assert!(pool.attributes()?.used >= 1024);
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
struct PoolHandle {
    raw: sys::cudaMemPool_t,
    location: MemoryLocation,
    kind: PoolKind,
    /// Whether dropping the handle destroys the pool.
    owned: bool,
    /// What the pool was made as, if another pool may be made of it.
    form: Option<Form>,
    /// The process that made the handle.
    process: u32,
}

// SAFETY: the handle of a pool is a name, which the runtime takes from any thread.
unsafe impl Send for PoolHandle {}
// SAFETY: the handle of a pool is a name, which the runtime takes from any thread. The runtime locks the pool
// itself.
unsafe impl Sync for PoolHandle {}

/// The pools that the program owns, by the addresses of their handles.
static OWNED: Mutex<Vec<(usize, Weak<PoolHandle>)>> = Mutex::new(Vec::new());
impl MemoryPool {
    /// Returns the owner of a pool that was just made.
    pub(crate) fn own(raw: sys::cudaMemPool_t, device: Device) -> Self {
        Self::made(raw, device, None)
    }

    pub(super) fn made(raw: sys::cudaMemPool_t, device: Device, form: Option<Form>) -> Self {
        calls::count();
        let (location, kind) = (MemoryLocation::Device(device), PoolKind::Pinned);
        let (owned, process) = (true, process::number());
        let handle = Arc::new(PoolHandle { raw, location, kind, owned, form, process });
        lock(&OWNED).push((raw.addr(), Arc::downgrade(&handle)));
        Self { handle }
    }

    /// Makes an owner of a handle, which the last owner destroys if it is `owned`.
    fn of(raw: sys::cudaMemPool_t, location: MemoryLocation, kind: PoolKind, owned: bool) -> Self {
        let (form, process) = (None, process::number());
        Self { handle: Arc::new(PoolHandle { raw, location, kind, owned, form, process }) }
    }

    /// Returns the program's pool with this handle: `Some(None)` if it is being dropped.
    fn find(raw: sys::cudaMemPool_t) -> Option<Option<Self>> {
        let owned = lock(&OWNED);
        let (_, handle) = owned.iter().find(|(number, _)| *number == raw.addr())?;
        Some(handle.upgrade().map(|handle| Self { handle }))
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
            _ => Err(Error::refused(
                "MemoryPool::device",
                Detail::unsupported("a pool of other memory than a device's"),
            )),
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

    /// Makes a pool of the current device's memory.
    ///
    /// Stands for [`cudaMemPoolCreate`](sys::cudaMemPoolCreate).
    ///
    /// # Errors
    /// Those of [`MemoryPoolBuilder::build`].
    #[doc(alias = "cudaMemPoolCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        Self::builder().build()
    }

    /// Starts the description of a pool.
    #[doc(alias = "cudaMemPoolProps")]
    pub fn builder() -> MemoryPoolBuilder {
        MemoryPoolBuilder { device: None, max_bytes: 0, shareable: false }
    }

    /// Sets the number of bytes that the pool retains when the host synchronises. `u64::MAX` retains all.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with
    /// `cudaMemPoolAttrReleaseThreshold`. Once this has set the threshold of a device's default pool, the
    /// crate no longer changes it.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[doc(alias = "cudaMemPoolAttrReleaseThreshold")]
    #[track_caller]
    pub fn set_release_threshold(&self, bytes: u64) -> Result<()> {
        if self.is_default()
            && let Ok(device) = self.device()
        {
            retention::leave_alone(device);
        }
        self.set_number("MemoryPool::set_release_threshold", sys::cudaMemPoolAttrReleaseThreshold, bytes)
    }

    /// Sets when the pool reuses freed memory for an allocation.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with the three
    /// `cudaMemPoolReuse` attributes.
    ///
    /// # Errors
    /// Returns the runtime's error; some of the rules are then set. Refused inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn set_reuse(&self, rules: PoolReuse) -> Result<()> {
        enter("MemoryPool::set_reuse")?;
        for (rule, attribute) in RULES {
            let mut on = c_int::from(rules.contains(rule));
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives as long as the borrow. The attribute is an `int`, and the pointer is
            // to a live local one.
            unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }?;
        }
        Ok(())
    }

    /// Returns the attributes of the pool.
    ///
    /// Stands for [`cudaMemPoolGetAttribute`](sys::cudaMemPoolGetAttribute), which is called once for each.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolGetAttribute")]
    #[track_caller]
    pub fn attributes(&self) -> Result<PoolAttributes> {
        enter("MemoryPool::attributes")?;
        let mut reuse = PoolReuse::empty();
        for (rule, attribute) in RULES {
            let mut on: c_int = 0;
            let value = (&raw mut on).cast::<c_void>();
            // SAFETY: the pool lives as long as the borrow. The attribute is an `int`, and the pointer is
            // to a live local one.
            unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
            reuse.set(rule, on != 0);
        }
        Ok(PoolAttributes {
            release_threshold: self.number(sys::cudaMemPoolAttrReleaseThreshold)?,
            reuse,
            reserved: self.number(sys::cudaMemPoolAttrReservedMemCurrent)?,
            reserved_high: self.number(sys::cudaMemPoolAttrReservedMemHigh)?,
            used: self.number(sys::cudaMemPoolAttrUsedMemCurrent)?,
            used_high: self.number(sys::cudaMemPoolAttrUsedMemHigh)?,
        })
    }

    /// Resets both greatest sizes to the current ones.
    ///
    /// Stands for [`cudaMemPoolSetAttribute`](sys::cudaMemPoolSetAttribute) with 0, which is called twice.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolSetAttribute")]
    #[track_caller]
    pub fn reset_watermarks(&self) -> Result<()> {
        let api = "MemoryPool::reset_watermarks";
        self.set_number(api, sys::cudaMemPoolAttrReservedMemHigh, 0)?;
        self.set_number(api, sys::cudaMemPoolAttrUsedMemHigh, 0)
    }

    /// Returns an attribute that is a 64-bit number of bytes.
    #[track_caller]
    pub(super) fn number(&self, attribute: sys::cudaMemPoolAttr) -> Result<u64> {
        let mut number = 0_u64;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives as long as the borrow. These attributes have 64 bits, and the pointer is
        // to a live local variable of that size.
        unsafe { check!(cudaMemPoolGetAttribute(self.as_raw(), attribute, value)) }?;
        Ok(number)
    }

    #[track_caller]
    fn set_number(&self, api: &'static str, attribute: sys::cudaMemPoolAttr, mut number: u64) -> Result<()> {
        enter(api)?;
        let value = (&raw mut number).cast::<c_void>();
        // SAFETY: the pool lives as long as the borrow. These attributes have 64 bits, and the pointer is
        // to a live local variable of that size.
        unsafe { check!(cudaMemPoolSetAttribute(self.as_raw(), attribute, value)) }
    }

    /// Returns the access of a device to the pool's memory.
    ///
    /// Stands for [`cudaMemPoolGetAccess`](sys::cudaMemPoolGetAccess).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaMemPoolGetAccess")]
    #[track_caller]
    pub fn access(&self, device: Device) -> Result<PoolAccess> {
        enter("MemoryPool::access")?;
        let mut flags = sys::cudaMemAccessFlagsProtNone;
        let mut location = MemoryLocation::Device(device).to_raw();
        // SAFETY: the pool lives as long as the borrow. Both pointers are to live local variables.
        unsafe { check!(cudaMemPoolGetAccess(&raw mut flags, self.as_raw(), &raw mut location)) }?;
        Ok(PoolAccess(flags))
    }

    /// Lets a device read and write the pool's memory, including memory that exists already.
    ///
    /// Stands for [`cudaMemPoolSetAccess`](sys::cudaMemPoolSetAccess). [`Device::enable_peer_access`] has
    /// no effect on memory from pools.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` if [`Device::can_access_peer`] returns false. Refused inside a host
    /// function.
    #[doc(alias = "cudaMemPoolSetAccess")]
    #[track_caller]
    pub fn enable_access(&self, device: Device) -> Result<()> {
        self.set_access("MemoryPool::enable_access", device, sys::cudaMemAccessFlagsProtReadWrite)?;
        if let MemoryLocation::Device(owner) = self.handle.location {
            peer_access::record(Fact::Pool, device, owner, true);
        }
        Ok(())
    }

    /// Disables the access that [`enable_access`](Self::enable_access) enabled.
    ///
    /// # Errors
    /// Refused for the pool's own device, and inside a host function.
    ///
    /// # Safety
    /// - No work of this device that uses memory of the pool is running.
    /// - No such work is submitted afterwards.
    #[doc(alias = "cudaMemPoolSetAccess")]
    #[track_caller]
    pub unsafe fn disable_access(&self, device: Device) -> Result<()> {
        let api = "MemoryPool::disable_access";
        let what = "keeping a device from its own memory";
        ensure(self.handle.location != MemoryLocation::Device(device), api, || Detail::unsupported(what))?;
        self.set_access(api, device, sys::cudaMemAccessFlagsProtNone)
    }

    #[track_caller]
    fn set_access(&self, api: &'static str, device: Device, flags: sys::cudaMemAccessFlags) -> Result<()> {
        enter(api)?;
        let wanted = sys::cudaMemAccessDesc { location: MemoryLocation::Device(device).to_raw(), flags };
        // SAFETY: the pool lives as long as the borrow. The pointer is to one live local entry. If access
        // ends, the caller guarantees that no work relies on it.
        unsafe { check!(cudaMemPoolSetAccess(self.as_raw(), &raw const wanted, 1)) }
    }
}

/// Precedes every call about a pool: refuses it in a host function, and makes the thread relaxed so that no
/// capture forbids it.
#[track_caller]
pub(crate) fn enter(api: &'static str) -> Result<()> {
    ensure_callable(api)?;
    relax()
}

impl PoolHandle {
    /// Removes the handle from the list. Must be called before the pool is destroyed, because the runtime
    /// then reuses the address.
    fn forget(&self) {
        lock(&OWNED).retain(|(number, _)| *number != self.raw.addr());
    }
}

impl Drop for PoolHandle {
    fn drop(&mut self) {
        // In the child of a fork the runtime is unusable, and the pool is the parent's.
        if !self.owned || !process::is(self.process) {
            return;
        }
        if stream::in_callback() {
            self.forget();
            let later = Self { owned: true, ..*self };
            stream::defer(Box::new(move || drop(later)));
            return;
        }
        // SAFETY: the pool was made for this value alone. The value has no owners any more, and they forget
        // the handle.
        unsafe { gone::bury(self.raw, self.location, self.form, || self.forget()) };
    }
}

/// The properties of a new pool. Made by [`MemoryPool::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct MemoryPoolBuilder {
    device: Option<Device>,
    max_bytes: usize,
    shareable: bool,
}

impl MemoryPoolBuilder {
    /// Sets the device whose memory the pool uses. The default is the current device.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// Sets the greatest size of the pool in bytes, which the device may round up. The default is 0, which
    /// is no limit.
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Lets other processes import the pool: see [`MemoryPool::export`].
    pub fn shareable(mut self) -> Self {
        self.shareable = true;
        self
    }

    /// Makes the pool.
    ///
    /// Stands for [`cudaMemPoolCreate`](sys::cudaMemPoolCreate).
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the device has no pools or cannot share them. Refused inside a
    /// host function.
    #[doc(alias = "cudaMemPoolCreate")]
    #[track_caller]
    pub fn build(self) -> Result<MemoryPool> {
        enter("MemoryPoolBuilder::build")?;
        let device = match self.device {
            Some(device) => device,
            None => Device::current()?,
        };
        let mut wanted = sys::cudaMemPoolProps {
            allocType: sys::cudaMemAllocationTypePinned,
            location: MemoryLocation::Device(device).to_raw(),
            maxSize: self.max_bytes,
            ..Default::default()
        };
        if self.shareable {
            wanted.handleTypes = system::SHARED_POOL;
        }
        let form = Form { device, max_bytes: self.max_bytes, shareable: self.shareable };
        if let Some(raw) = gone::again(form) {
            return Ok(MemoryPool::made(raw, device, Some(form)));
        }
        let mut raw = std::ptr::null_mut();
        // SAFETY: both pointers are to live local variables. The call fills the first one.
        unsafe { check!(cudaMemPoolCreate(&raw mut raw, &raw const wanted)) }?;
        Ok(MemoryPool::made(raw, device, Some(form)))
    }
}

impl Device {
    /// Returns the device's default pool, which CUDA made.
    ///
    /// Stands for [`cudaDeviceGetDefaultMemPool`](sys::cudaDeviceGetDefaultMemPool).
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` if the device has no pools. Refused inside a host function.
    #[doc(alias = "cudaDeviceGetDefaultMemPool")]
    #[track_caller]
    pub fn default_memory_pool(self) -> Result<MemoryPool> {
        enter("Device::default_memory_pool")?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live local variable, which the call fills. The runtime checks the
        // ordinal.
        unsafe { check!(cudaDeviceGetDefaultMemPool(&raw mut raw, self.as_raw())) }?;
        Ok(MemoryPool::of(raw, MemoryLocation::Device(self), PoolKind::Pinned, false))
    }

    /// Returns the device's current pool, from which its allocations come. It is the default pool until
    /// another is chosen.
    ///
    /// Stands for [`cudaDeviceGetMemPool`](sys::cudaDeviceGetMemPool).
    ///
    /// # Errors
    /// - `cudaErrorNotSupported` if the device has no pools.
    /// - A refusal if raw code made and chose the pool, because the crate cannot retain it.
    /// - Refused inside a host function.
    #[doc(alias = "cudaDeviceGetMemPool")]
    #[track_caller]
    pub fn memory_pool(self) -> Result<MemoryPool> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            // SAFETY: the pointer is to a live local variable, which the call fills. The runtime checks the
            // ordinal.
            unsafe { check!(cudaDeviceGetMemPool(&raw mut raw, self.as_raw())) }?;
            Ok(raw)
        };
        current("Device::memory_pool", || self.default_memory_pool(), get)
    }

    /// Makes a pool the device's current pool, as long as the pool lives.
    ///
    /// Stands for [`cudaDeviceSetMemPool`](sys::cudaDeviceSetMemPool).
    ///
    /// # Errors
    /// - `Device` if the pool is of another device.
    /// - A refusal if the pool is not of device memory.
    /// - Refused inside a host function.
    #[doc(alias = "cudaDeviceSetMemPool")]
    #[track_caller]
    pub fn set_memory_pool(self, pool: &MemoryPool) -> Result<()> {
        enter("Device::set_memory_pool")?;
        pool.device()?.ensure_is(self, "Device::set_memory_pool", "the pool")?;
        // SAFETY: the pool lives as long as the borrow. When it is destroyed, the runtime chooses the
        // device's default pool again.
        gone::change_current(|| unsafe { check!(cudaDeviceSetMemPool(self.as_raw(), pool.as_raw())) })
            .at_caller()
    }
}

#[cfg(cudart_13_0)]
impl MemoryPool {
    /// Returns the default pool of a location.
    ///
    /// Stands for [`cudaMemGetDefaultMemPool`](sys::cudaMemGetDefaultMemPool). Pools of host memory and of
    /// managed memory can be queried and configured here, but buffers are not made from them.
    ///
    /// # Errors
    /// Returns `cudaErrorNotSupported` or `cudaErrorInvalidValue` if there is no such pool. Refused inside
    /// a host function.
    #[doc(alias = "cudaMemGetDefaultMemPool")]
    #[track_caller]
    pub fn default_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        enter("MemoryPool::default_at")?;
        let mut raw = std::ptr::null_mut();
        let mut place = location.to_raw();
        // SAFETY: both pointers are to live local variables. The call fills the first one.
        unsafe { check!(cudaMemGetDefaultMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
        Ok(Self::of(raw, location, kind, false))
    }

    /// Returns the current pool of a location, from which its allocations come.
    ///
    /// Stands for [`cudaMemGetMemPool`](sys::cudaMemGetMemPool).
    ///
    /// # Errors
    /// Those of [`default_at`](Self::default_at), and a refusal if raw code made and chose the pool,
    /// because the crate cannot retain it.
    #[doc(alias = "cudaMemGetMemPool")]
    #[track_caller]
    pub fn current_at(location: MemoryLocation, kind: PoolKind) -> Result<Self> {
        let get = || {
            let mut raw = std::ptr::null_mut();
            let mut place = location.to_raw();
            // SAFETY: both pointers are to live local variables. The call fills the first one.
            unsafe { check!(cudaMemGetMemPool(&raw mut raw, &raw mut place, kind.to_raw())) }?;
            Ok(raw)
        };
        current("MemoryPool::current_at", || Self::default_at(location, kind), get)
    }

    /// Makes this the current pool of its location, as long as the pool lives.
    ///
    /// Stands for [`cudaMemSetMemPool`](sys::cudaMemSetMemPool), with the pool's own location and kind.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::{MemoryLocation, MemoryPool, PoolKind};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let here = MemoryLocation::Device(Device::current()?);
    /// MemoryPool::default_at(here, PoolKind::Pinned)?.set_current()?;
    /// assert!(MemoryPool::current_at(here, PoolKind::Pinned)?.is_default());
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemSetMemPool")]
    #[track_caller]
    pub fn set_current(&self) -> Result<()> {
        enter("MemoryPool::set_current")?;
        let mut place = self.handle.location.to_raw();
        let (kind, raw) = (self.handle.kind.to_raw(), self.as_raw());
        // SAFETY: the pointer is to a live local variable, and the pool lives as long as the borrow. When
        // it is destroyed, the runtime chooses the location's default pool again.
        gone::change_current(|| unsafe { check!(cudaMemSetMemPool(&raw mut place, kind, raw)) }).at_caller()
    }
}

/// Refuses memory of a pool of `owner` that a kernel of `device`, another one, cannot access. An allocation
/// does not name its pool, so every pool counts that this crate has given access to, and the two that the
/// device itself names.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn ensure_accessible(device: Device, owner: Device) -> Result<()> {
    let gives = |pool: Result<MemoryPool>| -> Result<bool> { Ok(pool?.access(device)? != PoolAccess::NONE) };
    // A host function must not call CUDA. The launch itself is refused there.
    if stream::in_callback()
        || peer_access::is_so(Fact::Pool, device, owner)
        || quietly(gives(owner.default_memory_pool())).unwrap_or(false)
        || quietly(gives(owner.memory_pool())).unwrap_or(false)
    {
        return Ok(());
    }
    let (found, needed) = (owner.ordinal(), device.ordinal());
    let detail = Detail::not_accessible(found, needed, "MemoryPool::enable_access");
    Err(Error::refused("launch", detail))
}

/// Returns the current pool and retains it.
#[track_caller]
fn current(
    api: &'static str,
    default: impl Fn() -> Result<MemoryPool>,
    get: impl Fn() -> Result<sys::cudaMemPool_t>,
) -> Result<MemoryPool> {
    enter(api)?;
    loop {
        // A pool that is dropped ceases to be current and is forgotten in one step.
        let found = gone::change_current(|| get().map(|raw| (raw, MemoryPool::find(raw))));
        let (raw, found) = found.at_caller()?;
        let own = default().at_caller()?;
        if own.as_raw() == raw {
            return Ok(own);
        }
        match found {
            Some(Some(pool)) => return Ok(pool),
            // Another thread is about to take that step.
            Some(None) => std::thread::yield_now(),
            None => {
                let what = "a pool that was made and chosen behind the crate's back";
                return Err(Error::refused(api, Detail::unsupported(what)));
            }
        }
    }
}

/// The attributes of a pool. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaMemPoolAttr")]
#[doc(alias = "cudaMemPoolAttrReleaseThreshold")]
#[doc(alias = "cudaMemPoolAttrUsedMemCurrent")]
#[doc(alias = "cudaMemPoolAttrReservedMemCurrent")]
pub struct PoolAttributes {
    /// The size that the pool retains when the host synchronises, beyond what is in use.
    pub release_threshold: u64,
    /// When the pool reuses freed memory for an allocation.
    pub reuse: PoolReuse,
    /// Reserved for the pool now.
    pub reserved: u64,
    /// The greatest reserved size since [`reset_watermarks`](MemoryPool::reset_watermarks).
    pub reserved_high: u64,
    /// In use by buffers now, including the rounding of their sizes.
    pub used: u64,
    /// The greatest used size since [`reset_watermarks`](MemoryPool::reset_watermarks).
    pub used_high: u64,
}

/// The access of a device to a pool's memory: one of the constants, or a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PoolAccess(sys::cudaMemAccessFlags);

impl PoolAccess {
    /// No access.
    pub const NONE: Self = Self(sys::cudaMemAccessFlagsProtNone);
    /// Reads.
    pub const READ: Self = Self(sys::cudaMemAccessFlagsProtRead);
    /// Reads and writes.
    pub const READ_WRITE: Self = Self(sys::cudaMemAccessFlagsProtReadWrite);

    /// Returns the number that C uses.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaMemAccessFlags {
        self.0
    }
}
