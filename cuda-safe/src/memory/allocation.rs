//! One piece of memory: where it is, how large, on which device, who uses it, and how it is freed.
//!
//! Every owner of the crate holds one, behind a reference count that only graphs ever raise. How it ends is in [`free`].
#![expect(unsafe_code, reason = "allocates and frees through the runtime")]

mod free;

use std::any::Any;
use std::ffi::c_void;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr;
use std::sync::Arc;

pub(crate) use self::free::abandon;
#[cfg(feature = "staged")]
pub(crate) use self::free::on_free;
use cuda_hazard::Operation;

use super::managed;
use super::mapped::Mapped;
use super::pool::{self, MemoryPool};
use super::relaxed::relax;
use super::retain::{Retained, retained};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Ledger, Mode};
use crate::stream::StreamRef;
use crate::{process, stream, sys};
use cuda_hazard::Keeper;

/// How memory was allocated, and so how it is freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cudaMalloc`, `cudaFree`.
    Device,
    /// `cudaMallocAsync`, `cudaFreeAsync`: from the device's pool, in the order of streams.
    Pool,
    /// `cudaMallocManaged`, `cudaFree`.
    Managed,
    /// `cudaHostAlloc`, `cudaFreeHost`.
    Pinned,
    /// `cudaHostRegister`, `cudaHostUnregister`: the elements of a container, which goes with them.
    Registered,
    /// `cudaMallocArray`, `cudaMalloc3DArray`, `cudaFreeArray`: the pointer is the handle.
    Array,
    /// `cudaMallocMipmappedArray`, `cudaFreeMipmappedArray`: the pointer is the handle.
    Mipmapped,
    /// Another library's or process's: freed by dropping what keeps it alive.
    Foreign,
}

/// Memory, and the books about who uses it. What every operation looks at comes first, and is in one line of the cache behind a
/// count of owners.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Allocation {
    /// Null where there are no bytes.
    pointer: *mut u8,
    bytes: usize,
    device: Device,
    /// Which process made it: a child that inherited it leaves it alone.
    process: u32,
    kind: Kind,
    ledger: Ledger,
    mapped: Mapped,
    /// What registered memory belongs to, boxed so that it stays where it is. Leaked unless it is known that nobody uses the
    /// memory any more.
    container: ManuallyDrop<Option<Box<dyn Any + Send>>>,
}

// SAFETY: the pointer is to memory that this value alone frees and that it never reads or writes itself; the runtime
// takes it from any thread. Who may reach the bytes is decided by the typed owner around it.
unsafe impl Send for Allocation {}
// SAFETY: as above, the books are made for many threads, and a shared borrow never looks at the container.
unsafe impl Sync for Allocation {}

