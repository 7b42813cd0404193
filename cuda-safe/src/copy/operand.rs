//! What can stand on either side of a copy.
//!
//! Types say which side, which kind of memory and which shape something is: [`Source`] and [`Destination`] for the blocking
//! verbs, [`AsyncSource`] and [`AsyncDestination`] for those that return before the copy is done, each for [`Linear`],
//! [`Planar`] or [`Volumetric`] operands.

use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use super::array::Part;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::array::region::Region;
use crate::memory::grid::Grid;
use crate::memory::managed::extent;
use crate::memory::place::sealed::Residence;
use crate::memory::size::Layout;
use crate::memory::span::Span;
use crate::memory::{AnyPlace, Place};

/// The shape of elements one after the other: what [`memcpy`](crate::memcpy) takes.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

/// The shape of rows: what [`memcpy_2d`](crate::memcpy_2d) takes.
#[derive(Clone, Copy, Debug)]
pub struct Planar;

/// The shape of layers of rows: what [`memcpy_3d`](crate::memcpy_3d) takes.
#[derive(Clone, Copy, Debug)]
pub struct Volumetric;

/// What elements are copied from: device memory, pinned memory, slices, arrays and vectors.
///
/// Also a `Result` of one of these, whose error the copy returns: a view that does not fit needs no `?` of its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape and with elements that may cross",
    note = "elements are numbers, or types that derive `bytemuck::Pod`; `bool`, `char` and references never cross; one value is `&[value]`"
)]
pub trait Source<Shape = Linear>: sealed::Source<Shape> {
    /// What is copied.
    type Element;
}

/// What elements are copied to: device memory, pinned memory, mutable slices, arrays and vectors.
///
/// Also a `Result` of one of these, whose error the copy returns. A vector is filled to its length; it does not grow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape, that may be written",
    note = "elements are numbers, or types that derive `bytemuck::AnyBitPattern`; `bool`, `char` and references never cross; one value is `std::slice::from_mut(&mut value)`"
)]
pub trait Destination<Shape = Linear>: sealed::Destination<Shape> {
    /// What is copied.
    type Element;
}

/// A source that an asynchronous copy may read after the call returned: device and pinned memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of an asynchronous copy",
    label = "nothing keeps this memory alive and unchanged until the copy is done",
    note = "copy from a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, or copy within `stream.scope`"
)]
pub trait AsyncSource<Shape = Linear>: Source<Shape> {}

/// A destination that an asynchronous copy may write after the call returned: device and pinned memory.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of an asynchronous copy",
    label = "nothing keeps this memory alive and unread until the copy is done",
    note = "copy to a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, or copy within `stream.scope`"
)]
pub trait AsyncDestination<Shape = Linear>: Destination<Shape> {}

/// What rows or layers can be filled: memory with addresses, which arrays do not have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled",
    note = "CUDA has no call that fills an array: copy to it, or write it from a kernel"
)]
pub trait FillDestination<Shape>: AsyncDestination<Shape> {}

/// The part of the traits that is not for others to implement.
pub(crate) mod sealed {
    use super::{Operand, Result};
    use crate::copy::plain::Plain;

    pub trait Source<Shape = super::Linear> {
        fn operand(&self) -> Result<Operand<'_>>;

        /// The same in short, where it can be said so.
        #[inline]
        fn plain(&self) -> Option<Plain<'_>> {
            None
        }
    }

    pub trait Destination<Shape = super::Linear> {
        fn operand_mut(&mut self) -> Result<Operand<'_>>;

        /// The same in short, where it can be said so.
        #[inline]
        fn plain_mut(&mut self) -> Option<Plain<'_>> {
            None
        }
    }
}

/// Which memory an operand is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// A device's.
    Device(Device),
    /// The host's, page-locked.
    Pinned(Device),
    /// The host's and all devices', allocated for this one.
    Managed(Device),
    /// The host's.
    Pageable,
}

