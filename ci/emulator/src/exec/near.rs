//! Lanes whose addresses are near to each other, as those of most accesses are: found and checked at once,
//! without a branch for each lane.

use super::file::{FULL, LANES, Word, low};

/// The reach of the offsets of lanes that are near to each other.
pub(super) const NEAR: u64 = 1 << 31;

/// The number of each lane.
const NUMBERS: [u32; LANES] = {
    let (mut numbers, mut lane) = ([0; LANES], 0);
    while lane < 32 {
        numbers[lane as usize] = lane;
        lane += 1;
    }
    numbers
};

/// Where lanes that are near to each other find their bytes.
pub(super) struct Near {
    base: *mut u8,
    /// Counts from there. A lane that takes no part has the offset of one that does.
    offsets: [u32; LANES],
    pub(super) shape: Shape,
}

/// How the offsets of all lanes lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All lanes have the same.
    Same,
    /// All lanes take part, and the bytes of each lie behind those of the lane before.
    Row,
    /// Anything else.
    Scattered,
}

/// The addresses that an access may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Added to each address.
    pub(super) add: u64,
    /// The first address.
    pub(super) start: u64,
    /// The last address, as a distance from the first: less than 2 to the power of 31.
    pub(super) last: u64,
    /// The bytes of each lane: addresses are multiples.
    pub(super) bytes: u64,
}

impl Near {
    /// Takes addresses of 32 bits, which start at 0.
    #[inline(always)]
    pub(super) fn of32(base: *mut u8, row: &[u32; LANES], bounds: Bounds, mask: u32) -> Option<Self> {
        let mut offsets = [0; LANES];
        let shape = native::find32(row, bounds, mask, &mut offsets)?;
        Some(Self { base, offsets, shape })
    }

    /// Takes addresses of 64 bits.
    #[inline(always)]
    pub(super) fn of64(base: *mut u8, row: &[u64; LANES], bounds: Bounds, mask: u32) -> Option<Self> {
        let mut offsets = [0; LANES];
        let shape = native::find64(row, bounds, mask, &mut offsets)?;
        Some(Self { base, offsets, shape })
    }

    /// The bytes of a lane.
    #[inline(always)]
    pub(super) fn pointer(&self, lane: usize) -> *mut u8 {
        self.base.wrapping_add(self.offsets[lane] as usize)
    }
}

/// Gives the lanes beyond a mask what one of its lanes has.
#[inline(always)]
fn fill<W: Word>(row: &mut [W; LANES], mask: u32) {
    if mask != FULL {
        let one = row[(mask.trailing_zeros() & 31) as usize];
        W::blend(row, &[one; LANES], !mask);
    }
}

/// The shape of offsets.
#[inline(always)]
fn shape(offsets: &[u32; LANES], bytes: u32) -> Shape {
    let first = offsets[0];
    let (step, shape) = match offsets[1].wrapping_sub(first) {
        0 => (0, Shape::Same),
        step if step == bytes => (bytes, Shape::Row),
        _ => return Shape::Scattered,
    };
    let mut differ = 0;
    for (lane, offset) in offsets.iter().enumerate() {
        differ |= offset ^ first.wrapping_add(NUMBERS[lane].wrapping_mul(step));
    }
    if differ == 0 { shape } else { Shape::Scattered }
}

/// Finds the offsets of addresses of 32 bits, which start at 0. Returns `None` if one is outside of the
/// bounds, or not aligned.
#[inline(always)]
fn find32(row: &[u32; LANES], bounds: Bounds, mask: u32, offsets: &mut [u32; LANES]) -> Option<Shape> {
    let mut found = [0; LANES];
    // Here and below not `zip`: a build without link-time optimization calls it.
    for (lane, offset) in found.iter_mut().enumerate() {
        *offset = row[lane].wrapping_add(low(bounds.add));
    }
    fill(&mut found, mask);
    let (mut outside, mut uneven) = (0, 0);
    for at in &found {
        // The highest bit of an offset, or of the rest behind it, is set if the address is outside.
        outside |= at | low(bounds.last).wrapping_sub(*at);
        uneven |= at;
    }
    *offsets = found;
    let good = outside >> 31 == 0 && uneven & low(bounds.bytes - 1) == 0;
    good.then(|| shape(&found, low(bounds.bytes)))
}

/// Finds the offsets of addresses of 64 bits. Returns `None` if one is outside of the bounds, or not aligned.
#[inline(always)]
fn find64(row: &[u64; LANES], bounds: Bounds, mask: u32, offsets: &mut [u32; LANES]) -> Option<Shape> {
    let mut row = *row;
    fill(&mut row, mask);
    let (mut found, mut outside, mut uneven) = ([0; LANES], 0, 0);
    for (lane, offset) in found.iter_mut().enumerate() {
        let at = row[lane].wrapping_add(bounds.add);
        let from = at.wrapping_sub(bounds.start);
        // Here one of the 33 highest bits is set.
        outside |= from | bounds.last.wrapping_sub(from);
        uneven |= at;
        *offset = low(from);
    }
    *offsets = found;
    let good = outside < NEAR && uneven & (bounds.bytes - 1) == 0;
    good.then(|| shape(&found, low(bounds.bytes)))
}

/// The functions above for the processor that runs them.
mod native {
    #![cfg_attr(
        target_arch = "x86_64",
        expect(unsafe_code, reason = "functions for newer processors are called after asking for them")
    )]

    use super::{Bounds, LANES, Shape};

    macro_rules! native {
        ($($find:ident, $ty:ty;)*) => {$(
            #[inline(always)]
            pub(super) fn $find(
                row: &[$ty; LANES],
                bounds: Bounds,
                mask: u32,
                offsets: &mut [u32; LANES],
            ) -> Option<Shape> {
                #[cfg(target_arch = "x86_64")]
                {
                    #[target_feature(enable = "avx2")]
                    fn vectors(
                        row: &[$ty; LANES],
                        bounds: Bounds,
                        mask: u32,
                        offsets: &mut [u32; LANES],
                    ) -> Option<Shape> {
                        super::$find(row, bounds, mask, offsets)
                    }
                    if crate::exec::file::vectors::available() {
                        // SAFETY: the processor was just asked whether it has the instructions.
                        return unsafe { vectors(row, bounds, mask, offsets) };
                    }
                }
                super::$find(row, bounds, mask, offsets)
            }
        )*};
    }

    native! {
        find32, u32;
        find64, u64;
    }
}
