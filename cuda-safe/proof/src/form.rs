//! Affine forms: a constant plus multiples of symbols, in whole numbers without a width.
//!
//! A register of `w` bits holds such a form modulo `2^w`. All operations return `None` where a number would
//! become too large to compute with: the caller then forgets the form.

use smallvec::SmallVec;

/// A symbol stands for one whole number, the same wherever it occurs.
pub(crate) type Symbol = u32;

/// Coefficients by symbol, sorted, none zero.
pub(crate) type Terms = SmallVec<[(Symbol, i128); 2]>;

/// Larger numbers are not computed with, so that no sum of a few products overflows.
const LARGEST: i128 = 1 << 96;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Form {
    pub(crate) constant: i128,
    pub(crate) terms: Terms,
}

impl Form {
    pub(crate) fn constant(constant: i128) -> Self {
        Self { constant, terms: Terms::new() }
    }

    pub(crate) fn symbol(symbol: Symbol) -> Self {
        Self { constant: 0, terms: SmallVec::from_slice(&[(symbol, 1)]) }
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

    /// Returns the form with another one in the place of a symbol.
    pub(crate) fn replace(&self, symbol: Symbol, by: &Self) -> Option<Self> {
        let factor = self.coefficient(symbol);
        if factor == 0 {
            return Some(self.clone());
        }
        let mut rest = self.clone();
        rest.terms.retain(|(own, _)| *own != symbol);
        rest.plus(by, factor)
    }

    /// Returns the greatest common divisor of the coefficients, 0 if there is none.
    pub(crate) fn divisor(&self) -> i128 {
        divisor(&self.terms)
    }
}

fn within(value: i128) -> Option<i128> {
    (-LARGEST..=LARGEST).contains(&value).then_some(value)
}

pub(crate) fn coefficient(terms: &Terms, symbol: Symbol) -> i128 {
    terms.iter().find(|(own, _)| *own == symbol).map_or(0, |(_, factor)| *factor)
}

/// Returns `a * x + b * y`.
pub(crate) fn plus(x: &Terms, a: i128, y: &Terms, b: i128) -> Option<Terms> {
    let mut sum = Terms::new();
    merge(x, a, y, b, |symbol, factor| {
        sum.push((symbol, within(factor)?));
        Some(())
    })?;
    Some(sum)
}

/// Calls `each` with the terms of `a * x + b * y`, until it returns `None`.
#[inline]
pub(crate) fn merge(
    x: &Terms,
    a: i128,
    y: &Terms,
    b: i128,
    mut each: impl FnMut(Symbol, i128) -> Option<()>,
) -> Option<()> {
    let (mut left, mut right) = (&x[..], &y[..]);
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
            ([], []) => return Some(()),
        };
        if factor != 0 {
            each(symbol, factor)?;
        }
    }
}

/// Returns the product. Hardware multiplies numbers of 64 bits far faster than longer ones.
#[inline]
pub(crate) fn times(a: i128, b: i128) -> Option<i128> {
    match (i64::try_from(a), i64::try_from(b)) {
        (Ok(a), Ok(b)) => Some(i128::from(a) * i128::from(b)),
        _ => a.checked_mul(b),
    }
}

pub(crate) fn divisor(terms: &Terms) -> i128 {
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
