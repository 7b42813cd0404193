//! What is known where two ways meet: facts that hold on both, and values that are one of two.

use std::rc::Rc;

use smallvec::SmallVec;

use super::affine::{Form, Symbol, Terms, floor, gcd, remainder};
use super::state::{Fact, MOST_FACTS, State, Symbols, TRIES, mark, opposite};

impl Symbols {
    /// Returns a form for a value that is `a` where `one` holds and `b` where `other` does, with what is
    /// known of it in `state`, or `None` if nothing is.
    pub(crate) fn choice(
        &mut self,
        state: &mut State,
        (one, a): (&State, &Form),
        (other, b): (&State, &Form),
    ) -> Option<Form> {
        let only_base = |form: &Form| Form {
            constant: 0,
            terms: form.terms.iter().copied().filter(|(symbol, _)| self.is_base(*symbol)).collect(),
        };
        let base = only_base(a);
        if base != only_base(b) {
            return None;
        }
        let (a, b) = (a.plus(&base, -1)?, b.plus(&base, -1)?);
        // One of the two may be right in both cases.
        let difference = a.plus(&b, -1)?;
        for (right, there) in [(&b, one), (&a, other)] {
            if self.is_within(there, &difference, 2, (0, 0)) && !self.is_unstable(&difference) {
                return right.plus(&base, 1);
            }
        }
        if let Some(value) = self.follow(state, (one, &a), (other, &b)) {
            return value.plus(&base, 1);
        }
        let (low, high) = (
            self.low(one, &a, 2)?.min(self.low(other, &b, 2)?),
            self.high(one, &a, 2)?.max(self.high(other, &b, 2)?),
        );
        // What divides the difference of the two divides that of the value and `a`.
        let step = gcd(gcd(a.divisor(), b.divisor()), a.constant - b.constant);
        if step == 0 {
            return a.plus(&base, 1);
        }
        let (origin, at) = self.origin(&a).max(self.origin(&b));
        let from = |bound: i128| floor(bound - a.constant, step);
        let symbol = self.new_symbol(from(low), from(high), origin, at);
        self.known[symbol as usize].is_unstable = self.is_unstable(&a) || self.is_unstable(&b);
        let value = Form::symbol(symbol).times(step)?.add(a.constant)?;
        for (near, far, there) in [(&a, &b, other), (&b, &a, one)] {
            if near.terms.is_empty() {
                continue;
            }
            let Some(difference) = far.plus(near, -1) else { continue };
            let Some(over) = value.plus(near, -1) else { continue };
            if let Some(most) = self.high(there, &difference, 2) {
                self.assume(state, &over, most.max(0));
            }
            if let (Some(least), Some(under)) = (self.low(there, &difference, 2), over.times(-1)) {
                self.assume(state, &under, -(least.min(0)));
            }
        }
        value.plus(&base, 1)
    }

    /// Returns a form that is `a` where `one` holds and `b` where `other` does, if the two have a constant
    /// difference and follow terms that have one number here and another there: the rounds that are left of
    /// an unrolled loop, for example.
    fn follow(
        &mut self,
        state: &State,
        (one, a): (&State, &Form),
        (other, b): (&State, &Form),
    ) -> Option<Form> {
        let difference = b.plus(a, -1)?.as_constant().filter(|it| *it != 0)?;
        if self.is_unstable(a) {
            return None;
        }
        self.work += 1 + (one.facts.len() + one.limits.len()) as u64 / 8;
        let of = |terms: Terms, here: i128, there: i128| {
            let step = there.saturating_sub(here);
            let divides = step != 0 && remainder(difference, step.abs()) == 0;
            divides.then(|| (Form { constant: 0, terms }, here, there, difference / step))
        };
        let mut found = SmallVec::<[_; 4]>::new();
        for fact in one.facts.iter() {
            if let (Some(here), Some(there)) = (self.number_of(one, fact), self.number_of(other, fact)) {
                found.extend(of(Terms::clone(&fact.terms), here, there));
            }
        }
        for (symbol, here, high) in &one.limits {
            if here == high
                && let (there, high) = self.limits(other, *symbol)
                && there == high
            {
                found.extend(of(Terms::from(&[(*symbol, 1)][..]), *here, there));
            }
        }
        // Where the ways meet, the terms are known to lie between the two numbers.
        let (terms, here, .., times) = found.into_iter().find(|(terms, here, there, _)| {
            self.is_within(state, terms, 1, (*here.min(there), *here.max(there)))
        })?;
        terms.add(-here)?.times(times)?.plus(a, 1)
    }

