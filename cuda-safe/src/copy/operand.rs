//! One side of a copy: the types that may stand there (owners and views, arrays, slices of the program, and
//! borrows of these), and the one descriptor that all of them become.
//!
//! Types determine the side, the memory and the shape: [`Source`] and [`Destination`] for the blocking
//! verbs, [`AsyncSource`] and [`AsyncDestination`] for those that return before the copy is complete,
//! each for [`Linear`], [`Planar`] or [`Volumetric`] operands. With [`FillDestination`] and
//! [`SymbolPart`](super::SymbolPart) these are all operand traits of the crate. They are sealed: their
//! hidden method returns a type without a public name.
#![expect(unsafe_code, reason = "tells the tracker which accesses are exclusive")]

use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ops::Range;

use bytemuck::{AnyBitPattern, NoUninit};

use crate::device::Device;
use crate::element::{Element, PlainElement};
use crate::error::Result;
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::allocation::{Span, SpanLocation};
use crate::memory::array::view::Region;
use crate::memory::grid::Grid;
use crate::memory::managed::extent;
use crate::memory::memory_type::sealed::Tag;
use crate::memory::size::RowLayout;
use crate::memory::{
    AnyMemoryType, Array, ArrayElement, ArrayView, ArrayViewMut, Buffer, MemoryType, OnDevice, Pageable,
    Pinned, PitchedBuffer, PitchedVolume, Plane, PlaneMut, Registered, Slice, SliceMut, SourceOf, Stable,
    StableMut, Volume, VolumeMut,
};
use crate::sys;

/// The shape of contiguous elements, for [`memcpy`](crate::memcpy).
#[derive(Clone, Copy, Debug)]
pub struct Linear;

/// The shape of rows, for [`memcpy_2d`](crate::memcpy_2d).
#[derive(Clone, Copy, Debug)]
pub struct Planar;

/// The shape of layers of rows, for [`memcpy_3d`](crate::memcpy_3d).
#[derive(Clone, Copy, Debug)]
pub struct Volumetric;

/// The shape of contiguous elements in a node of a graph, for
/// [`node::memcpy`](crate::graph::node::memcpy). It includes every operand of
/// [`memcpy_async`](crate::memcpy_async), and memory that the graph owns.
#[derive(Clone, Copy, Debug)]
pub struct InGraph;

/// The owner keeps the memory alive until an asynchronous copy is complete: device, pinned, managed and
/// registered memory.
#[derive(Clone, Copy, Debug)]
pub struct ByOwner;

/// A scope keeps the memory alive until an asynchronous copy is complete: slices and vectors that are
/// borrowed for the whole scope, and all memory that its owner keeps alive ([`ByOwner`]).
#[derive(Clone, Copy, Debug)]
pub struct ByScope<'scope>(PhantomData<&'scope ()>);

/// A source of blocking copies: device memory, pinned memory, slices, arrays and vectors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape and with elements \
             that may cross",
    note = "elements are numbers, or types that derive `bytemuck::Pod`; `bool`, `char` and references never \
            cross; one value is `&[value]`"
)]
pub trait Source<Shape = Linear> {
    /// The element type.
    type Element;

    /// Returns the descriptor of this side.
    #[doc(hidden)]
    fn operand(&self) -> Result<Operand<'_>>;
}

/// A destination of blocking copies: device memory, pinned memory, mutable slices, arrays and vectors.
///
/// A vector is filled to its length and does not grow.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy of shape `{Shape}`",
    label = "neither memory of the crate's nor of the program's own, of this shape, that may be written",
    note = "elements are numbers, or types that derive `bytemuck::AnyBitPattern`; `bool`, `char` and \
            references never cross; one value is `std::slice::from_mut(&mut value)`"
)]
pub trait Destination<Shape = Linear> {
    /// The element type.
    type Element;

    /// Returns the descriptor of this side.
    #[doc(hidden)]
    fn operand_mut(&mut self) -> Result<Operand<'_>>;
}

