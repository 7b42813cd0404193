//! What can stand on either side of a copy.
//!
//! Types say which side and which kind of memory something is: [`Source`] and [`Destination`] for the blocking verbs,
//! [`AsyncSource`] and [`AsyncDestination`] for those that return before the copy is done.

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::place::sealed::Residence;
use crate::memory::span::Span;
use crate::memory::{Buffer, Pinned, Place, Registered, Slice, SliceMut, SourceOf, Stable, StableMut};

/// What elements are copied from: device memory, pinned memory, slices, arrays and vectors.
///
/// Also a `Result` of one of these, whose error the copy returns: a view that does not fit needs no `?` of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy",
    label = "neither device nor pinned memory, nor a slice of elements that may cross",
    note = "elements are numbers, or types that derive `bytemuck::Pod`; `bool`, `char` and references never cross"
)]
pub trait Source: sealed::Source {
    /// What is copied.
    type Element;
}

/// What elements are copied to: device memory, pinned memory, mutable slices, arrays and vectors.
///
/// Also a `Result` of one of these, whose error the copy returns. A vector is filled to its length; it does not grow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy",
    label = "neither device nor pinned memory that may be written, nor a mutable slice",
    note = "elements are numbers, or types that derive `bytemuck::AnyBitPattern`; `bool`, `char` and references never cross"
)]
pub trait Destination: sealed::Destination {
    /// What is copied.
    type Element;
}

/// A source that an asynchronous copy may read after the call returned: device and pinned memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of an asynchronous copy",
    label = "nothing keeps this memory alive and unchanged until the copy is done",
    note = "copy from a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, or copy within `stream.scope`"
)]
pub trait AsyncSource: Source {}

/// A destination that an asynchronous copy may write after the call returned: device and pinned memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of an asynchronous copy",
    label = "nothing keeps this memory alive and unread until the copy is done",
    note = "copy to a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, or copy within `stream.scope`"
)]
pub trait AsyncDestination: Destination {}

/// The part of the traits that is not for others to implement.
pub(crate) mod sealed {
    use super::{Operand, Result};

    pub trait Source {
        fn operand(&self) -> Result<Operand<'_>>;
    }

    pub trait Destination {
        fn operand_mut(&mut self) -> Result<Operand<'_>>;
    }
}

/// Which memory an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A device's.
    Device(Device),
    /// The host's, page-locked.
    Pinned(Device),
    /// The host's.
    Pageable,
}

impl Side {
    /// Memory that was allocated for use with a device.
    fn of<M: Place>(device: Device) -> Self {
        match M::RESIDENCE {
            Residence::Device => Self::Device(device),
            Residence::Pinned => Self::Pinned(device),
        }
    }
}

/// One side of a copy, without its type.
#[derive(Debug)]
pub struct Operand<'a> {
    pointer: *mut u8,
    len: usize,
    bytes: usize,
    side: Side,
    books: Option<(&'a Ledger, Range<usize>)>,
}

impl<'a> Operand<'a> {
    /// A part of an allocation.
    pub(super) fn of_span<T, M: Place>(span: Span<'a, T>) -> Self {
        let books = Some((span.allocation().ledger(), span.range()));
        let side = Side::of::<M>(span.device());
        Self { pointer: span.pointer().cast(), len: span.len(), bytes: span.bytes(), side, books }
    }

    /// A slice, to be read.
    pub(super) fn of_slice<T: NoUninit>(slice: &'a [T]) -> Self {
        let pointer = slice.as_ptr().cast_mut().cast();
        Self { pointer, len: slice.len(), bytes: size_of_val(slice), side: Side::Pageable, books: None }
    }

    /// A slice, to be written.
    pub(super) fn of_slice_mut<T: AnyBitPattern>(slice: &'a mut [T]) -> Self {
        let (len, bytes) = (slice.len(), size_of_val(slice));
        Self { pointer: slice.as_mut_ptr().cast(), len, bytes, side: Side::Pageable, books: None }
    }

    /// Room for elements that is not initialised yet, to be written.
    pub(super) fn of_room<T: AnyBitPattern>(room: &'a mut [std::mem::MaybeUninit<T>]) -> Self {
        let (len, bytes) = (room.len(), size_of_val(room));
        Self { pointer: room.as_mut_ptr().cast(), len, bytes, side: Side::Pageable, books: None }
    }

    /// Length in elements.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Size in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Which memory this is.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// The first byte.
    pub(super) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// The first byte's address.
    pub(super) fn address(&self) -> usize {
        self.pointer.addr()
    }

    /// The first byte, counted from the start of the allocation, where there is one.
    pub(super) fn offset(&self) -> usize {
        self.books.as_ref().map_or(0, |(_, range)| range.start)
    }

