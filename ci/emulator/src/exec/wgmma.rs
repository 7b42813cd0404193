//! Products by warpgroups of four warps: `wgmma`.
//!
//! A product is made when the warp waits for its group. Until then its registers hold marks: numbers that are
//! NaN, one for each register of each product. Marks that were copied meanwhile become results, too, because
//! compilers copy registers freely. A thread that reads a result before the wait finds NaN.
//!
//! Matrices in shared memory are read when the first warp of the four waits. A program may use the memory for
//! other things once any of them has waited.

use super::bytes::{read8, read32};
use super::env::AccessKind;
use super::fault::{Fault, Result};
use super::file::{FULL, LANES, Slots, low};
use super::launch::Context;
use super::memory::BYTES;
use super::number::Number;
use super::pending::{Matrices, Product};
use super::program::{Access, NONE, Until};
use super::tensor::{PIECE, swizzled};
use super::tile::{FragmentLayout, Order, Tile, Warpgroup};
use super::warp::Warp;
use crate::ptx::Space;

/// Rows of a product, and those of each warp.
const ROWS: usize = 64;
const OWN: usize = 16;
/// Bytes of a row of a matrix: always as many.
const DEPTH: usize = 32;
/// The number of marks. Their bits are NaN as one number of 32 bits and as two of 16. All ones, a frequent
/// integer, are none.
const MARKS: u32 = 126 * 1023;

/// The mark of a register.
fn mark(number: u32) -> u32 {
    let number = number % MARKS;
    ((0xFF81 + number / 1023) << 16) | (0xFC01 + number % 1023)
}

/// The number of a mark.
fn number_of(bits: u32) -> Option<u32> {
    let (high, low) = ((bits >> 16).wrapping_sub(0xFF81), (bits & 0xFFFF).wrapping_sub(0xFC01));
    (high < 126 && low < 1023).then_some(high * 1023 + low)
}

impl Warpgroup {
    /// A warp's rows of the first factor, if they are in registers.
    fn own(self, depth: usize) -> Tile {
        let [number, _] = self.numbers;
        Tile { rows: OWN, columns: depth, number, registers: self.left, layout: FragmentLayout::Left }
    }

    /// A warp's rows of the product.
    fn sums(self, registers: usize) -> Tile {
        Tile { rows: OWN, columns: self.n, number: self.sum, registers, layout: FragmentLayout::Sums }
    }
}

impl Warp {
    /// `wgmma.fence`.
    pub(super) fn fence_products(&mut self) {
        self.products.fenced = true;
    }

    /// `wgmma.commit_group`.
    pub(super) fn close_products(&mut self) {
        self.products.later.close();
    }

    /// Requests a product. Its operands are on the table, and its results' marks are left there.
    pub(super) fn ask_product(&mut self, cx: &mut Context<'_>, warpgroup: Warpgroup, s: &Slots) -> Result {
        let wrong = |warp: &Self, what: &str| Err(warp.fault(cx, Fault::ILLEGAL_INSTRUCTION, what, 0));
        let first = self.first / 128 * 128;
        if self.live != FULL || first + 128 > cx.launch.threads() {
            return wrong(self, "a wgmma by fewer than the four whole warps of a warpgroup");
        }
        if !self.products.fenced {
            return wrong(self, "a wgmma.mma_async without a wgmma.fence before it");
        }
        let mut operands = std::mem::take(&mut self.table).into_iter();
        let registers: Vec<_> = operands.by_ref().take(warpgroup.left).collect();
        let mut places = [None; 2];
        let count = if warpgroup.left == 0 { 2 } else { 1 };
        for place in &mut places[2 - count..] {
            let row = operands.next().unwrap_or([0; LANES]);
            if row.iter().any(|descriptor| *descriptor != row[0]) {
                return wrong(self, "the threads of a warp give different descriptors of a matrix");
            }
            *place = Some(row[0]);
        }
        let sums: Vec<_> = operands.collect();
        let adds = s[1] == NONE || (self.file.pred(s[1]) & 1 != 0) != warpgroup.negated;
        let (number, first) = (self.products.count, self.products.marks);
        self.products.count += 1;
        self.products.marks = (first + low(sums.len() as u64)) % MARKS;
        self.table = (first..).take(sums.len()).map(|n| [u64::from(mark(n)); LANES]).collect();
        self.products.later.open.push(Product {
            warpgroup,
            number,
            places,
            registers,
            sums,
            adds,
            first,
            pc: cx.pc,
        });
        Ok(())
    }

