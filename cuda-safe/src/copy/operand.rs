//! One side of a copy: which types may stand there, and the one descriptor that all of them become.
//!
//! Types say which side, which memory and which shape something is: [`Source`] and [`Destination`] for the
//! blocking verbs, [`AsyncSource`] and [`AsyncDestination`] for those that return before the copy is done,
//! each for [`Linear`], [`Planar`] or [`Volumetric`] operands. With [`FillDestination`] and
//! [`SymbolPart`](super::SymbolPart) these are all operand traits of the crate. Nobody else can implement
//! them: their hidden method returns a type without a public name.
#![expect(unsafe_code, reason = "tells the tracker which accesses are exclusive")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::allocation::Allocation;
use crate::memory::array::region::Region;
use crate::memory::grid::Grid;
use crate::memory::managed::extent;
use crate::memory::memory_type::sealed::Tag;
use crate::memory::size::Layout;
use crate::memory::span::Span;
use crate::memory::{AnyMemoryType, MemoryType};
use crate::sys;

/// The shape of elements one after the other: what [`memcpy`](crate::memcpy) takes.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

/// The shape of rows: what [`memcpy_2d`](crate::memcpy_2d) takes.
#[derive(Clone, Copy, Debug)]
pub struct Planar;

/// The shape of layers of rows: what [`memcpy_3d`](crate::memcpy_3d) takes.
#[derive(Clone, Copy, Debug)]
pub struct Volumetric;

/// The shape of elements one after the other in a node of a graph: what
/// [`Graph::add_memcpy`](crate::Graph::add_memcpy) takes. All that [`memcpy_async`](crate::memcpy_async)
/// takes, and memory of the graph's own.
#[derive(Clone, Copy, Debug)]
pub struct InGraph;

/// The owner keeps the memory until an asynchronous copy is done: device, pinned, managed and registered
/// memory.
#[derive(Clone, Copy, Debug)]
pub struct ByOwner;

/// A scope keeps the memory until an asynchronous copy is done: slices and vectors that are borrowed for the
/// whole scope, and all memory that is kept [`ByOwner`].
#[derive(Clone, Copy, Debug)]
pub struct ByScope<'scope>(PhantomData<&'scope ()>);

/// Elements can be copied from it: device memory, pinned memory, slices, arrays and vectors.
///
/// Also a `Result` of one of these: the copy returns its error. A part in C is an offset within the call; so
/// a ported line is still one call with one `?`, whichever side fails:
/// `memcpy(&mut device.slice_mut(4..8), &host[..4])?`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape and with elements \
             that may cross",
    note = "elements are numbers, or types that derive `bytemuck::Pod`; `bool`, `char` and references never \
            cross; one value is `&[value]`"
)]
pub trait Source<Shape = Linear> {
    /// The type of the elements.
    type Element;

    /// The descriptor of this side.
    #[doc(hidden)]
    fn operand(&self) -> Result<Operand<'_>>;
}

/// Elements can be copied to it: device memory, pinned memory, mutable slices, arrays and vectors.
///
/// Also a `Result` of one of these, as for [`Source`]. A vector is filled to its length; it does not grow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape, that may be written",
    note = "elements are numbers, or types that derive `bytemuck::AnyBitPattern`; `bool`, `char` and \
            references never cross; one value is `std::slice::from_mut(&mut value)`"
)]
pub trait Destination<Shape = Linear> {
    /// The type of the elements.
    type Element;

    /// The descriptor of this side.
    #[doc(hidden)]
    fn operand_mut(&mut self) -> Result<Operand<'_>>;
}

/// A source that an asynchronous copy may read after the call returned.
///
/// `RetainedResource` says who keeps it until then: [`ByOwner`], or [`ByScope`] in the verbs of a
/// [`Scope`](crate::stream::Scope).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of an asynchronous copy",
    label = "nothing keeps this memory alive and unchanged until the copy is done",
    note = "copy from a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, \
            or copy within `stream.scope`",
    note = "within `stream.scope`, pass a reference: to device or pinned memory, or, borrowed from outside \
            the scope, to a slice, array or vector; planes and volumes of these may be passed as they are"
)]
pub trait AsyncSource<Shape = Linear, RetainedResource = ByOwner>: Source<Shape> {}

