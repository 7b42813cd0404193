//! Affine expressions: a constant plus multiples of symbols, in whole numbers without a width.
//!
//! A register of `w` bits holds such an expression modulo `2^w`. All operations return `None` where a number
//! would become too large to compute with, or an expression too long: the caller then forgets the
//! expression.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

use smallvec::SmallVec;

use crate::effort::TERMS;

/// A symbol stands for one whole number, the same wherever it occurs.
pub(crate) type Symbol = u32;

/// Coefficients by symbol, sorted, none zero. Forms that differ in their constants share them.
#[derive(Clone, Debug, Default, Eq)]
pub(crate) struct Terms(Option<Rc<[(Symbol, i128)]>>);

/// A hash of numbers that the analysis makes itself: nobody chooses them to collide.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mix(u64);

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        bytes.chunks(8).for_each(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        });
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_usize(&mut self, word: usize) {
        self.write_u64(word as u64);
    }

    fn write_i128(&mut self, value: i128) {
        // Longer numbers are few.
        self.write_u64(u64::try_from(value & i128::from(u64::MAX)).unwrap_or(0));
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// Terms that are being made, or that are only looked at.
pub(crate) type NewTerms = SmallVec<[(Symbol, i128); 8]>;

impl Deref for Terms {
    type Target = [(Symbol, i128)];

    fn deref(&self) -> &Self::Target {
        self.0.as_deref().unwrap_or_default()
    }
}

impl From<&[(Symbol, i128)]> for Terms {
    fn from(terms: &[(Symbol, i128)]) -> Self {
        Self((!terms.is_empty()).then(|| Rc::from(terms)))
    }
}

impl FromIterator<(Symbol, i128)> for Terms {
    fn from_iter<I: IntoIterator<Item = (Symbol, i128)>>(terms: I) -> Self {
        Self::from(&NewTerms::from_iter(terms)[..])
    }
}

impl<'a> IntoIterator for &'a Terms {
    type Item = &'a (Symbol, i128);
    type IntoIter = std::slice::Iter<'a, (Symbol, i128)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Terms {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || **self == **other
    }
}

impl Hash for Terms {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl Terms {
    /// Returns whether both are one list, without a look at it.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Some(one), Some(other)) => Rc::ptr_eq(one, other),
            (one, other) => one.is_none() == other.is_none(),
        }
    }

    /// Keeps the terms that the function returns true for.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&(Symbol, i128)) -> bool) {
        if !self.iter().all(&keeps) {
            *self = self.iter().copied().filter(keeps).collect();
        }
    }
}

/// Larger numbers are not computed with, so that no sum of a few products overflows.
const LARGEST: i128 = 1 << 96;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Affine {
    pub(crate) constant: i128,
    pub(crate) terms: Terms,
}

impl Affine {
    pub(crate) fn constant(constant: i128) -> Self {
        Self { constant, terms: Terms::default() }
    }

    pub(crate) fn symbol(symbol: Symbol) -> Self {
        Self { constant: 0, terms: Terms::from(&[(symbol, 1)][..]) }
    }

    pub(crate) fn as_constant(&self) -> Option<i128> {
        self.terms.is_empty().then_some(self.constant)
    }

    pub(crate) fn coefficient(&self, symbol: Symbol) -> i128 {
        coefficient(&self.terms, symbol)
    }

    /// Returns `self + factor * other`.
    pub(crate) fn plus(&self, other: &Self, factor: i128) -> Option<Self> {
        let constant = within(self.constant.checked_add(times(factor, other.constant)?)?)?;
        Some(Self { constant, terms: plus(&self.terms, 1, &other.terms, factor)? })
    }

    pub(crate) fn add(&self, constant: i128) -> Option<Self> {
        let constant = within(self.constant.checked_add(constant)?)?;
        Some(Self { constant, terms: self.terms.clone() })
    }

    pub(crate) fn times(&self, factor: i128) -> Option<Self> {
        Self::default().plus(self, factor)
    }

    /// Returns the expression with another one in the place of a symbol.
    pub(crate) fn replace(&self, symbol: Symbol, by: &Self) -> Option<Self> {
        let factor = self.coefficient(symbol);
        if factor == 0 {
            return Some(self.clone());
        }
        self.without(symbol).plus(by, factor)
    }

