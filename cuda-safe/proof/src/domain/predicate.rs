//! Predicates: comparisons of affine expressions, and what is made of them.

use std::rc::Rc;

use super::affine::Affine;
use crate::ir::Op;

/// A predicate.
#[derive(Debug, PartialEq)]
pub(crate) enum Test {
    Unknown,
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
    /// Both hold; how many tests stand one within another.
    And(Rc<Self>, Rc<Self>, u8),
}
