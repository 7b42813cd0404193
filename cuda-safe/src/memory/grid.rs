//! What planes and volumes are made of: rows of elements in layers, within an allocation or a slice.
#![expect(unsafe_code, reason = "carries the address of a borrowed slice between threads")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use super::allocation::Allocation;
use super::size::{self, Layout};
use super::span::Span;
use crate::device::Device;
use crate::error::{Detail, Error, Result};

/// Rows of `T` in layers; always within what `base` is.
#[derive(Debug)]
pub(crate) struct Grid<'a, T> {
    base: Base<'a>,
    /// The first byte, counted from the base.
    start: usize,
    /// Just past the last byte of the memory that was made into rows, counted from the base.
    limit: usize,
    /// Just past the last byte that the books count as the rows', counted from the base.
    end: usize,
    /// Whether nobody else can have what lies between the rows.
    alone: bool,
    /// Elements of a row.
    width: usize,
    layout: Layout,
    element: PhantomData<T>,
}

/// Which memory.
#[derive(Clone, Copy, Debug)]
enum Base<'a> {
    /// An allocation, on the books.
    Booked(&'a Allocation),
    /// A borrowed slice.
    Borrowed(*mut u8),
}

// SAFETY: only an address; the view around it says who may reach the elements, and from which thread.
unsafe impl Send for Base<'_> {}
// SAFETY: as above.
unsafe impl Sync for Base<'_> {}

impl<T> Clone for Grid<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Grid<'_, T> {}

/// How many elements a row, rows a layer, and layers.
pub(crate) type Extent = [usize; 3];

/// How far apart rows begin, in bytes, and layers, in rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Apart {
    /// Nothing is between them, and nothing comes after the last.
    Packed,
    /// So far.
    By(usize, usize),
}

impl<'a, T> Grid<'a, T> {
    /// Rows and layers of a part of an allocation.
    #[track_caller]
    pub(crate) fn of_span(
        api: &'static str,
        span: Span<'a, T>,
        extent: Extent,
        apart: Apart,
    ) -> Result<Self> {
        let base = Base::Booked(span.allocation());
        Self::checked(api, base, span.range().start, span.len(), extent, apart)
    }

    /// Rows and layers of a slice of so many elements from `pointer` on, which is borrowed for `'a`.
    #[track_caller]
    pub(crate) fn of_slice(
        api: &'static str,
        pointer: *mut T,
        len: usize,
        extent: Extent,
        apart: Apart,
    ) -> Result<Self> {
        Self::checked(api, Base::Borrowed(pointer.cast()), 0, len, extent, apart)
    }

    /// All of an allocation that was made for so many elements with such a pitch.
    pub(crate) fn whole(allocation: &'a Allocation, extent: Extent, pitch: usize) -> Self {
        let [width, rows, layers] = extent;
        // The allocation holds it, so it does not overflow.
        let layout = Layout { row: width * size_of::<T>(), rows, layers, pitch, layer_rows: rows };
        let (base, limit) = (Base::Booked(allocation), allocation.bytes());
        Self { base, start: 0, limit, end: 0, alone: true, width, layout, element: PhantomData }.ended()
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
        let layout = Layout { row, rows, layers, pitch, layer_rows };
        let bytes = layout.check(api, align_of::<T>())?;
        let needed = bytes.div_ceil(size_of::<T>());
        let fits = match apart {
            Apart::Packed => needed == len,
            Apart::By(..) => needed <= len,
        };
        if !fits {
            return Err(Error::refused(api, Detail::WrongLength { what: "the memory", needed, found: len }));
        }
        // As above.
        let limit = start + len * size_of::<T>();
        Ok(Self { base, start, limit, end: 0, alone: true, width, layout, element: PhantomData }.ended())
    }

    /// The same rows, with the end that they have in the books. Where all of an allocation was made into rows, what is behind the
    /// last one counts as theirs: the books keep an access to all of an allocation in less.
    fn ended(self) -> Self {
        let end = self.start + self.layout.spanned();
        let Base::Booked(allocation) = self.base else { return Self { end, ..self } };
        let (Layout { row, pitch, .. }, all) = (self.layout, allocation.bytes());
        // Of one row, parts that lie beside each other have nothing in common.
        let whole = self.start == 0 && self.limit == all && end - self.start > row;
        let padding = pitch.saturating_sub(row);
        let end = if whole && all.saturating_sub(end) <= padding { all } else { end };
        Self { end, ..self }
    }

    /// Elements of a row.
    #[inline]
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Rows of a layer.
    pub(crate) fn height(&self) -> usize {
        self.layout.rows
    }

    /// Layers.
    pub(crate) fn depth(&self) -> usize {
        self.layout.layers
    }

    /// The layout in bytes.
    #[inline]
    pub(crate) fn layout(&self) -> Layout {
        self.layout
    }

    /// The first element.
    #[inline]
    pub(crate) fn pointer(&self) -> *mut T {
        let base = match self.base {
            Base::Booked(allocation) => allocation.pointer(),
            Base::Borrowed(pointer) => pointer,
        };
        base.wrapping_add(self.start).cast()
    }

