//! Predicates: comparisons of affine expressions, and what is made of them.

use std::rc::Rc;

use super::affine::Affine;
use crate::ir::Op;

/// A predicate.
#[derive(Debug, PartialEq)]
pub(crate) enum Test {
    Unknown,
    /// It is made of a value that may differ at each use, and so may the test.
    Unstable,
    Is(bool),
    /// The operation is `Eq` to `Ge`.
    Compare {
        op: Op,
        bits: u8,
        is_signed: bool,
        a: Affine,
        b: Affine,
    },
    Not(Rc<Self>),
    /// Both hold; how many tests stand one within another, and whether one of them may differ at each use.
    And(Rc<Self>, Rc<Self>, u8, bool),
}

impl Test {
    /// Returns whether each use may see another outcome.
    pub(crate) fn is_unstable(&self) -> bool {
        match self {
            Self::Unstable => true,
            Self::Not(inner) => inner.is_unstable(),
            Self::And(.., is_unstable) => *is_unstable,
            Self::Unknown | Self::Is(_) | Self::Compare { .. } => false,
        }
    }
}
