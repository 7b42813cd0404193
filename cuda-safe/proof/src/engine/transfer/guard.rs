//! Tests: what a step computes of predicates, and what a state knows where a test has an outcome.

use std::rc::Rc;

use crate::domain::{Affine, State, Symbol, Test, Value, range_of, remainder};
use crate::effort::TEST_DEPTH;
use crate::engine::analysis::Analysis;
use crate::ir::{Op, Operand, Step};

impl Analysis<'_> {
    pub(crate) fn test(&self, state: &State, operand: Operand) -> Rc<Test> {
        let of = |register: u32| match state.registers.get(register as usize) {
            Some(Value::Test(test)) => Rc::clone(test),
            _ => Rc::new(Test::Unstable),
        };
        match operand {
            Operand::Register(register) => of(register),
            Operand::Negated(register) => not(&of(register)),
            Operand::Number(value) => Rc::new(Test::Is(value != 0)),
            _ => Rc::new(Test::Unknown),
        }
    }

    /// Adds to the state that a test has an outcome. Returns whether it can have it.
    pub(crate) fn assume(&mut self, state: &mut State, test: &Test, outcome: bool) -> bool {
        self.symbols.work += 1;
        match test {
            // Tests of the same tests are as many as the power of their depth.
            _ if self.symbols.work > self.limit => true,
            Test::Unknown | Test::Unstable => true,
            Test::Is(value) => *value == outcome,
            Test::Not(inner) => self.assume(state, inner, !outcome),
            Test::And(one, other, ..) if outcome => {
                self.assume(state, one, true) && self.assume(state, other, true)
            }
            Test::And(one, other, ..) => {
                let (mut first, mut second) = (state.case(), state.case());
                let constraints =
                    match (self.assume(&mut first, one, outcome), self.assume(&mut second, other, outcome)) {
                        (true, true) => self.symbols.join_constraints(&first, &second),
                        (true, false) => first,
                        (false, true) => second,
                        (false, false) => return false,
                    };
                state.set_constraints(constraints);
                true
            }
            Test::Compare { op, bits, is_signed, a, b } => {
                let op = match (op, outcome) {
                    (op, true) => *op,
                    (Op::Eq, _) => Op::Ne,
                    (Op::Ne, _) => Op::Eq,
                    (Op::Lt, _) => Op::Ge,
                    (Op::Le, _) => Op::Gt,
                    (Op::Gt, _) => Op::Le,
                    (_, _) => Op::Lt,
                };
                self.compare(state, op, (*bits, *is_signed), a, b)
            }
        }
    }

    fn compare(
        &mut self,
        state: &mut State,
        op: Op,
        (bits, is_signed): (u8, bool),
        a: &Affine,
        b: &Affine,
    ) -> bool {
        let mut is_signed = is_signed;
        if matches!(op, Op::Eq | Op::Ne) {
            // Either reading will do: take one that keeps both expressions.
            let mut keeps = |is_signed: bool| {
                let range = range_of(bits, is_signed);
                [a, b].iter().all(|expr| self.symbols.is_within(state, expr, range))
            };
            is_signed = keeps(true) || !keeps(false);
        }
        let a = self.symbols.reading(state, a, bits, is_signed);
        let b = self.symbols.reading(state, b, bits, is_signed);
        let (Some(over), Some(under)) = (a.plus(&b, -1), b.plus(&a, -1)) else { return true };
        let symbols = &mut self.symbols;
        match op {
            Op::Lt => symbols.assume(state, &over, -1),
            Op::Le => symbols.assume(state, &over, 0),
            Op::Gt => symbols.assume(state, &under, -1),
            Op::Ge => symbols.assume(state, &under, 0),
            Op::Eq => {
                let common = over.divisor();
                let is_possible =
                    if common == 0 { over.constant == 0 } else { remainder(over.constant, common) == 0 };
                if symbols.is_unstable(&over) {
                    return true;
                }
                let holds =
                    is_possible && symbols.assume(state, &over, 0) && symbols.assume(state, &under, 0);
                if holds {
                    self.substitute(state, &over);
                }
                holds
            }
            _ => {
                if let Some(value) = over.as_constant() {
                    return value != 0;
                }
                let Some((low, high)) = symbols.range(state, &over) else { return true };
                let step = over.divisor().max(1);
                match (low, high) {
                    (0, 0) => symbols.is_unstable(&over),
                    (0, _) if remainder(over.constant, step) == 0 => symbols.assume(state, &under, -step),
                    (_, 0) if remainder(over.constant, step) == 0 => symbols.assume(state, &over, -step),
                    _ => true,
                }
            }
        }
    }

    /// Puts what is known to be zero to use: the registers get expressions without the number of a loop's
    /// rounds. Where the loop was passed by, nobody knows that number.
    fn substitute(&self, state: &mut State, zero: &Affine) {
        let common = zero.divisor().max(1);
        let zero = Affine {
            constant: zero.constant / common,
            terms: zero.terms.iter().map(|(symbol, factor)| (*symbol, factor / common)).collect(),
        };
        let is_single =
            |(symbol, factor): &&(Symbol, i128)| factor.abs() == 1 && self.symbols.counts_rounds(*symbol);
        let Some((symbol, factor)) = zero.terms.iter().rev().find(is_single).copied() else { return };
        let Some(equal) = zero.times(-factor).and_then(|it| it.plus(&Affine::symbol(symbol), 1)) else {
            return;
        };
        for value in &mut state.registers {
            if let Value::Number(expr) = value
                && expr.coefficient(symbol) != 0
                && let Some(new) = expr.replace(symbol, &equal)
            {
                *expr = new;
            }
        }
    }

    pub(crate) fn predicate(&mut self, state: &mut State, step: &Step) -> Rc<Test> {
        match (step.op, &step.from[..]) {
            (Op::PredMov, [one]) => self.test(state, *one),
            (Op::PredAnd, [one, other]) => and(&self.test(state, *one), &self.test(state, *other)),
            (Op::PredOr, [one, other]) => or(&self.test(state, *one), &self.test(state, *other)),
            (Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge, [a, b])
                if self.is_partitioned || !step.flag =>
            {
                let (a, b) = (self.number(state, *a, step.at), self.number(state, *b, step.at));
                if self.symbols.is_unstable(&a) || self.symbols.is_unstable(&b) {
                    return Rc::new(Test::Unstable);
                }
                match (step.op, b.as_constant()) {
                    (Op::Lt, Some(0)) | (Op::Le, Some(-1)) if step.is_signed => {
                        self.is_negative(&a, step.bits)
                    }
                    (Op::Ge, Some(0)) | (Op::Gt, Some(-1)) if step.is_signed => {
                        not(&self.is_negative(&a, step.bits))
                    }
                    _ => Rc::new(Test::Compare {
                        op: step.op,
                        bits: step.bits,
                        is_signed: step.is_signed,
                        a,
                        b,
                    }),
                }
            }
            (Op::PredXor, [one, other]) => {
                let is_unstable = [one, other].into_iter().any(|it| self.test(state, *it).is_unstable());
                Rc::new(if is_unstable { Test::Unstable } else { Test::Unknown })
            }
            // The sources of what is not followed are not in the slice.
            _ if !self.unstable.is_empty() => Rc::new(Test::Unstable),
            _ => Rc::new(Test::Unknown),
        }
    }

    /// Returns the test of whether a number of so many bits, which is the same at each use, is below zero.
    pub(crate) fn is_negative(&self, expr: &Affine, bits: u8) -> Rc<Test> {
        let known = match expr.terms[..] {
            [term] if expr.constant == 0 => self.symbols.sign(term, bits),
            _ => None,
        };
        known.unwrap_or_else(|| {
            Rc::new(Test::Compare {
                op: Op::Lt,
                bits,
                is_signed: true,
                a: expr.clone(),
                b: Affine::constant(0),
            })
        })
    }
}