    /// The allocation, where there is one, and the bytes that the books count as the rows', from its start: from the first to just past
    /// the last, or to its end.
    #[inline]
    pub(crate) fn booked(&self) -> Option<(&'a Allocation, Range<usize>)> {
        let Base::Booked(allocation) = self.base else { return None };
        Some((allocation, self.start..self.end))
    }

    /// Whether nobody else can have any of these bytes while a view of the rows is exclusive.
    #[inline]
    pub(crate) fn is_alone(&self) -> bool {
        self.alone
    }

    /// The device of the allocation, where there is one.
    pub(crate) fn device(&self) -> Option<Device> {
        self.booked().map(|(allocation, _)| allocation.on())
    }

    /// Some elements of every row.
    #[track_caller]
    pub(crate) fn columns(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.width)?;
        let start = self.start + range.start * size_of::<T>();
        let layout = Layout { row: range.len() * size_of::<T>(), ..self.layout };
        // Others may have the other columns.
        Ok(Self { start, width: range.len(), layout, alone: false, ..*self }.ended())
    }

    /// Some rows of every layer.
    #[track_caller]
    pub(crate) fn rows(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.layout.rows)?;
        let start = self.begin(range.start, self.layout.pitch, range.is_empty());
        // Others may have the other rows of each layer.
        let alone = self.alone && self.layout.layers == 1;
        Ok(Self { start, layout: Layout { rows: range.len(), ..self.layout }, alone, ..*self }.ended())
    }

    /// Some layers.
    #[track_caller]
    pub(crate) fn layers(&self, api: &'static str, range: &impl RangeBounds<usize>) -> Result<Self> {
        let range = size::range_in(api, range, self.layout.layers)?;
        let layer = self.layout.pitch.saturating_mul(self.layout.layer_rows);
        let start = self.begin(range.start, layer, range.is_empty());
        Ok(Self { start, layout: Layout { layers: range.len(), ..self.layout }, ..*self }.ended())
    }

    /// One layer.
    #[track_caller]
    pub(crate) fn layer(&self, api: &'static str, number: usize) -> Result<Self> {
        let layer = self.layers(api, &(number..number.saturating_add(1)))?;
        Ok(Self { layout: Layout { layer_rows: layer.layout.rows, ..layer.layout }, ..layer }.ended())
    }

    /// Where the row or layer of this number begins, counted from the base. One past the last may be past the end of all
    /// memory: nothing begins where it does.
    fn begin(&self, number: usize, step: usize, empty: bool) -> usize {
        if empty || self.layout.is_empty() { self.start } else { self.start + number * step }
    }

    /// One row, as what linear views are made of; none for borrowed memory.
    #[track_caller]
    pub(crate) fn row(&self, api: &'static str, number: usize) -> Result<Option<Span<'a, T>>> {
        let row = self.rows(api, &(number..number.saturating_add(1)))?;
        Ok(match row.base {
            Base::Booked(allocation) => Some(Span::part_of(allocation, row.start, row.width)),
            Base::Borrowed(_) => None,
        })
    }

    /// The bytes from the first to just past the last, what is between rows included; none for borrowed memory.
    pub(crate) fn bytes(&self) -> Option<Span<'a, u8>> {
        let (allocation, range) = self.booked()?;
        Some(Span::part_of(allocation, range.start, range.len()))
    }

    /// What views and owners print: not the elements.
    pub(super) fn describe(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("element", &std::any::type_name::<T>())
            .field("extent", &[self.width, self.layout.rows, self.layout.layers])
            .field("pitch", &self.layout.pitch)
            .field("pointer", &self.pointer())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::super::allocation::Allocation;
    use super::super::span::Span;
    use super::{Apart, Grid};

    #[test]
    fn rows_are_alone_until_columns_or_the_rows_of_layers_are_parted() {
        let allocation = Allocation::device(None, 1024).unwrap();
        let of = |extent| {
            let span = Span::<u8>::whole(&allocation, 1024);
            Grid::of_span("test", span, extent, Apart::Packed).unwrap()
        };
        let (plane, volume) = (of([64, 16, 1]), of([16, 16, 4]));
        assert!(plane.is_alone() && plane.rows("test", &(3..5)).unwrap().is_alone());
        assert!(
            volume.is_alone() && volume.layer("test", 1).unwrap().rows("test", &(..2)).unwrap().is_alone()
        );
        // Of all columns too: who has none of them is not asked.
        assert!(!plane.columns("test", &(..)).unwrap().rows("test", &(..1)).unwrap().is_alone());
        assert!(!volume.rows("test", &(..2)).unwrap().layers("test", &(..1)).unwrap().is_alone());
    }

    #[test]
    fn what_is_behind_the_last_row_is_the_rows_where_all_of_the_memory_is() {
        let allocation = Allocation::device(None, 1024).unwrap();
        let span = Span::<u8>::whole(&allocation, 1024);
        let of = |span: &Span<'_, u8>, extent, pitch| {
            let grid = Grid::of_span("test", *span, extent, Apart::By(pitch, 4)).unwrap();
            grid.booked().unwrap().1
        };
        assert_eq!(of(&span, [100, 4, 1], 256), 0..1024);
        assert_eq!(of(&span, [256, 4, 1], 256), 0..1024);
        // There is room for another row, or for what is beside the only one.
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