    /// Returns the number that the terms of a fact have, if the ranges and the facts about them say one.
    fn number_of(&self, state: &State, fact: &Fact) -> Option<i128> {
        let terms: Terms = fact.terms.iter().map(|(symbol, factor)| (*symbol, -factor)).collect();
        let most = |terms: &Terms, signs: u64| {
            let is_same = |it: &&Fact| it.signs == signs && it.terms == *terms;
            let said = state.facts.iter().find(is_same).map(|it| it.bound);
            said.into_iter().chain(self.by_ranges(state, terms)).min()
        };
        let high = most(&fact.terms, fact.signs)?;
        (most(&terms, opposite(fact.signs))? == -high).then_some(high)
    }

    /// Adds to `both` a limit that holds in one state, as far as it holds in the other one.
    fn limit_by_facts(&mut self, both: &mut State, other: &State, (symbol, low, high): (Symbol, i128, i128)) {
        let (all_low, all_high) = (self.known[symbol as usize].low, self.known[symbol as usize].high);
        let form = Form::symbol(symbol);
        let opposite = Form { constant: 0, terms: Terms::from(&[(symbol, -1)][..]) };
        let least = self.high_or(other, &opposite, 1, -low).map_or(all_low, |most| -most).min(low);
        let most = self.high_or(other, &form, 1, high).unwrap_or(all_high).max(high);
        if least > all_low || most < all_high {
            both.limits.push((symbol, least, most));
            both.limited |= mark(symbol);
        }
    }

    /// Keeps of two states' facts what holds in both. The registers are those of the first.
    pub(crate) fn common_facts(&mut self, one: &State, other: &State) -> State {
        let mut both = State::default();
        self.work += (one.facts.len() + other.facts.len()) as u64 / 4;
        for (symbol, low, high) in &one.limits {
            if let Ok(at) = other.limits.binary_search_by_key(symbol, |(own, ..)| *own) {
                let (_, other_low, other_high) = other.limits[at];
                both.limits.push((*symbol, (*low).min(other_low), (*high).max(other_high)));
                both.limited |= mark(*symbol);
                continue;
            }
            self.limit_by_facts(&mut both, other, (*symbol, *low, *high));
        }
        for limit in &other.limits {
            if one.limits.binary_search_by_key(&limit.0, |(own, ..)| *own).is_err() {
                self.limit_by_facts(&mut both, one, *limit);
            }
        }
        both.limits.sort_unstable_by_key(|(symbol, ..)| *symbol);
        let mut facts: Vec<Fact> = Vec::with_capacity(one.facts.len().max(other.facts.len()));
        for (from, to, is_first) in [(one, other, true), (other, one, false)] {
            for (at, fact) in from.facts.iter().enumerate() {
                let is_same = |it: &&Fact| it.signs == fact.signs && it.terms == fact.terms;
                // Facts from before the ways parted have one place.
                let same = to.facts.get(at).filter(is_same).or_else(|| to.facts.iter().find(is_same));
                let bound = match same {
                    Some(_) if !is_first => continue,
                    Some(same) => Some(same.bound.max(fact.bound)),
                    None if fact.is_definition => Some(fact.bound),
                    None => {
                        self.tries = TRIES / 3;
                        self.largest(to, &fact.terms, 1, fact.bound).map(|bound| bound.max(fact.bound))
                    }
                };
                let Some(bound) = bound else { continue };
                // A guard of the same terms says more than the definition, or it would not stand there: the
                // larger bound is the definition's.
                let is_definition = fact.is_definition || same.is_some_and(|same| same.is_definition);
                let says_more = || self.by_ranges(&both, &fact.terms).is_none_or(|known| bound < known);
                if facts.len() < MOST_FACTS && (is_definition || says_more()) {
                    facts.push(Fact { bound, is_definition, ..fact.clone() });
                }
            }
        }
        both.facts = Rc::new(facts);
        self.changes(&mut both);
        both
    }
}