/// A destination that an asynchronous copy may write after the call returned.
///
/// `RetainedResource` says who keeps it until then: [`ByOwner`], or [`ByScope`] in the verbs of a
/// [`Scope`](crate::stream::Scope).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of an asynchronous copy",
    label = "nothing keeps this memory alive and unread until the copy is done",
    note = "copy to a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, \
            or copy within `stream.scope`",
    note = "within `stream.scope`, pass a mutable reference: to device or pinned memory, or, borrowed from \
            outside the scope, to a slice, array or vector; planes and volumes of these are passed as they are"
)]
pub trait AsyncDestination<Shape = Linear, RetainedResource = ByOwner>: Destination<Shape> {}

/// Rows or layers that can be filled: memory with addresses, which arrays do not have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled",
    note = "CUDA has no call that fills an array: copy to it, or write it from a kernel"
)]
pub trait FillDestination<Shape>: AsyncDestination<Shape> {}

/// The memory type of an operand, with the device that it was allocated for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperandMemory {
    /// A device's.
    Device(Device),
    /// The host's, page-locked.
    Pinned(Device),
    /// The host's and all devices', allocated for this one.
    Managed(Device),
    /// The host's.
    Pageable,
}

impl OperandMemory {
    /// The type of memory that was allocated for use with a device.
    #[inline]
    fn of(residence: Tag, device: Device) -> Self {
        match residence {
            Tag::Device => Self::Device(device),
            Tag::Pinned => Self::Pinned(device),
            Tag::Managed => Self::Managed(device),
        }
    }

    /// Whether only the host's processors and copies reach it.
    pub(super) fn is_host(self) -> bool {
        matches!(self, Self::Pinned(_) | Self::Pageable)
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

/// What few operands have. An operand without it costs no more for it: its type says so where it is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    None,
    /// A box of an array, which has no address.
    Array(ArrayPart),
    /// Memory of a pool of this device, where there are more devices: copies find it only where the current
    /// device has access to it.
    Pool(Device),
    /// No borrow keeps the host away from it: a variable of a module.
    Unborrowed,
    /// The same, memory of the graph with this number.
    Graph(u64),
}

/// A box of elements of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayPart {
    pub(super) raw: sys::cudaArray_t,
    /// Column, row, layer.
    pub(super) at: [usize; 3],
    /// Bytes of an element.
    pub(super) element: usize,
    /// Whether the array has one layer only.
    pub(super) is_flat: bool,
}

/// One side of a copy, without its type.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The first byte; null for an array.
    pub(super) pointer: *mut u8,
    /// Elements of a row.
    pub(super) len: usize,
    /// The layout in bytes; that of an array only says its size.
    pub(super) layout: Layout,
    pub(super) dimensions: Dimensions,
    pub(super) memory: OperandMemory,
    /// The access history of the allocation; none for pageable memory.
    history: Option<&'a AccessHistory>,
    /// The first byte and the one past the last, counted from the start of the allocation or slice.
    start: usize,
    end: usize,
    /// Whether an exclusive borrow of this is one of all these bytes: between rows others may have some.
    alone: bool,
    pub(super) special: Special,
}

impl<'a> Operand<'a> {
    /// Part of an allocation.
    #[inline]
    pub(super) fn of_span<T, M: MemoryType>(span: Span<'a, T>) -> Self {
        let allocation = span.allocation();
        let Range { start, end } = span.range();
        Self {
            memory: OperandMemory::of(M::TAG, span.device()),
            history: Some(allocation.history()),
            start,
            end,
            special: Special::of_pool(allocation),
            ..Self::pageable(span.pointer().cast(), span.len(), span.bytes())
        }
    }

