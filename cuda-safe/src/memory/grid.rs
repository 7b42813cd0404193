//! Rows of elements in layers, within an allocation or a slice: the common part of planes and volumes.
#![expect(unsafe_code, reason = "carries the address of a borrowed slice between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use super::allocation::Allocation;
use super::allocation::Span;
use super::size::{self, RowLayout};
use crate::error::{Detail, ErrorKind, OrRefused, Result, ensure};

/// Rows of `T` in layers, always within `base`.
#[derive(Debug)]
pub(crate) struct Grid<'a, T> {
    base: Base<'a>,
    /// The first byte, counted from the base.
    start: usize,
    /// Just past the last byte of the memory that the rows were made of, counted from the base.
    limit: usize,
    /// Just past the last byte that the tracker counts as the rows', counted from the base.
    end: usize,
    /// Just past the first bytes that nobody else can have, counted from the base: all of them, or those
    /// before the first gap.
    own: usize,
    /// Whether others may have the bytes between the rows, and those between the layers.
    parted: Parted,
    /// The number of elements in a row.
    width: usize,
    layout: RowLayout,
    element: PhantomData<T>,
}

/// What others may have of the bytes from the first to the last.
#[derive(Clone, Copy, Debug, Default)]
struct Parted {
    /// Other columns, between the rows.
    columns: bool,
    /// Other rows, between the layers.
    rows: bool,
}

/// What others may do, while a part of rows lives, with the rest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Others {
    /// The part is of a view for reading.
    OnlyRead,
    /// The part is of a view for writing, and the rest may be the other half.
    MayWrite,
}

/// The memory of the rows.
#[derive(Clone, Copy, Debug)]
enum Base<'a> {
    /// An allocation, which the tracker knows.
    Tracked(&'a Allocation),
    /// A borrowed slice.
    Borrowed(*mut u8),
}

// SAFETY: this is only an address. The view around it decides who may reach the elements, and from which
// thread.
unsafe impl Send for Base<'_> {}
// SAFETY: this is only an address. The view around it decides who may reach the elements, and from which
// thread.
unsafe impl Sync for Base<'_> {}

impl<T> Clone for Grid<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Grid<'_, T> {}

/// The number of elements in a row, of rows in a layer, and of layers.
pub(crate) type Extent = [usize; 3];

/// The distance between rows in bytes, and between layers in rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Apart {
    /// Without padding, and without memory after the last row.
    Packed,
    /// With these distances.
    By(usize, usize),
}

/// Returns the sentence about memory that packed rows do not fill.
fn too_long(needed: usize, len: usize) -> String {
    format!("the memory has {len} elements, and the rows are exactly {needed}: take its `slice(..{needed})`")
}

impl<'a, T> Grid<'a, T> {
    /// Makes rows and layers of a part of an allocation.
    #[track_caller]
    pub(crate) fn of_span(
        api: &'static str,
        span: Span<'a, T>,
        extent: Extent,
        apart: Apart,
    ) -> Result<Self> {
        let base = Base::Tracked(span.allocation());
        Self::checked(api, base, span.range().start, span.len(), extent, apart)
    }

    /// Makes rows and layers of a slice, which is borrowed for `'a`.
    #[track_caller]
    pub(crate) fn of_slice(api: &'static str, slice: *mut [T], extent: Extent, apart: Apart) -> Result<Self> {
        Self::checked(api, Base::Borrowed(slice.cast()), 0, slice.len(), extent, apart)
    }

    /// Returns all rows of an allocation that was made with this extent and pitch.
    pub(crate) fn whole(allocation: &'a Allocation, extent: Extent, pitch: usize) -> Self {
        let [width, rows, layers] = extent;
        // The allocation contains the row, so this does not overflow.
        let layout = RowLayout { row: width * size_of::<T>(), rows, layers, pitch, layer_rows: rows };
        Self::of_base(Base::Tracked(allocation), 0..allocation.bytes(), width, layout)
    }

