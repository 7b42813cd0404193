//! How an array is cut into chunks: as large as the program says, or else as large as is good.

use std::ops::Range;

const MIB: usize = 1 << 20;

/// Bytes of the smallest and of the largest chunk, how many chunks there should be at least, and for how many of them room is made.
struct Bounds {
    least: usize,
    most: usize,
    chunks: usize,
    rooms: usize,
}

/// Copies of pinned memory cost some microseconds each, and those of 16 MiB are about as fast as any. One chunk is on its way up, one is
/// computed, one is on its way down, and there is room for one to spare.
const PINNED: Bounds = Bounds { least: MIB, most: 16 * MIB, chunks: 16, rooms: 4 };

/// Threads are woken for each copy of pageable memory, and small ones are not staged at all. How long one takes differs from one to the
/// next, which more chunks to spare make up for.
const PAGEABLE: Bounds = Bounds { least: 8 * MIB, most: 16 * MIB, chunks: 8, rooms: 6 };

/// Chunks begin at multiples of so many elements, so that copies begin where pages and cache lines do.
const STEP: usize = 1024;

fn bounds(pageable: bool) -> Bounds {
    if pageable { PAGEABLE } else { PINNED }
}

/// For how many chunks there is room where the program does not say.
pub(super) fn rooms(pageable: bool) -> usize {
    bounds(pageable).rooms
}

/// Elements of a chunk, for an array of so many elements of so many bytes: the larger of what goes up and of what comes down.
pub(super) fn chunk(len: usize, element: usize, pageable: bool) -> usize {
    let bounds = bounds(pageable);
    let elements = |bytes: usize| (bytes / element.max(1)).max(1);
    let share = len.div_ceil(bounds.chunks).div_ceil(STEP).saturating_mul(STEP);
    share.max(elements(bounds.least)).min(elements(bounds.most)).min(len.max(1))
}

/// Chunks of so many elements of an array, which are not 0; the last one may have fewer.
///
/// Where they are not `even`, the first and the last ones are smaller, as nothing overlaps with the first one's way up and the last one's
/// way down.
pub(super) fn ranges(len: usize, chunk: usize, even: bool) -> impl Iterator<Item = Range<usize>> {
    let step = |elements: usize| elements / STEP * STEP;
    let (quarter, half) = (step(chunk / 4), step(chunk / 2));
    // With a few whole ones in between, or it is not worth it.
    let ramped = !even && quarter > 0 && len / 4 >= chunk;
    let (first, last) = if ramped {
        ([quarter, half], [step(len - quarter - half), step(len - quarter)])
    } else {
        ([chunk; 2], [len; 2])
    };
    let (mut start, mut first) = (0, first.into_iter());
    std::iter::from_fn(move || {
        let whole = first.next().unwrap_or(chunk);
        // A chunk of the last ones begins there.
        let bound = last.into_iter().find(|&bound| start < bound).unwrap_or(len);
        let range = start..start.saturating_add(whole).min(bound);
        start = range.end;
        (!range.is_empty()).then_some(range)
    })
}

#[cfg(test)]
mod tests {
    use super::{MIB, STEP, chunk, ranges};

    #[test]
    fn chunks_are_neither_too_few_nor_too_small_nor_too_large() {
        for (bytes, pageable, expected) in [
            (1 << 30, false, 16 * MIB),
            (1 << 30, true, 16 * MIB),
            (64 * MIB, false, 4 * MIB),
            (64 * MIB, true, 8 * MIB),
            (128 * MIB, true, 16 * MIB),
            (8 * MIB, false, MIB),
            (MIB / 2, false, MIB / 2),
            (8 * MIB, true, 8 * MIB),
        ] {
            assert_eq!(chunk(bytes / 4, 4, pageable) * 4, expected, "{bytes} bytes, pageable: {pageable}");
        }
    }

    #[test]
    fn odd_lengths_and_sizes_make_chunks_too() {
        assert_eq!(chunk(0, 4, false), 1);
        assert_eq!(chunk(1, 4, true), 1);
        assert_eq!(chunk(3, 1 << 30, false), 1);
        assert_eq!(chunk(usize::MAX, 1, true), 16 * MIB);
        assert_eq!(chunk(100 * MIB + 1, 1, false) % 1024, 0);
    }

    #[test]
    fn the_first_and_the_last_chunks_are_smaller_and_all_begin_where_pages_do() {
        let all: Vec<_> = ranges((1 << 20) + 5, 1 << 16, false).collect();
        let lens: Vec<_> = all.iter().map(ExactSizeIterator::len).collect();
        let (quarter, half, whole) = (1 << 14, 1 << 15, 1 << 16);
        assert_eq!(lens[..3], [quarter, half, whole]);
        assert_eq!(lens[lens.len() - 2..], [half, quarter + 5]);
        assert!(lens[2..lens.len() - 3].iter().all(|&len| len == whole), "{lens:?}");
        assert!(all.iter().all(|range| range.start % STEP == 0));
        assert_eq!(ranges(10, 4, true).collect::<Vec<_>>(), [0..4, 4..8, 8..10]);
    }

    #[test]
    fn chunks_of_any_array_are_all_of_it_in_order_and_none_is_larger() {
        for len in [0, 1, 7, 1023, 1024, 1025, 4096, 5000, 16_384, 16_385, 100_000, 123_457] {
            for chunk in [1, 3, 1024, 4096, 5000, 8192, 200_000] {
                if len / chunk > 10_000 {
                    continue;
                }
                for even in [false, true] {
                    let mut at = 0;
                    for range in ranges(len, chunk, even) {
                        assert_eq!(range.start, at, "{len} by {chunk}");
                        assert!((1..=chunk).contains(&range.len()), "{range:?} of {len} by {chunk}");
                        at = range.end;
                    }
                    assert_eq!(at, len, "by {chunk}");
                }
            }
        }
    }
}