/// A source that an asynchronous copy may read after the call has returned.
///
/// The parameter `RetainedBy` says what keeps it alive until then: [`ByOwner`], or [`ByScope`] in the verbs
/// of a [`Scope`](crate::stream::Scope).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of an asynchronous copy",
    label = "nothing keeps this memory alive and unchanged until the copy is done",
    note = "copy from a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, \
            or copy within `stream.scope`",
    note = "within `stream.scope`, pass a reference: to device or pinned memory, or, borrowed from outside \
            the scope, to a slice, array or vector; planes and volumes of these may be passed as they are"
)]
pub trait AsyncSource<Shape = Linear, RetainedBy = ByOwner>: Source<Shape> {}

/// A destination that an asynchronous copy may write after the call has returned.
///
/// The parameter `RetainedBy` says what keeps it alive until then: [`ByOwner`], or [`ByScope`] in the verbs
/// of a [`Scope`](crate::stream::Scope).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of an asynchronous copy",
    label = "nothing keeps this memory alive and unread until the copy is done",
    note = "copy to a `PinnedBuffer`, a `DeviceBuffer` or `Registered` memory, use the blocking `memcpy`, \
            or copy within `stream.scope`",
    note = "within `stream.scope`, pass a mutable reference: to device or pinned memory, or, borrowed from \
            outside the scope, to a slice, array or vector; planes and volumes of these are passed as they \
            are"
)]
pub trait AsyncDestination<Shape = Linear, RetainedBy = ByOwner>: Destination<Shape> {}

/// Rows or layers that can be filled: memory with addresses, unlike arrays.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be filled",
    note = "CUDA cannot fill an array: copy to it, or write it from a kernel"
)]
pub trait FillDestination<Shape>: AsyncDestination<Shape> {}

/// The number of dimensions of a copy: its shape, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dimensions {
    /// [`Linear`].
    One,
    /// [`Planar`].
    Two,
    /// [`Volumetric`].
    Three,
}

/// Properties of few operands. They cost other operands nothing, because the type of an operand is known
/// where it is made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Special {
    None,
    /// Memory of a pool of this device, if there are several devices. Copies reach it only if the
    /// current device has access to it.
    Pool(Device),
    /// A variable of a module: no borrow excludes the host.
    Unborrowed,
    /// Memory that the graph with this number owns: no borrow excludes the host.
    Graph(u64),
}

/// A box of elements of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayPart {
    pub(super) raw: sys::cudaArray_t,
    /// Column, row, layer.
    pub(super) at: [usize; 3],
    /// The size of an element in bytes.
    pub(super) element: usize,
    /// Whether the array has only one layer.
    pub(super) is_flat: bool,
}

/// One side of a copy, without its type.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    /// The address of the first byte, or null for an array.
    pub(super) pointer: *mut u8,
    /// Elements per row.
    pub(super) len: usize,
    /// The layout in bytes. For an array it only describes the size.
    pub(super) layout: RowLayout,
    pub(super) dimensions: Dimensions,
    /// The type of tracked memory and the device that it was allocated for, or `None` for pageable memory.
    pub(super) memory: Option<(Tag, Device)>,
    /// The access history of the allocation, or `None` for pageable memory.
    history: Option<&'a AccessHistory>,
    /// The first byte and the byte past the last, as offsets in the allocation or slice.
    start: usize,
    end: usize,
    /// Whether an exclusive borrow of this operand covers all these bytes. Others may own bytes between
    /// rows.
    alone: bool,
    pub(super) special: Special,
    /// The box of an array, which has no address. It is apart from `special`, so that the types of other
    /// operands rule it out.
    pub(super) array: Option<ArrayPart>,
}

impl<'a> Operand<'a> {
    /// Makes the operand of a part of an allocation.
    #[inline]
    pub(super) fn from_span<T, M: MemoryType>(span: Span<'a, T>) -> Self {
        let SpanLocation { pointer, len, start, end, device, history, is_from_pool } = span.location();
        Self {
            memory: Some((M::TAG, device)),
            history: Some(history),
            start,
            end,
            special: if is_from_pool { Special::of_pool(device) } else { Special::None },
            ..Self::pageable(pointer, len, end - start)
        }
    }