    #[track_caller]
    fn checked(
        api: &'static str,
        base: Base<'a>,
        start: usize,
        len: usize,
        [width, rows, layers]: Extent,
        apart: Apart,
    ) -> Result<Self> {
        let row = size::bytes_of::<T>(api, width)?;
        let (pitch, layer_rows) = match apart {
            Apart::Packed => (row, rows),
            Apart::By(pitch, layer_rows) => (pitch, layer_rows),
        };
        let layout = RowLayout { row, rows, layers, pitch, layer_rows };
        let bytes = layout.check(api, align_of::<T>())?;
        let needed = bytes.div_ceil(size_of::<T>());
        let fits = match apart {
            Apart::Packed => needed == len,
            Apart::By(..) => needed <= len,
        };
        ensure(fits, api, || match needed <= len {
            true => Detail::new(ErrorKind::Argument, too_long(needed, len)),
            false => Detail::wrong_length("the memory", needed, len),
        })?;
        // As above.
        let limit = start + len * size_of::<T>();
        Ok(Self::of_base(base, start..limit, width, layout))
    }

    /// Makes rows of all bytes of a range, which has them.
    fn of_base(
        base: Base<'a>,
        Range { start, end: limit }: Range<usize>,
        width: usize,
        layout: RowLayout,
    ) -> Self {
        let parted = Parted::default();
        Self { base, start, limit, end: 0, own: 0, parted, width, layout, element: PhantomData }.ended()
    }

    /// Returns the same rows with the ends that tracker and proofs use.
    fn ended(self) -> Self {
        let end = self.tracked_end();
        let RowLayout { row, rows, layers, pitch, layer_rows } = self.layout;
        let own = if self.parted.columns && pitch > row && (rows > 1 || layers > 1) {
            self.start + row
        } else if self.parted.rows && layer_rows > rows && layers > 1 {
            self.start + RowLayout { layers: 1, ..self.layout }.spanned()
        } else {
            end
        };
        // Without elements there are no bytes.
        Self { end, own: own.min(end), ..self }
    }

    /// Returns the end that the tracker uses. If a whole allocation was made into rows, the bytes after the
    /// last row count as theirs: an access to a whole allocation takes less space in the access history.
    fn tracked_end(&self) -> usize {
        let end = self.start + self.layout.spanned();
        let Base::Tracked(allocation) = self.base else { return end };
        let (RowLayout { row, pitch, .. }, all) = (self.layout, allocation.bytes());
        // Parts of one row beside each other must stay disjoint.
        let whole = self.start == 0 && self.limit == all && end - self.start > row;
        let padding = pitch.saturating_sub(row);
        if whole && all.saturating_sub(end) <= padding { all } else { end }
    }

    /// Returns the number of elements in a row.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Returns the number of rows in a layer.
    pub(crate) fn height(&self) -> usize {
        self.layout.rows
    }

    /// Returns the number of elements in a row, of rows in a layer, and of layers.
    pub(crate) fn extent(&self) -> Extent {
        [self.width, self.layout.rows, self.layout.layers]
    }

    /// Returns the layout in bytes.
    #[inline]
    pub(crate) fn layout(&self) -> RowLayout {
        self.layout
    }

