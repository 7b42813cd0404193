//! What warps have requested and what is not made yet: copies, bulk copies and products.

use std::collections::VecDeque;

use super::file::LANES;
use super::program::{AsyncCopy, BulkCopy, Until};
use super::tensor::{RANK, TensorMap};
use super::tile::Warpgroup;

/// A requested copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) copy: AsyncCopy,
    pub(super) to: u64,
    pub(super) from: u64,
    /// The number of bytes to read, and to write.
    pub(super) bytes: (u64, u64),
    pub(super) pc: u32,
}

/// The copies of a thread that it has not waited for.
#[derive(Clone, Debug)]
pub(super) struct Later<T> {
    /// Those that are in no group yet.
    pub(super) open: Vec<T>,
    groups: VecDeque<Vec<T>>,
}

impl<T> Later<T> {
    pub(super) const NOTHING: Self = Self { open: Vec::new(), groups: VecDeque::new() };

    /// Makes a group of the open ones.
    pub(super) fn close(&mut self) {
        self.groups.push_back(std::mem::take(&mut self.open));
    }

    /// Takes those that must be made, the oldest first.
    pub(super) fn due(&mut self, until: Until) -> Vec<T> {
        let left = if let Until::Groups(left) = until { left as usize } else { 0 };
        let count = self.groups.len().saturating_sub(left);
        let mut due: Vec<T> = self.groups.drain(..count).flatten().collect();
        if until == Until::All {
            due.append(&mut self.open);
        }
        due
    }

    /// All of them, the oldest first.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.groups.iter_mut().flatten().chain(&mut self.open)
    }
}

/// A bulk copy that is requested and not yet made.
#[derive(Clone, Debug)]
pub(super) struct Bulk {
    pub(super) copy: BulkCopy,
    pub(super) to: u64,
    pub(super) from: u64,
    /// The number of bytes that a barrier counts.
    pub(super) bytes: u64,
    pub(super) tensor: Option<Box<(TensorMap, [i32; RANK])>>,
    /// The barrier, in the window of the cluster.
    pub(super) barrier: u64,
    pub(super) pc: u32,
}

/// A product that is not made yet.
#[derive(Clone, Debug)]
pub(super) struct Product {
    pub(super) warpgroup: Warpgroup,
    /// Its number among those of the warp.
    pub(super) number: u64,
    /// The matrices in shared memory; the first may be in registers.
    pub(super) places: [Option<u64>; 2],
    pub(super) registers: Vec<[u64; LANES]>,
    /// What is added.
    pub(super) sums: Vec<[u64; LANES]>,
    pub(super) adds: bool,
    /// The mark of its first register.
    pub(super) first: u32,
    pub(super) pc: u32,
}

/// The products of a warp that it has not waited for.
#[derive(Debug)]
pub(super) struct Products {
    pub(super) later: Later<Product>,
    pub(super) count: u64,
    pub(super) marks: u32,
    pub(super) fenced: bool,
}

impl Products {
    pub(super) const NOTHING: Self = Self { later: Later::NOTHING, count: 0, marks: 0, fenced: false };
}

/// The matrices of a product, as the first warp of a warpgroup has read them.
#[derive(Debug)]
pub(super) struct Matrices {
    pub(super) warpgroup: u32,
    pub(super) number: u64,
    pub(super) pc: u32,
    pub(super) places: [Option<u64>; 2],
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
    /// The warps that have not taken them.
    pub(super) remaining: u32,
}