pub(crate) fn not(test: &Rc<Test>) -> Rc<Test> {
    match &**test {
        Test::Unknown | Test::Unstable => Rc::clone(test),
        Test::Is(value) => Rc::new(Test::Is(!value)),
        Test::Not(inner) => Rc::clone(inner),
        _ => Rc::new(Test::Not(Rc::clone(test))),
    }
}

pub(crate) fn or(one: &Rc<Test>, other: &Rc<Test>) -> Rc<Test> {
    not(&and(&not(one), &not(other)))
}

fn and(one: &Rc<Test>, other: &Rc<Test>) -> Rc<Test> {
    match (&**one, &**other) {
        (Test::Is(true), _) => Rc::clone(other),
        (_, Test::Is(true)) => Rc::clone(one),
        (Test::Is(false), _) | (_, Test::Is(false)) => Rc::new(Test::Is(false)),
        _ => match (depth(one).max(depth(other)), one.is_unstable() || other.is_unstable()) {
            (TEST_DEPTH.., true) => Rc::new(Test::Unstable),
            (TEST_DEPTH.., false) => Rc::new(Test::Unknown),
            (depth, is_unstable) => {
                Rc::new(Test::And(Rc::clone(one), Rc::clone(other), depth + 1, is_unstable))
            }
        },
    }
}

fn depth(test: &Test) -> u8 {
    match test {
        Test::And(_, _, depth, _) => *depth,
        Test::Not(inner) => depth(inner),
        _ => 0,
    }
}
