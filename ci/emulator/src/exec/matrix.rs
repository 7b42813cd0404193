//! Matrices that the lanes of a warp hold together: their layout in registers, loads, stores and products.
//!
//! A matrix instruction has more registers than an instruction has slots. So its registers are first packed
//! into the warp's table ([`Op::PackFragment`](super::program::Op::PackFragment)). The operation takes its
//! operands from the table and leaves its results there, and
//! [`Op::UnpackFragment`](super::program::Op::UnpackFragment) writes these back to registers.
//!
//! Sums are of 64-bit numbers, rounded once at their end. Tensor cores round differently, in ways that NVIDIA
//! does not promise, so compare with a tolerance.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "functions for newer processors are called after asking for them")
)]

use super::env::AccessKind;
use super::fault::Result;
use super::file::{FULL, LANES, Slots, Word, lanes, low};
use super::launch::Context;
use super::number::Number;
use super::program::{Access, Matrix, NONE, Until};
use super::tile::{FragmentLayout, Multiply, Order, Tile};
use super::warp::{Flow, Group, Table, Warp};
use crate::fidelity::{self, Limit};

/// Bytes of a row of the small matrices of `ldmatrix`.
const ROW: u64 = 16;

/// An access to rows of such matrices: how many matrices, and what is beside each other in memory.
type Rows = (Access, u8, Order);

impl Tile {
    /// Elements of each lane.
    fn elements(self) -> usize {
        self.registers * self.number.per_register()
    }

    /// Whether the registers of a warp hold the matrix.
    pub(super) fn is_whole(self) -> bool {
        let (all, held) = (self.rows * self.columns, self.elements() * LANES);
        all > 0
            && match self.layout {
                // The powers of two are counted on below.
                FragmentLayout::Fragment => {
                    held >= all && all.is_power_of_two() && self.columns.is_power_of_two()
                }
                _ => held == all,
            }
    }

    /// Row and column of an element of a lane: a part of a register.
    #[inline(always)]
    fn place(self, lane: usize, register: usize, part: usize) -> (usize, usize) {
        let per = self.number.per_register();
        let (group, within) = (lane / 4, lane % 4);
        // Registers alternate in the rows, eight apart; then they go on in the columns.
        let turns = self.rows / 8;
        match self.layout {
            FragmentLayout::Left => {
                (group + 8 * (register % turns), within * per + part + register / turns * 4 * per)
            }
            FragmentLayout::Right => (within * per + part + register * 4 * per, group),
            FragmentLayout::Sums => {
                let element = register * per + part;
                let block = element / 2;
                (group + 8 * (block % turns), within * 2 + element % 2 + 8 * (block / turns))
            }
            FragmentLayout::Fragment => {
                let at = ((lane * self.registers + register) * per + part) & (self.rows * self.columns - 1);
                (at >> self.columns.trailing_zeros(), at & (self.columns - 1))
            }
        }
    }

    /// Calls a function for all elements: with the lane, where the lane has it, and its position in the
    /// matrix.
    #[inline(always)]
    pub(super) fn each(self, mut f: impl FnMut(usize, Held, (usize, usize))) {
        let (per, width) = (self.number.per_register(), self.number.bits() as usize);
        for register in 0..self.registers {
            for part in 0..per {
                let held = Held { register, shift: part * width };
                (0..LANES).for_each(|lane| f(lane, held, self.place(lane, register, part)));
            }
        }
    }

    /// The matrix, row after row.
    pub(super) fn read(self, table: &[[u64; LANES]]) -> Vec<f64> {
        macro_rules! one_loop_for_each {
            ($($number:ident),*) => {
                match self.number {
                    $(Number::$number => self.values(table, |bits| Number::$number.value(bits)),)*
                    number => self.values(table, |bits| number.value(bits)),
                }
            };
        }
        one_loop_for_each!(F16, Bf16, Tf32, F32, F64, S8, U8, S32)
    }

    #[inline(always)]
    fn values(self, table: &[[u64; LANES]], value: impl Fn(u64) -> f64) -> Vec<f64> {
        let mut out = vec![0.0; self.rows * self.columns];
        self.each(|lane, held, (row, column)| {
            out[row * self.columns + column] = value(self.bits(table, lane, held));
        });
        out
    }

    /// The bits of an element of a lane.
    #[inline(always)]
    fn bits(self, table: &[[u64; LANES]], lane: usize, held: Held) -> u64 {
        table[held.register][lane] >> held.shift & (u64::MAX >> (64 - self.number.bits()))
    }

    /// Sets an element of a lane. The table held zeros.
    #[inline(always)]
    pub(super) fn set(self, table: &mut [[u64; LANES]], lane: usize, held: Held, bits: u64) {
        table[held.register][lane] |= bits << held.shift;
    }
}

