//! What a search for a bound keeps: bounds that were found, and a point that it tries.

use super::affine::Symbol;

/// A bound that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) most: Option<i128>,
    /// Whether the search came to its end. Otherwise the bound was good enough.
    pub(super) is_least: bool,
}

/// A value for each of some symbols.
#[derive(Debug, Default)]
pub(super) struct Witness {
    /// The number of the point that a value belongs to, and the value.
    values: Vec<(u64, i128)>,
    number: u64,
}

impl Witness {
    pub(super) fn clear(&mut self, count: usize) {
        self.number += 1;
        if self.values.len() < count {
            self.values.resize(count, (0, 0));
        }
    }

    pub(super) fn get(&self, symbol: Symbol) -> Option<i128> {
        let (number, value) = self.values[symbol as usize];
        (number == self.number).then_some(value)
    }

    pub(super) fn set(&mut self, symbol: Symbol, value: i128) {
        self.values[symbol as usize] = (self.number, value);
    }
}
