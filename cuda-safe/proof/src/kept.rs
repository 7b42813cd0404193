//! What a state remembers beside its registers and facts: the smaller ones of pairs of numbers.

use std::rc::Rc;

use crate::form::Form;
use crate::state::State;

/// Pairs that are remembered.
const MOST_PAIRS: usize = 8;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Kept {
    /// The difference of two numbers, and the smaller one of it and zero.
    lesser: Vec<(Form, Form)>,
}

impl State {
    /// Returns two numbers in an order that depends on their difference only, and the difference, unless it
    /// is constant.
    pub(crate) fn ordered<'f>(a: &'f Form, b: &'f Form) -> Option<(&'f Form, &'f Form, Form)> {
        let difference = a.plus(b, -1)?;
        match difference.terms.first()? {
            (_, ..=0) => Some((b, a, difference.times(-1)?)),
            _ => Some((a, b, difference)),
        }
    }

    /// Returns the smaller one of a difference and zero, if it is known.
    pub(crate) fn lesser(&self, difference: &Form) -> Option<&Form> {
        let kept = self.kept.as_ref()?;
        kept.lesser.iter().find(|(own, _)| own == difference).map(|(_, lesser)| lesser)
    }

    pub(crate) fn keep_lesser(&mut self, difference: Form, lesser: Form) {
        let kept = Rc::make_mut(self.kept.get_or_insert_default());
        if kept.lesser.len() < MOST_PAIRS {
            kept.lesser.push((difference, lesser));
        }
    }

    /// Keeps what both of two states remember.
    pub(crate) fn keep_common(&mut self, one: &Self, other: &Self) {
        let (Some(first), Some(second)) = (&one.kept, &other.kept) else { return };
        if Rc::ptr_eq(first, second) {
            self.kept = Some(Rc::clone(first));
            return;
        }
        let mut both = Kept::clone(first);
        both.lesser.retain(|it| second.lesser.contains(it));
        self.kept = (both != Kept::default()).then(|| Rc::new(both));
    }
}