    /// The access to enter in the books; none for pageable memory.
    pub(super) fn access(&self, mode: Mode) -> Option<Access<'a>> {
        self.books.as_ref().map(|(ledger, range)| Access::new(ledger, range.clone(), mode))
    }

    /// The books and the bytes; none for pageable memory.
    pub(super) fn books(&self) -> Option<(&'a Ledger, Range<usize>)> {
        self.books.clone()
    }
}

/// Memory of any place: all four traits, as far as it may be written and its elements read.
macro_rules! operands {
    (source $($source:ty),*; destination $($destination:ty),*) => {
        $(
            impl<T: AnyBitPattern, M: SourceOf<T>> sealed::Source for $source {
                fn operand(&self) -> Result<Operand<'_>> {
                    Ok(Operand::of_span::<T, M>(self.span()))
                }
            }

            impl<T: AnyBitPattern, M: SourceOf<T>> Source for $source {
                type Element = T;
            }

            impl<T: AnyBitPattern, M: SourceOf<T>> AsyncSource for $source {}
        )*
        $(
            impl<T: AnyBitPattern, M: Place> sealed::Destination for $destination {
                fn operand_mut(&mut self) -> Result<Operand<'_>> {
                    Ok(Operand::of_span::<T, M>(self.span()))
                }
            }

            impl<T: AnyBitPattern, M: Place> Destination for $destination {
                type Element = T;
            }

            impl<T: AnyBitPattern, M: Place> AsyncDestination for $destination {}
        )*
    };
}

operands! {
    source Buffer<T, M>, Slice<'_, T, M>, SliceMut<'_, T, M>;
    destination Buffer<T, M>, SliceMut<'_, T, M>
}

impl<C: Stable<Element: NoUninit>> sealed::Source for Registered<C> {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_span::<_, Pinned>(self.span()))
    }
}

impl<C: Stable<Element: NoUninit>> Source for Registered<C> {
    type Element = C::Element;
}

impl<C: Stable<Element: NoUninit>> AsyncSource for Registered<C> {}

impl<C: StableMut> sealed::Destination for Registered<C> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_span::<_, Pinned>(self.span()))
    }
}

impl<C: StableMut> Destination for Registered<C> {
    type Element = C::Element;
}

impl<C: StableMut> AsyncDestination for Registered<C> {}

impl<T: NoUninit> sealed::Source for [T] {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }
}

impl<T: NoUninit> Source for [T] {
    type Element = T;
}

impl<T: AnyBitPattern> sealed::Destination for [T] {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern> Destination for [T] {
    type Element = T;
}

impl<T: NoUninit, const N: usize> sealed::Source for [T; N] {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }
}

impl<T: NoUninit, const N: usize> Source for [T; N] {
    type Element = T;
}

impl<T: AnyBitPattern, const N: usize> sealed::Destination for [T; N] {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern, const N: usize> Destination for [T; N] {
    type Element = T;
}

impl<T: NoUninit> sealed::Source for Vec<T> {
    fn operand(&self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice(self))
    }
}

impl<T: NoUninit> Source for Vec<T> {
    type Element = T;
}

impl<T: AnyBitPattern> sealed::Destination for Vec<T> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Ok(Operand::of_slice_mut(self))
    }
}

impl<T: AnyBitPattern> Destination for Vec<T> {
    type Element = T;
}

impl<S: Source + ?Sized> sealed::Source for &S {
    fn operand(&self) -> Result<Operand<'_>> {
        (**self).operand()
    }
}

impl<S: Source + ?Sized> Source for &S {
    type Element = S::Element;
}

impl<S: AsyncSource + ?Sized> AsyncSource for &S {}

impl<S: Source + ?Sized> sealed::Source for &mut S {
    fn operand(&self) -> Result<Operand<'_>> {
        (**self).operand()
    }
}

impl<S: Source + ?Sized> Source for &mut S {
    type Element = S::Element;
}

impl<S: AsyncSource + ?Sized> AsyncSource for &mut S {}

impl<D: Destination + ?Sized> sealed::Destination for &mut D {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        (**self).operand_mut()
    }
}

impl<D: Destination + ?Sized> Destination for &mut D {
    type Element = D::Element;
}

impl<D: AsyncDestination + ?Sized> AsyncDestination for &mut D {}

impl<S: Source> sealed::Source for Result<S> {
    fn operand(&self) -> Result<Operand<'_>> {
        match self {
            Ok(source) => source.operand(),
            Err(error) => Err(*error),
        }
    }
}

impl<S: Source> Source for Result<S> {
    type Element = S::Element;
}

impl<S: AsyncSource> AsyncSource for Result<S> {}

impl<D: Destination> sealed::Destination for Result<D> {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        match self {
            Ok(destination) => destination.operand_mut(),
            Err(error) => Err(*error),
        }
    }
}

impl<D: Destination> Destination for Result<D> {
    type Element = D::Element;
}

impl<D: AsyncDestination> AsyncDestination for Result<D> {}
