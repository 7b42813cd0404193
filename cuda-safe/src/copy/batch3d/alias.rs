//! Whether copies of rows and layers that are not ordered among themselves get into each other's way.

use super::Entry;
use crate::copy::operand::Operand;
use crate::error::Detail;
use crate::memory::size::Layout;

/// One side of a copy that has elements, and where it begins and ends.
struct Area<'e, 'a> {
    operand: &'e Operand<'a>,
    written: bool,
    /// What first and last are counted in: the array, or 0 for addresses, which are of one space.
    space: usize,
    /// Layer, row and column of an array; the address of memory.
    first: [usize; 3],
    /// The last that is still part of it.
    last: [usize; 3],
}

impl<'e, 'a> Area<'e, 'a> {
    fn new(operand: &'e Operand<'a>, written: bool) -> Self {
        // The array or the memory holds it, so it does not overflow.
        let Some(part) = operand.array() else {
            let first = operand.address();
            let last = first.saturating_add(operand.layout().spanned().saturating_sub(1));
            return Self { operand, written, space: 0, first: [0, 0, first], last: [0, 0, last] };
        };
        let ([x, y, z], [width, rows, layers]) = (part.at(), operand.extent());
        let last = |first: usize, size: usize| (first + size).saturating_sub(1);
        let last = [last(z, layers), last(y, rows), last(x, width)];
        Self { operand, written, space: part.raw().addr(), first: [z, y, x], last }
    }

    /// Whether two areas share an element or a byte: a box is compared with a box, rows with rows.
    fn shares(&self, other: &Self) -> bool {
        if self.space != other.space {
            return false;
        }
        if self.space == 0 {
            let rows = |area: &Self| (area.operand.address(), *area.operand.layout());
            let ((a, rows_of_a), (b, rows_of_b)) = (rows(self), rows(other));
            return Layout::overlap((a, &rows_of_a), (b, &rows_of_b));
        }
        let one = self.first.iter().zip(&other.last).all(|(first, last)| first <= last);
        one && other.first.iter().zip(&self.last).all(|(first, last)| first <= last)
    }

    /// Whether it may share something with what begins at or behind the beginning of `next`, which comes later in order.
    fn reaches(&self, next: &Self) -> bool {
        self.space == next.space && next.first <= self.last
    }
}

/// A destination that shares a byte with another one or with a source, if there is one. No copy may be empty.
///
/// One sweep in the order of the beginnings. Whoever reads is held only against who writes, so a source that is read a
/// thousand times costs no million of comparisons.
pub(super) fn find(entries: &[Entry<'_>]) -> Option<Detail> {
    let mut areas = Vec::with_capacity(entries.len().saturating_mul(2));
    for entry in entries {
        areas.push(Area::new(&entry.destination, true));
        areas.push(Area::new(&entry.source, false));
    }
    areas.sort_unstable_by_key(|area| (area.space, area.first));
    let (mut writers, mut readers) = (Vec::<&Area<'_, '_>>::new(), Vec::<&Area<'_, '_>>::new());
    for area in &areas {
        writers.retain(|open| open.reaches(area));
        if area.written {
            readers.retain(|open| open.reaches(area));
        }
        let others = if area.written { readers.as_slice() } else { &[] };
        if let Some(other) = writers.iter().chain(others).find(|open| open.shares(area)) {
            return Some(if area.written { shared(area, other) } else { shared(other, area) });
        }
        if area.written { writers.push(area) } else { readers.push(area) }
    }
    None
}

fn shared(destination: &Area<'_, '_>, other: &Area<'_, '_>) -> Detail {
    let place =
        |area: &Area<'_, '_>| if area.space == 0 { area.operand.address() } else { area.operand.offset() };
    let bytes = destination.operand.bytes().min(other.operand.bytes());
    Detail::Overlapping { destination: place(destination), source: place(other), bytes }
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::copy::batch::CopyAttributes;
    use crate::copy::batch::attributes::Order;
    use crate::copy::batch3d::Entry;
    use crate::copy::operand::sealed::Source;
    use crate::copy::shape::Shape;
    use crate::error::Detail;
    use crate::memory::{Pageable, Plane};

    /// A copy between parts of one plane whose borrows are over, as if several owners stood for it: columns and rows of either.
    type Part = ([usize; 2], [usize; 2]);

    fn part<'a>(plane: &Plane<'a, u8, Pageable>, ([x, y], [width, height]): Part) -> Plane<'a, u8, Pageable> {
        plane.columns(x..x + width).unwrap().rows(y..y + height).unwrap()
    }

    fn found(copies: &[(Part, Part)]) -> Option<Detail> {
        let room = [0_u8; 100];
        let plane = Plane::of_slice(&room, 10, 10).unwrap();
        let planes: Vec<_> = copies.iter().map(|copy| (part(&plane, copy.0), part(&plane, copy.1))).collect();
        let mut entries = Vec::new();
        for (to, from) in &planes {
            let (destination, source) = (to.operand().unwrap(), from.operand().unwrap());
            let shape = Shape::of_one(&destination);
            let attributes = CopyAttributes::new().of_copy(shape.bytes(), Order::Stream);
            entries.push(Entry { destination, source, shape, attributes });
        }
        find(&entries)
    }

    #[test]
    fn tiles_that_lie_between_each_other_share_nothing() {
        let tile = |x, y| ([x, y], [3, 2]);
        // Destinations side by side, with sources between them; one source read twice.
        assert_eq!(found(&[]), None);
        assert_eq!(
            found(&[(tile(0, 0), tile(6, 8)), (tile(3, 0), tile(6, 8)), (tile(6, 0), tile(0, 2))]),
            None
        );
    }

    #[test]
    fn a_byte_written_twice_or_written_and_read_is_found_wherever_it_is() {
        let tile = |x, y| ([x, y], [3, 2]);
        let is_shared =
            |copies: &[(Part, Part)]| matches!(found(copies), Some(Detail::Overlapping { bytes: 6, .. }));
        assert!(is_shared(&[(tile(0, 0), tile(0, 8)), (tile(5, 5), tile(0, 8)), (tile(2, 1), tile(0, 8))]));
        assert!(is_shared(&[(tile(0, 0), tile(5, 5)), (tile(6, 6), tile(0, 8))]));
        assert!(is_shared(&[(tile(5, 5), tile(0, 8)), (tile(0, 0), tile(3, 4))]));
        assert!(is_shared(&[(tile(4, 4), tile(4, 5))]));
    }

    #[test]
    fn it_agrees_with_looking_at_every_pair() {
        let mut state = 1_usize;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut clashes = 0;
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
            assert_eq!(found(&copies).is_some(), clash, "{copies:?}");
            clashes += usize::from(clash);
        }
        assert!((200..1800).contains(&clashes), "{clashes} of 2000: both answers are tried");
    }
}