    /// Part of a variable of a module, at this address: no borrow of it stands for who uses it.
    pub(crate) fn unborrowed<T>(
        pointer: *mut T,
        len: usize,
        memory: OperandMemory,
        (history, Range { start, end }): (&'a AccessHistory, Range<usize>),
    ) -> Self {
        let bytes = end.saturating_sub(start);
        Self {
            memory,
            history: Some(history),
            start,
            end,
            alone: false,
            special: Special::Unborrowed,
            ..Self::pageable(pointer.cast(), len, bytes)
        }
    }

    /// The same, of the graph with this number: an operand in nodes of that graph only.
    pub(crate) fn of_graph(self, graph: u64) -> Self {
        Self { special: Special::Graph(graph), ..self }
    }

    /// Rows, in layers.
    #[inline]
    pub(super) fn of_grid<T, M: AnyMemoryType>(grid: Grid<'a, T>, dimensions: Dimensions) -> Self {
        let (len, layout) = (grid.width(), grid.layout());
        let row = Self { len, layout, dimensions, ..Self::pageable(grid.pointer().cast(), len, layout.row) };
        match (M::TRACKED, grid.tracked()) {
            (Some(residence), Some((allocation, Range { start, end }))) => Self {
                memory: OperandMemory::of(residence, allocation.on()),
                history: Some(allocation.history()),
                start,
                end,
                alone: grid.is_alone(),
                special: Special::of_pool(allocation),
                ..row
            },
            _ => Self { end: layout.spanned(), ..row },
        }
    }

    /// A borrowed slice.
    #[inline]
    fn pageable(pointer: *mut u8, len: usize, bytes: usize) -> Self {
        Self {
            pointer,
            len,
            layout: Layout::linear(bytes),
            dimensions: Dimensions::One,
            memory: OperandMemory::Pageable,
            history: None,
            start: 0,
            end: bytes,
            alone: true,
            special: Special::None,
        }
    }

    /// A slice, to be read.
    #[inline]
    pub(super) fn of_slice<T: NoUninit>(slice: &'a [T]) -> Self {
        Self::pageable(slice.as_ptr().cast_mut().cast(), slice.len(), size_of_val(slice))
    }

    /// A slice, to be written.
    #[inline]
    pub(super) fn of_slice_mut<T: AnyBitPattern>(slice: &'a mut [T]) -> Self {
        let (len, bytes) = (slice.len(), size_of_val(slice));
        Self::pageable(slice.as_mut_ptr().cast(), len, bytes)
    }

    /// Room for elements that is not initialised yet, to be written: of the extent of another operand, rows
    /// one after the other. Where it is too small, it is as if it had no rows.
    pub(super) fn of_room_like<T: AnyBitPattern>(room: &'a mut [MaybeUninit<T>], other: &Self) -> Self {
        let Layout { row, rows, layers, .. } = other.layout;
        let layout = Layout { row, rows, layers, pitch: row, layer_rows: rows };
        let fits = layout.span().is_some_and(|bytes| bytes <= size_of_val(room));
        let layout = if fits { layout } else { Layout { rows: 0, ..layout } };
        let all = Self::pageable(room.as_mut_ptr().cast(), other.len, size_of_val(room));
        Self { layout, dimensions: other.dimensions, end: layout.spanned(), ..all }
    }

    /// Part of an array.
    pub(super) fn of_array<T>(region: Region<'a, T>, dimensions: Dimensions) -> Self {
        let [width, rows, layers] = region.extent();
        // The array holds it, so it does not overflow.
        let row = width * size_of::<T>();
        let Range { start, end } = region.range();
        Self {
            layout: Layout { row, rows, layers, pitch: row, layer_rows: rows },
            dimensions,
            memory: OperandMemory::Device(region.device()),
            history: Some(region.allocation().history()),
            start,
            end,
            alone: false,
            special: Special::Array(ArrayPart {
                raw: region.raw(),
                at: region.at(),
                element: size_of::<T>(),
                is_flat: region.is_flat(),
            }),
            ..Self::pageable(std::ptr::null_mut(), width, 0)
        }
    }

    /// The box of an array that this is; none of memory with addresses.
    #[inline]
    pub(super) fn array(&self) -> Option<&ArrayPart> {
        if let Special::Array(part) = &self.special { Some(part) } else { None }
    }

    /// The device that has to be current in a copy of this, for its pool's sake.
    pub(super) fn pool(&self) -> Option<Device> {
        if let Special::Pool(device) = self.special { Some(device) } else { None }
    }

    /// Whether the plain calls copy it as they copy any memory.
    #[inline]
    pub(super) fn is_plain(&self) -> bool {
        !matches!(self.special, Special::Array(_) | Special::Pool(_))
    }

    /// Width in elements, height in rows, depth in layers.
    #[inline]
    pub(super) fn extent(&self) -> [usize; 3] {
        [self.len, self.layout.rows, self.layout.layers]
    }

    /// Size in bytes, without what is between rows.
    pub(super) fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Whether a slice may be of managed memory, lent by a guard: then the runtime promises less about it.
    pub(super) fn may_be_lent_managed(&self) -> bool {
        self.memory == OperandMemory::Pageable && extent::may_contain(self.pointer.addr())
    }

    /// Whether it is seen at a glance that a copy between the two is right: they have one extent, and the
    /// bytes of neither, what is between rows included, reach into those of the other. False says nothing
    /// about that.
    #[inline]
    pub(super) fn pairs_with(&self, other: &Self) -> bool {
        let distance = self.pointer.addr().abs_diff(other.pointer.addr());
        if self.array().is_some() || other.array().is_some() {
            return false;
        }
        if let Dimensions::One = self.dimensions {
            return self.len == other.len && distance >= self.layout.row;
        }
        let span = (self.end - self.start).max(other.end - other.start);
        let (one, two) = (&self.layout, &other.layout);
        distance >= span && self.len == other.len && one.rows == two.rows && one.layers == two.layers
    }

    /// The access history and the bytes; none for pageable memory.
    pub(super) fn tracked(&self) -> Option<(&'a AccessHistory, Range<usize>)> {
        Some((self.history?, self.start..self.end))
    }

    /// Where an error says that this begins: in its array, else its address.
    pub(super) fn beginning(&self) -> usize {
        if self.array().is_some() { self.start } else { self.pointer.addr() }
    }

    /// The access of this side; none for pageable memory.
    #[inline]
    pub(super) fn access(&self, mode: Mode) -> Option<Access<'a>> {
        let access = Access::new(self.history?, self.start..self.end, mode);
        let unborrowed = matches!(self.special, Special::Unborrowed | Special::Graph(_));
        Some(if unborrowed { access.unborrowed() } else { access })
    }

