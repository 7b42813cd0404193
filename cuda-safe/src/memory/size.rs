//! Checked arithmetic on lengths and sizes.
//!
//! Lengths are in elements, sizes in bytes. A result that does not fit is an [`Error`] with both operands.

use std::ops::{Bound, Range, RangeBounds};

use crate::error::{Detail, OrRefused, Result, ensure};

/// Returns the bytes of `len` elements of `T`. Refuses zero-sized elements for all callers.
#[inline]
#[track_caller]
pub(crate) fn bytes_of<T>(api: &'static str, len: usize) -> Result<usize> {
    let element = size_of::<T>();
    ensure(element > 0, api, || Detail::zero_sized(std::any::type_name::<T>()))?;
    let overflow = || Detail::overflow("the size in bytes", len, element);
    len.checked_mul(element).filter(is_addressable).or_refused(api, overflow)
}

/// Returns whether an object can have this size. No object on the host or a device is larger, so pointer
/// arithmetic within this size does not overflow.
pub(super) fn is_addressable(bytes: &usize) -> bool {
    isize::try_from(*bytes).is_ok()
}

/// Converts a count to the error type's integer. Counts have at most 64 bits on CUDA's platforms.
pub(crate) fn wide(count: impl TryInto<u64>) -> u64 {
    count.try_into().unwrap_or(u64::MAX)
}

/// Refuses a number above its limit.
#[track_caller]
pub(crate) fn at_most(api: &'static str, what: &'static str, asked: u64, limit: u64) -> Result<()> {
    ensure(asked <= limit, api, || Detail::limit(what, asked, limit))
}

/// Returns the elements of `range` in a sequence of `len` elements.
#[inline]
#[track_caller]
pub(crate) fn range_in(
    api: &'static str,
    range: &impl RangeBounds<usize>,
    len: usize,
) -> Result<Range<usize>> {
    let start = match range.start_bound() {
        Bound::Included(&start) => Some(start),
        Bound::Excluded(&before) => before.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last.checked_add(1),
        Bound::Excluded(&end) => Some(end),
        Bound::Unbounded => Some(len),
    };
    // A bound that overflows becomes one beyond every length.
    let (start, end) = (start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX));
    ensure(start <= end && end <= len, api, || Detail::out_of_range(start, end, len))?;
    Ok(start..end)
}

/// Returns the number of elements of `U` in the bytes. Their size must divide `bytes`, and the address must
/// be aligned for them.
#[inline]
#[track_caller]
pub(crate) fn reinterpreted<U>(api: &'static str, address: usize, bytes: usize) -> Result<usize> {
    let element = size_of::<U>();
    ensure(element > 0, api, || Detail::zero_sized(std::any::type_name::<U>()))?;
    ensure(bytes.is_multiple_of(element), api, || Detail::not_divisible(bytes, element))?;
    aligned::<U>(api, address)?;
    Ok(bytes / element)
}

/// Refuses an address that is not aligned for `T`.
#[inline]
#[track_caller]
pub(crate) fn aligned<T>(api: &'static str, address: usize) -> Result<()> {
    let align = align_of::<T>();
    ensure(address.is_multiple_of(align), api, || Detail::misaligned(address, align))
}

/// Refuses a copy between sides of different lengths, which are in elements.
#[inline]
#[track_caller]
pub(crate) fn same_length(api: &'static str, destination: usize, source: usize) -> Result<()> {
    ensure(destination == source, api, || Detail::length_mismatch(destination, source))
}

/// The largest pitch that the runtime accepts in copies, in bytes.
const LARGEST_PITCH: u64 = 0x7fff_ffff;