    /// Returns the address of the first element.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut T {
        let base = match self.base {
            Base::Tracked(allocation) => allocation.pointer(),
            Base::Borrowed(pointer) => pointer,
        };
        base.wrapping_add(self.start).cast()
    }

    /// Returns the allocation, if there is one, and the range of its bytes that the tracker counts as the
    /// rows': from the first byte to just past the last, or to the end of the allocation.
    #[inline]
    pub(crate) fn tracked(&self) -> Option<(&'a Allocation, Range<usize>)> {
        let Base::Tracked(allocation) = self.base else { return None };
        Some((allocation, self.start..self.end))
    }

    /// Returns whether nobody else can have any of these bytes while a view of the rows is exclusive.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.own == self.end
    }

    /// Returns the same bytes of every row as elements of another type: whole `U` at aligned addresses. The
    /// views around it decide which types share bytes.
    #[track_caller]
    pub(crate) fn reinterpret<U>(&self, api: &'static str) -> Result<Grid<'a, U>> {
        let Self { base, start, limit, end, own, parted, layout, .. } = *self;
        let width = size::reinterpreted::<U>(api, self.pointer().addr(), layout.row)?;
        layout.check(api, align_of::<U>())?;
        Ok(Grid { base, start, limit, end, own, parted, width, layout, element: PhantomData })
    }

    /// Returns some elements of every row.
    #[track_caller]
    pub(crate) fn columns(
        &self,
        api: &'static str,
        range: &impl RangeBounds<usize>,
        others: Others,
    ) -> Result<Self> {
        let range = size::range_in(api, range, self.width)?;
        let start = self.start + range.start * size_of::<T>();
        let layout = RowLayout { row: range.len() * size_of::<T>(), ..self.layout };
        let is_parted = others == Others::MayWrite && range.len() < self.width;
        let parted = Parted { columns: self.parted.columns || is_parted, ..self.parted };
        Ok(Self { start, width: range.len(), layout, parted, ..*self }.ended())
    }

    /// Returns some rows of every layer.
    #[track_caller]
    pub(crate) fn rows(
        &self,
        api: &'static str,
        range: &impl RangeBounds<usize>,
        others: Others,
    ) -> Result<Self> {
        let range = size::range_in(api, range, self.layout.rows)?;
        let start = self.begin(range.start, self.layout.pitch, range.is_empty());
        let is_parted = others == Others::MayWrite && range.len() < self.layout.rows;
        let parted = Parted { rows: self.parted.rows || is_parted, ..self.parted };
        Ok(Self { start, layout: RowLayout { rows: range.len(), ..self.layout }, parted, ..*self }.ended())
    }

    /// Returns some layers.
    #[track_caller]
    pub(crate) fn layers(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.layout.layers)?;
        let layer = self.layout.pitch.saturating_mul(self.layout.layer_rows);
        let start = self.begin(range.start, layer, range.is_empty());
        Ok(Self { start, layout: RowLayout { layers: range.len(), ..self.layout }, ..*self }.ended())
    }

    /// Returns one layer.
    #[track_caller]
    pub(crate) fn layer(&self, api: &'static str, number: usize) -> Result<Self> {
        let layer = self.layers(api, &(number..number.saturating_add(1)))?;
        Ok(Self { layout: RowLayout { layer_rows: layer.layout.rows, ..layer.layout }, ..layer }.ended())
    }

    /// Returns the offset of a row or layer from the base. For the row or layer after the last, this could
    /// exceed the address space; nothing begins there, so an empty range keeps the start.
    fn begin(&self, number: usize, step: usize, empty: bool) -> usize {
        if empty || self.layout.is_empty() { self.start } else { self.start + number * step }
    }

    /// Returns one row as a span. Refuses borrowed memory, which has no access history; the memory of the
    /// callers is a `MemoryType` and has one.
    #[track_caller]
    pub(crate) fn row(&self, api: &'static str, number: usize) -> Result<Span<'a, T>> {
        let row = self.rows(api, &(number..number.saturating_add(1)), Others::MayWrite)?;
        let what = "memory without an access history";
        let (allocation, _) = row.tracked().or_refused(api, || Detail::unsupported(what))?;
        Ok(Span::part_of(allocation, row.start, row.width))
    }

    /// Returns the bytes from the first to just past the last, with those between rows, or `None` for
    /// borrowed memory.
    pub(crate) fn bytes(&self) -> Option<Span<'a, u8>> {
        self.bytes_to(self.end)
    }

    /// Returns the first of these bytes that nobody else can have: all of them, or those before the first
    /// gap in which others may have theirs.
    pub(crate) fn own_bytes(&self) -> Option<Span<'a, u8>> {
        self.bytes_to(self.own)
    }

    fn bytes_to(&self, end: usize) -> Option<Span<'a, u8>> {
        let Base::Tracked(allocation) = self.base else { return None };
        Some(Span::part_of(allocation, self.start, end.saturating_sub(self.start)))
    }

    /// Formats views and owners, without the elements.
    pub(super) fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("element", &std::any::type_name::<T>())
            .field("extent", &self.extent())
            .field("pitch", &self.layout.pitch)
            .field("pointer", &self.pointer())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::super::allocation::Allocation;
    use super::super::allocation::Span;
    use super::{Apart, Grid, Others};

    #[test]
    fn rows_are_alone_until_others_may_have_what_lies_between() {
        let allocation = Allocation::device(None, 1024).unwrap();
        let of = |extent, pitch| {
            let span = Span::<u8>::whole(&allocation, 1024);
            Grid::of_span("test", span, extent, Apart::By(pitch, 16)).unwrap()
        };
        fn columns<'a>(grid: &Grid<'a, u8>, range: Range<usize>) -> Grid<'a, u8> {
            grid.columns("test", &range, Others::MayWrite).unwrap()
        }
        fn rows<'a>(grid: &Grid<'a, u8>, range: Range<usize>) -> Grid<'a, u8> {
            grid.rows("test", &range, Others::MayWrite).unwrap()
        }
        let own = |grid: &Grid<'_, u8>| grid.own_bytes().unwrap().range();
        let (plane, volume) = (of([60, 16, 1], 64), of([12, 16, 4], 16));
        assert!(plane.is_alone() && rows(&plane, 3..5).is_alone() && columns(&plane, 0..60).is_alone());
        assert_eq!(own(&rows(&plane, 3..5)), 192..316);

        // Somebody else may have the other columns: what is left are those of the first row.
        let left = columns(&plane, 0..30);
        assert_eq!((left.is_alone(), own(&left)), (false, 0..30));
        assert_eq!(left.bytes().unwrap().range(), 0..1024);
        assert!(rows(&left, 1..2).is_alone() && rows(&left, 2..2).is_alone());
        assert!(!columns(&left, 0..30).is_alone(), "nor are all columns of a half");

        // Of a volume, others may have rows of each layer.
        let upper = rows(&volume, 4..8);
        assert_eq!((upper.is_alone(), own(&upper)), (false, 64..64 + 3 * 16 + 12));
        assert!(upper.layer("test", 3).unwrap().is_alone() && rows(&volume, 0..16).is_alone());
        assert!(rows(&volume.layer("test", 1).unwrap(), 0..2).is_alone());
        assert_eq!(own(&columns(&upper, 3..4)), 67..68);

        // Of a view for reading, nobody can change what lies between.
        let read = plane.columns("test", &(..30), Others::OnlyRead).unwrap();
        assert!(read.is_alone() && volume.rows("test", &(4..8), Others::OnlyRead).unwrap().is_alone());
    }

    #[test]
    fn what_is_behind_the_last_row_is_the_rows_where_all_of_the_memory_is() {
        let allocation = Allocation::device(None, 1024).unwrap();
        let span = Span::<u8>::whole(&allocation, 1024);
        let of = |span: &Span<'_, u8>, extent, pitch| {
            let grid = Grid::of_span("test", *span, extent, Apart::By(pitch, 4)).unwrap();
            grid.tracked().unwrap().1
        };
        assert_eq!(of(&span, [100, 4, 1], 256), 0..1024);
        assert_eq!(of(&span, [256, 4, 1], 256), 0..1024);
        // The memory has room for another row, or for parts beside the only row.
        assert_eq!(of(&span, [100, 3, 1], 256), 0..612);
        assert_eq!(of(&span, [100, 1, 1], 1024), 0..100);
        assert_eq!(of(&span, [0, 4, 1], 1024), 0..0);
        // Somebody else has the rest.
        let part = span.part("test", &(..868)).unwrap();
        assert_eq!(of(&part, [100, 4, 1], 256), 0..868);
        let later = span.part("test", &(256..)).unwrap();
        assert_eq!(of(&later, [100, 3, 1], 256), 256..868);
    }
}
