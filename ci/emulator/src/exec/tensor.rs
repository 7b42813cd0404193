//! Tensor maps: 128 bytes that describe a tensor in global memory, and the box that one bulk copy moves.
//!
//! Programs do not see the layout of the bytes. Here they begin with a mark, so that other bytes are found
//! out.

use crate::ptx::Type;

/// The first bytes of a map.
const MARK: u64 = u64::from_le_bytes(*b"TMAtiled");
/// Bytes of a map.
pub(crate) const BYTES: usize = 128;
/// The bytes of a piece: lengths and addresses of bulk copies are multiples, and swizzles move pieces.
pub(super) const PIECE: u64 = 16;
/// The most bytes of a box: a multiprocessor's shared memory, as an H200 answered.
const MOST: u64 = 228 << 10;
/// The bits of an address. An H200 refuses the highest ones.
const ADDRESS_BITS: u32 = 57;
/// The most dimensions of a tensor.
pub(crate) const RANK: usize = 5;

/// A tensor, and the box of it that is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TensorMap {
    /// The type of the elements, as its number in `CUtensorMapDataType`.
    pub(crate) element: u32,
    /// The number of dimensions.
    pub(crate) rank: usize,
    /// The swizzle, as its number in `CUtensorMapSwizzle`: 0 to 3.
    pub(crate) swizzle: u32,
    /// Whether elements outside are read as NaN.
    pub(crate) nan: bool,
    /// The first element.
    pub(crate) address: u64,
    /// Elements along each dimension, the innermost first.
    pub(crate) dims: [u64; RANK],
    /// Bytes from one element to the next along each dimension but the first.
    pub(crate) strides: [u64; RANK - 1],
    /// Elements that a box spans along each dimension.
    pub(crate) boxes: [u32; RANK],
    /// Only every so many of them are moved. The innermost dimension has 1.
    pub(crate) steps: [u32; RANK],
}

impl TensorMap {
    /// Checks the rules for maps of tiles.
    ///
    /// # Errors
    /// The rule that does not hold.
    pub(crate) fn check(&self) -> Result<(), String> {
        let Self { rank, swizzle, .. } = *self;
        let size = self.size().ok_or_else(|| format!("there is no type of elements {}", self.element))?;
        if !(1..=RANK).contains(&rank) {
            return Err(format!("the rank is {rank}: 1 to {RANK} are possible"));
        }
        if !self.address.is_multiple_of(16) {
            return Err(format!("the address {:#x} is not aligned to 16 bytes", self.address));
        }
        if self.address >> ADDRESS_BITS != 0 {
            return Err(format!("the address {:#x} has more than {ADDRESS_BITS} bits", self.address));
        }
        for dimension in 0..rank {
            let (dim, span, step) = (self.dims[dimension], self.boxes[dimension], self.steps[dimension]);
            if dim == 0 || dim > 1 << 32 {
                return Err(format!("dimension {dimension} has {dim} elements: 1 to 2^32 are possible"));
            }
            if span == 0 || span > 256 {
                return Err(format!("the box spans {span} of dimension {dimension}: 1 to 256 are possible"));
            }
            if step == 0 || step > 8 {
                return Err(format!("the step in dimension {dimension} is {step}: 1 to 8 are possible"));
            }
        }
        for (dimension, stride) in self.strides[..rank - 1].iter().enumerate() {
            if !stride.is_multiple_of(16) || *stride >= 1 << 40 {
                let number = dimension + 1;
                return Err(format!(
                    "the stride of dimension {number} is {stride}: it is a multiple of 16 below 2^40"
                ));
            }
        }
        let (inner, span) = (u64::from(self.boxes[0]) * size, self.span());
        if !inner.is_multiple_of(16) {
            return Err(format!("a row of the box has {inner} bytes, which are no multiple of 16"));
        }
        let bytes = self.row() * self.rows();
        if bytes > MOST {
            return Err(format!("the box has {bytes} bytes: {MOST} are possible"));
        }
        if swizzle > 3 {
            return Err(format!("there is no swizzle {swizzle} on devices of compute capability 9.0"));
        }
        if swizzle > 0 && inner > span {
            return Err(format!("a row of the box has {inner} bytes: the swizzle is of {span}"));
        }
        if self.nan && !matches!(self.element, 6..=12) {
            return Err("only floating-point elements are filled with NaN".into());
        }
        Ok(())
    }

    /// Bytes of an element.
    pub(crate) fn size(&self) -> Option<u64> {
        Some(match self.element {
            0 => 1,
            1 | 6 | 9 => 2,
            2 | 3 | 7 | 10 | 11 | 12 => 4,
            4 | 5 | 8 => 8,
            _ => return None,
        })
    }

