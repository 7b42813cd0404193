//! Which bytes of a transfer make a block, and which a piece: pure arithmetic.
//!
//! A transfer is a plane of rows, or one row. Its bytes are counted as if the rows were packed. A block is what the device copies
//! at a time: some whole rows, or, where a row is larger than a block may be, a part of one row. Blocks begin small, so that the device,
//! or the host, has something to do soon, grow, because each costs the device some microseconds, and end small, so that little is left
//! to do for one side when the other is ready. A piece is what a processor moves at a time: a part of a block, of the same kind.

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

/// A part of a transfer that is one in both memories, and packed in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// First byte, counted from the start of the host's side.
    pub(super) host: usize,
    /// First byte, counted from the start of the device's side.
    pub(super) device: usize,
    /// First byte, counted from the start of the block.
    pub(super) slot: usize,
    /// Bytes of a row of the part.
    pub(super) width: usize,
    /// Rows of the part.
    pub(super) rows: usize,
}

impl Part {
    /// How many bytes.
    pub(super) fn bytes(&self) -> usize {
        self.width * self.rows
    }

    /// In how many pieces of so many bytes, at least a row each, it is moved.
    fn pieces(&self, bytes: usize) -> usize {
        if self.rows == 1 {
            self.width.div_ceil(bytes)
        } else {
            self.rows.div_ceil(rows_of(bytes, self.width))
        }
    }

    /// One of its pieces.
    fn piece(&self, at: usize, bytes: usize, layout: &Layout) -> Self {
        if self.rows == 1 {
            let skipped = at * bytes;
            Self {
                host: self.host + skipped,
                device: self.device + skipped,
                slot: skipped,
                width: bytes.min(self.width - skipped),
                rows: 1,
            }
        } else {
            let most = rows_of(bytes, self.width);
            let skipped = at * most;
            Self {
                host: self.host + skipped * layout.host_pitch,
                device: self.device + skipped * layout.device_pitch,
                slot: skipped * self.width,
                width: self.width,
                rows: most.min(self.rows - skipped),
            }
        }
    }
}

/// Whole rows in so many bytes, at least one.
fn rows_of(bytes: usize, width: usize) -> usize {
    (bytes / width).max(1)
}

/// How large blocks and pieces may be, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    /// Of the first block.
    pub(super) first: usize,
    /// Of the last ones.
    pub(super) last: usize,
    /// Of those in the middle; never more than this.
    pub(super) most: usize,
    /// Of a piece.
    pub(super) piece: usize,
}

/// A transfer, cut.
#[derive(Debug)]
pub(super) struct Cut {
    layout: Layout,
    /// Bytes of a piece.
    piece: usize,
    blocks: Vec<Part>,
}

/// Where in a transfer somebody is who takes pieces in order.
#[derive(Debug, Default)]
pub(super) struct Place {
    block: usize,
    /// Pieces of all blocks before that one.
    before: usize,
}

/// Blocks of one row end where a page of the host's side ends, so that no two write to one page or line.
const PAGE: usize = 4096;

impl Cut {
    pub(super) fn new(layout: Layout, sizes: Sizes, host_address: usize) -> Self {
        let (layout, most) = (layout.flattened(), sizes.most.max(1));
        let (first, last) = (sizes.first.clamp(1, most), sizes.last.clamp(1, most));
        let skew = host_address % PAGE;
        let (mut blocks, mut done, mut growing) = (Vec::new(), 0, first);
        while done < layout.bytes() {
            let ending = ((layout.bytes() - done) / 2).max(last);
            let block = block(&layout, done, growing.min(ending).min(most), most, skew);
            done += block.bytes();
            blocks.push(block);
            growing = growing.saturating_mul(2).min(most);
        }
        Self { layout, piece: sizes.piece.max(1), blocks }
    }

    /// The blocks, in order.
    pub(super) fn blocks(&self) -> &[Part] {
        &self.blocks
    }

    /// How many pieces each block has.
    pub(super) fn pieces(&self) -> impl Iterator<Item = usize> {
        self.blocks.iter().map(|block| block.pieces(self.piece))
    }

    /// A piece, counted from the start of the transfer, and the number of its block; none past the end. Whoever asks, asks for pieces in
    /// ascending order.
    pub(super) fn piece(&self, number: usize, place: &mut Place) -> Option<(usize, Part)> {
        loop {
            let block = self.blocks.get(place.block)?;
            let pieces = block.pieces(self.piece);
            let at = number.checked_sub(place.before)?;
            if at < pieces {
                return Some((place.block, block.piece(at, self.piece, &self.layout)));
            }
            place.block += 1;
            place.before += pieces;
        }
    }
}

