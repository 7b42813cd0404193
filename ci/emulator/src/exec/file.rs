//! The registers of one warp, as rows of 32 lanes, and typed access to them.
//!
//! A register of up to 32 bits is a row of `u32`, one of 64 bits a row of `u64`, a predicate one word with a
//! bit per lane. Constants are rows too, shared by all warps of a kernel, so that an instruction never asks
//! what kind of operand it has.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "registers hold bits; reading them at a narrower type truncates by definition, \
              and lanes index several rows at once"
)]

use std::ops::{BitAnd, BitOr, Not};
use std::sync::Arc;

use half::{bf16, f16};

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;

/// All lanes.
pub(crate) const FULL: u32 = u32::MAX;

/// The index of a row of a [`File`]. The instruction knows the kind of the row.
pub(crate) type Slot = u32;

/// Set in a slot that names a constant.
pub(crate) const CONSTANT: Slot = 1 << 29;

/// Class of a slot while a function is being lowered, in its two highest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Up to 32 bits.
    Word,
    /// 64 bits.
    Wide,
    /// A predicate.
    Pred,
}

/// The constants of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Constants {
    /// Rows of 32-bit constants.
    pub(crate) words: Vec<[u32; LANES]>,
    /// Rows of 64-bit constants.
    pub(crate) wides: Vec<[u64; LANES]>,
}

/// The registers of one warp.
#[derive(Debug)]
pub(crate) struct File {
    /// Registers of up to 32 bits.
    pub(crate) words: Vec<[u32; LANES]>,
    /// Registers of 64 bits.
    pub(crate) wides: Vec<[u64; LANES]>,
    /// Predicates.
    pub(crate) preds: Vec<u32>,
    /// Constants.
    pub(crate) constants: Arc<Constants>,
    /// The carry flag of each lane.
    pub(crate) carry: u32,
}

/// Number of registers of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Registers of up to 32 bits.
    pub(crate) words: u32,
    /// Registers of 64 bits.
    pub(crate) wides: u32,
    /// Predicates.
    pub(crate) preds: u32,
}

impl File {
    /// Makes registers that hold zero.
    pub(crate) fn new(sizes: Sizes, constants: Arc<Constants>) -> Self {
        Self {
            words: vec![[0; LANES]; sizes.words as usize],
            wides: vec![[0; LANES]; sizes.wides as usize],
            preds: vec![0; sizes.preds as usize],
            constants,
            carry: 0,
        }
    }

    /// Sets all registers to zero.
    pub(crate) fn clear(&mut self) {
        self.words.fill([0; LANES]);
        self.wides.fill([0; LANES]);
        self.preds.fill(0);
        self.carry = 0;
    }

    /// A predicate's bits.
    pub(crate) fn pred(&self, slot: Slot) -> u32 {
        self.preds[slot as usize]
    }

    /// Sets a predicate in the lanes of a mask.
    pub(crate) fn set_pred(&mut self, slot: Slot, bits: u32, mask: u32) {
        let p = &mut self.preds[slot as usize];
        *p = (*p & !mask) | (bits & mask);
    }

    /// A lane's register of 64 bits, or of 32.
    pub(super) fn bits(&self, slot: Slot, wide: bool, lane: usize) -> u64 {
        if wide { u64::row(self, slot)[lane] } else { u32::row(self, slot)[lane].into() }
    }

    /// Sets a lane's register of 64 bits, or the low bits of one of 32.
    pub(super) fn set_bits(&mut self, slot: Slot, wide: bool, lane: usize, bits: u64) {
        if wide {
            u64::row_mut(self, slot)[lane] = bits;
        } else {
            u32::row_mut(self, slot)[lane] = low(bits);
        }
    }
}

/// The lanes of a mask.
#[inline]
pub(super) fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    let mut left = mask;
    std::iter::from_fn(move || {
        let lane = left.trailing_zeros();
        left &= left.wrapping_sub(1);
        (lane < 32).then_some(lane as usize)
    })
}

