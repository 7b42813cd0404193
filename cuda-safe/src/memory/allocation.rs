//! One piece of memory: its address, size and device, the work that uses it, and how it is freed.
//!
//! Every owner in the crate has one, behind a reference count that only graphs, textures and surfaces
//! raise. [`free`] frees it.
#![expect(unsafe_code, reason = "allocates and frees through the runtime")]

mod free;

use std::any::Any;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) use self::free::abandon;
#[cfg(feature = "staged")]
pub(crate) use self::free::on_free;
use cuda_hazard::Operation;

use super::managed;
use super::place::Place;
use super::pool::{self, MemoryPool};
use super::retain::{retainable, retained};
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result, ensure_callable};
use crate::hazard::{AccessHistory, Mode};
use crate::stream::StreamRef;
use crate::stream::relax;
use crate::{check, process, stream, sys};

/// The allocator of memory: how it was allocated, and therefore how it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Allocator {
    /// `cudaMalloc`, `cudaFree`.
    Device,
    /// `cudaMallocAsync`, `cudaFreeAsync`: stream-ordered, from the device's pool.
    Pool,
    /// `cudaMallocManaged`, `cudaFree`.
    Managed,
    /// `cudaHostAlloc`, `cudaFreeHost`.
    Pinned,
    /// `cudaHostRegister`, `cudaHostUnregister`: the elements of a container, which is freed with them.
    Registered,
    /// `cudaMallocArray`, `cudaMalloc3DArray`, `cudaFreeArray`: the pointer is the handle.
    Array,
    /// `cudaMallocMipmappedArray`, `cudaFreeMipmappedArray`: the pointer is the handle.
    Mipmapped,
    /// Memory of another library or process: freed by dropping the value that keeps it alive.
    Foreign,
}

/// Memory and its access history. Every operation reads the first fields, so they are next to the reference
/// count in front of them.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Allocation {
    /// Null if the size is 0.
    pointer: *mut u8,
    bytes: usize,
    device: Device,
    /// The process that made it. A child process that inherits the value leaves the memory alone.
    process: u32,
    kind: Allocator,
    history: AccessHistory,
    /// The address at which kernels reach the first byte of host memory. Null until it is queried.
    mapped: AtomicPtr<u8>,
    /// The container of registered memory, boxed so that it does not move. It is leaked unless the memory
    /// is known to be no longer in use.
    container: ManuallyDrop<Option<Box<dyn Any + Send>>>,
}

