//! Instructions: how each is written, and what it computes, from the manual of PTX.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "registers have the lowest bits of results, and conversions round and saturate"
)]

use std::cmp::Ordering;

use crate::tests::oracle::Random;

/// Registers of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Half,
    Word,
    Wide,
    Float,
    Double,
    Truth,
}

impl Class {
    pub(super) const ALL: [Self; 6] =
        [Self::Half, Self::Word, Self::Wide, Self::Float, Self::Double, Self::Truth];

    /// Its prefix, the type of its declaration, and how many there are.
    pub(super) fn declared(self) -> (&'static str, &'static str, usize) {
        match self {
            Self::Half => ("%h", "b16", 4),
            Self::Word => ("%w", "b32", 10),
            Self::Wide => ("%d", "b64", 6),
            Self::Float => ("%f", "f32", 4),
            Self::Double => ("%g", "f64", 3),
            Self::Truth => ("%t", "pred", 6),
        }
    }

    pub(super) fn bits(self) -> u32 {
        match self {
            Self::Truth => 1,
            Self::Half => 16,
            Self::Word | Self::Float => 32,
            Self::Wide | Self::Double => 64,
        }
    }
}

/// A type such as `u32`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Type(pub(super) &'static str);

impl Type {
    pub(super) fn bits(self) -> u32 {
        self.0[1..].parse().unwrap()
    }

    pub(super) fn is_signed(self) -> bool {
        self.0.starts_with('s')
    }

    fn is_float(self) -> bool {
        self.0.starts_with('f')
    }

    /// The registers of its values. A byte has those of a word.
    pub(super) fn class(self) -> Class {
        match (self.is_float(), self.bits()) {
            (true, 32) => Class::Float,
            (true, _) => Class::Double,
            (_, 16) => Class::Half,
            (_, 64) => Class::Wide,
            _ => Class::Word,
        }
    }

    /// Reads the lowest bits as a whole number.
    pub(super) fn number(self, bits: u64) -> i128 {
        let unused = 64 - self.bits();
        if self.is_signed() {
            i128::from((bits << unused).cast_signed() >> unused)
        } else {
            i128::from(bits << unused >> unused)
        }
    }

    fn float(self, bits: u64) -> f64 {
        if self.bits() == 32 { f64::from(f32::from_bits(bits as u32)) } else { f64::from_bits(bits) }
    }

    fn bits_of(self, float: f64) -> u64 {
        if self.bits() == 32 { u64::from((float as f32).to_bits()) } else { float.to_bits() }
    }
}

/// What an instruction computes of its operands.
pub(super) type Run = fn(&mut Random, Type, [u64; 4]) -> u64;

