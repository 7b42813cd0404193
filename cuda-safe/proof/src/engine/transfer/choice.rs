//! Transfer functions of values that are one of two: `selp`, `min`, `max`, and what is compiled to them.

use std::rc::Rc;

use crate::domain::{Affine, Extreme, Kept, State, Test, Value};
use crate::effort::{COMPARED, LIGHT};
use crate::engine::analysis::Analysis;
use crate::ir::{Op, Operand, Origin, Step};

/// A test, and the values where it holds and where it does not.
pub(crate) type Chosen = (Rc<Test>, Affine, Affine);

impl Analysis<'_> {
    /// Returns the smaller one of two numbers, or the larger one. Two pairs with the same difference have
    /// values that follow from each other: `min(a, b)` is `b + min(a - b, 0)`, and `max(a, b)` is
    /// `a - min(a - b, 0)`.
    pub(super) fn extreme(&mut self, state: &mut State, step: &Step, a: Affine, b: Affine) -> Option<Affine> {
        let is_least = step.op == Op::Min;
        let ordered = Kept::ordered(&a, &b).filter(|(.., difference)| !self.symbols.is_unstable(difference));
        if let Some((first, second, difference)) = &ordered
            && let Some(lesser) = state.kept.lesser(difference)
        {
            return if is_least { second.plus(lesser, 1) } else { first.plus(lesser, -1) };
        }
        let (first, second) = if is_least { (&a, &b) } else { (&b, &a) };
        let test = Test::Compare {
            op: Op::Le,
            bits: step.bits,
            is_signed: step.is_signed,
            a: first.clone(),
            b: second.clone(),
        };
        let made = self.symbols.count();
        let value = self.choose(state, &test, &a, &b)?;
        if let ([(symbol, 1)], Some(first), Some(second)) =
            (&value.terms[..], a.add(-value.constant), b.add(-value.constant))
            && *symbol as usize >= made
            && ![&value, &first, &second]
                .iter()
                .any(|it| self.symbols.is_unstable(it) || self.symbols.has_region(it))
        {
            self.symbols.set_extreme(*symbol, Extreme { is_larger: !is_least, of: [first, second] });
        }
        if let Some((first, second, difference)) = ordered
            && [&a, &b].iter().all(|it| **it != value)
            && !self.symbols.is_unstable(&value)
        {
            let lesser = if is_least { value.plus(second, -1) } else { first.plus(&value, -1) };
            if let Some(lesser) = lesser {
                state.kept.keep_lesser(difference, lesser);
            }
        }
        Some(value)
    }

    /// Returns `a` where the test holds, and `b` where it does not.
    pub(super) fn choose(
        &mut self,
        state: &mut State,
        test: &Test,
        a: &Affine,
        b: &Affine,
    ) -> Option<Affine> {
        let (mut one, mut other) = (state.case(), state.case());
        match (self.assume(&mut one, test, true), self.assume(&mut other, test, false)) {
            (true, true) if a == b => Some(a.clone()),
            (true, true) => match b.plus(a, -1).and_then(|it| it.as_constant()) {
                Some(step) if !self.symbols.is_unstable(a) && !test.is_unstable() => {
                    let case = self.case_of(state, test, (&one, &other));
                    a.plus(&case, step)
                }
                _ => self.symbols.join_values(state, (&one, a), (&other, b), test.is_unstable()),
            },
            (true, false) => Some(a.clone()),
            _ => Some(b.clone()),
        }
    }

    /// Makes a number that is 0 where a test holds and else 1, with what both cases know of the expressions
    /// that the test compares: each bound is a line through the bounds of the two cases.
    fn case_of(&mut self, state: &mut State, test: &Test, (one, other): (&State, &State)) -> Affine {
        let case = self.symbols.fresh(0, 1, Origin::Exact, (0, 0));
        let mut open = vec![test];
        let mut left = COMPARED;
        while let Some(test) = open.pop().filter(|_| left > 0) {
            left -= 1;
            match test {
                Test::Not(inner) => open.push(inner),
                Test::And(first, second, ..) => open.extend([&**first, &**second]),
                Test::Compare { a, b, .. } => {
                    for sign in [1, -1] {
                        let Some(expr) = a.plus(b, -1).and_then(|it| it.times(sign)) else { continue };
                        let mut high = |case: &State| self.symbols.high_or(case, &expr, LIGHT, i128::MIN);
                        let (Some(in_one), Some(in_other)) = (high(one), high(other)) else {
                            continue;
                        };
                        let slope = in_one.checked_sub(in_other).filter(|it| *it != 0);
                        if let Some(line) = slope.and_then(|slope| expr.plus(&case, slope)) {
                            self.symbols.assume(state, &line, in_one);
                        }
                    }
                }
                Test::Unknown | Test::Unstable | Test::Is(_) => {}
            }
        }
        case
    }

    /// Returns the test and the values of a step that chooses between addresses that count from different
    /// things.
    pub(crate) fn chosen_pointers(&self, state: &State, step: &Step) -> Option<Chosen> {
        let (Op::Selp, None, [Operand::Register(a), Operand::Register(b), test]) =
            (step.op, step.guard, &step.from[..])
        else {
            return None;
        };
        let number = |register: &u32| match state.registers.get(*register as usize) {
            Some(Value::Number(expr)) if !self.symbols.is_unstable(expr) => Some(expr.clone()),
            _ => None,
        };
        let (a, b) = (number(a)?, number(b)?);
        (!self.symbols.has_same_region(&a, &b)).then(|| (self.test(state, *test), a, b))
    }
}
