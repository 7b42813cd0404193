//! What is known at a point of a kernel: a value for each register, an interval for each symbol, and linear
//! constraints between symbols. States are a lattice: ordered by the runs that they allow, and joined.

use std::rc::Rc;

use super::affine::{Affine, Symbol};
use super::constraint::Constraint;
use super::predicate::Test;
use super::stack::Kept;

/// The value of a register.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    /// It may not have been written: each use may see another value.
    Unset,
    Number(Affine),
    Test(Rc<Test>),
}

/// The constraints are private: they change only by what [`Symbols`] assumes.
#[derive(Clone, Debug, Default)]
pub(crate) struct State {
    pub(crate) registers: Vec<Value>,
    /// Ranges that are narrower than those of the symbols, by symbol.
    pub(super) intervals: Vec<(Symbol, i128, i128)>,
    /// A bit for each symbol that has such a range, and for others.
    pub(super) has_interval: u64,
    pub(super) constraints: Rc<Vec<Constraint>>,
    pub(crate) kept: Kept,
    /// States of one number have the same intervals and constraints.
    pub(super) number: u64,
}

impl State {
    pub(crate) fn new(registers: Vec<Value>) -> Self {
        Self { registers, ..Self::default() }
    }

    /// Returns the constraints without the registers, for a case that is only looked into.
    pub(crate) fn case(&self) -> Self {
        Self {
            registers: Vec::new(),
            intervals: self.intervals.clone(),
            constraints: Rc::clone(&self.constraints),
            kept: Kept::default(),
            ..*self
        }
    }

    /// Returns the constraints, which this state alone has from now on.
    pub(super) fn constraints_mut(&mut self) -> &mut Vec<Constraint> {
        if Rc::get_mut(&mut self.constraints).is_none() {
            let mut own = Vec::with_capacity(self.constraints.len() + 4);
            own.extend_from_slice(&self.constraints);
            self.constraints = Rc::new(own);
        }
        Rc::make_mut(&mut self.constraints)
    }

    /// Takes the constraints of a case.
    pub(crate) fn set_constraints(&mut self, case: Self) {
        (self.intervals, self.has_interval) = (case.intervals, case.has_interval);
        (self.constraints, self.number) = (case.constraints, case.number);
    }
}
