//! Whether copies that are not ordered among themselves get into each other's way.

use std::ops::Range;

use crate::error::Detail;

/// A destination that shares a byte with another one or with a source, if there is one. No range may be empty.
pub(super) fn find(
    destinations: impl Iterator<Item = Range<usize>> + Clone,
    sources: impl Iterator<Item = Range<usize>> + Clone,
) -> Option<Detail> {
    if is_plain(destinations.clone(), sources.clone()) {
        return None;
    }
    let (mut destinations, mut sources): (Vec<_>, Vec<_>) = (destinations.collect(), sources.collect());
    destinations.sort_unstable_by_key(|range| range.start);
    for pair in destinations.windows(2) {
        if let [one, next] = pair
            && next.start < one.end
        {
            return Some(shared(next, one));
        }
    }
    sources.sort_unstable_by_key(|range| range.start);
    // The destinations are apart and in order, so their ends are in order as well: a source need only be held against
    // the first that ends behind its start, and the next source begins its search there.
    let mut rest = destinations.as_slice();
    for source in &sources {
        while let [first, behind @ ..] = rest
            && first.end <= source.start
        {
            rest = behind;
        }
        if let [first, ..] = rest
            && first.start < source.end
        {
            return Some(shared(first, source));
        }
    }
    None
}

/// Whether it is seen at a glance that nothing is shared: the destinations are in order, and all sources before or behind all of them.
fn is_plain(
    mut destinations: impl Iterator<Item = Range<usize>>,
    mut sources: impl Iterator<Item = Range<usize>>,
) -> bool {
    let Some(Range { start, mut end }) = destinations.next() else { return true };
    let in_order = destinations.all(|range| {
        let behind = end <= range.start;
        end = range.end;
        behind
    });
    in_order && sources.all(|range| range.end <= start || end <= range.start)
}

fn shared(destination: &Range<usize>, other: &Range<usize>) -> Detail {
    let bytes = destination.end.min(other.end) - destination.start.max(other.start);
    Detail::Overlapping { destination: destination.start, source: other.start, bytes }
}

#[cfg(test)]
mod tests {
    use super::find;
    use crate::error::Detail;

    /// What is found among copies of `(destination, source, bytes)`.
    fn found(copies: &[(usize, usize, usize)]) -> Option<Detail> {
        let side = |of: fn(&(usize, usize, usize)) -> usize| {
            copies.iter().map(move |copy| of(copy)..of(copy) + copy.2)
        };
        find(side(|copy| copy.0), side(|copy| copy.1))
    }

    #[test]
    fn copies_that_only_touch_or_share_a_source_are_fine() {
        assert_eq!(found(&[]), None);
        assert_eq!(found(&[(100, 0, 10), (110, 5, 10), (90, 120, 10), (20, 0, 10)]), None);
    }

    #[test]
    fn a_byte_written_twice_is_found() {
        let shared = Some(Detail::Overlapping { destination: 109, source: 100, bytes: 1 });
        assert_eq!(found(&[(109, 0, 5), (50, 0, 5), (100, 0, 10)]), shared);
    }

    #[test]
    fn a_byte_written_and_read_is_found_wherever_it_is() {
        let shared = |destination, source, bytes| Some(Detail::Overlapping { destination, source, bytes });
        assert_eq!(found(&[(0, 500, 10), (200, 100, 10), (300, 195, 10)]), shared(200, 195, 5));
        assert_eq!(found(&[(0, 1000, 900), (2000, 899, 1)]), shared(0, 899, 1));
        assert_eq!(found(&[(5000, 0, 1000), (500, 9000, 1)]), shared(500, 0, 1));
        assert_eq!(found(&[(10, 5, 10)]), shared(10, 5, 5));
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
            let copies: Vec<_> = (0..1 + next(4)).map(|_| (next(60), next(60), 1 + next(6))).collect();
            let overlap = |a: usize, b: usize, x: usize, y: usize| a < b + y && b < a + x;
            let clash = copies.iter().enumerate().any(|(i, one)| {
                copies.iter().enumerate().any(|(j, other)| {
                    overlap(one.0, other.1, one.2, other.2)
                        || (i != j && overlap(one.0, other.0, one.2, other.2))
                })
            });
            assert_eq!(found(&copies).is_some(), clash, "{copies:?}");
            clashes += usize::from(clash);
        }
        assert!((200..1800).contains(&clashes), "{clashes} of 2000: both answers are tried");
    }
}