    /// The type of an element in a reduction.
    pub(crate) fn ty(&self) -> Option<Type> {
        Some(match self.element {
            2 => Type::U32,
            3 => Type::S32,
            4 => Type::U64,
            5 => Type::S64,
            6 => Type::F16,
            7 | 10 => Type::F32,
            8 => Type::F64,
            9 => Type::Bf16,
            _ => return None,
        })
    }

    /// The bytes over which rows are swizzled.
    fn span(&self) -> u64 {
        16 << self.swizzle
    }

    /// Elements of a box along each dimension, as they are in shared memory.
    fn counts(&self) -> [u64; RANK] {
        let mut counts = [1; RANK];
        for (count, (span, step)) in counts.iter_mut().zip(self.boxes.iter().zip(self.steps)).take(self.rank)
        {
            *count = u64::from(span.div_ceil(step));
        }
        counts
    }

    /// Bytes of a row of the box.
    pub(crate) fn row(&self) -> u64 {
        u64::from(self.boxes[0]) * self.size().unwrap_or(0)
    }

    /// The rows of the box.
    pub(crate) fn rows(&self) -> u64 {
        self.counts()[1..].iter().product()
    }

    /// Bytes from one row to the next in shared memory. A swizzle is over whole spans.
    pub(crate) fn pitch(&self) -> u64 {
        if self.swizzle == 0 { self.row() } else { self.span() }
    }

    /// Where an address of shared memory is with the swizzle: pieces of 16 bytes change places.
    pub(crate) fn swizzled(&self, address: u64) -> u64 {
        swizzled(address, self.swizzle, 0)
    }

    /// A row of the box at coordinates: the address of its first element that is within the tensor, the
    /// number of elements before it that are outside, and of those within. `None` if all are outside.
    ///
    /// Devices write pieces of 16 bytes. So a write goes to the end of the piece in which a row ends.
    pub(super) fn place(&self, at: [i32; RANK], row: u64, writes: bool) -> Option<(u64, u64, u64)> {
        let (counts, mut rest, mut address) = (self.counts(), row, self.address);
        for dimension in 1..self.rank {
            let step = i64::from(self.steps[dimension]) * (rest % counts[dimension]).cast_signed();
            rest /= counts[dimension];
            let index = u64::try_from(i64::from(at[dimension]) + step).ok()?;
            if index >= self.dims[dimension] {
                return None;
            }
            address = address.wrapping_add(index.wrapping_mul(self.strides[dimension - 1]));
        }
        let first = i64::from(at[0]);
        let before = u64::try_from(-first).unwrap_or(0).min(u64::from(self.boxes[0]));
        let from = u64::try_from(first).unwrap_or(0);
        let size = self.size().unwrap_or(1);
        let row_end = self.dims[0].saturating_mul(size);
        let end = if writes { row_end.next_multiple_of(PIECE) / size } else { self.dims[0] };
        let within = (u64::from(self.boxes[0]) - before).min(end.saturating_sub(from));
        (within > 0).then(|| (address.wrapping_add(from * size), before, within))
    }

    /// The bits of an element that is outside of the tensor: zero, or the NaN of an H200.
    pub(crate) fn outside(&self) -> u64 {
        if self.nan { 0x7FF7_7FF7_7FF7_7FF7 >> (64 - 8 * self.size().unwrap_or(8)) } else { 0 }
    }

