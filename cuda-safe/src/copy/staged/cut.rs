//! Which bytes of a transfer are moved at a time: pure arithmetic.
//!
//! A transfer is a plane of rows, or one row. Its bytes are counted as if the rows were packed. A piece is some whole
//! rows, or, where a row is larger than a piece may be, a part of one row. Pieces begin small, so that the device has
//! something to do soon, grow, because each costs the device some microseconds, and end small, so that nobody is left with a large
//! one when all others are done.

/// The arrangement of a transfer on both sides, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Bytes of a row.
    pub(crate) row_bytes: usize,
    /// Number of rows.
    pub(crate) rows: usize,
    /// Bytes from one row of the host's memory to the next.
    pub(crate) host_pitch: usize,
    /// Bytes from one row of the device's memory to the next.
    pub(crate) device_pitch: usize,
}

impl Layout {
    /// Bytes in a row.
    pub(crate) fn linear(bytes: usize) -> Self {
        Self { row_bytes: bytes, rows: 1, host_pitch: bytes, device_pitch: bytes }
    }

    /// How many bytes are moved. The two sides hold them, so it does not overflow.
    pub(crate) fn bytes(&self) -> usize {
        self.row_bytes * self.rows
    }

    /// The same bytes as one row, where both sides are packed.
    pub(crate) fn flattened(self) -> Self {
        if self.rows == 1 || (self.host_pitch == self.row_bytes && self.device_pitch == self.row_bytes) {
            Self::linear(self.bytes())
        } else {
            self
        }
    }
}

/// What is moved at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// First byte, counted from the start of the host's side.
    pub(super) host: usize,
    /// First byte, counted from the start of the device's side.
    pub(super) device: usize,
    /// Bytes of a row of the piece.
    pub(super) width: usize,
    /// Rows of the piece.
    pub(super) rows: usize,
}

impl Piece {
    /// How many bytes.
    pub(super) fn bytes(&self) -> usize {
        self.width * self.rows
    }
}

/// How large pieces may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Of the first ones.
    pub(super) first: usize,
    /// Of the last ones.
    pub(super) last: usize,
    /// Of those in the middle; never more than this.
    pub(super) most: usize,
    /// How many take pieces at a time.
    pub(super) parties: usize,
}

/// Cuts a transfer into pieces, one after the other.
#[derive(Debug)]
pub(super) struct Cutter {
    layout: Layout,
    sizes: Sizes,
    /// Bytes that the host's side is past the last boundary between pages.
    skew: usize,
    /// Bytes that are given out.
    done: usize,
    /// Pieces that are given out.
    count: usize,
}

/// Pieces of one row end where a page of the host's side ends, so that no two threads write to one page or line.
const PAGE: usize = 4096;

impl Cutter {
    pub(super) fn new(layout: Layout, sizes: Sizes, host_address: usize) -> Self {
        let most = sizes.most.max(1);
        let (first, last) = (sizes.first.clamp(1, most), sizes.last.clamp(1, most));
        let sizes = Sizes { first, last, most, parties: sizes.parties.max(1) };
        Self { layout: layout.flattened(), sizes, skew: host_address % PAGE, done: 0, count: 0 }
    }

    /// The next piece; none once all is given out.
    pub(super) fn next(&mut self) -> Option<Piece> {
        let Layout { row_bytes, rows, host_pitch, device_pitch } = self.layout;
        let rest = self.layout.bytes() - self.done;
        if rest == 0 {
            return None;
        }
        let want = self.want(rest);
        let (row, column) = (self.done / row_bytes, self.done % row_bytes);
        let piece = if column == 0 && row_bytes <= self.sizes.most && rows > 1 {
            let rows = (want / row_bytes).clamp(1, rows - row);
            Piece { host: row * host_pitch, device: row * device_pitch, width: row_bytes, rows }
        } else {
            let rest = row_bytes - column;
            let mut width = want.min(rest);
            if rows == 1 && width < rest {
                let past = (self.skew + column + width) % PAGE;
                if past < width {
                    width -= past;
                }
            }
            Piece { host: row * host_pitch + column, device: row * device_pitch + column, width, rows: 1 }
        };
        self.done += piece.bytes();
        self.count += 1;
        Some(piece)
    }

