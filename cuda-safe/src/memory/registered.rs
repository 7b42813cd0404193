//! Registered memory: a container of the program, owned here and page-locked while devices may use its
//! elements.
#![expect(unsafe_code, reason = "vouches for containers, and hands their elements to the runtime")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bitflags::bitflags;
use bytemuck::AnyBitPattern;

use super::allocation::Allocation;
use super::allocation::Span;
use super::buffer::{PinnedSlice, PinnedSliceMut};
use super::guard::{HostMut, HostRef};
use super::retain::retained;
use super::size;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorWith, Result};
use crate::sys;

bitflags! {
    /// Properties of registered memory. On systems with unified addresses, all of it is portable and mapped
    /// anyway. Memory that devices only read has its own constructor: [`Registered::new_read_only`].
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct RegisterFlags: u32 {
        /// Counts as pinned for every device, not only for the current one.
        #[doc(alias = "cudaHostRegisterPortable")]
        const PORTABLE = sys::cudaHostRegisterPortable;
        /// Kernels can use it.
        #[doc(alias = "cudaHostRegisterMapped")]
        const MAPPED = sys::cudaHostRegisterMapped;
    }
}

/// A container of the program, whose elements are page-locked as long as this value owns it.
///
/// Asynchronous copies take it as they take a [`PinnedBuffer`](crate::PinnedBuffer), without another copy
/// of the elements. The container itself is not accessible meanwhile. The host reaches the elements through
/// [`host`](Self::host) and [`host_mut`](Self::host_mut), which wait for pending work on them.
/// [`into_inner`](Self::into_inner) returns the container.
///
/// A shared container, such as an `Arc<[T]>`, is only read. It can be the source of a copy, but not the
/// destination.
///
/// # Ordering
/// The tracker records the accesses to the elements. Dropping the value waits for the work that still uses
/// them. If the end of that work cannot be known, because a kernel failed, the container is leaked.
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
    /// Contains the container. On the heap, because errors carry this value.
    allocation: Arc<Allocation>,
    len: usize,
    container: PhantomData<C>,
}

impl<C: Stable> Registered<C> {
    /// Page-locks the elements and takes ownership of the container, or returns it with the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister). If the length is 0, nothing is registered.
    /// Capacity beyond the length is not registered.
    ///
    /// # Errors
    /// - `cudaErrorHostMemoryAlreadyRegistered` with the number of bytes, if some of the elements are
    ///   already page-locked.
    /// - A refusal if the elements are zero-sized.
    ///
    /// `?` converts the [`ErrorWith`] if the container is not needed.
    #[doc(alias = "cudaHostRegister")]
    #[track_caller]
    pub fn new(container: C) -> core::result::Result<Self, ErrorWith<C>> {
        Self::with_flags(container, RegisterFlags::empty())
    }

    /// Page-locks the elements with these flags and takes ownership of the container, or returns it with
    /// the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister). If the length is 0, nothing is registered.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and a refusal as `cudaErrorInvalidValue` for flags without a name here.
    /// For example, one flag of the runtime declares the memory to be contiguous memory of another device,
    /// which is never true of a container.
    #[doc(alias = "cudaHostRegister")]
    #[track_caller]
    pub fn with_flags(container: C, flags: RegisterFlags) -> core::result::Result<Self, ErrorWith<C>> {
        if !RegisterFlags::all().contains(flags) {
            let detail = Detail::unsupported("registering memory by flags that have no name");
            let error = Error::refused("Registered::with_flags", detail);
            return Err(ErrorWith::new(error.with_code(sys::cudaErrorInvalidValue), container));
        }
        Self::register(container, flags.bits())
    }

    #[track_caller]
    fn register(container: C, flags: u32) -> core::result::Result<Self, ErrorWith<C>> {
        // From here on the container does not move, so the pointer stays valid.
        let mut container = Box::new(container);
        let (pointer, len) = container.elements();
        let bytes = size::bytes_of::<C::Element>("Registered::new", len);
        let (device, bytes) = match Device::current().and_then(|device| Ok((device, bytes?))) {
            Ok(both) => both,
            Err(error) => return Err(ErrorWith::new(error, *container)),
        };
        // SAFETY: `Stable` guarantees that the container has this many elements, that they do not move, and
        // that only other owners reach them, who only read. The box goes to the allocation.
        let allocation = unsafe { Allocation::registered(device, pointer.cast(), bytes, flags, container) };
        match allocation {
            Ok(allocation) => Ok(Self { allocation: retained(allocation), len, container: PhantomData }),
            Err((error, container)) => Err(ErrorWith::new(error, *container)),
        }
    }

    /// Page-locks the elements for devices that only read them, and takes ownership of the container, or
    /// returns it with the error.
    ///
    /// Stands for [`cudaHostRegister`](sys::cudaHostRegister) with `cudaHostRegisterReadOnly`, which also
    /// allows memory that the program itself cannot write. The runtime fails copies into such memory, so it
    /// cannot be a destination here. The host can write the elements after it has the container back.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), and the runtime's error if a device does not support such a
    /// registration.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Registered, Stream, memcpy_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut device = DeviceBuffer::<u32>::alloc(3)?;
    /// let numbers = Registered::new_read_only(vec![1, 2, 3])?;
    /// memcpy_async(&mut device, &numbers, &stream)?;
    /// assert_eq!(numbers.into_inner()?.0, vec![1, 2, 3]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaHostRegisterReadOnly")]
    #[track_caller]
    pub fn new_read_only(container: C) -> core::result::Result<Registered<ReadOnly<C>>, ErrorWith<C>> {
        let registered = Registered::register(ReadOnly(container), sys::cudaHostRegisterReadOnly);
        registered.map_err(|failed| {
            let (error, ReadOnly(container)) = failed.into_parts();
            ErrorWith::new(error, container)
        })
    }

