//! One piece of memory: its address, size and device, the work that uses it, and how it is freed. A [`Span`]
//! is a typed part of it: all views are made of spans.
//!
//! Every owner in the crate has one, behind a reference count that only graphs, textures and surfaces
//! raise. [`free`] frees it.
#![expect(unsafe_code, reason = "allocates and frees through the runtime")]

mod free;

use std::any::Any;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Range, RangeBounds};
use std::panic::Location;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

pub(crate) use self::free::abandon;
#[cfg(feature = "staged")]
pub(crate) use self::free::on_free;
use cuda_hazard::Operation;

use super::managed;
use super::memory_type::MemoryType;
use super::memory_type::sealed::Tag;
use super::place::Place;
use super::pool::{self, MemoryPool};
use super::retain::{retainable, retained};
use super::size;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result, ensure, ensure_callable};
use crate::hazard::{Access, AccessHistory, Mode};
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
            self.unregister_host()?;
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
        matches!(self.kind, Allocator::Pool).then_some(self.device)
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

/// `len` elements of `T` from byte `start` of an allocation on, always within it.
#[derive(Debug)]
pub(crate) struct Span<'a, T> {
    allocation: &'a Allocation,
    start: usize,
    len: usize,
    element: PhantomData<T>,
}

impl<T> Clone for Span<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Span<'_, T> {}

impl<'a, T> Span<'a, T> {
    /// Returns the first `len` elements of an allocation, which has at least as many.
    #[inline]
    pub(crate) fn whole(allocation: &'a Allocation, len: usize) -> Self {
        Self { allocation, start: 0, len, element: PhantomData }
    }

    /// Returns `len` elements from byte `start` of an allocation on, which has them.
    #[inline]
    pub(super) fn part_of(allocation: &'a Allocation, start: usize, len: usize) -> Self {
        Self { allocation, start, len, element: PhantomData }
    }

    /// Returns the length in elements.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Returns the size in bytes. The allocation contains the span, so this does not overflow.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// Returns the range of bytes, counted from the start of the allocation.
    #[inline]
    pub(crate) fn range(&self) -> Range<usize> {
        self.start..self.start + self.bytes()
    }

    /// Returns where the span is.
    #[inline]
    pub(crate) fn location(&self) -> SpanLocation<'a> {
        let Allocation { pointer, device, kind, history, .. } = self.allocation;
        SpanLocation {
            pointer: pointer.wrapping_add(self.start),
            len: self.len,
            start: self.start,
            // The allocation contains the span, so this does not overflow.
            end: self.start + self.len * size_of::<T>(),
            device: *device,
            history,
            is_from_pool: matches!(kind, Allocator::Pool),
        }
    }

    /// Returns the allocation that contains the span.
    #[inline]
    pub(crate) fn allocation(&self) -> &'a Allocation {
        self.allocation
    }

    /// Returns the device of the allocation.
    #[inline]
    pub(crate) fn device(&self) -> Device {
        self.allocation.on()
    }

    /// Returns the address of the first element. The allocation's address is null if it has no bytes.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut T {
        self.allocation.pointer().wrapping_add(self.start).cast()
    }

    /// Returns a read or a write of all the bytes.
    #[inline]
    pub(crate) fn access(&self, mode: Mode) -> Access<'a> {
        Access::new(self.allocation.history(), self.range(), mode)
    }

    /// Returns the elements of a range.
    #[track_caller]
    pub(crate) fn part(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.len)?;
        Ok(self.cut(range))
    }

    /// Returns the elements of a range that is known to be within the span.
    fn cut(&self, range: Range<usize>) -> Self {
        Self { start: self.start + range.start * size_of::<T>(), len: range.len(), ..*self }
    }

    /// Returns the elements before `middle` and those from `middle` on.
    #[track_caller]
    pub(crate) fn split(&self, api: &'static str, middle: usize) -> Result<(Self, Self)> {
        ensure(middle <= self.len, api, || Detail::out_of_range(0, middle, self.len))?;
        Ok((self.cut(0..middle), self.cut(middle..self.len)))
    }

    /// Returns parts with these numbers of elements, one behind the other from the first element on.
    #[track_caller]
    pub(crate) fn parts<const N: usize>(&self, api: &'static str, sizes: [usize; N]) -> Result<[Self; N]> {
        let all = sizes.iter().fold(0_usize, |sum, size| sum.saturating_add(*size));
        ensure(all <= self.len, api, || Detail::out_of_range(0, all, self.len))?;
        let mut end = 0;
        Ok(sizes.map(|size| {
            let start = end;
            end += size;
            self.cut(start..end)
        }))
    }

    /// Returns parts of `size` elements. The last one is shorter if `size` does not divide the length.
    #[track_caller]
    pub(crate) fn chunks(
        &self,
        api: &'static str,
        size: usize,
    ) -> Result<impl ExactSizeIterator<Item = Self> + use<'a, T>> {
        ensure(size > 0, api, || Detail::zero("the chunk size"))?;
        let span = *self;
        let chunk = move |start: usize| span.cut(start..start.saturating_add(size).min(span.len));
        Ok((0..span.len.div_ceil(size)).map(move |number| chunk(number * size)))
    }

    /// Returns the same bytes as elements of another type.
    #[track_caller]
    pub(crate) fn reinterpret<U>(&self, api: &'static str) -> Result<Span<'a, U>> {
        let len = size::reinterpreted::<U>(api, self.pointer().addr(), self.bytes())?;
        Ok(Span { allocation: self.allocation, start: self.start, len, element: PhantomData })
    }
}

