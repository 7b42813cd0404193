//! What a state remembers beside its registers and constraints: the smaller ones of pairs of numbers, and
//! what the thread has stored on its stack.

use std::rc::Rc;

use super::affine::Affine;
use crate::effort::{PAIRS, PIECES};

/// A value on the stack.
#[derive(Clone, Debug, PartialEq)]
struct Piece {
    object: u32,
    /// Its first byte in the object, and its bits.
    at: i128,
    bits: u8,
    /// The value modulo `2^bits`.
    value: Affine,
}

/// Most states remember nothing, and most copies the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept(Option<Rc<Remembered>>);

#[derive(Clone, Debug, Default, PartialEq)]
struct Remembered {
    /// The difference of two numbers, and the smaller one of it and zero.
    lesser: Vec<(Affine, Affine)>,
    stack: Vec<Piece>,
}

impl Kept {
    /// Returns two numbers in an order that depends on their difference only, and the difference, unless it
    /// is constant.
    pub(crate) fn ordered<'f>(a: &'f Affine, b: &'f Affine) -> Option<(&'f Affine, &'f Affine, Affine)> {
        let difference = a.plus(b, -1)?;
        match difference.terms.first()? {
            (_, ..=0) => Some((b, a, difference.times(-1)?)),
            _ => Some((a, b, difference)),
        }
    }

    /// Returns the smaller one of a difference and zero, if it is known.
    pub(crate) fn lesser(&self, difference: &Affine) -> Option<&Affine> {
        self.0.as_ref()?.lesser.iter().find(|(own, _)| own == difference).map(|(_, lesser)| lesser)
    }

    /// Returns all that is remembered.
    pub(crate) fn exprs(&self) -> impl Iterator<Item = &Affine> {
        let lesser =
            self.0.iter().flat_map(|it| &it.lesser).flat_map(|(difference, lesser)| [difference, lesser]);
        lesser.chain(self.0.iter().flat_map(|it| &it.stack).map(|it| &it.value))
    }

    pub(crate) fn keep_lesser(&mut self, difference: Affine, lesser: Affine) {
        let kept = Rc::make_mut(self.0.get_or_insert_default());
        if kept.lesser.len() < PAIRS {
            kept.lesser.push((difference, lesser));
        }
    }

    /// Returns the value that was stored last at a place of the stack, if all of its bits were at once.
    pub(crate) fn on_stack(&self, object: u32, at: i128, bits: u8) -> Option<&Affine> {
        let mut pieces = self.0.as_ref()?.stack.iter();
        pieces.find(|it| (it.object, it.at, it.bits) == (object, at, bits)).map(|it| &it.value)
    }

    pub(crate) fn store_on_stack(&mut self, object: u32, at: i128, bits: u8, value: Affine) {
        let kept = Rc::make_mut(self.0.get_or_insert_default());
        if kept.stack.len() < PIECES {
            kept.stack.push(Piece { object, at, bits, value });
        }
    }

    /// Forgets what is on the stack: in bytes of an object, or anywhere.
    pub(crate) fn forget_stack(&mut self, written: Option<(u32, std::ops::Range<i128>)>) {
        let Some(kept) = self.0.as_mut().filter(|kept| !kept.stack.is_empty()) else { return };
        Rc::make_mut(kept).stack.retain(|it| {
            written.as_ref().is_some_and(|(object, bytes)| {
                it.object != *object || it.at >= bytes.end || it.at + i128::from(it.bits / 8) <= bytes.start
            })
        });
    }

    /// Returns what both of two states remember.
    pub(crate) fn common(&self, other: &Self) -> Self {
        let (Some(first), Some(second)) = (&self.0, &other.0) else { return Self::default() };
        if Rc::ptr_eq(first, second) {
            return self.clone();
        }
        let mut both = Remembered::clone(first);
        both.lesser.retain(|it| second.lesser.contains(it));
        both.stack.retain(|it| second.stack.contains(it));
        Self((both != Remembered::default()).then(|| Rc::new(both)))
    }
}
