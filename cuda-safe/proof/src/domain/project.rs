//! Projection: constraints about symbols that nothing uses are forgotten when there is no more room.

use std::rc::Rc;

use super::affine::{Symbol, Terms};
use super::constraint::Constraint;
use super::predicate::Test;
use super::state::{State, Value};
use super::symbol::{Definition, Symbols};
use crate::effort::{CONSTRAINTS, PROJECTIONS, ROOM};

impl Symbols {
    /// Makes room for the constraints of a step. Cases of it have no registers, so they do not know what is
    /// used.
    pub(crate) fn make_room(&mut self, state: &mut State) {
        if state.constraints.len() + ROOM > CONSTRAINTS {
            self.project(state);
        }
    }

    /// Forgets definitions of quotients that no register and no other constraint has: whoever divides again
    /// has them again.
    pub(super) fn project(&mut self, state: &mut State) {
        if state.registers.is_empty() || self.sweeps == PROJECTIONS {
            return;
        }
        self.sweeps += 1;
        self.work += state.registers.len() as u64 / 8;
        let mut used = vec![false; self.known.len()];
        let mut mark = |terms: &Terms| terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        let mut tests = Vec::new();
        state.kept.exprs().for_each(|expr| mark(&expr.terms));
        for value in &state.registers {
            match value {
                Value::Number(expr) => mark(&expr.terms),
                Value::Test(test) => tests.push(&**test),
                Value::Unset => {}
            }
        }
        while let Some(test) = tests.pop() {
            match test {
                Test::Compare { a, b, .. } => [a, b].iter().for_each(|it| mark(&it.terms)),
                Test::Not(one) => tests.push(one),
                Test::And(one, other, ..) => tests.extend([&**one, &**other]),
                Test::Unknown | Test::Unstable | Test::Is(_) => {}
            }
        }
        let is_unused_extreme = |(symbol, _): &(Symbol, i128)| {
            !used[*symbol as usize]
                && matches!(self.known[*symbol as usize].definition, Definition::Extreme(_))
        };
        Rc::make_mut(&mut state.constraints).retain(|it| !it.terms.iter().any(is_unused_extreme));
        let is_quotient =
            |symbol: Symbol| matches!(self.known[symbol as usize].definition, Definition::Floor(_));
        let is_unused = |used: &[bool], symbol: Symbol| !used[symbol as usize] && is_quotient(symbol);
        for constraint in state.constraints.iter().filter(|it| !it.is_definition) {
            constraint.terms.iter().for_each(|(symbol, _)| used[*symbol as usize] = true);
        }
        let is_definition_of_unused =
            |it: &Constraint| it.is_definition && it.terms.iter().any(|it| is_unused(&used, it.0));
        Rc::make_mut(&mut state.constraints).retain(|it| !is_definition_of_unused(it));
        self.changes(state);
    }
}