    /// Returns the expression without a symbol.
    pub(crate) fn without(&self, symbol: Symbol) -> Self {
        let mut rest = self.clone();
        rest.terms.retain(|(own, _)| *own != symbol);
        rest
    }

    /// Returns the greatest common divisor of the coefficients, 0 if there is none.
    pub(crate) fn divisor(&self) -> i128 {
        divisor(&self.terms)
    }
}

#[inline]
fn within(value: i128) -> Option<i128> {
    (-LARGEST..=LARGEST).contains(&value).then_some(value)
}

pub(crate) fn coefficient(terms: &[(Symbol, i128)], symbol: Symbol) -> i128 {
    terms.iter().find(|(own, _)| *own == symbol).map_or(0, |(_, factor)| *factor)
}

/// Returns `a * x + b * y`.
fn plus(x: &Terms, a: i128, y: &Terms, b: i128) -> Option<Terms> {
    match (a, b) {
        (1, _) if y.is_empty() => Some(x.clone()),
        (_, 1) if x.is_empty() => Some(y.clone()),
        _ => Some(Terms::from(&sum(x, a, y, b, TERMS)?[..])),
    }
}

/// Returns `a * x + b * y`, unless that has more terms than the number.
#[inline]
pub(crate) fn sum(
    x: &[(Symbol, i128)],
    a: i128,
    y: &[(Symbol, i128)],
    b: i128,
    most: usize,
) -> Option<NewTerms> {
    let (mut left, mut right, mut sum) = (x, y, NewTerms::new());
    loop {
        let (symbol, factor) = match (left, right) {
            ([(one, first), left_rest @ ..], [(other, second), right_rest @ ..]) if one == other => {
                (left, right) = (left_rest, right_rest);
                (*one, times(*first, a)?.checked_add(times(*second, b)?)?)
            }
            ([(one, _), ..], [(other, factor), rest @ ..]) if one > other => {
                right = rest;
                (*other, times(*factor, b)?)
            }
            ([(symbol, factor), rest @ ..], _) => {
                left = rest;
                (*symbol, times(*factor, a)?)
            }
            ([], [(symbol, factor), rest @ ..]) => {
                right = rest;
                (*symbol, times(*factor, b)?)
            }
            ([], []) => return Some(sum),
        };
        if factor != 0 {
            if sum.len() == most {
                return None;
            }
            sum.push((symbol, within(factor)?));
        }
    }
}

/// Returns the product. Hardware multiplies numbers of 64 bits far faster than longer ones.
#[inline]
pub(crate) fn times(a: i128, b: i128) -> Option<i128> {
    if b == 1 {
        return Some(a);
    }
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

pub(crate) fn divisor(terms: &[(Symbol, i128)]) -> i128 {
    let mut all = 0;
    for (_, factor) in terms {
        all = gcd(all, *factor);
        if all == 1 {
            break;
        }
    }
    all
}

pub(crate) fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.abs(), b.abs());
    while b != 0 {
        if let (Ok(mut x), Ok(mut y)) = (u64::try_from(a), u64::try_from(b)) {
            while y != 0 {
                (x, y) = (y, x % y);
            }
            return i128::from(x);
        }
        (a, b) = (b, remainder(a, b));
    }
    a
}

/// Returns `a / b`, rounded down, of a positive `b`. Hardware divides 64 bits far faster than 128.
#[inline]
pub(crate) fn floor(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (_, Ok(1)) => a,
        (Ok(a), Ok(b)) if b > 0 => i128::from(a.div_euclid(b)),
        _ => a.div_euclid(b),
    }
}

/// Returns what is left of `a` after [`floor`]: zero if and only if `a` is a multiple of `b`.
#[inline]
pub(crate) fn remainder(a: i128, b: i128) -> i128 {
    match (i64::try_from(a), i64::try_from(b)) {
        (_, Ok(1)) => 0,
        (Ok(a), Ok(b)) if b > 0 => i128::from(a.rem_euclid(b)),
        _ => a.rem_euclid(b),
    }
}