/// Where a lane has an element.
#[derive(Clone, Copy)]
pub(super) struct Held {
    register: usize,
    shift: usize,
}

/// Adds the product of two matrices to a third one. In 64 bits a product of two narrower numbers is exact.
#[inline(always)]
fn add_product(a: &[f64], b: &[f64], sums: &mut [f64], inner: usize, columns: usize) {
    for (a, sums) in a.chunks_exact(inner).zip(sums.chunks_exact_mut(columns)) {
        for (factor, b) in a.iter().zip(b.chunks_exact(columns)) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = factor.mul_add(*b, *sum);
            }
        }
    }
}

/// The same for processors with fused multiplication.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn add_product_fused(a: &[f64], b: &[f64], sums: &mut [f64], inner: usize, columns: usize) {
    add_product(a, b, sums, inner, columns);
}

impl Multiply {
    /// The result's registers.
    fn run(&self, table: &[[u64; LANES]]) -> Table {
        let (a, rest) = table.split_at(self.a.registers);
        let (b, c) = rest.split_at(self.b.registers);
        let (a, b, mut sums) = (self.a.read(a), self.b.read(b), self.c.read(c));
        let (inner, columns) = (self.a.columns, self.b.columns);
        #[cfg(target_arch = "x86_64")]
        let product = if super::file::vectors::available() {
            // SAFETY: the processor was just asked whether it has the instructions.
            |a: &[f64], b: &[f64], sums: &mut [f64], inner, columns| unsafe {
                add_product_fused(a, b, sums, inner, columns);
            }
        } else {
            add_product
        };
        #[cfg(not(target_arch = "x86_64"))]
        let product = add_product;
        product(&a, &b, &mut sums, inner, columns);
        let mut out = vec![[0; LANES]; self.d.registers];
        self.d.each(|lane, held, (row, column)| {
            let sum = self.d.number.rounded(sums[row * columns + column], self.saturates);
            self.d.set(&mut out, lane, held, sum);
        });
        out
    }
}

impl Warp {
    /// Packs registers into the table, from a place on.
    pub(super) fn pack_fragment(&mut self, first: u8, wide: bool, s: &Slots, mask: u32) {
        let used = s.iter().take_while(|slot| **slot != NONE);
        for (at, &slot) in (usize::from(first)..).zip(used) {
            if self.table.len() <= at {
                self.table.resize(at + 1, [0; LANES]);
            }
            let row =
                if wide { *u64::row(&self.file, slot) } else { u32::row(&self.file, slot).map(u64::from) };
            u64::blend(&mut self.table[at], &row, mask);
        }
    }

    /// Takes registers from the table, from a place on.
    pub(super) fn unpack_fragment(&mut self, first: u8, wide: bool, s: &Slots, mask: u32) {
        let used = s.iter().take_while(|slot| **slot != NONE);
        for (row, &slot) in self.table.iter().skip(usize::from(first)).zip(used) {
            if wide {
                u64::put(&mut self.file, slot, mask, row);
            } else {
                u32::put(&mut self.file, slot, mask, &row.map(low));
            }
        }
    }

    /// Runs a matrix operation, in which all lanes take part.
    pub(super) fn matrix(
        &mut self,
        cx: &mut Context<'_>,
        matrix: &Matrix,
        s: &Slots,
        group: &mut Group,
        mask: u32,
    ) -> Result<Flow> {
        self.split(group, mask);
        if !self.reconverge(group, FULL) {
            return Ok(Flow::Leave);
        }
        let live = group.mask;
        match *matrix {
            Matrix::LoadRows(a, count, order) => self.load_rows(cx, (a, count, order), s, live)?,
            Matrix::StoreRows(a, count, order) => self.store_rows(cx, (a, count, order), s, live)?,
            Matrix::Transpose => {
                let rows = self.table[0];
                for lane in 0..LANES {
                    self.table[0][lane] =
                        pair(lane, Order::Columns, |row, column| half_of(&rows, row, column));
                }
            }
            Matrix::Load(access, tile, order) => {
                let mut out = vec![[0; LANES]; tile.registers];
                self.each(cx, access, tile, order, s, AccessKind::Read, |at, lane, held| {
                    let bits = super::bytes::read(at, access.element);
                    tile.set(&mut out, lane, held, bits);
                })?;
                self.table = out;
            }
            Matrix::Store(access, tile, order) => {
                let table = std::mem::take(&mut self.table);
                self.each(cx, access, tile, order, s, AccessKind::Write, |at, lane, held| {
                    super::bytes::write(at, access.element, tile.bits(&table, lane, held));
                })?;
            }
            Matrix::Multiply(multiply) => {
                fidelity::note(Limit::TensorSums);
                self.table = multiply.run(&self.table);
            }
            Matrix::Product(warpgroup) => {
                fidelity::note(Limit::TensorSums);
                self.ask_product(cx, warpgroup, s)?;
            }
            Matrix::ProductFence => self.fence_products(),
            Matrix::CloseProducts => self.close_products(),
            Matrix::WaitForProducts(left) => self.wait_for_products(cx, Until::Groups(left))?,
        }
        group.pc += 1;
        Ok(Flow::Next)
    }

