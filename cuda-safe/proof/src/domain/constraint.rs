//! Linear constraints between symbols.

use super::affine::{Affine, Symbol, Terms, floor};

/// `terms <= bound`.
#[derive(Clone, Debug)]
pub(super) struct Constraint {
    pub(super) terms: Terms,
    pub(super) bound: i128,
    /// It holds for all values of the symbols, as the definition of a quotient does.
    pub(super) is_definition: bool,
    /// Its symbols and their signs.
    pub(super) signs: u64,
}

impl Constraint {
    pub(super) fn new(terms: Terms, bound: i128, is_definition: bool) -> Self {
        Self { signs: signs(&terms), terms, bound, is_definition }
    }
}

/// Returns the bit of a symbol in a set that may have others, too.
pub(super) fn mark(symbol: Symbol) -> u64 {
    1 << (symbol % 64)
}

/// Returns a bit for each symbol and its sign. Terms without a common bit have no common symbol and sign.
pub(super) fn signs(terms: &[(Symbol, i128)]) -> u64 {
    terms.iter().fold(0, |all, (symbol, factor)| all | 1 << ((symbol * 2 + u32::from(*factor > 0)) % 64))
}

/// Returns the bits of the same symbols with the other signs: each symbol has two bits.
pub(super) fn opposite(signs: u64) -> u64 {
    (signs & NEGATIVE) << 1 | (signs >> 1) & NEGATIVE
}

/// Returns the terms of an expression and its bound without their common divisor and the constant.
pub(super) fn reduced(expr: &Affine, bound: i128) -> (Terms, i128) {
    match expr.divisor() {
        0 | 1 => (expr.terms.clone(), bound),
        common => {
            let terms = expr.terms.iter().map(|(symbol, factor)| (*symbol, floor(*factor, common)));
            (terms.collect(), floor(bound, common))
        }
    }
}

/// Among the bits of `signs`, those of negative factors.
const NEGATIVE: u64 = 0x5555_5555_5555_5555;