impl Allocation {
    /// Allocates memory of a device, the current one where none is named. No bytes, no call that allocates.
    #[track_caller]
    pub(crate) fn device(device: impl Into<Option<Device>>, bytes: usize) -> Result<Arc<Self>> {
        let kind = Kind::Device;
        let (pointer, device) = Self::allocate(device.into(), bytes, kind, "cudaMalloc", |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaMalloc(pointer, bytes) }
        })?;
        Ok(retained(Self::new(pointer, bytes, device, kind, Ledger::new(bytes))))
    }

    /// Allocates rows of so many bytes on a device, and gives the pitch that it chose. There must be bytes.
    #[track_caller]
    pub(crate) fn pitched(device: Device, row: usize, height: usize) -> Result<(Self, usize)> {
        let mut pitch = 0;
        let allocation =
            Self::called(Some(device), row.saturating_mul(height), Kind::Device, "cudaMallocPitch", |to| {
                // SAFETY: both pointers are to live variables, which the call fills.
                unsafe { sys::cudaMallocPitch(to, &raw mut pitch, row, height) }
            })?;
        Ok((allocation.of_rows(pitch, height), pitch))
    }

    /// Allocates layers of rows of so many bytes on a device, and gives the pitch that it chose. There must be bytes.
    #[track_caller]
    pub(crate) fn pitched_volume(
        device: Device,
        row: usize,
        height: usize,
        depth: usize,
    ) -> Result<(Self, usize)> {
        let mut found = sys::cudaPitchedPtr { ptr: ptr::null_mut(), pitch: 0, xsize: 0, ysize: 0 };
        let extent = sys::cudaExtent { width: row, height, depth };
        let rows = height.saturating_mul(depth);
        let allocation =
            Self::called(Some(device), row.saturating_mul(rows), Kind::Device, "cudaMalloc3D", |to| {
                // SAFETY: the pointer is to a live variable, which the call fills.
                let code = unsafe { sys::cudaMalloc3D(&raw mut found, extent) };
                // SAFETY: the pointer is to a live variable of the caller.
                unsafe { to.write(found.ptr) };
                code
            })?;
        Ok((allocation.of_rows(found.pitch, rows), found.pitch))
    }

    /// The same memory, as large as rows so far apart make it.
    fn of_rows(mut self, pitch: usize, rows: usize) -> Self {
        // What was asked for is no more; what the runtime allocated it has.
        let bytes = pitch.saturating_mul(rows).max(self.bytes);
        self.bytes = bytes;
        self.ledger = Ledger::new(bytes);
        self
    }

    /// Allocates managed memory for use with a device, the current one where none is named. No bytes, no call that allocates.
    #[track_caller]
    pub(crate) fn managed(device: Option<Device>, bytes: usize, flags: u32) -> Result<Self> {
        Self::with(device, bytes, Kind::Managed, |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaMallocManaged(pointer, bytes, flags) }
        })
    }

    /// Allocates page-locked memory of the host, for use with a device, the current one where none is named. No bytes, no
    /// call that allocates.
    #[track_caller]
    #[inline]
    pub(crate) fn pinned(device: impl Into<Option<Device>>, bytes: usize, flags: u32) -> Result<Self> {
        Self::with(device.into(), bytes, Kind::Pinned, |pointer| {
            // SAFETY: the pointer is to a live variable of the caller, which the call fills.
            unsafe { sys::cudaHostAlloc(pointer, bytes, flags) }
        })
    }

    /// Page-locks the elements of a container, for use with a device, and takes the container over; gives it back with
    /// the error where that fails. No bytes, no call.
    ///
    /// # Safety
    /// The pointer is to so many bytes, which belong to the container and stay where they are until it is dropped. Nobody
    /// but its other owners reaches them, and these only read.
    #[track_caller]
    pub(crate) unsafe fn registered<C: Any + Send>(
        device: Device,
        pointer: *mut u8,
        bytes: usize,
        flags: u32,
        container: Box<C>,
    ) -> core::result::Result<Self, (Error, Box<C>)> {
        let registered = Self::with(Some(device), bytes, Kind::Registered, |found| {
            // SAFETY: the caller says that so many bytes are there; they belong to nobody who could free them meanwhile.
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

    /// Takes over memory of others, with what keeps it alive: that is dropped once no work uses the memory.
    ///
    /// # Safety
    /// So many bytes of the device's memory are there, which live until the keeper is dropped, and nobody reaches them who
    /// is not ordered with this crate's work.
    pub(crate) unsafe fn foreign<K: Any + Send>(
        device: Device,
        pointer: *mut u8,
        bytes: usize,
        keeper: K,
    ) -> Self {
        let pointer = if bytes == 0 { ptr::null_mut() } else { pointer };
        let mut allocation = Self::new(pointer, bytes, device, Kind::Foreign, Ledger::new(bytes));
        allocation.container.replace(Box::new(keeper));
        allocation
    }

    /// Waits for the work that still uses registered memory, makes it pageable again, and gives its container up; none
    /// where there is none of this type. Where that fails everything is as it was, so that the owner can be given back.
    #[track_caller]
    pub(crate) fn take_container<C: Any>(&mut self) -> Result<Option<Box<C>>> {
        if self.bytes > 0 {
            if stream::in_callback() {
                return Err(Error::refused("Registered::into_inner", Detail::InCallback));
            }
            stream::wait_host(&self.ledger, 0..self.bytes, Mode::Write)?;
            self.unregister()?;
            self.bytes = 0;
        }
        Ok(self.container.take().and_then(|container| container.downcast().ok()))
    }

    /// Allocates memory in the order of a stream: of a pool of a device, or where none is named, of the one that is current
    /// on the stream's device. No bytes, no call.
    #[track_caller]
    pub(crate) fn pool(
        stream: StreamRef<'_>,
        from: Option<(&MemoryPool, Device)>,
        bytes: usize,
    ) -> Result<Arc<Self>> {
        stream.ensure_not_captured("alloc_async")?;
        let device = from.map_or_else(|| stream.device(), |(_, device)| device);
        if bytes == 0 {
            return Ok(retained(Self::new(ptr::null_mut(), 0, device, Kind::Pool, Ledger::new(0))));
        }
        if from.is_none() {
            pool::before_first_use(stream.device());
        }
        let place = Location::caller();
        let mut pointer = ptr::null_mut();
        let from = from.map(|(pool, _)| pool.as_raw());
        // SAFETY: the operation is a write of memory that nobody else has yet, and it is put on this stream. The memory's history
        // begins with it.
        let submission = unsafe { stream.begin(Operation::new(&[]), place) }?;
        // SAFETY: the pool lives while the borrow does; the variable is live, and so is the stream.
        match unsafe { allocate_in_order(&raw mut pointer, bytes, from, stream.as_raw()) } {
            sys::cudaSuccess => {
                let ledger = submission.commit_first(bytes, place);
                Ok(retained(Self::new(pointer.cast(), bytes, device, Kind::Pool, ledger)))
            }
            code => {
                drop(submission);
                Err(refused_in_order(from, code, bytes, place))
            }
        }
    }

    #[inline]
    fn new(pointer: *mut u8, bytes: usize, device: Device, kind: Kind, ledger: Ledger) -> Self {
        if kind == Kind::Managed {
            managed::extent::extend(pointer.addr(), bytes);
        }
        Self {
            pointer,
            bytes,
            device,
            kind,
            process: process::number(),
            ledger,
            mapped: Mapped::default(),
            container: ManuallyDrop::new(None),
        }
    }

    /// Makes the owner right after the call that allocates, on the current device where none is named.
    #[inline]
    #[track_caller]
    fn with(
        device: Option<Device>,
        bytes: usize,
        kind: Kind,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<Self> {
        let api = match kind {
            Kind::Device => "cudaMalloc",
            Kind::Pool => "cudaMallocAsync",
            Kind::Managed => "cudaMallocManaged",
            Kind::Pinned => "cudaHostAlloc",
            Kind::Registered => "cudaHostRegister",
            Kind::Array => "cudaMalloc3DArray",
            Kind::Mipmapped => "cudaMallocMipmappedArray",
            Kind::Foreign => "",
        };
        Self::called(device, bytes, kind, api, allocate)
    }

    /// The same for a call that is not the usual one for this kind.
    #[inline]
    #[track_caller]
    pub(super) fn called(
        device: Option<Device>,
        bytes: usize,
        kind: Kind,
        api: &'static str,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<Self> {
        let (pointer, device) = Self::allocate(device, bytes, kind, api, allocate)?;
        Ok(Self::new(pointer, bytes, device, kind, Ledger::new(bytes)))
    }

    /// The call on the current device, or on another one, and which that is.
    #[inline]
    #[track_caller]
    fn allocate(
        device: Option<Device>,
        bytes: usize,
        kind: Kind,
        api: &'static str,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<(*mut u8, Device)> {
        match device {
            None => {
                let device = Device::current()?;
                Ok((Self::call(bytes, kind, api, allocate)?, device))
            }
            Some(device) => Ok((Self::call_on(device, bytes, kind, api, allocate)?, device)),
        }
    }

    #[inline(never)]
    #[track_caller]
    fn call_on(
        device: Device,
        bytes: usize,
        kind: Kind,
        api: &'static str,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<*mut u8> {
        let _current = if bytes > 0 { Some(device.switch()?) } else { None };
        Self::call(bytes, kind, api, allocate)
    }

    /// The call that allocates, if there are bytes.
    #[inline]
    #[track_caller]
    fn call(
        bytes: usize,
        kind: Kind,
        api: &'static str,
        allocate: impl FnOnce(*mut *mut c_void) -> sys::cudaError_t,
    ) -> Result<*mut u8> {
        let mut pointer = ptr::null_mut();
        if bytes > 0 {
            relax()?;
            let code = allocate(&raw mut pointer);
            if code != sys::cudaSuccess {
                return Err(refused(api, code, kind, bytes));
            }
        }
        Ok(pointer.cast())
    }

    /// Takes over memory that was allocated elsewhere.
    ///
    /// # Safety
    /// The memory is of the device, of at least `bytes` bytes, allocated as `kind` says, and freed by nobody else.
    pub(crate) unsafe fn from_raw(device: Device, pointer: *mut u8, bytes: usize, kind: Kind) -> Self {
        Self::new(pointer, bytes, device, kind, Ledger::new(bytes))
    }

    /// Waits for the work that still uses the memory and gives it up without freeing it. An error changes
    /// nothing, so that the owner can be given back.
    #[track_caller]
    pub(crate) fn give_up(&mut self, api: &'static str) -> Result<*mut u8> {
        if matches!(self.kind, Kind::Foreign | Kind::Registered) {
            let what = "giving up memory that the crate has not allocated, which its owner frees";
            return Err(Error::refused(api, Detail::Unsupported { what }));
        }
        if self.bytes > 0 {
            stream::ensure_idle(api)?;
            stream::wait_host(&self.ledger, 0..self.bytes, Mode::Write)?;
            self.bytes = 0;
        }
        Ok(self.pointer)
    }

    /// The first byte; null where there are none.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The device that the memory is of; for pinned memory, the one that was current.
    #[inline]
    pub(crate) fn on(&self) -> Device {
        self.device
    }

    /// The device, of memory that is from a pool.
    #[inline]
    pub(crate) fn pool_device(&self) -> Option<Device> {
        (self.kind == Kind::Pool).then_some(self.device)
    }

    /// Where kernels reach it, if it is the host's and somebody has asked.
    pub(super) fn mapped(&self) -> &Mapped {
        &self.mapped
    }

    /// The books about who uses the bytes.
    #[inline]
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

// SAFETY: the access history is a field, so it lives as long as the value and stays in it.
unsafe impl Keeper for Allocation {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Retained for Allocation {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

/// Has a stream allocate, from a pool where one is named.
///
/// # Safety
/// The stream is live, the pool as well, and the pointer is to a variable, which the call fills before it returns.
#[inline]
unsafe fn allocate_in_order(
    pointer: *mut *mut c_void,
    bytes: usize,
    from: Option<sys::cudaMemPool_t>,
    stream: sys::cudaStream_t,
) -> sys::cudaError_t {
    match from {
        // SAFETY: the caller vouches for both.
        None => unsafe { sys::cudaMallocAsync(pointer, bytes, stream) },
        // SAFETY: the caller vouches for all three.
        Some(pool) => unsafe { sys::cudaMallocFromPoolAsync(pointer, bytes, pool, stream) },
    }
}

/// The error of that.
#[cold]
#[inline(never)]
fn refused_in_order(
    from: Option<sys::cudaMemPool_t>,
    code: sys::cudaError_t,
    bytes: usize,
    place: &'static Location<'static>,
) -> Error {
    let api = if from.is_none() { "cudaMallocAsync" } else { "cudaMallocFromPoolAsync" };
    refused(api, code, Kind::Pool, bytes).at(place)
}

/// The error of a call that was to allocate.
#[cold]
#[inline(never)]
#[track_caller]
fn refused(api: &'static str, code: sys::cudaError_t, kind: Kind, bytes: usize) -> Error {
    let memory = match kind {
        Kind::Device => "device",
        Kind::Pool => "pool",
        Kind::Managed => "managed",
        Kind::Pinned => "pinned host",
        Kind::Registered => "registered host",
        Kind::Array | Kind::Mipmapped => "array",
        Kind::Foreign => "foreign",
    };
    let error = Error::from_code(api, code);
    let on_device = matches!(kind, Kind::Device | Kind::Array | Kind::Mipmapped);
    let free = if on_device && error.is_out_of_memory() { free_on_current() } else { None };
    error.with_detail(Detail::Allocation { bytes, memory, free })
}

/// Bytes that are free on the current device, if it says so.
fn free_on_current() -> Option<usize> {
    let (mut free, mut total) = (0, 0);
    // SAFETY: both pointers are to live integers of ours, which the call fills.
    let code = unsafe { sys::cudaMemGetInfo(&raw mut free, &raw mut total) };
    (code == sys::cudaSuccess).then_some(free)
}