/// The first lane of a mask.
pub(super) fn first_lane(mask: u32) -> usize {
    mask.trailing_zeros() as usize
}

/// The low 32 bits.
#[inline]
pub(super) fn low(bits: u64) -> u32 {
    bits as u32
}

/// A row's element.
pub(crate) trait Word:
    Copy + Default + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// A register's or constant's row.
    fn row(file: &File, slot: Slot) -> &[Self; LANES];
    /// A register's row, to write.
    fn row_mut(file: &mut File, slot: Slot) -> &mut [Self; LANES];
    /// All bits for true, none for false.
    fn all(bit: bool) -> Self;
    /// Replaces the lanes of a mask in a row by those of another row.
    #[inline(always)]
    fn blend(row: &mut [Self; LANES], with: &[Self; LANES], mask: u32) {
        let mut out = [Self::default(); LANES];
        for lane in 0..LANES {
            let new = Self::all(mask >> lane & 1 != 0);
            out[lane] = with[lane] & new | row[lane] & !new;
        }
        *row = out;
    }
    /// Writes the lanes of a mask to a register.
    #[inline(always)]
    fn put(file: &mut File, slot: Slot, mask: u32, values: &[Self; LANES]) {
        let row = Self::row_mut(file, slot);
        if mask == FULL { *row = *values } else { Self::blend(row, values, mask) }
    }
    /// Writes one value to the lanes of a mask of a register.
    #[inline(always)]
    fn set(file: &mut File, slot: Slot, mask: u32, value: Self) {
        let row = Self::row_mut(file, slot);
        if mask == FULL {
            *row = [value; LANES];
        } else {
            lanes(mask).for_each(|lane| row[lane] = value);
        }
    }
}

macro_rules! word {
    ($ty:ty, $rows:ident) => {
        impl Word for $ty {
            #[inline(always)]
            fn row(file: &File, slot: Slot) -> &[Self; LANES] {
                if slot & CONSTANT == 0 {
                    &file.$rows[slot as usize]
                } else {
                    &file.constants.$rows[(slot & !CONSTANT) as usize]
                }
            }
            #[inline(always)]
            fn row_mut(file: &mut File, slot: Slot) -> &mut [Self; LANES] {
                &mut file.$rows[slot as usize]
            }
            #[inline(always)]
            fn all(bit: bool) -> Self {
                Self::from(bit).wrapping_neg()
            }
        }
    };
}
word!(u32, words);
word!(u64, wides);

/// A type that registers hold.
pub(crate) trait Value: Copy {
    /// The element of the row that holds this type.
    type Word: Word;
    /// Reads it from a register.
    fn of(word: Self::Word) -> Self;
    /// Writes it to a register; narrow integers are extended to the register's width.
    fn word(self) -> Self::Word;
}

macro_rules! value {
    ($($ty:ty, $word:ty, $of:expr, $to:expr;)*) => {$(
        impl Value for $ty {
            type Word = $word;
            #[inline(always)]
            fn of(word: $word) -> Self { let of: fn($word) -> $ty = $of; of(word) }
            #[inline(always)]
            fn word(self) -> $word { let to: fn($ty) -> $word = $to; to(self) }
        }
    )*};
}

value! {
    u8, u32, |w| w as u8, u32::from;
    i8, u32, |w| w as i8, |v| i32::from(v) as u32;
    u16, u32, |w| w as u16, u32::from;
    i16, u32, |w| w as i16, |v| i32::from(v) as u32;
    u32, u32, |w| w, |v| v;
    i32, u32, |w| w as i32, |v| v as u32;
    u64, u64, |w| w, |v| v;
    i64, u64, |w| w as i64, |v| v as u64;
    f32, u32, f32::from_bits, f32::to_bits;
    f64, u64, f64::from_bits, f64::to_bits;
    f16, u32, |w| f16::from_bits(w as u16), |v| u32::from(v.to_bits());
    bf16, u32, |w| bf16::from_bits(w as u16), |v| u32::from(v.to_bits());
}

