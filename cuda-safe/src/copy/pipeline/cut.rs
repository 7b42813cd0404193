//! How large the chunks of a pipeline are, and for how many there is room, where the program does not say.

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
/// next, which more chunks to spare make up for. (As measured, heavy work is slower by 2 % with 12 MiB, by 4 % with 16, by 17 % with 8, and by 2 %
/// with four rooms; more than six, and smaller chunks to begin and to end with, gain nothing.)
const PAGEABLE: Bounds = Bounds { least: 8 * MIB, most: 14 * MIB, chunks: 8, rooms: 6 };

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

#[cfg(test)]
mod tests {
    use super::{MIB, chunk};

    #[test]
    fn chunks_are_neither_too_few_nor_too_small_nor_too_large() {
        for (bytes, pageable, expected) in [
            (1 << 30, false, 16 * MIB),
            (1 << 30, true, 14 * MIB),
            (64 * MIB, false, 4 * MIB),
            (64 * MIB, true, 8 * MIB),
            (128 * MIB, true, 14 * MIB),
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
        assert_eq!(chunk(usize::MAX, 1, true), 14 * MIB);
        assert_eq!(chunk(100 * MIB + 1, 1, false) % 1024, 0);
    }
}
