//! Memory of the program's own, page-locked: a container, put away while devices may use its elements.
#![expect(unsafe_code, reason = "hands the elements of a container to the runtime")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use bitflags::bitflags;

use super::allocation::Allocation;
use super::guard::{HostMut, HostRef};
use super::mapped::mapped_pointer;
use super::retain::retained;
use super::size;
use super::slice::{PinnedSlice, PinnedSliceMut};
use super::span::Span;
use super::stable::{ReadOnly, Stable, StableMut};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::sys;

bitflags! {
    /// How memory is registered. On systems with unified addresses, all of it is portable and mapped anyway.
    /// Memory that devices only read has a constructor of its own: [`Registered::read_only`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub struct RegisterFlags: u32 {
        /// Counts as pinned for every device, not only for the one that was current.
        #[doc(alias = "cudaHostRegisterPortable")]
        const PORTABLE = sys::cudaHostRegisterPortable;
        /// Kernels can use it.
        #[doc(alias = "cudaHostRegisterMapped")]
        const MAPPED = sys::cudaHostRegisterMapped;
    }
}

/// A container of the program's own, whose elements are page-locked for as long as this owns it.
///
/// Asynchronous copies take it as they take a [`PinnedBuffer`](crate::PinnedBuffer), without another copy of the elements.
/// The container itself is put away: the host reaches the elements through [`host`](Self::host) and
/// [`host_mut`](Self::host_mut), which wait for what is pending on them, and gets the container back from
/// [`into_inner`](Self::into_inner).
///
/// A shared container, such as an `Arc<[T]>`, is only ever read: it is a source of copies and no destination.
///
/// # Ordering
/// The accesses are in the books. Dropping it waits for the work that still uses the elements; a container of which that
/// cannot be known, after a failed kernel, is leaked and its memory never given back.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, Registered, Stream, memcpy_async};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let device = DeviceBuffer::from_slice(&[1, 2, 3])?;
/// let mut numbers = Registered::new(vec![0; 3])?;
/// memcpy_async(&mut numbers, &device, &stream)?;
/// assert_eq!(numbers.into_inner()?, vec![1, 2, 3]); // waits
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaHostRegister")]
#[doc(alias = "cudaHostUnregister")]
pub struct Registered<C> {
    /// With the container in it; in a box because it goes into errors.
    allocation: Arc<Allocation>,
    len: usize,
    container: PhantomData<C>,
}

impl<C: Stable> Registered<C> {
    /// Page-locks the elements and takes the container over, or gives it back with the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister). No elements, no call. Capacity beyond the length is not
    /// registered.
    ///
    /// # Errors
    /// `cudaErrorHostMemoryAlreadyRegistered` where some of the elements are page-locked already, with the number of
    /// bytes; a refusal where the elements have no bytes. Where the container does not matter, `?` makes an [`Error`] of it.
    #[doc(alias = "cudaHostRegister")]
    #[track_caller]
    pub fn new(container: C) -> core::result::Result<Self, (Error, C)> {
        Self::with_flags(container, RegisterFlags::empty())
    }

    /// Page-locks the elements as `flags` say and takes the container over, or gives it back with the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister). No elements, no call.
    ///
    /// # Errors
    /// As [`new`](Self::new), and a refusal, as `cudaErrorInvalidValue`, of flags that have no name here: one of the runtime's says that
    /// the memory is that of some other device, in one piece, which a container's is not.
    #[doc(alias = "cudaHostRegister")]
    #[track_caller]
    pub fn with_flags(container: C, flags: RegisterFlags) -> core::result::Result<Self, (Error, C)> {
        if !RegisterFlags::all().contains(flags) {
            let detail = Detail::Unsupported { what: "registering memory by flags that have no name" };
            let error = Error::refused("Registered::with_flags", detail);
            return Err((error.with_code(sys::cudaErrorInvalidValue), container));
        }
        Self::register(container, flags.bits())
    }

    #[track_caller]
    fn register(container: C, flags: u32) -> core::result::Result<Self, (Error, C)> {
        // From here on the container stays where it is, so that the pointer stays its own.
        let mut container = Box::new(container);
        let (pointer, len) = container.elements();
        let bytes = size::bytes_of::<C::Element>("Registered::new", len);
        let (device, bytes) = match Device::current().and_then(|device| Ok((device, bytes?))) {
            Ok(both) => both,
            Err(error) => return Err((error, *container)),
        };
        // SAFETY: `Stable` promises that so many elements are there, stay there, and are reached by nobody but other owners,
        // who only read; the box goes along.
        let allocation = unsafe { Allocation::registered(device, pointer.cast(), bytes, flags, container) };
        match allocation {
            Ok(allocation) => Ok(Self { allocation: retained(allocation), len, container: PhantomData }),
            Err((error, container)) => Err((error, *container)),
        }
    }