    /// Makes the operand of a part of a module's variable at this address. No borrow excludes other
    /// users of it.
    pub(crate) fn unborrowed<T>(
        pointer: *mut T,
        len: usize,
        memory: (Tag, Device),
        (history, Range { start, end }): (&'a AccessHistory, Range<usize>),
    ) -> Self {
        let bytes = end.saturating_sub(start);
        Self {
            memory: Some(memory),
            history: Some(history),
            start,
            end,
            alone: false,
            special: Special::Unborrowed,
            ..Self::pageable(pointer.cast(), len, bytes)
        }
    }

    /// Makes the operand of a part of memory that the graph with this number owns, for nodes of that
    /// graph only.
    pub(crate) fn of_graph(self, graph: u64) -> Self {
        Self { special: Special::Graph(graph), ..self }
    }

    /// Makes the operand of rows in layers.
    #[inline]
    pub(super) fn from_grid<T, M: AnyMemoryType>(grid: Grid<'a, T>, dimensions: Dimensions) -> Self {
        let (len, layout) = (grid.width(), grid.layout());
        let row = Self { len, layout, dimensions, ..Self::pageable(grid.pointer().cast(), len, layout.row) };
        match (M::TRACKED, grid.tracked()) {
            (Some(tag), Some((allocation, Range { start, end }))) => Self {
                memory: Some((tag, allocation.on())),
                history: Some(allocation.history()),
                start,
                end,
                alone: grid.is_alone(),
                special: allocation.pool_device().map_or(Special::None, Special::of_pool),
                ..row
            },
            _ => Self { end: layout.spanned(), ..row },
        }
    }

    /// Makes the operand of a borrowed slice.
    #[inline]
    fn pageable(pointer: *mut u8, len: usize, bytes: usize) -> Self {
        Self {
            pointer,
            len,
            layout: RowLayout { row: bytes, rows: 1, layers: 1, pitch: bytes, layer_rows: 1 },
            dimensions: Dimensions::One,
            memory: None,
            history: None,
            start: 0,
            end: bytes,
            alone: true,
            special: Special::None,
            array: None,
        }
    }

    /// Makes the operand of a slice to read.
    #[inline]
    pub(super) fn from_slice<T: NoUninit>(slice: &'a [T]) -> Self {
        Self::pageable(slice.as_ptr().cast_mut().cast(), slice.len(), size_of_val(slice))
    }

    /// Makes the operand of a slice to write.
    #[inline]
    pub(super) fn from_slice_mut<T: AnyBitPattern>(slice: &'a mut [T]) -> Self {
        let (len, bytes) = (slice.len(), size_of_val(slice));
        Self::pageable(slice.as_mut_ptr().cast(), len, bytes)
    }

    /// Makes the operand of uninitialized elements to write, with the extent of another operand and
    /// contiguous rows. If the memory is too small, the operand has no rows.
    pub(super) fn from_uninit_like<T: AnyBitPattern>(spare: &'a mut [MaybeUninit<T>], other: &Self) -> Self {
        let RowLayout { row, rows, layers, .. } = other.layout;
        let layout = RowLayout { row, rows, layers, pitch: row, layer_rows: rows };
        let fits = layout.span().is_some_and(|bytes| bytes <= size_of_val(spare));
        let layout = if fits { layout } else { RowLayout { rows: 0, ..layout } };
        let all = Self::pageable(spare.as_mut_ptr().cast(), other.len, size_of_val(spare));
        Self { layout, dimensions: other.dimensions, end: layout.spanned(), ..all }
    }

    /// Makes the operand of a part of an array.
    pub(super) fn from_array<T>(region: Region<'a, T>, dimensions: Dimensions) -> Self {
        let [width, rows, layers] = region.extent();
        // Does not overflow, because the array has this size.
        let row = width * size_of::<T>();
        let Range { start, end } = region.range();
        Self {
            layout: RowLayout { row, rows, layers, pitch: row, layer_rows: rows },
            dimensions,
            memory: Some((Tag::Device, region.device())),
            history: Some(region.allocation().history()),
            start,
            end,
            alone: false,
            array: Some(ArrayPart {
                raw: region.raw(),
                at: region.at(),
                element: size_of::<T>(),
                is_flat: region.is_flat(),
            }),
            ..Self::pageable(std::ptr::null_mut(), width, 0)
        }
    }

    /// Returns the device that must be current in a copy of this operand because of its pool.
    pub(super) fn pool(&self) -> Option<Device> {
        if let Special::Pool(device) = self.special { Some(device) } else { None }
    }

    /// Returns the address of the first byte, or null for an array.
    pub(crate) fn pointer(&self) -> *mut u8 {
        self.pointer
    }

    /// Returns the number of the graph that owns the memory, if one does. Then the memory is an operand only
    /// of that graph's nodes.
    #[inline]
    pub(crate) fn graph(&self) -> Option<u64> {
        if let Special::Graph(graph) = self.special { Some(graph) } else { None }
    }

    /// Returns the width in elements, the height in rows and the depth in layers.
    #[inline]
    pub(super) fn extent(&self) -> [usize; 3] {
        [self.len, self.layout.rows, self.layout.layers]
    }

    /// Returns the size in bytes, without bytes between rows.
    pub(crate) fn bytes(&self) -> usize {
        self.layout.bytes()
    }

    /// Returns whether both are memory of devices, and of different ones.
    pub(crate) fn is_on_another_device_than(&self, other: &Operand<'_>) -> bool {
        matches!((self.memory, other.memory), (Some((Tag::Device, a)), Some((Tag::Device, b))) if a != b)
    }

    /// Returns whether this is host memory, pinned or pageable.
    pub(super) fn is_host(&self) -> bool {
        matches!(self.memory, None | Some((Tag::Pinned, _)))
    }

    /// Returns whether a slice may be managed memory that a guard lends. The runtime promises less for
    /// such memory.
    pub(super) fn may_be_lent_managed(&self) -> bool {
        self.memory.is_none() && extent::may_contain(self.pointer.addr())
    }

    /// Returns whether a quick check shows that a copy between the two is valid: they have the same
    /// extent, and the address ranges of the two, including bytes between rows, do not overlap. `false`
    /// means that the check is inconclusive.
    #[inline]
    pub(super) fn pairs_with(&self, other: &Self) -> bool {
        let distance = self.pointer.addr().abs_diff(other.pointer.addr());
        if self.array.is_some() || other.array.is_some() {
            return false;
        }
        if let Dimensions::One = self.dimensions {
            return self.len == other.len && distance >= self.layout.row;
        }
        let span = (self.end - self.start).max(other.end - other.start);
        let (one, two) = (&self.layout, &other.layout);
        distance >= span && self.len == other.len && one.rows == two.rows && one.layers == two.layers
    }

    /// Returns the access history and the bytes, or `None` for pageable memory.
    pub(super) fn tracked(&self) -> Option<(&'a AccessHistory, Range<usize>)> {
        Some((self.history?, self.start..self.end))
    }

    /// Returns the beginning to name in an error: a position in the array, or an address.
    pub(super) fn beginning(&self) -> usize {
        if self.array.is_some() { self.start } else { self.pointer.addr() }
    }

    /// Returns the access of this side, or `None` for pageable memory.
    #[inline]
    pub(crate) fn access(&self, mode: Mode) -> Option<Access<'a>> {
        let access = Access::new(self.history?, self.start..self.end, mode);
        let unborrowed = matches!(self.special, Special::Unborrowed | Special::Graph(_));
        Some(if unborrowed { access.unborrowed() } else { access })
    }