    /// How large the next piece should be.
    fn want(&self, rest: usize) -> usize {
        let Sizes { first, last, most, parties } = self.sizes;
        let doublings = u32::try_from(self.count / parties).unwrap_or(u32::MAX).min(16);
        let growing = first.saturating_mul(1 << doublings);
        let ending = (rest / (2 * parties)).max(last);
        growing.min(ending).min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::{Cutter, Layout, PAGE, Sizes};

    /// Cuts all, and checks that every byte of every row is in exactly one piece, and in the same place on both sides.
    fn cut(layout: Layout, sizes: Sizes, address: usize) -> Vec<usize> {
        let mut cutter = Cutter::new(layout, sizes, address);
        let mut seen = vec![0_u8; layout.bytes()];
        let mut lengths = Vec::new();
        while let Some(piece) = cutter.next() {
            assert!(piece.bytes() > 0 && piece.bytes() <= sizes.most.max(1), "{piece:?}");
            lengths.push(piece.bytes());
            for row in 0..piece.rows {
                // A packed transfer is cut as one row.
                let flat = layout.flattened();
                let (host, device) =
                    (piece.host + row * flat.host_pitch, piece.device + row * flat.device_pitch);
                let (at, column) = (host / flat.host_pitch, host % flat.host_pitch);
                assert_eq!((device / flat.device_pitch, device % flat.device_pitch), (at, column));
                assert!(column + piece.width <= flat.row_bytes, "{piece:?}");
                for byte in &mut seen[at * flat.row_bytes + column..][..piece.width] {
                    *byte += 1;
                }
            }
        }
        assert!(seen.iter().all(|&times| times == 1), "{layout:?} {sizes:?}");
        lengths
    }

    #[test]
    fn every_byte_is_in_one_piece_whatever_the_sizes() {
        for bytes in [1, 2, 4095, 4096, 4097, 100_000, 1 << 20, (1 << 20) + 7] {
            for (first, most) in [(1 << 12, 1 << 12), (1 << 12, 1 << 16), (5000, 70_001), (1 << 20, 1 << 12)]
            {
                let last = first / 2;
                for parties in [1, 2, 7] {
                    for address in [0, 16, 4095] {
                        cut(Layout::linear(bytes), Sizes { first, last, most, parties }, address);
                    }
                }
            }
        }
        assert_eq!(cut(Layout::linear(5), Sizes { first: 0, last: 0, most: 0, parties: 0 }, 0), [1; 5]);
    }

    #[test]
    fn planes_are_cut_into_whole_rows_and_wide_rows_into_parts() {
        let sizes = Sizes { first: 1000, last: 1000, most: 4000, parties: 2 };
        for (row_bytes, rows) in [(1, 5000), (999, 37), (1000, 3), (4000, 5), (4001, 5), (50_000, 3)] {
            for (host, device) in [(0, 0), (3, 0), (0, 512), (1, 100)] {
                let layout = Layout {
                    row_bytes,
                    rows,
                    host_pitch: row_bytes + host,
                    device_pitch: row_bytes + device,
                };
                let lengths = cut(layout, sizes, 8);
                if row_bytes <= sizes.most && host + device > 0 {
                    assert!(lengths.iter().all(|length| length % row_bytes == 0), "{lengths:?}");
                }
            }
        }
    }

    #[test]
    fn pieces_begin_small_grow_and_end_small() {
        let sizes = Sizes { first: 1 << 16, last: 1 << 15, most: 1 << 20, parties: 4 };
        let lengths = cut(Layout::linear(64 << 20), sizes, 0);
        assert_eq!(lengths[..4], [1 << 16; 4]);
        assert_eq!(lengths[4..8], [1 << 17; 4]);
        assert_eq!(lengths.iter().max(), Some(&(1 << 20)));
        assert!(lengths[lengths.len() - 4..].iter().all(|&length| length <= 1 << 15), "{lengths:?}");
    }

    #[test]
    fn pieces_of_a_row_end_with_a_page_of_the_host() {
        let mut cutter = Cutter::new(
            Layout::linear(1 << 20),
            Sizes { first: 10_000, last: 10_000, most: 10_000, parties: 1 },
            100,
        );
        let mut end = 100;
        while let Some(piece) = cutter.next() {
            end += piece.bytes();
            assert!(end % PAGE == 0 || end == 100 + (1 << 20), "{piece:?}");
        }
    }
}