/// The slots of an instruction; the first is the destination.
pub(crate) type Slots = [Slot; 5];

/// A lowered instruction without side effects: works on the lanes of a mask.
pub(crate) type Alu = fn(&mut File, &Slots, u32);

/// Takes the second of two forms of an operation if the processor has [`vectors`].
pub(crate) fn best(plain: Alu, wide: Alu) -> Alu {
    #[cfg(target_arch = "x86_64")]
    if vectors::available() {
        return wide;
    }
    if cfg!(target_arch = "x86_64") { plain } else { wide }
}

/// Makes an operation of a function of one operand, for all lanes at once.
#[inline(always)]
pub(crate) fn map1<A: Value, D: Value>(file: &mut File, s: &Slots, mask: u32, f: impl Fn(A) -> D) {
    let a = A::Word::row(file, s[1]);
    let mut out = [D::Word::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(A::of(a[lane])).word();
    }
    D::Word::put(file, s[0], mask, &out);
}

/// Does the same for two operands.
#[inline(always)]
pub(crate) fn map2<A: Value, B: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    f: impl Fn(A, B) -> D,
) {
    let (a, b) = (A::Word::row(file, s[1]), B::Word::row(file, s[2]));
    let mut out = [D::Word::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(A::of(a[lane]), B::of(b[lane])).word();
    }
    D::Word::put(file, s[0], mask, &out);
}

/// Does the same for three operands.
#[inline(always)]
pub(crate) fn map3<A: Value, B: Value, C: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    let (a, b, c) = (A::Word::row(file, s[1]), B::Word::row(file, s[2]), C::Word::row(file, s[3]));
    let mut out = [D::Word::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(A::of(a[lane]), B::of(b[lane]), C::of(c[lane])).word();
    }
    D::Word::put(file, s[0], mask, &out);
}

/// Does the same for a function that takes long, for one lane of the mask after the other.
#[inline(always)]
fn each<D: Value>(file: &mut File, slot: Slot, mask: u32, f: impl Fn(&File, usize) -> D) {
    for lane in lanes(mask) {
        let value = f(file, lane).word();
        D::Word::row_mut(file, slot)[lane] = value;
    }
}

#[inline(always)]
fn get<A: Value>(file: &File, slot: Slot, lane: usize) -> A {
    A::of(A::Word::row(file, slot)[lane])
}

/// [`map1`] for a function that takes long.
#[inline(always)]
pub(crate) fn each1<A: Value, D: Value>(file: &mut File, s: &Slots, mask: u32, f: impl Fn(A) -> D) {
    each(file, s[0], mask, |file, l| f(get(file, s[1], l)));
}

/// [`map2`] for a function that takes long.
#[inline(always)]
pub(crate) fn each2<A: Value, B: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    f: impl Fn(A, B) -> D,
) {
    each(file, s[0], mask, |file, l| f(get(file, s[1], l), get(file, s[2], l)));
}

/// [`map3`] for a function that takes long.
#[inline(always)]
pub(crate) fn each3<A: Value, B: Value, C: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    f: impl Fn(A, B, C) -> D,
) {
    each(file, s[0], mask, |file, l| f(get(file, s[1], l), get(file, s[2], l), get(file, s[3], l)));
}

/// The same for four operands.
#[inline(always)]
pub(crate) fn each4<A: Value, B: Value, C: Value, E: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    f: impl Fn(A, B, C, E) -> D,
) {
    each(file, s[0], mask, |file, l| {
        f(get(file, s[1], l), get(file, s[2], l), get(file, s[3], l), get(file, s[4], l))
    });
}