    /// Makes the products of all groups but the last so many.
    pub(super) fn wait_for_products(&mut self, cx: &mut Context<'_>, until: Until) -> Result {
        let due = self.products.later.due(until);
        if due.is_empty() {
            return Ok(());
        }
        // The results of all of them, by their marks.
        let mut results: Vec<(u32, Vec<[u64; LANES]>)> = Vec::new();
        for mut product in due {
            fill(&results, product.sums.iter_mut());
            let now = std::mem::replace(&mut cx.pc, product.pc);
            let out = self.multiply_group(cx, &product)?;
            cx.pc = now;
            results.push((product.first, out));
        }
        for row in &mut self.file.words {
            for lane in 0..LANES {
                if let Some(result) = number_of(row[lane]).and_then(|n| find(&results, n)) {
                    row[lane] = low(result[lane]);
                }
            }
        }
        for product in self.products.later.iter_mut() {
            fill(&results, product.sums.iter_mut().chain(&mut product.registers));
        }
        Ok(())
    }

    /// Names a product that was not waited for, if the warp ends.
    pub(super) fn forgotten_product(&mut self, cx: &mut Context<'_>) -> Result {
        let Some(product) = self.products.later.iter_mut().next() else { return Ok(()) };
        cx.pc = product.pc;
        Err(self.fault(cx, Fault::LAUNCH_FAILURE, "a wgmma.mma_async whose group nobody waits for", 0))
    }

    fn multiply_group(&mut self, cx: &mut Context<'_>, product: &Product) -> Result<Vec<[u64; LANES]>> {
        let Warpgroup { n, left, .. } = product.warpgroup;
        let depth = DEPTH * 8 / product.warpgroup.numbers[0].bits() as usize;
        let taken = self.matrices(cx, product, depth)?;
        let found = &mut cx.matrices[taken];
        let own: Vec<f64> = if left == 0 {
            let from = (self.first as usize / 32 % 4) * OWN * depth;
            found.left[from..from + OWN * depth].to_vec()
        } else {
            product.warpgroup.own(depth).read(&product.registers)
        };
        let tile = product.warpgroup.sums(product.sums.len());
        let mut sums = if product.adds { tile.read(&product.sums) } else { vec![0.0; OWN * n] };
        let [negate_left, negate_right] = product.warpgroup.negates;
        let sign = if negate_left == negate_right { 1.0 } else { -1.0 };
        for (row, out) in sums.chunks_mut(n).enumerate() {
            for (k, factor) in own[row * depth..(row + 1) * depth].iter().enumerate() {
                let factor = factor * sign;
                let others = &found.right[k * n..(k + 1) * n];
                // A product of two narrow numbers is exact in 64 bits.
                out.iter_mut().zip(others).for_each(|(sum, other)| *sum += factor * other);
            }
        }
        found.remaining -= 1;
        if found.remaining == 0 {
            cx.matrices.remove(taken);
        }
        let mut out = vec![[0; LANES]; product.sums.len()];
        tile.each(|lane, at, (row, column)| {
            let sum = tile.number.rounded(sums[row * n + column], product.warpgroup.saturates);
            tile.set(&mut out, lane, at, sum);
        });
        Ok(out)
    }

    /// Finds the matrices of a product, which the first warp reads. Returns their position.
    fn matrices(&mut self, cx: &mut Context<'_>, product: &Product, depth: usize) -> Result<usize> {
        let warpgroup = self.first / 128;
        let known =
            cx.matrices.iter().position(|it| (it.warpgroup, it.number) == (warpgroup, product.number));
        if let Some(at) = known {
            let found = &cx.matrices[at];
            let what = if found.pc != cx.pc {
                "the warps of a warpgroup are at different wgmma.mma_async"
            } else if found.places != product.places {
                "the warps of a warpgroup give different descriptors of a matrix"
            } else {
                return Ok(at);
            };
            return Err(self.fault(cx, Fault::ILLEGAL_INSTRUCTION, what, 0));
        }
        let Warpgroup { n, numbers, orders, .. } = product.warpgroup;
        let left = match product.places[0] {
            Some(place) => self.matrix_of(cx, place, (ROWS, depth), numbers[0], orders[0])?,
            None => Vec::new(),
        };
        let right = self.matrix_of(cx, product.places[1].unwrap_or(0), (n, depth), numbers[1], orders[1])?;
        // By columns, so that a row of the product is made at once.
        let right = (0..depth * n).map(|at| right[at % n * depth + at / n]).collect();
        let (number, places) = (product.number, product.places);
        cx.matrices.push(Matrices { warpgroup, number, pc: cx.pc, places, left, right, remaining: 4 });
        Ok(cx.matrices.len() - 1)
    }