/// Gives a type its length in elements.
macro_rules! length {
    ([$($generics:tt)*] $type:ty, $it:ident => $len:expr) => {
        impl<$($generics)*> $type {
            /// Returns the length in elements.
            #[must_use]
            pub fn len(&self) -> usize {
                let $it = self;
                $len
            }

            /// Returns whether the length is 0.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }
    };
}
pub(crate) use length;

/// The layout in bytes of rows in layers: their sizes, numbers and distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RowLayout {
    /// The number of bytes in a row.
    pub(crate) row: usize,
    /// The number of rows in a layer.
    pub(crate) rows: usize,
    /// The number of layers.
    pub(crate) layers: usize,
    /// The distance between rows in bytes.
    pub(crate) pitch: usize,
    /// The distance between layers in rows.
    pub(crate) layer_rows: usize,
}

impl RowLayout {
    /// Makes the layout of one row.
    #[inline]
    pub(crate) fn linear(bytes: usize) -> Self {
        Self { row: bytes, rows: 1, layers: 1, pitch: bytes, layer_rows: 1 }
    }

    /// Returns whether there are no bytes.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.row == 0 || self.rows == 0 || self.layers == 0
    }

    /// Returns the bytes per row, the rows and the layers.
    #[inline]
    pub(crate) fn extent(&self) -> [usize; 3] {
        [self.row, self.rows, self.layers]
    }

    /// Returns the bytes of all rows, without those between them. This saturates, but every checked layout
    /// fits.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.row.saturating_mul(self.rows).saturating_mul(self.layers)
    }

    /// Returns the bytes from the first to just past the last, with those between rows, or `None` if the
    /// number overflows.
    #[inline]
    pub(crate) fn span(&self) -> Option<usize> {
        if self.is_empty() {
            return Some(0);
        }
        let rows = (self.layers - 1).checked_mul(self.layer_rows)?.checked_add(self.rows - 1)?;
        rows.checked_mul(self.pitch)?.checked_add(self.row)
    }

    /// As [`span`](Self::span), for a checked layout or a part of one: nothing overflows.
    #[inline]
    pub(crate) fn spanned(&self) -> usize {
        debug_assert!(self.span().is_some(), "{self:?} was not checked");
        if self.is_empty() {
            return 0;
        }
        let rows = (self.layers - 1).wrapping_mul(self.layer_rows).wrapping_add(self.rows - 1);
        rows.wrapping_mul(self.pitch).wrapping_add(self.row)
    }

    /// Refuses a layout with overlapping rows or layers, or with a pitch that no copy accepts or that is
    /// not a multiple of `align`. Returns the bytes that the layout spans.
    #[track_caller]
    pub(crate) fn check(&self, api: &'static str, align: usize) -> Result<usize> {
        let Self { row, rows, layers, pitch, layer_rows } = *self;
        ensure(pitch >= row && pitch.is_multiple_of(align), api, || Detail::pitch(pitch, row, align))?;
        if !self.is_empty() {
            at_most(api, "the pitch in bytes", wide(pitch), LARGEST_PITCH)?;
        }
        let too_few = || Detail::wrong_length("a layer, in rows,", rows, layer_rows);
        ensure(layers <= 1 || layer_rows >= rows, api, too_few)?;
        self.span().filter(is_addressable).or_refused(api, || {
            let right = rows.max(layer_rows).saturating_mul(layers);
            Detail::overflow("the size in bytes", pitch, right)
        })
    }

    /// Returns whether two layouts at these addresses share a byte. This is exact if their rows and layers
    /// are equally far apart, as in parts of one plane or volume. Otherwise the bytes between two rows
    /// count as theirs.
    pub(crate) fn overlap(a: (usize, &Self), b: (usize, &Self)) -> bool {
        let end = |(at, layout): (usize, &Self)| at.saturating_add(layout.spanned());
        if !overlap(&(a.0..end(a)), &(b.0..end(b))) {
            return false;
        }
        let ((low, first), (high, second)) = if a.0 <= b.0 { (a, b) } else { (b, a) };
        let between = |what: [usize; 4]| what.map(|n| isize::try_from(n).unwrap_or(isize::MAX));
        let [pitch, layer_rows, rows, layers] =
            between([first.pitch, first.layer_rows, first.rows, first.layers]);
        let [distance, row, other_rows, other_layers] =
            between([high - low, first.row, second.rows, second.layers]);
        let other_row = isize::try_from(second.row).unwrap_or(isize::MAX);
        let alike = first.pitch == second.pitch
            && (first.layer_rows == second.layer_rows || (layers == 1 && other_layers == 1));
        let Some(layer) =
            pitch.checked_mul(layer_rows.max(1)).filter(|layer| alike && pitch > 0 && *layer > 0)
        else {
            return true;
        };
        // The distance between row `y` of layer `z` of the first and row `v` of layer `w` of the second
        // depends only on `z - w` and `y - v`, which take all values between their bounds. Only the nearest
        // rows can share bytes.
        let near = |distance: isize, step: isize| {
            let nearest = distance.div_euclid(step);
            (nearest - 1)..=(nearest + 1)
        };
        near(distance, layer).filter(|z| *z < layers && -*z < other_layers).any(|z| {
            let left = distance - z * layer;
            near(left, pitch).filter(|y| *y < rows && -*y < other_rows).any(|y| {
                let gap = left - y * pitch;
                gap < row && -gap < other_row
            })
        })
    }
}