impl Side {
    /// Memory that was allocated for use with a device.
    #[inline]
    pub(super) fn of(residence: Residence, device: Device) -> Self {
        match residence {
            Residence::Device => Self::Device(device),
            Residence::Pinned => Self::Pinned(device),
            Residence::Managed => Self::Managed(device),
        }
    }

    /// The access of a source here that a stream copies from: pinned memory may be read during the call.
    #[inline]
    pub(super) fn source(self, access: Access<'_>) -> Access<'_> {
        if let Self::Pinned(_) = self { access.at_call() } else { access }
    }

    /// The access of what a stream fills here: a batch must not follow that of pinned memory directly.
    #[inline]
    pub(super) fn filled(self, access: Access<'_>) -> Access<'_> {
        if let Self::Pinned(_) = self { access.fill() } else { access }
    }
}

/// How many dimensions a copy has: the shape, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimensions {
    /// [`Linear`].
    One,
    /// [`Planar`].
    Two,
    /// [`Volumetric`].
    Three,
}

/// One side of a copy, without its type.
#[derive(Debug)]
pub struct Operand<'a> {
    pointer: *mut u8,
    /// Elements of a row.
    len: usize,
    layout: Layout,
    dimensions: Dimensions,
    side: Side,
    books: Option<(&'a Ledger, Range<usize>)>,
    /// No borrow keeps the host away from it.
    unborrowed: bool,
    /// Where in which array this is, which then has no address.
    array: Option<Part>,
    /// The device of the pool that it is from, if it is.
    pool: Option<Device>,
}

impl<'a> Operand<'a> {
    /// A part of an allocation.
    pub(super) fn of_span<T, M: Place>(span: Span<'a, T>) -> Self {
        let pool = span.allocation().pool_device();
        let books = Some((span.allocation().ledger(), span.range()));
        let side = Side::of(M::RESIDENCE, span.device());
        let (pointer, layout) = (span.pointer().cast(), Layout::linear(span.bytes()));
        Self {
            pointer,
            len: span.len(),
            layout,
            dimensions: Dimensions::One,
            side,
            books,
            unborrowed: false,
            array: None,
            pool,
        }
    }