    /// Waits for the work that still uses the elements, makes them pageable again, and returns the
    /// container.
    ///
    /// Stands for [`cudaHostUnregister`](sys::cudaHostUnregister). If the length is 0, nothing is
    /// unregistered.
    ///
    /// # Errors
    /// Each error comes with the value, because the memory may still be in use. If the value is then
    /// dropped and cannot wait either, it leaks the container.
    /// - `InUse` while a graph also holds the memory.
    /// - The failure of the work that it waited for, or the runtime's error.
    /// - A refusal inside a host function.
    #[doc(alias = "cudaHostUnregister")]
    #[track_caller]
    pub fn into_inner(mut self) -> core::result::Result<C, ErrorWith<Self>> {
        let Some(allocation) = Arc::get_mut(&mut self.allocation) else {
            return Err(ErrorWith::new(Error::refused("Registered::into_inner", Detail::IN_GRAPH), self));
        };
        match allocation.take_container() {
            Ok(Some(container)) => Ok(*container),
            // Unreachable: a container of this type exists from `new` on, and is taken only once.
            Ok(None) => Err(ErrorWith::new(Error::refused("Registered::into_inner", Detail::NONE), self)),
            Err(error) => Err(ErrorWith::new(error, self)),
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

    /// Views all elements. The view has their addresses and accesses, and its parts.
    #[must_use]
    pub fn as_slice(&self) -> PinnedSlice<'_, C::Element> {
        PinnedSlice::new(self.span())
    }

    /// Views all elements for writing. The view has their addresses and accesses, and its parts.
    #[must_use]
    pub fn as_slice_mut(&mut self) -> PinnedSliceMut<'_, C::Element>
    where
        C: StableMut,
    {
        PinnedSliceMut::new(self.span())
    }

    /// Returns the span of all elements, from which views are made.
    pub(crate) fn span(&self) -> Span<'_, C::Element> {
        Span::whole(&self.allocation, self.len)
    }
}

size::length!([C] Registered<C>, it => it.len);

impl<C> fmt::Debug for Registered<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registered")
            .field("container", &std::any::type_name::<C>())
            .field("len", &self.len)
            .field("pointer", &self.allocation.pointer())
            .finish_non_exhaustive()
    }
}

/// A container that [`Registered`](crate::memory::Registered) can own: its elements do not move.
///
/// Implemented for `Vec<T>`, `Box<[T]>`, `Box<[T; N]>`, `Arc<[T]>`, and [`ReadOnly`] around each. To
/// register a memory map or another container, implement it for a wrapper type.
///
/// # Safety
/// - [`elements`](Self::elements) returns a pointer to as many elements as it reports: initialised,
///   aligned, and in one allocation.
/// - The elements do not move until the container is dropped or used again, and nobody reaches them in this
///   time but other owners of a shared container. The caller of `elements` may move the container's box in
///   this time, but not the container.
/// - Nobody writes the elements in this time except through the pointer. This includes other owners.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be registered",
    label = "does not own elements that stay where they are",
    note = "register a `Vec<T>`, a `Box<[T]>` or an `Arc<[T]>`"
)]
pub unsafe trait Stable: Send + 'static {
    /// The type of the elements.
    type Element: AnyBitPattern + Send + Sync;

    /// Returns a pointer to the first element and the number of elements. The pointer may be null or
    /// dangling if there are none.
    fn elements(&mut self) -> (*mut Self::Element, usize);
}

/// A container that alone owns its elements, so that a copy or a kernel may write them.
///
/// Not for shared containers such as `Arc<[T]>`, whose other owners may be reading.
///
/// # Safety
/// - The pointer that [`elements`](Stable::elements) returns may be written through.
/// - Nobody else reads the elements until the container is dropped or used again.
#[diagnostic::on_unimplemented(
    message = "the elements of `{Self}` cannot be written while it is registered",
    label = "they are shared, or for reading only"
)]
pub unsafe trait StableMut: Stable {}

// SAFETY: a vector's elements are in its own allocation, and only using the vector moves them.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Vec<T> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a vector is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Vec<T> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Box<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), self.len())
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync> StableMut for Box<[T]> {}

// SAFETY: a box's elements never move while it lives.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> Stable for Box<[T; N]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (self.as_mut_ptr(), N)
    }
}

// SAFETY: a box is the only owner of its elements, and the pointer is its mutable one.
unsafe impl<T: AnyBitPattern + Send + Sync, const N: usize> StableMut for Box<[T; N]> {}

/// A container that devices only read, which
/// [`Registered::new_read_only`](crate::memory::Registered::new_read_only) owns.
///
/// It does not implement [`StableMut`]. Therefore its elements can be neither the destination of a copy nor
/// an argument that a kernel writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ReadOnly<C>(pub C);

// SAFETY: the elements are those of the inner container, which fulfils the duties.
unsafe impl<C: Stable> Stable for ReadOnly<C> {
    type Element = C::Element;

    fn elements(&mut self) -> (*mut C::Element, usize) {
        self.0.elements()
    }
}

// SAFETY: shared elements never move while an owner lives. Nobody writes them while another owner may
// exist, and the registered owner is one, so no other owner is ever the only one.
unsafe impl<T: AnyBitPattern + Send + Sync> Stable for Arc<[T]> {
    type Element = T;

    fn elements(&mut self) -> (*mut T, usize) {
        (Arc::as_ptr(self).cast::<T>().cast_mut(), self.len())
    }
}