/// Applies a function of two operands and the predicate in the fourth slot.
#[inline(always)]
pub(crate) fn choose<A: Value>(file: &mut File, s: &Slots, mask: u32, f: impl Fn(A, A, bool) -> A) {
    let (a, b, p) = (A::Word::row(file, s[1]), A::Word::row(file, s[2]), file.pred(s[3]));
    let mut out = [A::Word::default(); LANES];
    for lane in 0..LANES {
        out[lane] = f(A::of(a[lane]), A::of(b[lane]), p >> lane & 1 != 0).word();
    }
    A::Word::put(file, s[0], mask, &out);
}

/// Compares two operands into a predicate.
#[inline(always)]
pub(crate) fn compare<A: Value>(file: &mut File, s: &Slots, mask: u32, f: impl Fn(A, A) -> bool) {
    let (a, b) = (A::Word::row(file, s[1]), A::Word::row(file, s[2]));
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(f(A::of(a[lane]), A::of(b[lane]))) << lane;
    }
    file.set_pred(s[0], bits, mask);
}

/// Tests one operand into a predicate.
#[inline(always)]
pub(crate) fn test<A: Value>(file: &mut File, s: &Slots, mask: u32, f: impl Fn(A) -> bool) {
    let a = A::Word::row(file, s[1]);
    let bits = (0..LANES).fold(0, |bits, lane| bits | u32::from(f(A::of(a[lane]))) << lane);
    file.set_pred(s[0], bits, mask);
}

/// Applies a function of three operands and the carry flag, which gives a value and the new flag.
#[inline(always)]
pub(crate) fn carry3<A: Value, D: Value>(
    file: &mut File,
    s: &Slots,
    mask: u32,
    set: bool,
    f: impl Fn(A, A, D, bool) -> (D, bool),
) {
    let mut left = mask;
    let mut flags = file.carry;
    while left != 0 {
        let lane = (left.trailing_zeros() & 31) as usize;
        let a = A::of(A::Word::row(file, s[1])[lane]);
        let b = A::of(A::Word::row(file, s[2])[lane]);
        let c = D::of(D::Word::row(file, s[3])[lane]);
        let (d, out) = f(a, b, c, file.carry >> lane & 1 != 0);
        D::Word::row_mut(file, s[0])[lane] = d.word();
        flags = flags & !(1 << lane) | u32::from(out) << lane;
        left &= left - 1;
    }
    if set {
        file.carry = flags;
    }
}

/// The same operations for processors with vectors of 256 bits and fused multiplication.
///
/// A closure that is written in such a function would have its features, and would not be inlined into the
/// loop over the lanes, which has none. So the closures are written elsewhere.
#[cfg(target_arch = "x86_64")]
pub(crate) mod vectors {
    use super::{File, Slots, Value};

    /// Whether the processor has them.
    #[inline]
    pub(crate) fn available() -> bool {
        std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
    }

    macro_rules! operations {
        ($($map:ident<$($t:ident),*>($($a:ident),* => $d:ty);)*) => {$(
            #[doc = concat!("[`", stringify!($map), "`](super::", stringify!($map), ").")]
            ///
            /// # Safety
            /// The vectors are [`available`].
            #[target_feature(enable = "avx2,fma")]
            pub(crate) fn $map<$($t: Value),*>(file: &mut File, s: &Slots, mask: u32, f: impl Fn($($a),*) -> $d) {
                super::$map::<$($t),*>(file, s, mask, f);
            }
        )*};
    }

    operations! {
        map1<A, D>(A => D);
        map2<A, B, D>(A, B => D);
        map3<A, B, C, D>(A, B, C => D);
        each1<A, D>(A => D);
        each2<A, B, D>(A, B => D);
        each3<A, B, C, D>(A, B, C => D);
        each4<A, B, C, E, D>(A, B, C, E => D);
        compare<A>(A, A => bool);
        test<A>(A => bool);
        choose<A>(A, A, bool => A);
    }
}
