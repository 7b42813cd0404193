//! Candidate invariants: the tests of a loop say which relations are worth a check.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::domain::{Affine, State, Symbol, Test};
use crate::effort::{CANDIDATE_TERMS, ENDS, TESTS};
use crate::engine::interpreter::Interpreter;
use crate::engine::widening::{Claim, LoopRegister};

/// Adds a candidate, unless it is long or known.
fn push(candidates: &mut Vec<(Affine, i128)>, expr: Option<Affine>, bound: i128) {
    if let Some(expr) = expr.filter(|expr| expr.terms.len() <= CANDIDATE_TERMS)
        && !candidates.iter().any(|it| (&it.0, it.1) == (&expr, bound))
    {
        candidates.push((expr, bound));
    }
}

impl Interpreter<'_, '_> {
    /// Makes candidates from the tests at branches, and keeps those that hold before the loop.
    pub(super) fn candidates(
        &mut self,
        entry: &State,
        registers: &mut [LoopRegister],
        rounds: Symbol,
        oldest: usize,
    ) -> Vec<(Affine, i128)> {
        let compared = self.compared_in_loop(registers, rounds);
        let own: BTreeSet<Symbol> = registers
            .iter()
            .filter(|it| !matches!(it.claim, Claim::Induction(_)))
            .map(|it| it.symbol)
            .collect();
        let is_known =
            |symbol: Symbol| symbol == rounds || (symbol as usize) < oldest || own.contains(&symbol);
        let mut candidates = Vec::new();
        for mut expr in compared {
            // What was read of a register that may wrap is an expression minus multiples of a power of two:
            // one that does not is a candidate.
            expr.terms.retain(|(symbol, own)| is_known(*symbol) || *own % (1 << 32) != 0);
            let factor = expr.coefficient(rounds);
            if factor == 0
                || !expr.terms.iter().all(|(symbol, _)| is_known(*symbol))
                || self.analysis.symbols.has_region(&expr)
            {
                continue;
            }
            let step = expr.divisor().max(1);
            for expr in [expr.add(-factor), Some(expr)] {
                for sign in [1, -1] {
                    for bound in [0, -step] {
                        push(&mut candidates, expr.as_ref().and_then(|it| it.times(sign)), bound);
                    }
                }
            }
        }
        // Two ends of a range that come nearer: nobody compares them but at the back edge.
        let end = |it: &LoopRegister| match &it.claim {
            Claim::Interval(from, 1, Some(_)) => Some((from.plus(&Affine::symbol(it.symbol), 1)?, it.bits)),
            _ => None,
        };
        let ends: Vec<(Affine, u8)> = registers.iter().filter_map(end).collect();
        if ends.len() <= ENDS {
            for (one, bits) in &ends {
                for (other, _) in ends.iter().filter(|it| it.0 != *one) {
                    if ends.iter().all(|it| it.1 == *bits) {
                        push(&mut candidates, one.plus(other, -1), -1);
                    }
                }
            }
        }
        candidates.retain(|(expr, bound)| {
            let start = at_entry(expr, registers, rounds);
            start.is_some_and(|start| self.analysis.symbols.is_at_most(entry, &start, *bound))
        });
        candidates
    }

    /// Returns the differences of what the tests in a loop compare, in terms of its rounds. The registers
    /// learn the numbers that they are compared with.
    fn compared_in_loop(&mut self, registers: &mut [LoopRegister], rounds: Symbol) -> Vec<Affine> {
        let count = Affine::symbol(rounds);
        let mut exprs = Vec::new();
        let mut open = std::mem::take(&mut self.tests);
        let mut left = TESTS;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match &*test {
                Test::Not(one) => open.push(Rc::clone(one)),
                Test::And(one, other, ..) => open.extend([Rc::clone(one), Rc::clone(other)]),
                Test::Compare { a, b, .. } => {
                    let mut expr = a.plus(b, -1);
                    for one in &mut *registers {
                        one.note_threshold(expr.as_ref());
                        if let Claim::Induction(step) = one.claim {
                            let distance = count.times(step);
                            expr = expr
                                .zip(distance)
                                .and_then(|(expr, distance)| expr.replace(one.symbol, &distance));
                        }
                    }
                    exprs.extend(expr);
                }
                Test::Unknown | Test::Unstable | Test::Is(_) => {}
            }
        }
        exprs
    }
}

/// Returns an expression over the header's symbols as it is before the loop.
fn at_entry(expr: &Affine, registers: &[LoopRegister], rounds: Symbol) -> Option<Affine> {
    let mut expr = expr.replace(rounds, &Affine::constant(0))?;
    for one in registers {
        if expr.coefficient(one.symbol) == 0 {
            continue;
        }
        let distance = match &one.claim {
            Claim::Interval(from, 1, _) => one.before.plus(from, -1)?,
            _ => Affine::constant(0),
        };
        expr = expr.replace(one.symbol, &distance)?;
    }
    Some(expr)
}
