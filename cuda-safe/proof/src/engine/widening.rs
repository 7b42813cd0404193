//! What is claimed of the registers that a loop writes: the first claims, widening with a delay and
//! thresholds, and one step of narrowing.

use crate::domain::{Affine, State, Symbol, Value, gcd, range_of, signed};
use crate::effort::{THRESHOLDS, USUAL_THRESHOLDS, WIDENING_DELAY, WIDENINGS};
use crate::engine::interpreter::Interpreter;

/// A displacement that a register cannot have.
pub(super) const FAR: i128 = 1 << 66;

/// What is claimed of a loop's header.
pub(super) struct Invariant {
    pub(super) registers: Vec<LoopRegister>,
    /// Candidate invariants: each expression is at most the number.
    pub(super) candidates: Vec<(Affine, i128)>,
    /// The symbol of the number of rounds, once the registers have claims.
    pub(super) rounds: Option<Symbol>,
}

/// What a loop does to a register.
#[derive(Clone, Debug)]
pub(super) enum Claim {
    /// It is an induction variable: it grows by the number in each round.
    Induction(i128),
    /// It is the expression, plus the factor times a number in the interval.
    Interval(Affine, i128, Option<(i128, i128)>),
    /// Each use may see another value.
    Unstable,
}

/// A register that a loop writes.
pub(super) struct LoopRegister {
    pub(super) register: u32,
    pub(super) bits: u8,
    /// Its value before the loop.
    pub(super) before: Affine,
    pub(super) claim: Claim,
    /// The symbol that says how far it is from there, unless it is claimed to be an induction variable.
    pub(super) symbol: Symbol,
    /// What is claimed if `claim` does not hold.
    pub(super) fallback: Option<Claim>,
    /// Numbers that the loop compares it with.
    pub(super) thresholds: Vec<i128>,
}

impl LoopRegister {
    /// Keeps the number that a register is compared with, if its difference from the register is the
    /// expression.
    pub(super) fn note_threshold(&mut self, expr: Option<&Affine>) {
        let (Some(expr), Claim::Interval(..)) = (expr, &self.claim) else { return };
        let sign = expr.coefficient(self.symbol);
        if sign.abs() != 1 || self.thresholds.len() >= THRESHOLDS {
            return;
        }
        let value = self.before.plus(&Affine::symbol(self.symbol), 1);
        let number =
            expr.times(sign).zip(value).and_then(|(expr, value)| value.plus(&expr, -1)?.as_constant());
        self.thresholds.extend(number);
    }

    /// Returns an interval that contains the claimed and the found one: the found one itself until the delay
    /// is over, and then one that ends at thresholds.
    fn widened(&self, found: (i128, i128), pass: u32) -> Option<(i128, i128)> {
        let Claim::Interval(from, factor, Some((low, high))) = &self.claim else { return None };
        let types = range_of(self.bits, true);
        // Of a plain register, the interval is that of its value.
        let is_plain = *factor == 1 && from.as_constant() == Some(0);
        let own = self.thresholds.iter().filter(|_| is_plain).flat_map(|it| [it - 1, *it, it + 1]);
        let usual = USUAL_THRESHOLDS.into_iter().chain([types.1, 2 * types.1 + 1]);
        let (lower, upper) = if pass < WIDENING_DELAY {
            found
        } else {
            // An end that has held so far stays.
            let lower = own.clone().chain([0, -1, types.0, *low]).filter(|it| *it <= found.0).max();
            let upper = own.chain(usual).chain([*high]).filter(|it| *it >= found.1).min();
            (lower.unwrap_or(-FAR), upper.unwrap_or(FAR))
        };
        Some((lower.min(*low), upper.max(*high))).filter(|it| it.0 > -FAR && it.1 < FAR)
    }
}

/// Returns an expression divided by a number, if that leaves nothing over.
pub(super) fn divided(expr: &Affine, by: i128) -> Option<Affine> {
    (expr.constant % by == 0 && expr.divisor() % by == 0).then(|| Affine {
        constant: expr.constant / by,
        terms: expr.terms.iter().map(|(symbol, own)| (*symbol, own / by)).collect(),
    })
}

impl Interpreter<'_, '_> {
    /// Claims of each register what a round did to it of which nothing was known.
    pub(super) fn first_claims(&mut self, registers: &mut [LoopRegister], entry: &State, backs: &[State]) {
        for one in registers.iter_mut().filter(|it| !matches!(it.claim, Claim::Unstable)) {
            one.claim = self.first_claim(one, entry, backs, false);
            // A counter of 64 bits that is read as one of 32: in a round of which nothing is known, that may
            // wrap. The optimistic assumption that it does not is checked like all else.
            if one.bits == 64 && matches!(one.claim, Claim::Interval(..)) {
                let optimistic = self.first_claim(one, entry, backs, true);
                if matches!(optimistic, Claim::Induction(_)) {
                    one.fallback = Some(std::mem::replace(&mut one.claim, optimistic));
                }
            }
        }
    }