    /// Page-locks the elements for devices that only read them, and takes the container over, or gives it
    /// back with the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister) with `cudaHostRegisterReadOnly`, which lets
    /// memory be registered that the program itself cannot write. The runtime fails copies into such memory,
    /// so it is no destination here; the host writes the elements when it has the container back.
    ///
    /// # Errors
    /// As [`new`](Self::new), and what the runtime fails with where a device has no such registration.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Registered, Stream, memcpy_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut device = DeviceBuffer::<u32>::alloc(3)?;
    /// let numbers = Registered::read_only(vec![1, 2, 3])?;
    /// memcpy_async(&mut device, &numbers, &stream)?;
    /// assert_eq!(numbers.into_inner()?.0, vec![1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaHostRegisterReadOnly")]
    #[track_caller]
    pub fn read_only(container: C) -> core::result::Result<Registered<ReadOnly<C>>, (Error, C)> {
        let registered = Registered::register(ReadOnly(container), sys::cudaHostRegisterReadOnly);
        registered.map_err(|(error, container)| (error, container.0))
    }

    /// Waits for the work that still uses the elements, makes them pageable again, and gives the container back.
    ///
    /// Stands for [`cudaHostUnregister`](sys::cudaHostUnregister). No elements, no call.
    ///
    /// # Errors
    /// A refusal inside a host function; the failure of the work that was waited for, or of the call. The memory may then
    /// still be in use: what comes with the error keeps it, and leaks it when it is dropped and cannot wait either.
    /// `InGraph` while a graph holds the memory too.
    #[doc(alias = "cudaHostUnregister")]
    #[track_caller]
    pub fn into_inner(mut self) -> core::result::Result<C, (Error, Self)> {
        let Some(allocation) = Arc::get_mut(&mut self.allocation) else {
            return Err((Error::refused("Registered::into_inner", Detail::InGraph), self));
        };
        match allocation.take_container() {
            Ok(Some(container)) => Ok(*container),
            // Not reached: a container of this type is there from `new` on, and is taken once.
            Ok(None) => Err((Error::refused("Registered::into_inner", Detail::None), self)),
            Err(error) => Err((error, self)),
        }
    }

    /// Waits until no work writes the elements any more, and lends them to the host for reading.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host(&self) -> Result<HostRef<'_, C::Element>> {
        HostRef::new(self.span())
    }

    /// Waits until no work uses the elements any more, and lends them to the host for writing.
    ///
    /// # Errors
    /// As [`PinnedBuffer::host`](crate::PinnedBuffer::host).
    #[track_caller]
    pub fn host_mut(&mut self) -> Result<HostMut<'_, C::Element>>
    where
        C: StableMut,
    {
        HostMut::new(self.span())
    }

    /// Views a part, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the container, with range and length.
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<PinnedSlice<'_, C::Element>> {
        Ok(PinnedSlice::new(self.span().part("Registered::slice", &range)?))
    }

    /// Views a part that may be written, by elements.
    ///
    /// # Errors
    /// A refusal where the range is not within the container, with range and length.
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<PinnedSliceMut<'_, C::Element>>
    where
        C: StableMut,
    {
        Ok(PinnedSliceMut::new(self.span().part("Registered::slice_mut", &range)?))
    }

    /// Views all elements. A view splits, divides into chunks and is looked at as another type.
    #[must_use]
    pub fn as_slice(&self) -> PinnedSlice<'_, C::Element> {
        PinnedSlice::new(self.span())
    }

    /// Views all elements so that they may be written. A view splits, divides into chunks and is looked at as another type.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> PinnedSliceMut<'_, C::Element>
    where
        C: StableMut,
    {
        PinnedSliceMut::new(self.span())
    }

    /// The host address of the first element; null where there are none.
    ///
    /// Reading through it is a race with whatever work writes the memory: see [`host`](Self::host).
    #[must_use]
    pub fn as_ptr(&self) -> *const C::Element {
        self.span().pointer().cast_const()
    }

    /// The host address of the first element, for writing; null where there are none.
    #[must_use]
    pub fn as_mut_ptr(&mut self) -> *mut C::Element
    where
        C: StableMut,
    {
        self.span().pointer()
    }

    /// The address at which kernels reach the first element; null where there are none.
    ///
    /// Stands for [`cudaHostGetDevicePointer`](sys::cudaHostGetDevicePointer), called the first time only. Where
    /// addresses are unified it is mostly the host's, but for registered memory some devices have another.
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the memory is not mapped.
    #[doc(alias = "cudaHostGetDevicePointer")]
    #[track_caller]
    pub fn device_ptr(&self) -> Result<*mut C::Element> {
        mapped_pointer(self.span())
    }

    /// A read of all elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.span().access(Mode::Read)
    }

    /// A write of all elements, for [`enqueue`](crate::stream::StreamRef::enqueue).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_>
    where
        C: StableMut,
    {
        self.span().access(Mode::Write)
    }

    /// All of it, as views are made from.
    pub(crate) fn span(&self) -> Span<'_, C::Element> {
        Span::whole(&self.allocation, self.len)
    }
}

impl<C> Registered<C> {
    /// Length in elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes.
    #[must_use]
    pub fn size_in_bytes(&self) -> usize {
        self.allocation.bytes()
    }

    /// The device that was current when the memory was registered.
    #[must_use]
    pub fn device(&self) -> Device {
        self.allocation.on()
    }
}

/// Keeps the error and drops what came back with it: for `?` where that does not matter.
impl<C> From<(Error, C)> for Error {
    fn from((error, _): (Error, C)) -> Self {
        error
    }
}

impl<C> fmt::Debug for Registered<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("container", &std::any::type_name::<C>())
            .field("len", &self.len)
            .field("pointer", &self.allocation.pointer())
            .finish_non_exhaustive()
    }
}