    /// Returns the access of a source of an asynchronous copy. Pinned memory may be read during the
    /// call.
    #[inline]
    pub(super) fn read(&self) -> Option<Access<'a>> {
        let access = self.access(Mode::Read)?;
        Some(if let Some((Tag::Pinned, _)) = self.memory { access.at_call() } else { access })
    }

    /// Returns the access of a destination. Its owner stays mutably borrowed until the copy or fill
    /// returns.
    #[inline]
    pub(crate) fn written(&self) -> Option<Access<'a>> {
        let access = self.access(Mode::Write)?;
        // SAFETY: destinations are made from a mutable borrow of the owner. `alone` says that the borrow
        // covers all these bytes, and one thread submits the copy while the borrow lasts.
        Some(if self.alone { unsafe { access.exclusive() } } else { access })
    }
}

impl Special {
    #[inline]
    fn of_pool(device: Device) -> Self {
        // With a single device, it is always current.
        if Device::is_only_one() { Self::None } else { Self::Pool(device) }
    }
}

/// Implements the operand traits for types that make the same descriptor. The input is the shape, the
/// element type, the descriptor, and then a line for each side with generics and types. The owners of
/// `from_retained` and `to_retained` types keep the memory alive, so asynchronous copies take these too.
macro_rules! operands {
    ($shape:ty: $element:ty, $it:ident => $operand:expr; $($side:ident [$($generics:tt)*] $($type:ty),+;)+) => {$(
        operands!(@ $side $shape, $element, $it, $operand, [$($generics)*] $($type),+);
    )+};
    (@ from $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {
        $(operands!(@source $shape, $element, $it, $operand, $generics $type);)+
    };
    (@ to $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {
        $(operands!(@destination $shape, $element, $it, $operand, $generics $type);)+
    };
    (@ from_retained $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
        operands!(@source $shape, $element, $it, $operand, $generics $type);
        operands!(@marker AsyncSource<$shape>, $generics $type);
    )+};
    (@ to_retained $shape:ty, $element:ty, $it:ident, $operand:expr, $generics:tt $($type:ty),+) => {$(
        operands!(@destination $shape, $element, $it, $operand, $generics $type);
        operands!(@marker AsyncDestination<$shape>, $generics $type);
    )+};
    (@source $shape:ty, $element:ty, $it:ident, $operand:expr, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Source<$shape> for $type {
            type Element = $element;

            #[inline]
            fn operand(&self) -> Result<Operand<'_>> {
                let $it = self;
                Ok($operand)
            }
        }
    };
    (@destination $shape:ty, $element:ty, $it:ident, $operand:expr, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> Destination<$shape> for $type {
            type Element = $element;

            #[inline]
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                let $it = self;
                Ok($operand)
            }
        }
    };
    (@marker $trait:ty, [$($generics:tt)*] $type:ty) => {
        impl<$($generics)*> $trait for $type {}
    };
}