    /// The access of a source that a stream copies from: pinned memory may be read during the call.
    #[inline]
    pub(super) fn read(&self) -> Option<Access<'a>> {
        let access = self.access(Mode::Read)?;
        Some(if let OperandMemory::Pinned(_) = self.memory { access.at_call() } else { access })
    }

    /// The access of a destination. Its owner stays mutably borrowed until the copy or fill returns.
    #[inline]
    pub(super) fn written(&self) -> Option<Access<'a>> {
        let access = self.access(Mode::Write)?;
        // SAFETY: destinations are made from a mutable borrow of the owner, which `alone` says covers all these
        // bytes, and one thread submits the copy while it lasts.
        Some(if self.alone { unsafe { access.exclusive() } } else { access })
    }

    /// The same of a fill: a batch must not follow that of pinned memory directly.
    #[inline]
    pub(super) fn filled(&self) -> Option<Access<'a>> {
        let access = self.written()?;
        Some(if let OperandMemory::Pinned(_) = self.memory { access.fill() } else { access })
    }
}

impl Special {
    #[inline]
    fn of_pool(allocation: &Allocation) -> Self {
        let Some(device) = allocation.pool_device() else { return Self::None };
        // Otherwise it is always current.
        if Device::is_only_one() { Self::None } else { Self::Pool(device) }
    }
}