    fn load_rows(&mut self, cx: &mut Context<'_>, (a, count, order): Rows, s: &Slots, live: u32) -> Result {
        let addresses = self.addresses(a, s[4]);
        let mut out = vec![[0; LANES]; usize::from(count)];
        for (number, register) in out.iter_mut().enumerate() {
            let mut rows = [0; LANES];
            for row in 0..8 {
                let (lane, words) = (number * 8 + row, row * 4);
                if live >> lane & 1 == 0 {
                    continue;
                }
                let at = self.reach(cx, a, addresses[lane], (ROW, ROW), lane, AccessKind::Read)?;
                for word in 0..4 {
                    rows[words + word] = u64::from(super::bytes::read32(at.wrapping_add(word * 4)));
                }
            }
            for lane in lanes(live) {
                register[lane] = pair(lane, order, |row, column| half_of(&rows, row, column));
            }
        }
        self.table = out;
        Ok(())
    }

    fn store_rows(&mut self, cx: &mut Context<'_>, (a, count, order): Rows, s: &Slots, live: u32) -> Result {
        let addresses = self.addresses(a, s[4]);
        for number in 0..usize::from(count) {
            let rows = self.table[number];
            for row in 0..8 {
                let lane = number * 8 + row;
                if live >> lane & 1 == 0 {
                    continue;
                }
                let at = self.reach(cx, a, addresses[lane], (ROW, ROW), lane, AccessKind::Write)?;
                for column in 0..8 {
                    let element = match order {
                        Order::Rows => half_of(&rows, row, column),
                        Order::Columns => half_of(&rows, column, row),
                    };
                    super::bytes::write(at.wrapping_add(column * 2), super::program::Element::U16, element);
                }
            }
        }
        Ok(())
    }

    /// Finds the place in memory of each element of a fragment.
    #[expect(clippy::too_many_arguments, reason = "as above")]
    fn each(
        &mut self,
        cx: &mut Context<'_>,
        access: Access,
        tile: Tile,
        order: Order,
        s: &Slots,
        kind: AccessKind,
        mut f: impl FnMut(*mut u8, usize, Held),
    ) -> Result {
        let (first, apart) = (self.addresses(access, s[4]), *u32::row(&self.file, s[3]));
        let size = u64::from(access.element.size());
        let one = Access { count: 1, offset: 0, ..access };
        let (per, width) = (tile.number.per_register(), tile.number.bits() as usize);
        for (register, part) in
            (0..tile.registers).flat_map(|register| (0..per).map(move |part| (register, part)))
        {
            let held = Held { register, shift: part * width };
            let addresses = core::array::from_fn(|lane| {
                let (row, column) = tile.place(lane, register, part);
                let (line, along) = match order {
                    Order::Rows => (row, column),
                    Order::Columns => (column, row),
                };
                let elements = u64::from(apart[lane]) * line as u64 + along as u64;
                first[lane].wrapping_add(elements * size)
            });
            if let Some(near) = self.near_to(cx, one, &addresses, self.live, kind != AccessKind::Read)
                && !cx.watched
                && !cx.traced
            {
                lanes(self.live).for_each(|lane| f(near.pointer(lane), lane, held));
                continue;
            }
            for lane in lanes(self.live) {
                f(self.reach(cx, access, addresses[lane], (size, size), lane, kind)?, lane, held);
            }
        }
        Ok(())
    }
}

/// The element of 16 bits of a small matrix, four lanes to a row and two elements to a lane.
fn half_of(rows: &[u64; LANES], row: usize, column: usize) -> u64 {
    rows[row * 4 + column / 2] >> (column % 2 * 16) & 0xFFFF
}

/// The two elements of a lane, or those of the transposed matrix.
fn pair(lane: usize, order: Order, element: impl Fn(usize, usize) -> u64) -> u64 {
    let (row, column) = (lane / 4, lane % 4 * 2);
    match order {
        Order::Rows => element(row, column) | element(row, column + 1) << 16,
        Order::Columns => element(column, row) | element(column + 1, row) << 16,
    }
}
