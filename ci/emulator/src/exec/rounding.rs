//! Floating-point arithmetic in the four rounding modes.
//!
//! The host rounds to nearest. The other modes are made from it: the nearest result and the sign of its error
//! select the neighbour. Arithmetic on 32-bit numbers is done in 64 bits with rounding to odd, which makes
//! the second rounding harmless.

#![expect(clippy::cast_possible_truncation, reason = "narrowing is what these functions are for")]

/// How a result that cannot be represented is rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    /// To the nearest, to even on a tie (`.rn`).
    Nearest,
    /// Towards zero (`.rz`).
    Zero,
    /// Towards minus infinity (`.rm`).
    Down,
    /// Towards plus infinity (`.rp`).
    Up,
}

/// The NaN that every 32-bit operation returns.
pub(crate) const NAN32: u32 = 0x7FFF_FFFF;

/// A result's bits, any NaN replaced by the one that the device gives.
///
/// As bits, because to a compiler one NaN is as good as another.
#[inline(always)]
pub(crate) fn seal(v: f32) -> u32 {
    if v.is_nan() { NAN32 } else { v.to_bits() }
}

/// Replaces a subnormal by a zero of the same sign.
#[inline(always)]
pub(crate) fn flush(v: f32) -> f32 {
    f32::from_bits(if v.to_bits() & 0x7F80_0000 == 0 { v.to_bits() & 0x8000_0000 } else { v.to_bits() })
}

/// Clamps to 0..=1, and makes NaN zero.
#[inline(always)]
pub(crate) fn saturate(v: f32) -> f32 {
    if v > 0.0 { v.min(1.0) } else { 0.0 }
}

/// Picks the neighbour that a mode means, given the nearest result and the sign of `exact - nearest`.
fn step(nearest: f64, error: f64, mode: Rounding) -> f64 {
    if error == 0.0 || !error.is_finite() {
        return nearest;
    }
    if nearest.is_infinite() {
        // The nearest overflowed: modes that point inwards stop at the largest number.
        let inward = match mode {
            Rounding::Nearest => false,
            Rounding::Zero => true,
            Rounding::Down => nearest > 0.0,
            Rounding::Up => nearest < 0.0,
        };
        return if inward { f64::MAX.copysign(nearest) } else { nearest };
    }
    match mode {
        Rounding::Nearest => nearest,
        Rounding::Zero if (error < 0.0) == (nearest > 0.0) && nearest != 0.0 => {
            if nearest > 0.0 {
                nearest.next_down()
            } else {
                nearest.next_up()
            }
        }
        Rounding::Down if error < 0.0 => nearest.next_down(),
        Rounding::Up if error > 0.0 => nearest.next_up(),
        _ => nearest,
    }
}

/// The sum and its exact error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let s = a + b;
    let t = s - a;
    (s, (a - (s - t)) + (b - t))
}

/// Rounds an exact `nearest + error` to odd: the last bit marks that digits were cut.
fn odd(nearest: f64, error: f64) -> f64 {
    if error == 0.0 || !nearest.is_finite() || nearest.to_bits() & 1 == 1 {
        return nearest;
    }
    if nearest == 0.0 {
        return error;
    }
    if error > 0.0 { nearest.next_up() } else { nearest.next_down() }
}

/// A zero sum of opposite numbers is negative when rounding down.
fn zero_sum(sum: f64, a: f64, b: f64, mode: Rounding) -> f64 {
    if sum == 0.0 && mode == Rounding::Down && a != 0.0 && a == -b { -0.0 } else { sum }
}

/// Adds in 64 bits.
pub(crate) fn add64(a: f64, b: f64, mode: Rounding) -> f64 {
    let (sum, error) = two_sum(a, b);
    if mode == Rounding::Nearest {
        return sum;
    }
    if sum.is_infinite() && a.is_finite() && b.is_finite() {
        return step(sum, -sum.signum(), mode);
    }
    if a == 0.0 && b == 0.0 && mode == Rounding::Down && a.is_sign_negative() != b.is_sign_negative() {
        return -0.0;
    }
    zero_sum(step(sum, error, mode), a, b, mode)
}

/// Multiplies in 64 bits.
pub(crate) fn mul64(a: f64, b: f64, mode: Rounding) -> f64 {
    fma64(a, b, if (a.is_sign_negative()) == (b.is_sign_negative()) { 0.0 } else { -0.0 }, mode)
}