    /// What a load makes of an element. Numbers of 19 bits are rounded to the nearest, of two to the even
    /// one. They have one NaN. Nothing is flushed to zero, as on an H200.
    pub(crate) fn loaded(&self, bits: u64) -> u64 {
        match self.element {
            11 | 12 if bits & 0x7FFF_FFFF > 0x7F80_0000 => 0x7FFF_E000,
            11 | 12 => (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFF_E000,
            _ => bits,
        }
    }

    /// Puts the map into bytes.
    pub(crate) fn pack(&self) -> [u8; BYTES] {
        let mut bytes = Vec::with_capacity(BYTES);
        let small = |v: u32| v.to_le_bytes()[0];
        bytes.extend(MARK.to_le_bytes());
        let rank = u32::try_from(self.rank).unwrap_or(0);
        bytes.extend([small(self.element), small(rank), small(self.swizzle), u8::from(self.nan)]);
        bytes.extend(self.steps.map(small));
        bytes.extend(self.boxes.iter().flat_map(|span| (span - 1).to_le_bytes().into_iter().take(1)));
        bytes.resize(24, 0);
        bytes.extend(self.address.to_le_bytes());
        bytes.extend(self.dims.iter().chain(&self.strides).flat_map(|v| v.to_le_bytes()));
        bytes.resize(BYTES, 0);
        let mut out = [0; BYTES];
        out.copy_from_slice(&bytes);
        out
    }

    /// Reads the map in bytes.
    pub(crate) fn unpack(bytes: &[u8; BYTES]) -> Option<Self> {
        let wide = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let small = |at: usize| u32::from(bytes[at]);
        let map = Self {
            element: small(8),
            rank: usize::from(bytes[9]),
            swizzle: small(10),
            nan: bytes[11] != 0,
            address: wide(24),
            dims: [0, 1, 2, 3, 4].map(|n| wide(32 + n * 8)),
            strides: [5, 6, 7, 8].map(|n| wide(32 + n * 8)),
            boxes: [0, 1, 2, 3, 4].map(|n| small(17 + n) + 1),
            steps: [0, 1, 2, 3, 4].map(|n| small(12 + n)),
        };
        (wide(0) == MARK && map.check().is_ok()).then_some(map)
    }
}

/// A field of a map that kernels may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    /// The address of the tensor.
    Address,
    /// The number of dimensions.
    Rank,
    /// Elements that a box spans along a dimension.
    Box,
    /// Elements along a dimension.
    Dimension,
    /// Bytes from one element to the next along a dimension.
    Stride,
    /// The step along a dimension.
    Step,
    /// The type of the elements.
    Element,
    /// The interleaved layout, which no map here has.
    Interleave,
    /// The swizzle.
    Swizzle,
    /// Whether elements outside are NaN.
    Fill,
}

impl Field {
    /// The fields, by their names in PTX.
    pub(crate) const ALL: [(&'static str, Self); 10] = [
        ("global_address", Self::Address),
        ("rank", Self::Rank),
        ("box_dim", Self::Box),
        ("global_dim", Self::Dimension),
        ("global_stride", Self::Stride),
        ("element_stride", Self::Step),
        ("elemtype", Self::Element),
        ("interleave_layout", Self::Interleave),
        ("swizzle_mode", Self::Swizzle),
        ("fill_mode", Self::Fill),
    ];

    /// The offset of a field in the bytes of a map, and its size. Spans of boxes are one less.
    pub(crate) fn place(self, dimension: usize) -> Option<(usize, usize)> {
        let place = match self {
            Self::Element => (8, 1),
            Self::Rank => (9, 1),
            Self::Swizzle => (10, 1),
            Self::Fill => (11, 1),
            Self::Step if dimension < RANK => (12 + dimension, 1),
            Self::Box if dimension < RANK => (17 + dimension, 1),
            Self::Address => (24, 8),
            Self::Dimension if dimension < RANK => (32 + 8 * dimension, 8),
            Self::Stride if dimension < RANK - 1 => (72 + 8 * dimension, 8),
            Self::Interleave => (BYTES - 1, 1),
            _ => return None,
        };
        Some(place)
    }
}

/// Where an address of shared memory is with a swizzle (1, 2 and 3 for 32, 64 and 128 bytes): rows of 128
/// bytes change places of their pieces of 16 bytes, by their number. `base` is the number of the first row.
pub(super) fn swizzled(address: u64, swizzle: u32, base: u64) -> u64 {
    let row = (address >> 7).wrapping_sub(base) & ((1 << swizzle) - 1);
    address ^ row << 4
}

#[cfg(test)]
mod tests {
    use super::{Field, RANK, TensorMap};

    const MAP: TensorMap = TensorMap {
        element: 6,
        rank: 3,
        swizzle: 3,
        nan: false,
        address: 0x7000_0000,
        dims: [100, 50, 20, 1, 1],
        strides: [208, 12_000, 0, 0],
        boxes: [64, 8, 4, 1, 1],
        steps: [1, 1, 2, 1, 1],
    };