/// The block that begins after so many bytes, of about `want` bytes and never more than `most`.
fn block(layout: &Layout, done: usize, want: usize, most: usize, skew: usize) -> Part {
    let &Layout { row_bytes, rows, host_pitch, device_pitch } = layout;
    let (row, column) = (done / row_bytes, done % row_bytes);
    let (host, device) = (row * host_pitch + column, row * device_pitch + column);
    if column == 0 && row_bytes <= most && rows > 1 {
        let rows = rows_of(want, row_bytes).min(rows - row);
        return Part { host, device, slot: 0, width: row_bytes, rows };
    }
    let rest = row_bytes - column;
    let mut width = want.min(rest);
    if rows == 1 && width < rest {
        let past = (skew + column + width) % PAGE;
        if past < width {
            width -= past;
        }
    }
    Part { host, device, slot: 0, width, rows: 1 }
}

#[cfg(test)]
mod tests {
    use super::{Cut, Layout, PAGE, Place, Sizes};

    /// Cuts all, and checks that every byte of every row is in exactly one piece, and in the same place on both sides and in the slot of
    /// its block; gives the blocks' sizes.
    fn cut(layout: Layout, sizes: Sizes, address: usize) -> Vec<usize> {
        let cut = Cut::new(layout, sizes, address);
        let mut seen = vec![0_u8; layout.bytes()];
        // A packed transfer is cut as one row.
        let flat = layout.flattened();
        let (mut place, mut number) = (Place::default(), 0);
        for (block, pieces) in cut.pieces().enumerate() {
            let mut packed = 0;
            for _ in 0..pieces {
                let (of, piece) = cut.piece(number, &mut place).unwrap();
                assert_eq!((of, piece.slot), (block, packed));
                assert!(
                    piece.bytes() > 0 && (piece.bytes() <= sizes.piece.max(1) || piece.rows == 1),
                    "{piece:?}"
                );
                packed += piece.bytes();
                number += 1;
                for row in 0..piece.rows {
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
            assert_eq!(packed, cut.blocks()[block].bytes());
            assert!(packed <= sizes.most.max(1));
        }
        assert_eq!(cut.piece(number, &mut place), None);
        assert!(seen.iter().all(|&times| times == 1), "{layout:?} {sizes:?}");
        cut.blocks().iter().map(super::Part::bytes).collect()
    }

    #[test]
    fn every_byte_is_in_one_piece_whatever_the_sizes() {
        for bytes in [1, 2, 4095, 4096, 4097, 100_000, 1 << 20, (1 << 20) + 7] {
            for (first, most) in [(1 << 12, 1 << 12), (1 << 12, 1 << 16), (5000, 70_001), (1 << 20, 1 << 12)]
            {
                for piece in [1000, 4096, 1 << 20] {
                    for address in [0, 16, 4095] {
                        let sizes = Sizes { first, last: first / 2, most, piece };
                        cut(Layout::linear(bytes), sizes, address);
                    }
                }
            }
        }
        assert_eq!(cut(Layout::linear(5), Sizes { first: 0, last: 0, most: 0, piece: 0 }, 0), [1; 5]);
    }

    #[test]
    fn planes_are_cut_into_whole_rows_and_wide_rows_into_parts() {
        let sizes = Sizes { first: 1000, last: 1000, most: 4000, piece: 1500 };
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
    fn blocks_begin_small_grow_and_end_small() {
        let sizes = Sizes { first: 1 << 16, last: 1 << 15, most: 1 << 20, piece: 1 << 16 };
        let lengths = cut(Layout::linear(64 << 20), sizes, 0);
        assert_eq!(lengths[..4], [1 << 16, 1 << 17, 1 << 18, 1 << 19]);
        assert_eq!(lengths.iter().max(), Some(&(1 << 20)));
        assert!(lengths[lengths.len() - 2..].iter().all(|&length| length <= 1 << 15), "{lengths:?}");
    }

    #[test]
    fn blocks_of_a_row_end_with_a_page_of_the_host() {
        let sizes = Sizes { first: 10_000, last: 10_000, most: 10_000, piece: 10_000 };
        let mut end = 100;
        for block in Cut::new(Layout::linear(1 << 20), sizes, 100).blocks() {
            end += block.bytes();
            assert!(end % PAGE == 0 || end == 100 + (1 << 20), "{block:?}");
        }
    }
}
