//! The numbers that matrices are made of.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "converting numbers is what this is for"
)]

use half::{bf16, f16};

use super::rounding::seal;

/// A number of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Number {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    B1,
    S4,
    U4,
    S8,
    U8,
    S32,
}

impl Number {
    /// Reads a type's name.
    pub(crate) fn named(word: &str) -> Option<Self> {
        Some(match word {
            "f16" => Self::F16,
            "bf16" => Self::Bf16,
            "tf32" => Self::Tf32,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "e4m3" => Self::E4m3,
            "e5m2" => Self::E5m2,
            "b1" => Self::B1,
            "s4" => Self::S4,
            "u4" => Self::U4,
            "s8" => Self::S8,
            "u8" => Self::U8,
            "s32" => Self::S32,
            _ => return None,
        })
    }

    /// Its bits.
    #[inline]
    pub(crate) fn bits(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::S4 | Self::U4 => 4,
            Self::E4m3 | Self::E5m2 | Self::S8 | Self::U8 => 8,
            Self::F16 | Self::Bf16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }

    /// How many are in a register.
    pub(crate) fn per_register(self) -> usize {
        (32 / self.bits() as usize).max(1)
    }

    /// The value of the bits.
    #[inline(always)]
    pub(super) fn value(self, bits: u64) -> f64 {
        match self {
            // A finite one is a number of 32 bits whose exponent is 112 too small.
            Self::F16 if bits & 0x7C00 != 0x7C00 => {
                let magnitude =
                    f32::from_bits((bits as u32 & 0x7FFF) << 13) * f32::from_bits((127 + 112) << 23);
                f64::from(if bits & 0x8000 == 0 { magnitude } else { -magnitude })
            }
            Self::F16 => f16::from_bits(bits as u16).to_f64(),
            Self::Bf16 => f64::from(f32::from_bits((bits as u32 & 0xFFFF) << 16)),
            // The bits that a number of this kind does not have are not looked at.
            Self::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1FFF)),
            Self::F32 => f64::from(f32::from_bits(bits as u32)),
            Self::F64 => f64::from_bits(bits),
            Self::E4m3 => e4m3(bits as u8),
            // The upper half of a number of 16 bits.
            Self::E5m2 => f16::from_bits((bits as u16) << 8).to_f64(),
            Self::B1 => f64::from(bits as u8 & 1),
            Self::S4 => f64::from(((bits as i8) << 4) >> 4),
            Self::U4 => f64::from(bits as u8 & 15),
            Self::S8 => f64::from(bits as i8),
            Self::U8 => f64::from(bits as u8),
            Self::S32 => f64::from(bits as i32),
        }
    }

    /// The number of eight bits that is nearest, of two the even one; a finite one for all that is too large.
    pub(super) fn eight(self, value: f64) -> u8 {
        let (largest, none) = if self == Self::E4m3 { (0x7E, 0x7F) } else { (0x7B, 0x7F) };
        if value.is_nan() {
            return none;
        }
        let at = |code: u8| self.value(u64::from(code));
        let (size, sign) = (value.abs(), if value.is_sign_negative() { 0x80 } else { 0 });
        // The codes of numbers that are not negative are in the order of these.
        let (mut low, mut high) = (0, largest);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at(middle) <= size { low = middle } else { high = middle }
        }
        let (below, above) = (size - at(low), at(high) - size);
        sign | if below < above || below == above && low % 2 == 0 { low } else { high }
    }

    /// The bits of a sum. Integers, which are exact as sums, wrap or stop at the ends.
    pub(super) fn rounded(self, value: f64, saturates: bool) -> u64 {
        match self {
            Self::F16 => u64::from(f16::from_f64(value).to_bits()),
            Self::Bf16 => u64::from(bf16::from_f64(value).to_bits()),
            Self::F64 => value.to_bits(),
            Self::S32 if saturates => u64::from((value as i32).cast_unsigned()),
            Self::S32 => u64::from(value as i64 as u32),
            _ => u64::from(seal(value as f32)),
        }
    }
}

/// Four bits of exponent and three of fraction. There is no infinity, and one NaN of each sign.
fn e4m3(bits: u8) -> f64 {
    let sign = if bits & 0x80 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    match (exponent, bits & 7) {
        (15, 7) => f64::NAN,
        (0, _) => sign * fraction * 2f64.powi(-9),
        _ => sign * (8.0 + fraction) * 2f64.powi(exponent - 10),
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn eight_bits_are_the_numbers_that_the_formats_say() {
        let value = |number: Number, bits| number.value(bits);
        for (bits, expected) in [(0x00, 0.0), (0x01, 2f64.powi(-9)), (0x38, 1.0), (0xC4, -3.0), (0x7E, 448.0)]
        {
            assert_eq!(value(Number::E4m3, bits), expected, "{bits:#x}");
        }
        for (bits, expected) in [(0x01, 2f64.powi(-16)), (0x3C, 1.0), (0xC2, -3.0), (0x7B, 57344.0)] {
            assert_eq!(value(Number::E5m2, bits), expected, "{bits:#x}");
        }
        assert!(value(Number::E4m3, 0x7F).is_nan() && value(Number::E5m2, 0x7F).is_nan());
        assert_eq!(value(Number::E5m2, 0x7C), f64::INFINITY);
        assert_eq!((value(Number::S4, 0xF), value(Number::U4, 0xF)), (-1.0, 15.0));
    }

    #[test]
    fn a_number_becomes_the_nearest_of_eight_bits() {
        for number in [Number::E4m3, Number::E5m2] {
            let largest = if number == Number::E4m3 { 0x7E } else { 0x7B };
            for code in (0..=largest).chain(0x80..=0x80 + largest) {
                assert_eq!(number.eight(number.value(u64::from(code))), code, "{number:?}");
            }
            for code in 0..largest {
                let (this, next) = (number.value(u64::from(code)), number.value(u64::from(code) + 1));
                let even = code + code % 2;
                assert_eq!(number.eight((this + next) / 2.0), even, "{number:?}");
                assert_eq!(number.eight((this * 3.0 + next) / -4.0), 0x80 | code, "{number:?}");
            }
            assert_eq!((number.eight(1e9), number.eight(f64::NEG_INFINITY)), (largest, 0x80 | largest));
            assert_eq!(number.eight(f64::NAN), 0x7F);
        }
    }

    #[test]
    fn sums_of_integers_wrap_or_stop() {
        let sum = 2f64.powi(31) + 5.0;
        assert_eq!(Number::S32.rounded(sum, false), 0x8000_0005);
        assert_eq!(Number::S32.rounded(sum, true), 0x7FFF_FFFF);
        assert_eq!(Number::S32.rounded(-sum, true), 0x8000_0000);
    }
}
