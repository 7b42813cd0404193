//! Joins of states, and trace partitioning: states that differ in a flag or in what an address counts from
//! are kept apart, as far as the budget goes.

use std::rc::Rc;

use crate::domain::{Affine, State, Test, Value};
use crate::effort::PARTITIONS;
use crate::engine::interpreter::Interpreter;

impl Interpreter<'_, '_> {
    /// Returns states of which one holds wherever one of those that are given does: a single one, unless they
    /// are kept apart.
    pub(super) fn partition(&mut self, states: Vec<State>, block: usize) -> Vec<State> {
        let mut groups: Vec<State> = Vec::new();
        for state in states {
            let near = groups.iter().position(|group| !self.belong_apart(group, &state, block));
            self.could_partition |= near.is_none() && !groups.is_empty();
            let joins = if self.analysis.is_partitioned && groups.len() < PARTITIONS {
                near
            } else {
                near.or(groups.len().checked_sub(1))
            };
            match joins {
                Some(at) => groups[at] = self.join(&groups[at], &state, Some(block), false),
                None => groups.push(state),
            }
        }
        groups
    }

    /// Returns a state that holds wherever one of the states does.
    pub(crate) fn join_all(&mut self, states: Vec<State>, block: usize) -> Option<State> {
        states.into_iter().reduce(|one, other| self.join(&one, &other, Some(block), false))
    }

    /// Returns whether states differ in a flag, or in what an address counts from, which the block needs.
    fn belong_apart(&self, one: &State, other: &State, block: usize) -> bool {
        let live = &self.graph.blocks[block].live;
        one.registers.iter().zip(&other.registers).enumerate().any(|(register, pair)| match pair {
            (Value::Number(a), Value::Number(b)) if a != b && live.contains(register) => {
                let is_flag = |it: &Affine| matches!(it.as_constant(), Some(0 | 1));
                is_flag(a) && is_flag(b) || !self.analysis.symbols.has_same_region(a, b)
            }
            (Value::Test(a), Value::Test(b)) if live.contains(register) => {
                matches!((&**a, &**b), (Test::Is(a), Test::Is(b)) if a != b)
            }
            _ => false,
        })
    }

    /// Joins two states. `is_unstable` says that each use of a value may be in the other one of the two.
    pub(super) fn join(
        &mut self,
        one: &State,
        other: &State,
        block: Option<usize>,
        is_unstable: bool,
    ) -> State {
        self.count_registers();
        let mut both = self.analysis.symbols.join_constraints(one, other);
        let pairs = one.registers.iter().zip(&other.registers).enumerate();
        let mut registers = Vec::with_capacity(one.registers.len());
        for (register, pair) in pairs {
            let is_needed = block.is_none_or(|block| self.graph.blocks[block].live.contains(register));
            registers.push(match pair {
                _ if !is_needed || self.is_spent() => Value::Unset,
                (one, other) if one == other => one.clone(),
                (Value::Number(a), Value::Number(b)) => {
                    let join_values =
                        self.analysis.symbols.join_values(&mut both, (one, a), (other, b), is_unstable);
                    // The value is one of the two, but may be anything.
                    join_values.map_or(Value::Unset, Value::Number)
                }
                (Value::Test(_), Value::Test(_)) => Value::Test(Rc::new(Test::Unknown)),
                _ => Value::Unset,
            });
        }
        both.registers = registers;
        both.kept = one.kept.common(&other.kept);
        both
    }
}