operands! { Linear: T, it => Operand::from_span::<T, M>(it.span());
    from_retained [T: AnyBitPattern, M: MemoryType + SourceOf<T>] Buffer<T, M>, Slice<'_, T, M>, SliceMut<'_, T, M>;
    to_retained [T: AnyBitPattern, M: MemoryType] Buffer<T, M>, SliceMut<'_, T, M>;
}

operands! { Linear: C::Element, it => Operand::from_span::<_, Pinned>(it.span());
    from_retained [C: Stable<Element: NoUninit>] Registered<C>;
    to_retained [C: StableMut] Registered<C>;
}

operands! { Linear: T, it => Operand::from_slice(it);
    from [T: PlainElement] [T], Vec<T>;
    from [T: PlainElement, const N: usize] [T; N];
}

operands! { Linear: T, it => Operand::from_slice_mut(it);
    to [T: Element] [T], Vec<T>;
    to [T: Element, const N: usize] [T; N];
}

/// Implements the traits for rows or layers: pitched memory, views of any memory, and arrays.
macro_rules! grids {
    ($($shape:ty, $dimensions:ident: $pitched:ident, $view:ident, $view_mut:ident;)*) => {$(
        operands! { $shape: T, it => Operand::from_grid::<T, OnDevice>(it.grid(), Dimensions::$dimensions);
            from_retained [T: AnyBitPattern] $pitched<T>;
            to_retained [T: AnyBitPattern] $pitched<T>;
        }
        operands! { $shape: T, it => Operand::from_grid::<T, M>(it.grid(), Dimensions::$dimensions);
            from [T: AnyBitPattern, M: SourceOf<T>] $view<'_, T, M>, $view_mut<'_, T, M>;
            to [T: AnyBitPattern, M: AnyMemoryType] $view_mut<'_, T, M>;
        }
        operands! { $shape: T, it => Operand::from_array(it.region(), Dimensions::$dimensions);
            from_retained [T: ArrayElement] Array<T>, ArrayView<'_, T>, ArrayViewMut<'_, T>;
            to_retained [T: ArrayElement] Array<T>, ArrayViewMut<'_, T>;
        }

        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType + SourceOf<T>> AsyncSource<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern, M: MemoryType> AsyncDestination<$shape> for $view_mut<'_, T, M> {}
        impl<T: AnyBitPattern> FillDestination<$shape> for $pitched<T> {}
        impl<T: AnyBitPattern, M: MemoryType> FillDestination<$shape> for $view_mut<'_, T, M> {}

        // Passed by value in a scope, and not by reference. A view that is made in the line of the copy
        // would not live as long as the scope, but its elements do.
        impl<'scope, T: NoUninit + AnyBitPattern> AsyncSource<$shape, ByScope<'scope>>
            for $view<'scope, T, Pageable> {}
        impl<'scope, T: AnyBitPattern> AsyncDestination<$shape, ByScope<'scope>>
            for $view_mut<'scope, T, Pageable> {}
        // Here too, the elements are borrowed for the whole scope. Others may read elements that are
        // read. Nobody else can access elements that are written, because the view itself is exclusive.
        impl<'scope, T: NoUninit + AnyBitPattern> AsyncSource<$shape, ByScope<'scope>>
            for &$view<'scope, T, Pageable> {}
        impl<'scope, T: AnyBitPattern> AsyncDestination<$shape, ByScope<'scope>>
            for &'scope mut $view_mut<'_, T, Pageable> {}
    )*};
}