    /// Returns what a round does to a register. With `is_optimistic`, multiples of `2^32` do not count.
    fn first_claim(
        &mut self,
        one: &LoopRegister,
        entry: &State,
        backs: &[State],
        is_optimistic: bool,
    ) -> Claim {
        if backs.iter().any(|state| self.is_unstable(state, one.register)) {
            return Claim::Unstable;
        }
        let at_header = one.before.plus(&Affine::symbol(one.symbol), 1);
        let (mut factor, mut constant) = (0, None);
        for state in backs {
            let Some(Value::Number(value)) = state.registers.get(one.register as usize) else {
                return self.start_interval(one, entry, 1);
            };
            let difference = at_header.as_ref().and_then(|before| value.plus(before, -1));
            let Some(mut difference) = difference.filter(|it| !self.analysis.symbols.has_region(it)) else {
                return self.start_interval(one, entry, 1);
            };
            if is_optimistic {
                difference.terms.retain(|(_, own)| *own % (1 << 32) != 0);
            }
            factor = gcd(factor, gcd(difference.divisor(), difference.constant));
            let own = difference.as_constant().map(|value| signed(value, one.bits));
            constant = Some(constant.map_or(own, |known: Option<i128>| known.filter(|it| own == Some(*it))));
        }
        match constant {
            Some(Some(step)) => Claim::Induction(step),
            _ => self.start_interval(one, entry, factor.max(1)),
        }
    }

    /// Returns whether a register may have another value at each use.
    pub(super) fn is_unstable(&self, state: &State, register: u32) -> bool {
        match state.registers.get(register as usize) {
            Some(Value::Number(value)) => self.analysis.symbols.is_unstable(value),
            _ => true,
        }
    }

    /// Returns how far a register is from where its claim counts from, unless that is between two regions.
    pub(super) fn distance(&self, one: &LoopRegister, state: &State) -> Option<Affine> {
        let Some(Value::Number(value)) = state.registers.get(one.register as usize) else { return None };
        let from = match &one.claim {
            Claim::Interval(from, ..) => from,
            _ => &one.before,
        };
        value.plus(from, -1).filter(|it| !self.analysis.symbols.has_region(it))
    }

    /// Returns the interval that a register has before the loop.
    pub(super) fn start_interval(&mut self, one: &LoopRegister, entry: &State, factor: i128) -> Claim {
        if factor > 1 {
            return Claim::Interval(one.before.clone(), factor, Some((0, 0)));
        }
        let symbols = &mut self.analysis.symbols;
        let region = symbols.region_part(&one.before);
        let rest = one.before.plus(&region, -1);
        let range = rest.and_then(|rest| symbols.range(entry, &rest));
        Claim::Interval(region, 1, range)
    }

    /// Widens a claimed interval by what was found at the back edges.
    pub(super) fn widen(&mut self, one: &mut LoopRegister, found: Option<(i128, i128)>, pass: u32) {
        let widened = found.filter(|_| pass < WIDENINGS).and_then(|found| one.widened(found, pass));
        match &mut one.claim {
            Claim::Interval(_, _, range) if widened.is_some() => *range = widened,
            _ => self.give_up_on(one),
        }
    }

    /// Claims less of intervals that hold, but were widened beyond what is found at the back edges. Returns
    /// whether there is one. The narrower claims are checked like all others.
    pub(super) fn narrow(&mut self, registers: &mut [LoopRegister], entry: &State, backs: &[State]) -> bool {
        let mut is_narrower = false;
        for one in registers {
            let Claim::Interval(from, factor, Some(claimed)) = one.claim.clone() else { continue };
            let Claim::Interval(start_from, _, Some(start)) = self.start_interval(one, entry, factor) else {
                continue;
            };
            let mut range = Some(start).filter(|_| start_from == from);
            for state in backs {
                let Some((low, high)) = range else { break };
                let own = self.distance(one, state).and_then(|it| divided(&it, factor));
                let own = own.and_then(|it| self.analysis.symbols.range(state, &it));
                range = own.map(|own| (own.0.min(low), own.1.max(high)));
            }
            let Some((low, high)) = range else { continue };
            let narrower = (low.max(claimed.0), high.min(claimed.1));
            if narrower != claimed {
                one.claim = Claim::Interval(from, factor, Some(narrower));
                is_narrower = true;
            }
        }
        is_narrower
    }

    /// Claims nothing of a register but that it is stable.
    pub(super) fn give_up_on(&mut self, one: &mut LoopRegister) {
        let from = if self.analysis.symbols.has_region(&one.before) {
            // Not even a multiple of an element is known of the distance.
            match &one.claim {
                Claim::Interval(from, ..) => from.clone(),
                _ => one.before.clone(),
            }
        } else {
            Affine::constant(0)
        };
        one.claim = Claim::Interval(from, 1, None);
    }
}