/// An instruction: its name, its types, its operands, and what it computes.
///
/// The first letter of the operands is the result: `d` of the type's class, `D` of twice its bits, `w` a
/// word. The others: `a` a register, `v` one or a constant, `V` the same of twice the bits, `s` an amount of
/// a shift, `i` a number of bits, `n` one above zero, `p` a predicate.
pub(super) type Form = (&'static str, &'static str, &'static str, Run);

const INTEGERS: &str = "u32 s32 u32 s32 u64 s64 u16 s16";
const BITS: &str = "b32 b64 b16";

fn ones(count: u64) -> u64 {
    1_u64.checked_shl(count as u32).map_or(u64::MAX, |above| above - 1)
}

fn shift(it: Type, amount: u64) -> u32 {
    (amount & 0xffff_ffff).min(it.bits().into()) as u32
}

/// The number of zeros above the highest bit that is set.
fn zeros(it: Type, a: u64) -> u64 {
    u64::from((it.number(a) as u64).leading_zeros() + it.bits() - 64)
}

fn extreme(it: Type, [a, b]: [u64; 2], wanted: Ordering, keeps_nan: bool) -> u64 {
    let (x, y) = (it.float(a), it.float(b));
    match x.partial_cmp(&y) {
        None if keeps_nan => it.bits_of(f64::NAN),
        None => {
            if x.is_nan() {
                b
            } else {
                a
            }
        }
        // The zero with a sign is the smaller one.
        Some(Ordering::Equal) if x.is_sign_negative() == (wanted == Ordering::Less) => a,
        Some(order) if order == wanted => a,
        Some(_) => b,
    }
}

pub(super) const FORMS: &[Form] = &[
    ("add", INTEGERS, "dav", |_, _, [a, b, ..]| a.wrapping_add(b)),
    ("add", INTEGERS, "dav", |_, _, [a, b, ..]| a.wrapping_add(b)),
    ("sub", INTEGERS, "dav", |_, _, [a, b, ..]| a.wrapping_sub(b)),
    ("mul.lo", INTEGERS, "dav", |_, _, [a, b, ..]| a.wrapping_mul(b)),
    ("mad.lo", INTEGERS, "davv", |_, _, [a, b, c, _]| a.wrapping_mul(b).wrapping_add(c)),
    ("mul.wide", "u32 s32", "Dav", |_, it, [a, b, ..]| (it.number(a) * it.number(b)) as u64),
    ("mad.wide", "u32 s32", "DavV", |_, it, [a, b, c, _]| {
        ((it.number(a) * it.number(b)) as u64).wrapping_add(c)
    }),
    ("mul.hi", "u32 s32 u64 s64", "dav", |_, it, [a, b, ..]| {
        let product = it.number(a).wrapping_mul(it.number(b));
        if it.is_signed() {
            (product >> it.bits()) as u64
        } else {
            (product.cast_unsigned() >> it.bits()) as u64
        }
    }),
    ("mul24.lo", "u32 s32", "dav", |_, it, [a, b, ..]| {
        let low = |value: u64| it.number(value << 8) >> 8;
        (low(a) * low(b)) as u64
    }),
    ("div", INTEGERS, "dav", |random, it, [a, b, ..]| {
        it.number(a).checked_div(it.number(b)).map_or_else(|| random.next(), |it| it as u64)
    }),
    ("rem", INTEGERS, "dav", |random, it, [a, b, ..]| {
        it.number(a).checked_rem(it.number(b)).map_or_else(|| random.next(), |it| it as u64)
    }),
    ("min", INTEGERS, "dav", |_, it, [a, b, ..]| it.number(a).min(it.number(b)) as u64),
    ("max", INTEGERS, "dav", |_, it, [a, b, ..]| it.number(a).max(it.number(b)) as u64),
    ("and", BITS, "dav", |_, _, [a, b, ..]| a & b),
    ("and", BITS, "dav", |_, _, [a, b, ..]| a & b),
    ("or", BITS, "dav", |_, _, [a, b, ..]| a | b),
    ("xor", BITS, "dav", |_, _, [a, b, ..]| a ^ b),
    ("not", BITS, "da", |_, _, [a, ..]| !a),
    ("neg", "s32 s64 s16", "da", |_, _, [a, ..]| a.wrapping_neg()),
    ("abs", "s32 s64 s16", "da", |_, it, [a, ..]| it.number(a).unsigned_abs() as u64),
    ("shl", BITS, "das", |_, it, [a, b, ..]| a.checked_shl(shift(it, b)).unwrap_or(0)),
    ("shr", INTEGERS, "das", |_, it, [a, b, ..]| (it.number(a) >> shift(it, b)) as u64),
    ("bfe", "u32", "dain", |_, _, [a, start, length, _]| (a & 0xffff_ffff) >> start & ones(length)),
    ("bfi", "b32", "daain", |_, _, [a, b, start, length]| {
        let mask = ones(length) << start;
        b & !mask | a << start & mask
    }),
    ("clz", "b32 b64", "wa", |_, it, [a, ..]| zeros(it, a)),
    (
        "bfind.shiftamt",
        "u32 u64",
        "wa",
        |_, it, [a, ..]| if it.number(a) == 0 { u64::MAX } else { zeros(it, a) },
    ),
    ("bfind", "u32 u64", "wa", |_, it, [a, ..]| {
        u64::from(it.bits()).wrapping_sub(1).wrapping_sub(zeros(it, a))
    }),
    ("popc", "b32 b64", "wa", |_, it, [a, ..]| it.number(a).count_ones().into()),
    ("brev", "b32 b64", "da", |_, it, [a, ..]| a.reverse_bits() >> (64 - it.bits())),
    ("selp", BITS, "dvvp", |_, _, [a, b, test, _]| if test == 1 { a } else { b }),
    ("mov", BITS, "dv", |_, _, [a, ..]| a),
    ("mov", "f32 f64", "dv", |_, _, [a, ..]| a),
    ("min", "f32 f64", "dav", |_, it, [a, b, ..]| extreme(it, [a, b], Ordering::Less, false)),
    ("max", "f32 f64", "dav", |_, it, [a, b, ..]| extreme(it, [a, b], Ordering::Greater, false)),
    ("min.NaN", "f32", "dav", |_, it, [a, b, ..]| extreme(it, [a, b], Ordering::Less, true)),
    ("add.rn", "f32 f64", "dav", |_, it, [a, b, ..]| match it.bits() {
        32 => u64::from((f32::from_bits(a as u32) + f32::from_bits(b as u32)).to_bits()),
        _ => (f64::from_bits(a) + f64::from_bits(b)).to_bits(),
    }),
    ("abs", "f32 f64", "da", |_, it, [a, ..]| it.bits_of(it.float(a).abs())),
];

/// Comparisons of whole numbers, and those of floats. `u` is true of a NaN.
pub(super) const COMPARISONS: [&str; 6] = ["eq", "ne", "lt", "le", "gt", "ge"];
pub(super) const OF_FLOATS: [&str; 14] =
    ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"];

pub(super) fn compares(name: &str, it: Type, a: u64, b: u64) -> bool {
    let order = if it.is_float() {
        it.float(a).partial_cmp(&it.float(b))
    } else {
        Some(it.number(a).cmp(&it.number(b)))
    };
    let Some(order) = order else { return name == "nan" || name.len() == 3 && name.ends_with('u') };
    match &name[..2] {
        "eq" => order.is_eq(),
        "ne" => order.is_ne(),
        "lt" => order.is_lt(),
        "le" => order.is_le(),
        "gt" => order.is_gt(),
        "ge" => order.is_ge(),
        _ => name == "num",
    }
}

/// Converts a value. The rounding is to a whole number, or to the nearest number that there is.
pub(super) fn converts(random: &mut Random, into: Type, from: Type, rounding: &str, a: u64) -> u64 {
    let rounded = |value: f64| match rounding {
        ".rni" => value.round_ties_even(),
        ".rzi" => value.trunc(),
        ".rmi" => value.floor(),
        ".rpi" => value.ceil(),
        _ => value,
    };
    match (into.is_float(), from.is_float()) {
        (true, true) => into.bits_of(rounded(from.float(a))),
        (true, false) if into.bits() == 32 => u64::from((from.number(a) as f32).to_bits()),
        (true, false) => (from.number(a) as f64).to_bits(),
        (false, false) => into.number(from.number(a) as u64) as u64,
        (false, true) => {
            let value = from.float(a);
            let most =
                if into.is_signed() { ones(into.bits().into()) >> 1 } else { ones(into.bits().into()) };
            let least = if into.is_signed() { -i128::from(most) - 1 } else { 0 };
            // Devices differ in what a NaN becomes.
            match value.is_nan() {
                true if random.below(2) == 0 => 0,
                true => 1 << (into.bits() - 1),
                false => (rounded(value) as i128).clamp(least, i128::from(most)) as u64,
            }
        }
    }
}