grids! {
    Planar, Two: PitchedBuffer, Plane, PlaneMut;
    Volumetric, Three: PitchedVolume, Volume, VolumeMut;
}

/// Implements the traits for borrows of operands.
macro_rules! passed_on {
    ($($shape:ty),*) => {$(
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &S, it => it);
        passed_on!(@source $shape, [S: Source<$shape> + ?Sized] &mut S, it => it);
        passed_on!(@destination $shape, [D: Destination<$shape> + ?Sized] &mut D, it => it);

        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &S {}
        impl<S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape> for &mut S {}
        impl<D: AsyncDestination<$shape> + ?Sized> AsyncDestination<$shape> for &mut D {}
        impl<D: FillDestination<$shape> + ?Sized> FillDestination<$shape> for &mut D {}

        // The owner itself waits for the copy, so a borrow for the call suffices.
        impl<'scope, S: AsyncSource<$shape> + ?Sized> AsyncSource<$shape, ByScope<'scope>> for &S {}
        impl<'scope, D: AsyncDestination<$shape> + ?Sized> AsyncDestination<$shape, ByScope<'scope>> for &mut D {}
    )*};
    (@source $shape:ty, [$($generics:tt)*] $type:ty, $it:ident => $inner:expr) => {
        impl<$($generics)*> Source<$shape> for $type {
            type Element = S::Element;

            #[inline]
            fn operand(&self) -> Result<Operand<'_>> {
                let $it = self;
                S::operand($inner)
            }
        }
    };
    (@destination $shape:ty, [$($generics:tt)*] $type:ty, $it:ident => $inner:expr) => {
        impl<$($generics)*> Destination<$shape> for $type {
            type Element = D::Element;

            #[inline]
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                let $it = self;
                D::operand_mut($inner)
            }
        }
    };
}

passed_on!(Linear, Planar, Volumetric);

// Pageable memory must be borrowed for the whole scope.
impl<'scope, T: PlainElement> AsyncSource<Linear, ByScope<'scope>> for &'scope [T] {}
impl<'scope, T: PlainElement, const N: usize> AsyncSource<Linear, ByScope<'scope>> for &'scope [T; N] {}
impl<'scope, T: PlainElement> AsyncSource<Linear, ByScope<'scope>> for &'scope Vec<T> {}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut [T] {}
impl<'scope, T: AnyBitPattern, const N: usize> AsyncDestination<Linear, ByScope<'scope>>
    for &'scope mut [T; N]
{
}
impl<'scope, T: AnyBitPattern> AsyncDestination<Linear, ByScope<'scope>> for &'scope mut Vec<T> {}

// A graph retains the operands that an asynchronous copy takes.
impl<S: AsyncSource + ?Sized> Source<InGraph> for S {
    type Element = <S as Source>::Element;

    fn operand(&self) -> Result<Operand<'_>> {
        Source::<Linear>::operand(self)
    }
}

impl<D: AsyncDestination + ?Sized> Destination<InGraph> for D {
    type Element = <D as Destination>::Element;

    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        Destination::<Linear>::operand_mut(self)
    }
}