// SAFETY: this value alone frees the memory that the pointer is to, and never reads or writes it itself.
// The runtime takes the pointer from any thread. The typed owner around the allocation decides who may
// reach the bytes.
unsafe impl Send for Allocation {}
// SAFETY: this value alone frees the memory that the pointer is to, and never reads or writes it itself. The
// runtime takes the pointer from any thread. The typed owner around the allocation decides who may reach the
// bytes. The access history is made for many threads, and no shared borrow reads the container.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Allocates memory on a device, by default the current one. If `bytes` is 0, nothing is allocated.
    #[track_caller]
    pub(crate) fn device(device: impl Into<Option<Device>>, bytes: usize) -> Result<Arc<Self>> {
        let allocation = Self::called(device.into(), bytes, Allocator::Device, "cudaMalloc", |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaMalloc(pointer, bytes) }
        })?;
        Ok(retained(allocation))
    }

    /// Allocates rows of `row` bytes on the current device, and returns the pitch that the runtime chose. The
    /// number of bytes must not be 0.
    #[track_caller]
    pub(crate) fn pitched(row: usize, height: usize) -> Result<(Self, usize)> {
        let mut pitch = 0;
        let allocation =
            Self::called(None, row.saturating_mul(height), Allocator::Device, "cudaMallocPitch", |to| {
                // SAFETY: both pointers are to live variables, which the call fills.
                unsafe { sys::cudaMallocPitch(to, &raw mut pitch, row, height) }
            })?;
        Ok((allocation.of_rows(pitch, height), pitch))
    }

    /// Allocates layers of rows of `row` bytes on the current device, and returns the pitch that the runtime
    /// chose. The number of bytes must not be 0.
    #[track_caller]
    pub(crate) fn pitched_volume(row: usize, height: usize, depth: usize) -> Result<(Self, usize)> {
        let mut found = sys::cudaPitchedPtr { ptr: ptr::null_mut(), pitch: 0, xsize: 0, ysize: 0 };
        let extent = sys::cudaExtent { width: row, height, depth };
        let rows = height.saturating_mul(depth);
        let allocation =
            Self::called(None, row.saturating_mul(rows), Allocator::Device, "cudaMalloc3D", |to| {
                // SAFETY: the pointer is to a live variable, which the call fills.
                let code = unsafe { sys::cudaMalloc3D(&raw mut found, extent) };
                // SAFETY: the pointer is to a live variable of the caller.
                unsafe { to.write(found.ptr) };
                code
            })?;
        Ok((allocation.of_rows(found.pitch, rows), found.pitch))
    }

    /// Returns the same memory with the size of `rows` rows that are `pitch` bytes apart.
    fn of_rows(mut self, pitch: usize, rows: usize) -> Self {
        // The runtime allocated this much, which is no less than the request.
        let bytes = pitch.saturating_mul(rows).max(self.bytes);
        self.bytes = bytes;
        self.history = AccessHistory::new(bytes);
        self.history.set_place(self.place().number());
        self
    }

    /// Returns the place of the memory. Arrays are accessed by textures and surfaces, which name the device.
    #[inline]
    fn place(&self) -> Place {
        match self.kind {
            Allocator::Device | Allocator::Foreign => Place::on(self.device, false),
            Allocator::Pool => Place::on(self.device, true),
            Allocator::Managed
            | Allocator::Pinned
            | Allocator::Registered
            | Allocator::Array
            | Allocator::Mipmapped => Place::ANYWHERE,
        }
    }

    /// Allocates managed memory for use with the current device. If `bytes` is 0, nothing is allocated.
    #[track_caller]
    pub(crate) fn managed(bytes: usize, flags: u32) -> Result<Self> {
        Self::called(None, bytes, Allocator::Managed, "cudaMallocManaged", |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaMallocManaged(pointer, bytes, flags) }
        })
    }

    /// Allocates page-locked host memory for use with a device, by default the current one. If `bytes` is
    /// 0, nothing is allocated.
    #[track_caller]
    #[inline]
    pub(crate) fn pinned(device: impl Into<Option<Device>>, bytes: usize, flags: u32) -> Result<Self> {
        Self::called(device.into(), bytes, Allocator::Pinned, "cudaHostAlloc", |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaHostAlloc(pointer, bytes, flags) }
        })
    }

    /// Page-locks the elements of a container for use with a device, and takes ownership of the container.
    /// On failure, returns the container with the error. If `bytes` is 0, nothing is registered.
    ///
    /// # Safety
    /// - The pointer is to `bytes` bytes, which belong to the container and do not move until it is
    ///   dropped.
    /// - Only other owners of the container reach the bytes, and they only read.
    #[track_caller]
    pub(crate) unsafe fn registered<C: Any + Send>(
        device: Device,
        pointer: *mut u8,
        bytes: usize,
        flags: u32,
        container: Box<C>,
    ) -> core::result::Result<Self, (Error, Box<C>)> {
        let registered =
            Self::called(Some(device), bytes, Allocator::Registered, "cudaHostRegister", |found| {
                // SAFETY: the caller guarantees that the memory has `bytes` bytes. They belong to the
                // container, so nobody can free them during the call.
                let code = unsafe { sys::cudaHostRegister(pointer.cast(), bytes, flags) };
                // SAFETY: the pointer is to a live variable of the caller.
                unsafe { found.write(pointer.cast()) };
                code
            });
        match registered {
            Ok(mut allocation) => {
                allocation.container.replace(container);
                Ok(allocation)
            }
            Err(error) => Err((error, container)),
        }
    }

    /// Takes over memory of others, with the value that keeps it alive. That value is dropped when no work
    /// uses the memory.
    ///
    /// # Safety
    /// - `pointer` is to `bytes` bytes of the device's memory, which live until `keeper` is dropped.
    /// - All others who reach the bytes are ordered with this crate's work.
    pub(crate) unsafe fn foreign<K: Any + Send>(
        device: Device,
        pointer: *mut u8,
        bytes: usize,
        keeper: K,
    ) -> Self {
        let pointer = if bytes == 0 { ptr::null_mut() } else { pointer };
        let mut allocation = Self::new(pointer, bytes, device, Allocator::Foreign, AccessHistory::new(bytes));
        allocation.container.replace(Box::new(keeper));
        allocation
    }

    /// Returns the same memory, which is managed: kernels of all devices can access it.
    pub(super) fn everywhere(mut self) -> Self {
        self.history.set_place(Place::ANYWHERE.number());
        self
    }

    /// Waits for the work that still uses registered memory, makes the memory pageable again, and returns
    /// its container, or `None` if there is none of type `C`. An error changes nothing, so that the owner
    /// can be given back.
    #[track_caller]
    pub(crate) fn take_container<C: Any>(&mut self) -> Result<Option<Box<C>>> {
        if self.bytes > 0 {
            ensure_callable("Registered::into_inner")?;
            stream::wait_host(&self.history, 0..self.bytes, Mode::Write)?;
            self.unregister()?;
            self.bytes = 0;
        }
        Ok(self.container.take().and_then(|container| container.downcast().ok()))
    }

    /// Allocates stream-ordered memory from a pool of a device, or by default from the current pool of the
    /// stream's device. If `bytes` is 0, nothing is allocated.
    #[track_caller]
    pub(crate) fn pool(
        stream: StreamRef<'_>,
        from: Option<(&MemoryPool, Device)>,
        bytes: usize,
    ) -> Result<Arc<Self>> {
        stream.ensure_not_captured("alloc_async")?;
        let device = from.map_or_else(|| stream.device(), |(_, device)| device);
        if bytes == 0 {
            return Ok(retained(Self::new(
                ptr::null_mut(),
                0,
                device,
                Allocator::Pool,
                AccessHistory::new(0),
            )));
        }
        if from.is_none() {
            pool::before_first_use(stream.device());
        }
        let call_site = Location::caller();
        let mut pointer = ptr::null_mut();
        let (to, raw) = (&raw mut pointer, stream.as_raw());
        // SAFETY: the operation is put on this stream. It writes memory that nobody else has yet, and the
        // memory's access history begins with it.
        let submission = unsafe { stream.begin(Operation::new(&[]), call_site) }?;
        let under_way = pool::PoolCall::begin();
        let (api, code) = match from {
            // SAFETY: the variable, which the call fills, and the stream are live.
            None => ("cudaMallocAsync", unsafe { sys::cudaMallocAsync(to, bytes, raw) }),
            Some((pool, _)) => ("cudaMallocFromPoolAsync", {
                // SAFETY: the variable, which the call fills, and the stream are live. The pool lives as long
                // as its borrow.
                unsafe { sys::cudaMallocFromPoolAsync(to, bytes, pool.as_raw(), raw) }
            }),
        };
        drop(under_way);
        if code != sys::cudaSuccess {
            drop(submission);
            return Err(refused(api, code, Allocator::Pool, bytes).at(call_site));
        }
        let history = submission.commit_first(bytes, call_site);
        Ok(retained(Self::new(pointer.cast(), bytes, device, Allocator::Pool, history)))
    }

    #[inline]
    fn new(pointer: *mut u8, bytes: usize, device: Device, kind: Allocator, history: AccessHistory) -> Self {
        if kind == Allocator::Managed {
            managed::extent::extend(pointer.addr(), bytes);
        }
        let mut new = Self {
            pointer,
            bytes,
            device,
            kind,
            process: process::number(),
            history,
            mapped: AtomicPtr::default(),
            container: ManuallyDrop::new(None),
        };
        new.history.set_place(new.place().number());
        new
    }

    /// Makes the call on the given device, by default the current one, unless `bytes` is 0. Makes the owner
    /// right after it.
    #[inline]
    #[track_caller]
    pub(super) fn called(
        device: Option<Device>,
        bytes: usize,
        kind: Allocator,
        api: &'static str,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<Self> {
        let (device, _current) = match device {
            None => (Device::current()?, None),
            Some(device) if bytes == 0 => (device, None),
            Some(device) => (device, Some(device.switch()?)),
        };
        let mut pointer = ptr::null_mut();
        if bytes > 0 {
            relax()?;
            let code = allocate(&raw mut pointer);
            if code != sys::cudaSuccess {
                return Err(refused(api, code, kind, bytes));
            }
        }
        Ok(Self::new(pointer.cast(), bytes, device, kind, AccessHistory::new(bytes)))
    }

    /// Takes over memory that was allocated elsewhere.
    ///
    /// # Safety
    /// - The memory belongs to the device and has at least `bytes` bytes.
    /// - It was allocated by the call that `kind` names, and nobody else frees it.
    pub(crate) unsafe fn from_raw(device: Device, pointer: *mut u8, bytes: usize, kind: Allocator) -> Self {
        Self::new(pointer, bytes, device, kind, AccessHistory::new(bytes))
    }

    /// Waits for the work that still uses the memory, and gives the memory up without freeing it. An error
    /// changes nothing, so that the owner can be given back. Refused while a graph is another owner.
    #[track_caller]
    pub(crate) fn give_up(owner: &mut Arc<Self>, api: &'static str) -> Result<*mut u8> {
        let Some(this) = Arc::get_mut(owner) else { return Err(Error::refused(api, Detail::IN_GRAPH)) };
        let what = match this.kind {
            Allocator::Foreign => {
                Some("giving up memory that the crate has not allocated, which its owner frees")
            }
            Allocator::Registered => Some(
                "giving up memory in large pages, which cudaFreeHost cannot free: \
                 PinnedBuffer::with_flags allocates memory that it can",
            ),
            _ => None,
        };
        if let Some(what) = what {
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        if this.bytes > 0 {
            stream::ensure_idle(api)?;
            stream::wait_host(&this.history, 0..this.bytes, Mode::Write)?;
            this.bytes = 0;
        }
        Ok(this.pointer)
    }

    /// Returns the address of the first byte, or null if the size is 0.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the device that the memory belongs to. For pinned memory, this is the device that was
    /// current at the allocation.
    #[inline]
    pub(crate) fn on(&self) -> Device {
        self.device
    }

    /// Returns whether the memory was allocated by the program or the system, and then page-locked.
    pub(crate) fn is_registered(&self) -> bool {
        self.kind == Allocator::Registered
    }

    /// Returns the device if the memory is from a pool.
    #[inline]
    pub(crate) fn pool_device(&self) -> Option<Device> {
        (self.kind == Allocator::Pool).then_some(self.device)
    }

    /// Returns the address at which kernels reach the first byte of host memory. The first query for an
    /// allocation asks the runtime.
    #[inline]
    #[track_caller]
    pub(super) fn mapped_pointer(&self) -> Result<*mut u8> {
        // Relaxed is enough: only the address is passed on, and the runtime returns the same address to all
        // queries.
        let known = self.mapped.load(Ordering::Relaxed);
        if known.is_null() { self.map() } else { Ok(known) }
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn map(&self) -> Result<*mut u8> {
        let mut pointer = ptr::null_mut();
        let _current = self.device.switch()?;
        // SAFETY: the first pointer is to a live variable, which the call fills. The second is to host memory
        // that is borrowed. The flags must be 0.
        unsafe { check!(cudaHostGetDevicePointer(&raw mut pointer, self.pointer.cast(), 0)) }?;
        self.mapped.store(pointer.cast(), Ordering::Relaxed);
        Ok(pointer.cast())
    }

    /// Returns the access history of the bytes.
    #[inline]
    pub(crate) fn history(&self) -> &AccessHistory {
        &self.history
    }
}

retainable!(Allocation, history);

/// Returns the error of a call that allocates.
#[cold]
#[inline(never)]
#[track_caller]
fn refused(api: &'static str, code: sys::cudaError_t, kind: Allocator, bytes: usize) -> Error {
    let memory = match kind {
        Allocator::Device => "device",
        Allocator::Pool => "pool",
        Allocator::Managed => "managed",
        Allocator::Pinned => "pinned host",
        Allocator::Registered => "registered host",
        Allocator::Array | Allocator::Mipmapped => "array",
        Allocator::Foreign => "foreign",
    };
    let error = Error::from_code(api, code);
    let on_device = matches!(kind, Allocator::Device | Allocator::Array | Allocator::Mipmapped);
    let free = if on_device && error.is_out_of_memory() { free_on_current() } else { None };
    let free = free.map_or(String::new(), |free| format!(", of which {free} are free"));
    let text = format!("asked for {bytes} bytes of {memory} memory{free}");
    error.with_detail(Detail::new(ErrorKind::Call, text))
}

/// Returns the number of free bytes on the current device, if the runtime reports it.
fn free_on_current() -> Option<usize> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: the pointers are to live local integers, which the call fills.
    let code = unsafe { sys::cudaMemGetInfo(&raw mut free, &raw mut total) };
    (code == sys::cudaSuccess).then_some(free)
}