/// Returns whether two ranges of one allocation share a byte.
#[inline]
pub(crate) fn overlap(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end && !a.is_empty() && !b.is_empty()
}

#[cfg(test)]
mod tests {
    use super::{RowLayout, bytes_of, overlap, range_in, reinterpreted, same_length};
    use crate::error::Detail;

    #[test]
    fn sizes_that_overflow_are_refused_with_both_operands() {
        assert_eq!(bytes_of::<u64>("test", 3).unwrap(), 24);
        assert_eq!(bytes_of::<u8>("test", 0).unwrap(), 0);
        for len in [usize::MAX, usize::MAX / 8 + 1, isize::MAX as usize / 8 + 1] {
            let error = bytes_of::<u64>("test", len).unwrap_err();
            assert_eq!(error.detail(), &Detail::overflow("the size in bytes", len, 8));
        }
    }

    #[test]
    fn elements_without_bytes_are_refused() {
        let error = bytes_of::<[u32; 0]>("test", 1).unwrap_err();
        assert!(error.detail().as_str().contains(" have no bytes"));
        assert!(error.to_string().contains("[u32; 0]"));
        assert!(reinterpreted::<()>("test", 0, 8).is_err());
    }

    #[test]
    fn every_kind_of_range_is_understood() {
        let range = |range: (std::ops::Bound<usize>, std::ops::Bound<usize>)| range_in("test", &range, 10);
        use std::ops::Bound::{Excluded, Included, Unbounded};
        assert_eq!(range((Unbounded, Unbounded)).unwrap(), 0..10);
        assert_eq!(range((Included(3), Included(4))).unwrap(), 3..5);
        assert_eq!(range((Excluded(3), Excluded(4))).unwrap(), 4..4);
        assert_eq!(range_in("test", &(10..), 10).unwrap(), 10..10);
        assert_eq!(range_in("test", &(..=9), 10).unwrap(), 0..10);
    }

    #[test]
    #[expect(clippy::reversed_empty_ranges, reason = "what is refused")]
    fn ranges_that_do_not_fit_are_refused_with_the_length() {
        let error = range_in("test", &(3..11), 10).unwrap_err();
        assert_eq!(error.detail(), &Detail::out_of_range(3, 11, 10));
        assert!(range_in("test", &(5..4), 10).is_err());
        assert!(range_in("test", &(11..), 10).is_err());
        assert!(range_in("test", &(..=usize::MAX), 10).is_err());
        assert!(range_in("test", &(..=10), 10).is_err());
    }

    #[test]
    fn bytes_are_looked_at_as_another_type_only_where_they_fit() {
        assert_eq!(reinterpreted::<u32>("test", 256, 12).unwrap(), 3);
        assert!(
            reinterpreted::<u32>("test", 256, 13)
                .unwrap_err()
                .detail()
                .as_str()
                .contains(" are not a whole number of elements of ")
        );
        assert!(
            reinterpreted::<u32>("test", 258, 12)
                .unwrap_err()
                .detail()
                .as_str()
                .contains(" is not aligned to ")
        );
    }