    /// Reads a matrix of shared memory by its descriptor: so many rows, each of the length of the sums.
    fn matrix_of(
        &mut self,
        cx: &mut Context<'_>,
        descriptor: u64,
        (rows, depth): (usize, usize),
        number: Number,
        order: Order,
    ) -> Result<Vec<f64>> {
        let field = |from: u32| (descriptor >> from & 0x3FFF) << 4;
        let (start, leading, stride) = (field(0), field(16), field(32));
        let (base, mode) = (descriptor >> 49 & 7, descriptor >> 62);
        // 0 to 3 stand for none, 128, 64 and 32 bytes.
        let swizzle = [0, 3, 2, 1][usize::try_from(mode).unwrap_or(0)];
        let span = PIECE << swizzle;
        let size = number.bits() as usize / 8;
        let per_piece = 16 / size;
        let mut out = vec![0.0; rows * depth];
        // The number of pieces along the rows of memory, and of those rows.
        let (pieces, lines) = match order {
            Order::Rows => (depth / per_piece, rows),
            Order::Columns => (rows / per_piece, depth),
        };
        for line in 0..lines {
            for piece in 0..pieces {
                let (l, p) = (line as u64, piece as u64);
                let along = match (order, swizzle) {
                    (Order::Rows, 0) => p * leading + l % 8 * PIECE + l / 8 * stride,
                    (Order::Rows, _) => p * PIECE + l % 8 * span + l / 8 * stride,
                    (Order::Columns, 0) => p * stride + l % 8 * PIECE + l / 8 * leading,
                    (Order::Columns, _) => {
                        let width = 1 << swizzle;
                        p % width * PIECE + p / width * leading + l % 8 * span + l / 8 * stride
                    }
                };
                let address = swizzled(start + along, swizzle, base);
                let access = Access { space: Space::Shared, proxy: true, ..BYTES };
                let at = self.reach(cx, access, address, (PIECE, PIECE), 0, AccessKind::Read)?;
                for element in 0..per_piece {
                    let at = at.wrapping_add(element * size);
                    let bits = match size {
                        1 => u64::from(read8(at)),
                        4 => u64::from(read32(at)),
                        _ => super::bytes::read(at, super::program::Element::U16),
                    };
                    let (row, column) = match order {
                        Order::Rows => (line, piece * per_piece + element),
                        Order::Columns => (piece * per_piece + element, line),
                    };
                    out[row * depth + column] = number.value(bits);
                }
            }
        }
        Ok(out)
    }
}

/// The result that a mark stands for.
fn find(results: &[(u32, Vec<[u64; LANES]>)], number: u32) -> Option<&[u64; LANES]> {
    results.iter().find_map(|(first, rows)| {
        let at = (number + MARKS - first) % MARKS;
        rows.get(usize::try_from(at).unwrap_or(usize::MAX))
    })
}

/// Puts results in place of their marks.
fn fill<'a>(results: &[(u32, Vec<[u64; LANES]>)], rows: impl Iterator<Item = &'a mut [u64; LANES]>) {
    for row in rows {
        for lane in 0..LANES {
            if let Some(result) = number_of(low(row[lane])).and_then(|n| find(results, n)) {
                row[lane] = result[lane];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MARKS, mark, number_of};
    use half::f16;

    #[test]
    fn marks_are_not_numbers_and_are_known_by_their_bits() {
        for number in [0, 1, 1022, 1023, 99_999, MARKS - 1] {
            let bits = mark(number);
            assert_eq!(number_of(bits), Some(number));
            assert!(f32::from_bits(bits).is_nan());
            let [b0, b1, b2, b3] = bits.to_le_bytes();
            assert!([[b0, b1], [b2, b3]].iter().all(|half| f16::from_le_bytes(*half).is_nan()));
        }
        assert_eq!(mark(MARKS), mark(0));
        assert_eq!([0, 0x7FC0_0000, 0xFFFF_FFFF, 0x3F80_0000].map(number_of), [None; 4]);
    }
}