/// Multiplies and adds in 64 bits, rounding once.
pub(crate) fn fma64(a: f64, b: f64, c: f64, mode: Rounding) -> f64 {
    let nearest = a.mul_add(b, c);
    if mode == Rounding::Nearest || nearest.is_nan() || !(a.is_finite() && b.is_finite() && c.is_finite()) {
        return nearest;
    }
    if nearest.is_infinite() {
        return step(nearest, -nearest.signum(), mode);
    }
    // The sign of a·b + c - nearest: exact with scaled integers.
    match exact::compare_fma(a, b, c, nearest) {
        core::cmp::Ordering::Equal => {
            if nearest == 0.0 && mode == Rounding::Down && a * b != 0.0 && c != 0.0 { -0.0 } else { nearest }
        }
        core::cmp::Ordering::Greater => step(nearest, 1.0, mode),
        core::cmp::Ordering::Less => step(nearest, -1.0, mode),
    }
}

/// Divides in 64 bits.
pub(crate) fn div64(a: f64, b: f64, mode: Rounding) -> f64 {
    let q = a / b;
    if mode == Rounding::Nearest || q.is_nan() || b == 0.0 || !a.is_finite() || !b.is_finite() {
        return q;
    }
    if q.is_infinite() {
        return step(q, -q.signum(), mode);
    }
    // a/b > q exactly when a > q·b (b positive).
    let above = match exact::compare_fma(q, b, 0.0, a) {
        core::cmp::Ordering::Equal => return q,
        core::cmp::Ordering::Less => b > 0.0,
        core::cmp::Ordering::Greater => b < 0.0,
    };
    step_zero(q, above, (a < 0.0) != (b < 0.0), mode)
}

/// As [`step`], for results that may have underflowed to zero.
fn step_zero(q: f64, above: bool, negative: bool, mode: Rounding) -> f64 {
    if q == 0.0 && mode == Rounding::Zero {
        return if negative { -0.0 } else { 0.0 };
    }
    step(q, if above { 1.0 } else { -1.0 }, mode)
}

/// The square root in 64 bits.
pub(crate) fn sqrt64(a: f64, mode: Rounding) -> f64 {
    let r = a.sqrt();
    if mode == Rounding::Nearest || !r.is_finite() || r == 0.0 {
        return r;
    }
    match exact::compare_fma(r, r, 0.0, a) {
        core::cmp::Ordering::Equal => r,
        core::cmp::Ordering::Less => step(r, 1.0, mode),
        core::cmp::Ordering::Greater => step(r, -1.0, mode),
    }
}

/// Converts 64 bits to 32.
pub(crate) fn narrow(v: f64, mode: Rounding) -> f32 {
    let nearest = v as f32;
    if mode == Rounding::Nearest || !v.is_finite() {
        return nearest;
    }
    let wide = f64::from(nearest);
    let (down, up) = (wide > v, wide < v);
    match mode {
        Rounding::Down if down => nearest.next_down(),
        Rounding::Up if up => nearest.next_up(),
        Rounding::Zero if v > 0.0 && down => nearest.next_down(),
        Rounding::Zero if v < 0.0 && up => nearest.next_up(),
        _ => nearest,
    }
}

/// Adds in 32 bits.
pub(crate) fn add32(a: f32, b: f32, mode: Rounding) -> f32 {
    if a == 0.0 && b == 0.0 || a == -b {
        return add64(f64::from(a), f64::from(b), mode) as f32;
    }
    let (sum, error) = two_sum(f64::from(a), f64::from(b));
    narrow(odd(sum, error), mode)
}

/// Multiplies in 32 bits. The product is exact in 64.
pub(crate) fn mul32(a: f32, b: f32, mode: Rounding) -> f32 {
    narrow(f64::from(a) * f64::from(b), mode)
}

/// Multiplies and adds in 32 bits, rounding once.
pub(crate) fn fma32(a: f32, b: f32, c: f32, mode: Rounding) -> f32 {
    let product = f64::from(a) * f64::from(b);
    let c = f64::from(c);
    if product == -c {
        return add64(product, c, mode) as f32;
    }
    let (sum, error) = two_sum(product, c);
    narrow(odd(sum, error), mode)
}

