//! Matrices in registers, and products of them.

use super::number::Number;

/// A product of a matrix of 64 rows, a quarter of them for each warp, and one in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Warpgroup {
    /// The columns of the product.
    pub(crate) n: usize,
    /// The elements of the factors.
    pub(crate) numbers: [Number; 2],
    /// The elements of the product.
    pub(crate) sum: Number,
    /// The registers of the first factor; 0 if it is in shared memory.
    pub(crate) left: usize,
    /// Which elements of the factors lie beside each other: those of a row of the first factor and of a
    /// column of the second, or not.
    pub(crate) orders: [Order; 2],
    /// Whether the factors are negated.
    pub(crate) negates: [bool; 2],
    /// Whether the predicate is negated.
    pub(crate) negated: bool,
    /// Whether integers stop at the largest and the smallest.
    pub(crate) saturates: bool,
}

/// Which elements lie beside each other in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Those of a row.
    Rows,
    /// Those of a column.
    Columns,
}

/// A matrix in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tile {
    /// Its rows.
    pub(crate) rows: usize,
    /// Its columns.
    pub(crate) columns: usize,
    /// Its elements.
    pub(crate) number: Number,
    /// Registers of each lane.
    pub(crate) registers: usize,
    /// The layout of the elements.
    pub(crate) layout: FragmentLayout,
}

/// Which lane has which elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FragmentLayout {
    /// The first factor of `mma`.
    Left,
    /// The second factor.
    Right,
    /// Sums.
    Sums,
    /// A fragment of `wmma`, whose layout is unspecified. Here it is lane after lane in the order of rows,
    /// and from the start again if lanes have more elements than the matrix.
    Fragment,
}

/// A product of two matrices, added to a third one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Multiply {
    /// The first factor.
    pub(crate) a: Tile,
    /// The second factor.
    pub(crate) b: Tile,
    /// The matrix that is added.
    pub(crate) c: Tile,
    /// The result, of the same rows and columns.
    pub(crate) d: Tile,
    /// Whether integers stop at the largest and the smallest.
    pub(crate) saturates: bool,
}