    #[test]
    fn a_map_is_in_its_bytes_and_other_bytes_are_none() {
        let widest = TensorMap { boxes: [16, 256, 32, 1, 1], nan: true, ..MAP };
        for map in [MAP, widest] {
            assert_eq!(map.check(), Ok(()));
            assert_eq!(TensorMap::unpack(&map.pack()), Some(map));
        }
        for (field, dimension, value, changed) in [
            (Field::Address, 0, 0x9000, TensorMap { address: 0x9000, ..MAP }),
            (Field::Rank, 0, 2, TensorMap { rank: 2, ..MAP }),
            (Field::Box, 1, 7, MAP),
            (Field::Dimension, 2, 21, TensorMap { dims: [100, 50, 21, 1, 1], ..MAP }),
            (Field::Stride, 1, 32, TensorMap { strides: [208, 32, 0, 0], ..MAP }),
            (Field::Step, 2, 2, MAP),
            (Field::Element, 0, 9, TensorMap { element: 9, ..MAP }),
            (Field::Swizzle, 0, 3, MAP),
            (Field::Fill, 0, 1, TensorMap { nan: true, ..MAP }),
        ] {
            let (mut bytes, (at, size)) = (MAP.pack(), field.place(dimension).unwrap());
            bytes[at..at + size].copy_from_slice(&u64::to_le_bytes(value)[..size]);
            assert_eq!(TensorMap::unpack(&bytes), Some(changed), "{field:?}");
        }
        assert_eq!([&MAP, &widest].map(TensorMap::outside), [0, 0x7FF7]);
        assert_eq!(TensorMap { element: 7, ..widest }.outside(), 0x7FF7_7FF7);
        // A kernel may have changed a field to anything.
        assert_eq!(
            TensorMap::unpack(&TensorMap { boxes: [64, 256, 256, 256, 256], rank: 5, ..MAP }.pack()),
            None
        );
        assert_eq!(TensorMap::unpack(&[0; 128]), None);
        for address in [8, 1 << 57] {
            assert_eq!(TensorMap::unpack(&TensorMap { address, ..MAP }.pack()), None);
        }
        let largest = TensorMap { boxes: [64, 228, 8, 1, 1], steps: [1; RANK], ..MAP };
        assert_eq!(largest.check(), Ok(()));
        assert!(TensorMap { boxes: [64, 229, 8, 1, 1], ..largest }.check().is_err());
    }

    #[test]
    fn rows_of_a_box_are_found_and_their_ends_outside_are_cut() {
        let at = |x, y, z| {
            let mut at = [0; RANK];
            (at[0], at[1], at[2]) = (x, y, z);
            at
        };
        // Of four layers every other one is moved.
        assert_eq!((MAP.rows(), MAP.pitch(), MAP.row()), (16, 128, 128));
        assert_eq!(MAP.place(at(0, 0, 0), 0, false), Some((0x7000_0000, 0, 64)));
        assert_eq!(
            MAP.place(at(64, 3, 1), 9, false),
            Some((0x7000_0000 + 128 + 4 * 208 + 3 * 12_000, 0, 36))
        );
        assert_eq!(MAP.place(at(-10, 49, 0), 0, false), Some((0x7000_0000 + 49 * 208, 10, 54)));
        assert_eq!(MAP.place(at(0, 49, 0), 1, false), None);
        assert_eq!(MAP.place(at(0, 0, -2), 0, false), None);
        assert_eq!(MAP.place(at(100, 0, 0), 0, false), None);
        assert_eq!(MAP.place(at(-64, 0, 0), 0, false), None);
        assert_eq!(MAP.place(at(64, 0, 0), 0, true), Some((0x7000_0000 + 128, 0, 40)));
    }

    #[test]
    fn swizzles_change_the_places_of_pieces_within_their_span() {
        let with = |swizzle| TensorMap { swizzle, ..MAP };
        assert_eq!(with(0).swizzled(0x3F5), 0x3F5);
        assert_eq!([0x005, 0x085, 0x105, 0x385].map(|at| with(1).swizzled(at)), [0x005, 0x095, 0x105, 0x395]);
        assert_eq!([0x085, 0x105, 0x185, 0x385].map(|at| with(2).swizzled(at)), [0x095, 0x125, 0x1B5, 0x3B5]);
        assert_eq!([0x085, 0x3F0, 0x400].map(|at| with(3).swizzled(at)), [0x095, 0x380, 0x400]);
    }

    #[test]
    fn some_types_are_rounded_when_they_are_loaded() {
        let load = |element, bits: u32| TensorMap { element, ..MAP }.loaded(u64::from(bits));
        assert_eq!(load(7, 0x3F80_1001), 0x3F80_1001);
        assert_eq!(
            [0x3F80_1000, 0x3F80_1001, 0x3F80_3000].map(|b| load(11, b)),
            [0x3F80_0000, 0x3F80_2000, 0x3F80_4000]
        );
        assert_eq!(
            [0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001].map(|b| load(12, b)),
            [0x7F80_0000, 0x7F80_0000, 0x7FFF_E000]
        );
        assert_eq!((load(10, 0x8000_0001), load(11, 0x807F_FFFF)), (0x8000_0001, 0x8080_0000));
    }
}