/// Divides in 32 bits.
pub(crate) fn div32(a: f32, b: f32, mode: Rounding) -> f32 {
    if mode == Rounding::Nearest {
        return a / b;
    }
    let (wa, wb) = (f64::from(a), f64::from(b));
    let q = wa / wb;
    if !a.is_finite() || !b.is_finite() || b == 0.0 {
        return q as f32;
    }
    let rest = (-q).mul_add(wb, wa);
    narrow(odd(q, if wb > 0.0 { rest } else { -rest }), mode)
}

/// The square root in 32 bits.
pub(crate) fn sqrt32(a: f32, mode: Rounding) -> f32 {
    if mode == Rounding::Nearest {
        return a.sqrt();
    }
    let wide = f64::from(a);
    let r = wide.sqrt();
    narrow(odd(r, (-r).mul_add(r, wide)), mode)
}

/// Exact comparison of a product and sum with a number, on big integers.
mod exact {
    use core::cmp::Ordering;

    /// A number as `±magnitude · 2^exponent`.
    fn split(v: f64) -> (bool, u64, i32) {
        let bits = v.to_bits();
        let exponent = i32::try_from(bits >> 52 & 0x7FF).unwrap_or(0);
        let fraction = bits & ((1 << 52) - 1);
        if exponent == 0 {
            (v.is_sign_negative(), fraction, -1074)
        } else {
            (v.is_sign_negative(), fraction | 1 << 52, exponent - 1075)
        }
    }

    /// A sum of terms `±m · 2^e` (m below 2^106), and its sign.
    fn sign(terms: [(bool, u128, i32); 3]) -> Ordering {
        // Limbs of 32 bits, wide enough for every exponent that a product of two numbers can have.
        const LIMBS: usize = 200;
        const LOWEST: i32 = -2200;
        let mut sum = [0i64; LIMBS];
        for (negative, magnitude, exponent) in terms {
            let shift = usize::try_from(exponent - LOWEST).unwrap_or(0);
            let (limb, bit) = (shift / 32, shift % 32);
            let mut left = magnitude;
            let mut carry = 0u64;
            let mut at = limb;
            while left != 0 || carry != 0 {
                let chunk = (u64::try_from(left & 0xFFFF_FFFF).unwrap_or(0) << bit) + carry;
                let low = i64::try_from(chunk & 0xFFFF_FFFF).unwrap_or(0);
                carry = chunk >> 32;
                if let Some(place) = sum.get_mut(at) {
                    *place += if negative { -low } else { low };
                }
                left >>= 32;
                at += 1;
            }
        }
        // Normalise upwards, then the highest limb that is not zero has the sign.
        let mut carry = 0i64;
        for limb in &mut sum {
            let v = *limb + carry;
            carry = v >> 32;
            *limb = v & 0xFFFF_FFFF;
        }
        if carry < 0 {
            return Ordering::Less;
        }
        if carry > 0 || sum.iter().any(|&l| l != 0) { Ordering::Greater } else { Ordering::Equal }
    }

    /// The sign of the sum of a number, its error and two more numbers (Shewchuk, 1997: an expansion grows).
    fn sign_of_sum(number: f64, error: f64, third: f64, fourth: f64) -> Ordering {
        let mut parts = [error, number, 0.0, 0.0];
        for (len, mut sum) in [(2, third), (3, fourth)] {
            for part in &mut parts[..len] {
                (sum, *part) = super::two_sum(sum, *part);
            }
            parts[len] = sum;
        }
        // Each part is smaller than the last digit of those behind it.
        let largest = parts.into_iter().rev().find(|part| *part != 0.0).unwrap_or(0.0);
        largest.partial_cmp(&0.0).unwrap_or(Ordering::Equal)
    }

    /// Compares `a·b + c` with `d`, exactly. All are finite.
    pub(super) fn compare_fma(a: f64, b: f64, c: f64, d: f64) -> Ordering {
        // The errors of such numbers' products and sums are numbers, too.
        let has_errors = |v: f64| v == 0.0 || (1e-250..1e250).contains(&v.abs());
        let product = a * b;
        if (product != 0.0 || a == 0.0 || b == 0.0) && [product, c, d].into_iter().all(has_errors) {
            return sign_of_sum(product, a.mul_add(b, -product), c, -d);
        }
        let ((na, ma, ea), (nb, mb, eb)) = (split(a), split(b));
        let ((nc, mc, ec), (nd, md, ed)) = (split(c), split(d));
        sign([
            (na != nb, u128::from(ma) * u128::from(mb), ea + eb),
            (nc, u128::from(mc), ec),
            (!nd, u128::from(md), ed),
        ])
    }
}