    /// A part of a variable of a module, or memory of a graph's, at this address: no borrow of it stands for who uses it.
    pub(crate) fn unborrowed<T>(
        pointer: *mut T,
        len: usize,
        side: Side,
        (ledger, range): (&'a Ledger, Range<usize>),
    ) -> Self {
        let (pointer, layout) = (pointer.cast(), Layout::linear(range.len()));
        let books = Some((ledger, range));
        Self {
            pointer,
            len,
            layout,
            dimensions: Dimensions::One,
            side,
            books,
            unborrowed: true,
            array: None,
            pool: None,
        }
    }

    /// Rows, in layers.
    pub(super) fn of_grid<T, M: AnyPlace>(grid: Grid<'a, T>, dimensions: Dimensions) -> Self {
        let (side, books) = match (M::BOOKED, grid.booked()) {
            (Some(residence), Some((allocation, range))) => {
                (Side::of(residence, allocation.on()), Some((allocation.ledger(), range)))
            }
            _ => (Side::Pageable, None),
        };
        let pool = grid.booked().and_then(|(allocation, _)| allocation.pool_device());
        let (pointer, len, layout) = (grid.pointer().cast(), grid.width(), grid.layout());
        Self { pointer, len, layout, dimensions, side, books, unborrowed: false, array: None, pool }
    }

    /// A borrowed slice.
    fn pageable(pointer: *mut u8, len: usize, bytes: usize) -> Self {
        let layout = Layout::linear(bytes);
        Self {
            pointer,
            len,
            layout,
            dimensions: Dimensions::One,
            side: Side::Pageable,
            books: None,
            unborrowed: false,
            array: None,
            pool: None,
        }
    }

    /// A slice, to be read.
    pub(super) fn of_slice<T: NoUninit>(slice: &'a [T]) -> Self {
        Self::pageable(slice.as_ptr().cast_mut().cast(), slice.len(), size_of_val(slice))
    }

    /// A slice, to be written.
    pub(super) fn of_slice_mut<T: AnyBitPattern>(slice: &'a mut [T]) -> Self {
        let (len, bytes) = (slice.len(), size_of_val(slice));
        Self::pageable(slice.as_mut_ptr().cast(), len, bytes)
    }

    /// Room for elements that is not initialised yet, to be written.
    pub(super) fn of_room<T: AnyBitPattern>(room: &'a mut [std::mem::MaybeUninit<T>]) -> Self {
        let (len, bytes) = (room.len(), size_of_val(room));
        Self::pageable(room.as_mut_ptr().cast(), len, bytes)
    }

    /// Room of the same extent as another operand, rows one after the other. Where it is too small, it is as if it had no rows.
    pub(super) fn of_room_like<T: AnyBitPattern>(
        room: &'a mut [std::mem::MaybeUninit<T>],
        other: &Self,
    ) -> Self {
        let Layout { row, rows, layers, .. } = other.layout;
        let layout = Layout { row, rows, layers, pitch: row, layer_rows: rows };
        let fits = layout.span().is_some_and(|bytes| bytes <= size_of_val(room));
        let layout = if fits { layout } else { Layout { rows: 0, ..layout } };
        let pointer = room.as_mut_ptr().cast();
        let dimensions = other.dimensions;
        Self {
            pointer,
            len: other.len,
            layout,
            dimensions,
            side: Side::Pageable,
            books: None,
            unborrowed: false,
            array: None,
            pool: None,
        }
    }

    /// Part of an array. It has no address: its layout only says its size.
    pub(super) fn of_array<T>(region: Region<'a, T>, dimensions: Dimensions) -> Self {
        let [width, rows, layers] = region.extent();
        // The array holds it, so it does not overflow.
        let row = width * size_of::<T>();
        let layout = Layout { row, rows, layers, pitch: row, layer_rows: rows };
        Self {
            pointer: std::ptr::null_mut(),
            len: width,
            layout,
            dimensions,
            side: Side::Device(region.device()),
            books: Some((region.allocation().ledger(), region.range())),
            unborrowed: false,
            array: Some(Part::of(&region)),
            pool: None,
        }
    }

    /// Where in which array this is; none of memory with addresses.
    pub(super) fn array(&self) -> Option<&Part> {
        self.array.as_ref()
    }

    /// Length in elements; of a row, where there are rows.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Width in elements, height in rows, depth in layers.
    pub(super) fn extent(&self) -> [usize; 3] {
        [self.len, self.layout.rows, self.layout.layers]
    }

    /// Size in bytes, without what is between rows.
    pub(super) fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// The layout in bytes.
    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The shape.
    pub(super) fn dimensions(&self) -> Dimensions {
        self.dimensions
    }

    /// Which memory this is.
    pub(super) fn side(&self) -> Side {
        self.side
    }

    /// Whether a slice may be of managed memory, lent by a guard: then the runtime promises less about it.
    pub(super) fn may_be_lent_managed(&self) -> bool {
        self.side == Side::Pageable && extent::may_contain(self.address())
    }

    /// The device of the pool that it is from, if it is: the runtime's copies find such memory only where the current device has access
    /// to it.
    pub(super) fn pool(&self) -> Option<Device> {
        self.pool
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
        let (ledger, range) = self.books()?;
        let access = Access::new(ledger, range, mode);
        Some(if self.unborrowed { access.unborrowed() } else { access })
    }

    /// The access of a source that a stream copies from.
    pub(super) fn source(&self) -> Option<Access<'a>> {
        self.access(Mode::Read).map(|access| self.side.source(access))
    }

    /// The access of what a stream fills.
    pub(super) fn filled(&self) -> Option<Access<'a>> {
        self.access(Mode::Write).map(|access| self.side.filled(access))
    }

    /// The books and the bytes; none for pageable memory.
    pub(super) fn books(&self) -> Option<(&'a Ledger, Range<usize>)> {
        self.books.clone()
    }
}
