//! Detects overlap: between the two sides of a copy, and between the copies of a batch, which are not
//! ordered among themselves. This is the only comparison and the only sweep of the crate.

use std::ops::Range;

use super::operand::Operand;
use crate::error::Detail;
use crate::memory::size::RowLayout;

/// One side of a copy that has elements, with its first and last position.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// The array that `first` and `last` are positions in, or 0 if they are addresses.
    space: usize,
    /// Layer, row and column in an array, or the address of memory.
    first: [usize; 3],
    /// The last position that is part of it.
    last: [usize; 3],
    /// The layout of memory. An array's part is a box instead.
    layout: RowLayout,
    /// The beginning to name in an error.
    beginning: usize,
}

impl Area {
    /// Makes the area of `bytes` bytes at an address.
    #[inline]
    pub(super) fn linear(address: usize, bytes: usize) -> Self {
        Self::rows(address, RowLayout::linear(bytes))
    }

    /// Makes the area of rows at an address.
    #[inline]
    fn rows(address: usize, layout: RowLayout) -> Self {
        // Does not overflow, because memory of this size exists.
        let last = address.saturating_add(layout.spanned().saturating_sub(1));
        Self { space: 0, first: [0, 0, address], last: [0, 0, last], layout, beginning: address }
    }

    /// Makes the area of one side of a copy.
    pub(super) fn from_operand(operand: &Operand<'_>) -> Self {
        let rows = Self::rows(operand.pointer.addr(), operand.layout);
        let Some(part) = operand.array.as_ref() else { return rows };
        let ([x, y, z], [width, height, depth]) = (part.at, operand.extent());
        // Does not overflow, as above.
        let last = |first: usize, size: usize| (first + size).saturating_sub(1);
        let last = [last(z, depth), last(y, height), last(x, width)];
        let (space, beginning) = (part.raw.addr(), operand.beginning());
        Self { space, first: [z, y, x], last, beginning, ..rows }
    }

    /// Returns whether two areas share an element or a byte. Boxes are compared with boxes, and rows
    /// with rows.
    pub(super) fn shares(&self, other: &Self) -> bool {
        if self.space != other.space {
            return false;
        }
        let [.., a] = self.first;
        let [.., b] = other.first;
        if self.space == 0 {
            return RowLayout::overlap((a, &self.layout), (b, &other.layout));
        }
        let one = self.first.iter().zip(&other.last).all(|(first, last)| first <= last);
        one && other.first.iter().zip(&self.last).all(|(first, last)| first <= last)
    }

    /// Returns whether the area may share something with an area that begins at or after the beginning
    /// of `next`, which comes later in the sorted order.
    fn reaches(&self, next: &Self) -> bool {
        self.space == next.space && next.first <= self.last
    }

    /// Returns whether the whole area lies before the other.
    #[inline]
    fn is_below(&self, other: &Self) -> bool {
        self.space == 0 && other.space == 0 && self.last < other.first
    }

    /// Returns the error for a destination that overlaps another area. It has the number of shared bytes
    /// if both are one row, and otherwise the size of the smaller area.
    fn shared_with(&self, other: &Self) -> Detail {
        let (destination, source) = (self.beginning, other.beginning);
        let bytes = self.layout.bytes().min(other.layout.bytes());
        let rows = self.layout.rows.max(self.layout.layers).max(other.layout.rows).max(other.layout.layers);
        let ends = |area: &Self| area.beginning.saturating_add(area.layout.row);
        let bytes = if self.space == 0 && rows == 1 {
            ends(self).min(ends(other)).saturating_sub(destination.max(source))
        } else {
            bytes
        };
        Detail::overlapping(destination, source, bytes)
    }
}

/// Returns the error for a destination that shares a byte with another destination or with a source, if
/// there is one. Copies are pairs of destination and source, and have elements.
pub(super) fn find(copies: impl Iterator<Item = (Area, Area)> + Clone) -> Option<Detail> {
    if are_plainly_apart(copies.clone()) { None } else { sweep(copies) }
}

/// Returns the same for ranges of addresses, none of them empty.
#[doc(hidden)]
pub fn find_overlap(copies: impl Iterator<Item = (Range<usize>, Range<usize>)> + Clone) -> Option<Detail> {
    let area = |range: Range<usize>| Area::linear(range.start, range.len());
    find(copies.map(|(destination, source)| (area(destination), area(source))))
}