    #[test]
    fn different_lengths_are_refused_with_both() {
        assert!(same_length("test", 4, 4).is_ok());
        let error = same_length("test", 4, 5).unwrap_err();
        assert_eq!(error.detail(), &Detail::length_mismatch(4, 5));
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        assert!(overlap(&(0..4), &(3..8)));
        assert!(overlap(&(0..8), &(3..4)));
        assert!(!overlap(&(0..4), &(4..8)));
        assert!(!overlap(&(0..4), &(2..2)));
        assert!(!overlap(&(2..2), &(0..4)));
    }

    fn layout(row: usize, rows: usize, layers: usize, pitch: usize, layer_rows: usize) -> RowLayout {
        RowLayout { row, rows, layers, pitch, layer_rows }
    }

    #[test]
    fn a_layout_spans_up_to_its_last_byte() {
        assert_eq!(layout(3, 2, 2, 8, 4).span(), Some(4 * 8 + 8 + 3));
        assert_eq!(layout(3, 0, 2, 8, 4).span(), Some(0));
        assert_eq!(layout(3, usize::MAX, 2, 8, 4).span(), None);
        assert_eq!(RowLayout::linear(9).span(), Some(9));
    }

    #[test]
    fn pitches_that_rows_cannot_have_are_refused() {
        assert_eq!(layout(12, 2, 1, 16, 2).check("test", 4).unwrap(), 28);
        let detail = |layout: RowLayout| layout.check("test", 4).unwrap_err().detail().clone();
        assert_eq!(detail(layout(12, 2, 1, 8, 2)), Detail::pitch(8, 12, 4));
        assert_eq!(detail(layout(12, 2, 1, 14, 2)), Detail::pitch(14, 12, 4));
        assert!(detail(layout(12, 2, 1, 1 << 31, 2)).as_str().ends_with("at most 2147483647 is possible"));
        assert!(detail(layout(12, 3, 2, 16, 2)).as_str().contains("has 2 elements, 3 are needed"));
        assert!(detail(layout(12, usize::MAX, 1, 16, usize::MAX)).as_str().contains(" overflows: "));
    }

    #[test]
    fn overlap_of_layouts_is_what_byte_sets_say() {
        use std::collections::BTreeSet;
        let bytes = |at: usize, l: &RowLayout| -> BTreeSet<usize> {
            let starts =
                (0..l.layers).flat_map(|z| (0..l.rows).map(move |y| (z * l.layer_rows + y) * l.pitch));
            starts.flat_map(|start| (0..l.row).map(move |x| at + start + x)).collect()
        };
        let mut seen = [0; 2];
        for (row, rows, layers) in
            [(1, 1, 1), (3, 2, 1), (5, 3, 1), (2, 2, 2), (5, 1, 3), (4, 3, 2), (0, 2, 2)]
        {
            for (other_row, other_rows, other_layers) in
                [(1, 1, 1), (2, 2, 1), (5, 2, 2), (3, 3, 3), (1, 0, 1)]
            {
                let a = layout(row, rows, layers, 5, 3);
                let b = layout(other_row, other_rows, other_layers, 5, 3);
                for at in 0..100 {
                    let truth = !bytes(at, &a).is_disjoint(&bytes(40, &b));
                    assert_eq!(RowLayout::overlap((at, &a), (40, &b)), truth, "{at} {a:?} {b:?}");
                    assert_eq!(RowLayout::overlap((40, &b), (at, &a)), truth, "{at} {a:?} {b:?}");
                    seen[usize::from(truth)] += 1;
                }
            }
        }
        assert!(seen.iter().all(|&count| count > 500), "{seen:?}");
        // With another pitch, the bytes between the rows count.
        assert!(RowLayout::overlap((0, &layout(1, 3, 1, 4, 3)), (1, &layout(1, 2, 1, 6, 2))));
    }
}