/// Where a span is: all that a copy takes over of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpanLocation<'a> {
    /// The address of the first byte.
    pub(crate) pointer: *mut u8,
    /// The length in elements.
    pub(crate) len: usize,
    /// The first byte and the byte past the last, counted from the start of the allocation.
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) device: Device,
    pub(crate) history: &'a AccessHistory,
    pub(crate) is_from_pool: bool,
}

/// Returns the address at which kernels reach host memory.
#[inline]
#[track_caller]
pub(super) fn mapped_pointer<T>(span: Span<'_, T>) -> Result<*mut T> {
    if span.bytes() == 0 {
        return Ok(std::ptr::null_mut());
    }
    Ok(span.allocation.mapped_pointer()?.wrapping_add(span.start).cast())
}

/// Returns the address at which kernels reach memory of any type.
#[inline]
#[track_caller]
pub(crate) fn kernel_pointer<T, M: MemoryType>(span: Span<'_, T>) -> Result<*mut T> {
    match M::TAG {
        Tag::Device | Tag::Managed => Ok(span.pointer()),
        Tag::Pinned => mapped_pointer(span),
    }
}

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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Allocation, Span};
    use crate::device::Device;
    use crate::error::Detail;

    /// An allocation without bytes: enough for arithmetic, and made without calling the runtime.
    fn nothing() -> Arc<Allocation> {
        Allocation::device(Some(Device::from_ordinal(0)), 0).unwrap()
    }

    #[test]
    fn parts_of_parts_count_from_the_allocation() {
        let allocation = nothing();
        let span = Span::<u32> { len: 100, ..Span::whole(&allocation, 0) };
        let part = span.part("test", &(10..50)).unwrap();
        assert_eq!((part.len(), part.range()), (40, 40..200));
        let inner = part.part("test", &(5..=9)).unwrap();
        assert_eq!((inner.len(), inner.range()), (5, 60..80));
        assert!(part.part("test", &(5..41)).is_err());
    }

    #[test]
    fn a_split_gives_two_halves_that_touch() {
        let allocation = nothing();
        let span = Span::<u64> { len: 10, ..Span::whole(&allocation, 0) };
        let (left, right) = span.split("test", 3).unwrap();
        assert_eq!((left.range(), right.range()), (0..24, 24..80));
        assert!(span.split("test", 10).unwrap().1.range().is_empty());
        let error = span.split("test", 11).unwrap_err();
        assert_eq!(error.detail(), &Detail::out_of_range(0, 11, 10));
    }

    #[test]
    fn chunks_cover_everything_once() {
        let allocation = nothing();
        let span = Span::<u16> { len: 10, ..Span::whole(&allocation, 0) };
        let chunks = span.chunks("test", 4).unwrap();
        assert_eq!(chunks.len(), 3);
        let ranges: Vec<_> = chunks.map(|chunk| chunk.range()).collect();
        assert_eq!(ranges, [0..8, 8..16, 16..20]);
        assert!(span.chunks("test", 0).is_err());
    }

    #[test]
    fn another_type_has_as_many_elements_as_fit() {
        let allocation = nothing();
        let span = Span::<u8> { len: 24, ..Span::whole(&allocation, 0) };
        assert_eq!(span.reinterpret::<u64>("test").unwrap().len(), 3);
        assert!(span.part("test", &(..23)).unwrap().reinterpret::<u64>("test").is_err());
        assert!(span.part("test", &(4..12)).unwrap().reinterpret::<u64>("test").is_err());
    }
}