/// Returns whether a quick check shows that nothing is shared: the destinations are in order, and all
/// sources lie before or after all of them.
fn are_plainly_apart(copies: impl Iterator<Item = (Area, Area)> + Clone) -> bool {
    let mut destinations = copies.clone().map(|(destination, _)| destination);
    let Some(first) = destinations.next() else { return true };
    let mut last = first;
    let in_order = destinations.all(|area| {
        let behind = last.is_below(&area);
        last = area;
        behind
    });
    in_order && copies.map(|(_, source)| source).all(|it| it.is_below(&first) || last.is_below(&it))
}

/// Sweeps the areas in the order of their beginnings. A source is compared with destinations only, so a
/// source that is read a thousand times does not cost a million comparisons.
fn sweep(copies: impl Iterator<Item = (Area, Area)>) -> Option<Detail> {
    let mut areas: Vec<(Area, bool)> = copies.flat_map(|(to, from)| [(to, true), (from, false)]).collect();
    areas.sort_unstable_by_key(|(area, _)| (area.space, area.first));
    let (mut writers, mut readers) = (Vec::<&Area>::new(), Vec::<&Area>::new());
    for (area, is_written) in &areas {
        writers.retain(|open| open.reaches(area));
        if *is_written {
            readers.retain(|open| open.reaches(area));
        }
        let others = if *is_written { readers.as_slice() } else { &[] };
        if let Some(other) = writers.iter().chain(others).find(|open| open.shares(area)) {
            return Some(if *is_written { area.shared_with(other) } else { other.shared_with(area) });
        }
        if *is_written { writers.push(area) } else { readers.push(area) }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Area, find, find_overlap};
    use crate::copy::operand::{Planar, Source};
    use crate::error::Detail;
    use crate::memory::size::RowLayout;
    use crate::memory::{Pageable, Plane};

    /// The clash among copies of `(destination, source, bytes)`.
    fn of_ranges(copies: &[(usize, usize, usize)]) -> Option<Detail> {
        find_overlap(copies.iter().map(|&(to, from, bytes)| (to..to + bytes, from..from + bytes)))
    }

    /// A copy between parts of one plane whose borrows are over, as if several owners stood for it: columns
    /// and rows of either.
    type Part = ([usize; 2], [usize; 2]);

    fn part<'a>(plane: &Plane<'a, u8, Pageable>, ([x, y], [width, height]): Part) -> Plane<'a, u8, Pageable> {
        plane.columns(x..x + width).unwrap().rows(y..y + height).unwrap()
    }

    fn of_parts(copies: &[(Part, Part)]) -> Option<Detail> {
        let room = [0_u8; 100];
        let plane = Plane::from_slice(&room, 10, 10).unwrap();
        let area = |it: Part| Area::from_operand(&Source::<Planar>::operand(&part(&plane, it)).unwrap());
        let areas: Vec<_> = copies.iter().map(|copy| (area(copy.0), area(copy.1))).collect();
        find(areas.into_iter())
    }

    /// Numbers below a bound, without a pattern that matters.
    fn numbers() -> impl FnMut(usize) -> usize {
        let mut state = 1_usize;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        }
    }

    #[test]
    fn boxes_of_one_array_overlap_where_they_share_an_element() {
        let area = |space, first: [usize; 3], [width, height, depth]: [usize; 3]| {
            let [z, y, x] = first;
            let last = [z + depth - 1, y + height - 1, x + width - 1];
            Area { space, first, last, layout: RowLayout::linear(0), beginning: 0 }
        };
        let size = [5, 3, 2];
        assert!(area(1, [0, 0, 0], size).shares(&area(1, [1, 2, 4], size)));
        for apart in [[0, 0, 5], [0, 3, 0], [2, 2, 4]] {
            assert!(!area(1, [0, 0, 0], size).shares(&area(1, apart, size)), "{apart:?}");
            assert!(!area(1, apart, size).shares(&area(1, [0, 0, 0], size)), "{apart:?}");
        }
        assert!(!area(2, [0, 0, 0], size).shares(&area(1, [0, 0, 0], size)));
    }

    #[test]
    fn copies_that_only_touch_or_share_a_source_are_fine() {
        assert_eq!(of_ranges(&[]), None);
        assert_eq!(of_ranges(&[(100, 0, 10), (110, 5, 10), (90, 120, 10), (20, 0, 10)]), None);
    }

    #[test]
    fn tiles_that_lie_between_each_other_share_nothing() {
        let tile = |x, y| ([x, y], [3, 2]);
        // Destinations side by side, with sources between them; one source read twice.
        assert_eq!(of_parts(&[]), None);
        assert_eq!(
            of_parts(&[(tile(0, 0), tile(6, 8)), (tile(3, 0), tile(6, 8)), (tile(6, 0), tile(0, 2))]),
            None
        );
    }

    #[test]
    fn a_byte_written_twice_is_found() {
        let shared = Some(Detail::overlapping(109, 100, 1));
        assert_eq!(of_ranges(&[(109, 0, 5), (50, 0, 5), (100, 0, 10)]), shared);
    }

    #[test]
    fn a_byte_written_and_read_is_found_wherever_it_is() {
        let shared = |destination, source, bytes| Some(Detail::overlapping(destination, source, bytes));
        assert_eq!(of_ranges(&[(0, 500, 10), (200, 100, 10), (300, 195, 10)]), shared(200, 195, 5));
        assert_eq!(of_ranges(&[(0, 1000, 900), (2000, 899, 1)]), shared(0, 899, 1));
        assert_eq!(of_ranges(&[(5000, 0, 1000), (500, 9000, 1)]), shared(500, 0, 1));
        assert_eq!(of_ranges(&[(10, 5, 10)]), shared(10, 5, 5));
    }

    #[test]
    fn a_byte_of_rows_written_twice_or_written_and_read_is_found_wherever_it_is() {
        let tile = |x, y| ([x, y], [3, 2]);
        let is_shared = |copies: &[(Part, Part)]| {
            of_parts(copies).is_some_and(|it| it.as_str().contains(" overlap: 6 bytes from byte "))
        };
        assert!(is_shared(&[(tile(0, 0), tile(0, 8)), (tile(5, 5), tile(0, 8)), (tile(2, 1), tile(0, 8))]));
        assert!(is_shared(&[(tile(0, 0), tile(5, 5)), (tile(6, 6), tile(0, 8))]));
        assert!(is_shared(&[(tile(5, 5), tile(0, 8)), (tile(0, 0), tile(3, 4))]));
        assert!(is_shared(&[(tile(4, 4), tile(4, 5))]));
    }

    #[test]
    fn it_agrees_with_looking_at_every_pair_of_ranges() {
        let (mut next, mut clashes) = (numbers(), 0);
        for _ in 0..2000 {
            let copies: Vec<_> = (0..1 + next(4)).map(|_| (next(60), next(60), 1 + next(6))).collect();
            let overlap = |a: usize, b: usize, x: usize, y: usize| a < b + y && b < a + x;
            let clash = copies.iter().enumerate().any(|(i, one)| {
                copies.iter().enumerate().any(|(j, other)| {
                    overlap(one.0, other.1, one.2, other.2)
                        || (i != j && overlap(one.0, other.0, one.2, other.2))
                })
            });
            assert_eq!(of_ranges(&copies).is_some(), clash, "{copies:?}");
            clashes += usize::from(clash);
        }
        assert!((200..1800).contains(&clashes), "{clashes} of 2000: both answers are tried");
    }

    #[test]
    fn it_agrees_with_looking_at_every_pair_of_tiles() {
        let (mut next, mut clashes) = (numbers(), 0);
        for _ in 0..2000 {
            let copies: Vec<(Part, Part)> = (0..1 + next(3))
                .map(|_| {
                    let size = [1 + next(4), 1 + next(3)];
                    let mut at = || [next(11 - size[0]), next(11 - size[1])];
                    ((at(), size), (at(), size))
                })
                .collect();
            let apart = |a: Part, b: Part, axis: usize| a.0[axis] + a.1[axis] <= b.0[axis];
            let meet = |a: Part, b: Part| (0..2).all(|axis| !apart(a, b, axis) && !apart(b, a, axis));
            let clash = copies.iter().enumerate().any(|(i, one)| {
                copies
                    .iter()
                    .enumerate()
                    .any(|(j, other)| meet(one.0, other.1) || (i != j && meet(one.0, other.0)))
            });
            assert_eq!(of_parts(&copies).is_some(), clash, "{copies:?}");
            clashes += usize::from(clash);
        }
        assert!((200..1800).contains(&clashes), "{clashes} of 2000: both answers are tried");
    }
}
