//! The level of a texture that a read selects.
#![expect(clippy::cast_possible_truncation, reason = "levels are cut to 256ths")]

use super::element::ulp;

/// How a texture with several levels chooses among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LevelRule {
    /// Whether two levels are mixed.
    pub(crate) linear: bool,
    /// Added to the level.
    pub(crate) bias: f32,
    /// The lowest level that is read, and the highest.
    pub(crate) range: [f32; 2],
    /// The highest ratio of the derivatives that a read takes into account.
    pub(crate) anisotropy: u32,
}

/// A level in 256ths. Saturates, and makes zero of what is no number.
fn cut(level: f32) -> i64 {
    (level * 256.0) as i64
}

/// The logarithms of 1 to 2 by the first eight bits of the fraction, in 256ths, as an H200 rounds them.
#[rustfmt::skip]
const LOGARITHMS: [u8; 256] = [
    0, 2, 4, 5, 6, 8, 9, 10, 12, 13, 15, 16, 18, 19, 20, 22, 23, 24, 26, 27, 28, 29, 31, 32, 34, 35, 36, 38,
    39, 40, 42, 43, 44, 45, 47, 48, 49, 50, 52, 53, 54, 55, 57, 58, 59, 60, 62, 63, 64, 65, 66, 68, 69, 70,
    71, 72, 74, 75, 76, 77, 78, 79, 81, 82, 83, 84, 85, 86, 88, 89, 90, 91, 92, 93, 94, 95, 97, 98, 99, 100,
    101, 102, 103, 104, 105, 106, 107, 109, 110, 112, 112, 113, 114, 115, 116, 117, 118, 119, 120, 121, 122,
    123, 124, 125, 126, 127, 128, 129, 130, 131, 132, 133, 135, 136, 137, 137, 138, 139, 140, 141, 142, 143,
    144, 145, 146, 147, 148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 162, 163,
    164, 165, 166, 167, 168, 169, 170, 171, 172, 173, 173, 174, 175, 176, 177, 178, 179, 180, 180, 181, 182,
    183, 184, 185, 186, 187, 187, 188, 189, 190, 191, 192, 193, 194, 194, 195, 196, 197, 198, 199, 200, 200,
    201, 202, 203, 204, 204, 205, 206, 207, 208, 209, 209, 210, 211, 212, 213, 214, 214, 215, 216, 217, 218,
    218, 219, 220, 221, 222, 222, 223, 224, 225, 225, 226, 227, 228, 228, 229, 230, 231, 232, 233, 233, 234,
    235, 236, 236, 237, 238, 239, 239, 240, 241, 242, 242, 243, 244, 245, 245, 246, 247, 248, 248, 249, 250,
    251, 251, 252, 252, 253, 254, 255, 255,
];
/// The share of the sum and of the difference of two derivatives in their length.
const DIAGONAL: f64 = 1409.0 / 2048.0;

/// The length of a part of a derivative, as an H200 estimates it: the longest component and 11/32 of the
/// others, all cut to a few bits.
fn length(slope: [f64; 3], part: f64) -> f64 {
    let components = slope.map(|it| it.abs() * part);
    let longest = components.into_iter().fold(0.0, f64::max);
    if longest.is_infinite() {
        return longest;
    }
    let cut = |value: f64, bits: i32| {
        let step = ulp(longest, bits, -1000);
        (value / step).floor() * step
    };
    let all: f64 = components.iter().map(|it| cut(*it, 11)).sum();
    cut(longest, 11) + cut((all - cut(longest, 11)) * 11.0 / 32.0, 9)
}

impl LevelRule {
    /// Added to each level. A lot if it is no number.
    fn added(&self) -> i64 {
        cut(if self.bias.is_nan() { f32::INFINITY } else { self.bias })
    }

    /// The level that a number selects, in 256ths, as all levels here.
    pub(super) fn of_number(&self, level: f32) -> i64 {
        cut(level).saturating_add(self.added())
    }

    /// The level that derivatives in elements select: the logarithm of the longest of them and of parts of
    /// their sum and their difference.
    pub(super) fn of_slopes(&self, slopes: [[f32; 3]; 2]) -> i64 {
        let [a, b] = slopes.map(|slope| slope.map(f64::from));
        let both = |sign: f64| [0, 1, 2].map(|d| sign.mul_add(b[d], a[d]));
        let longest = [(a, 1.0), (b, 1.0), (both(1.0), DIAGONAL), (both(-1.0), DIAGONAL)]
            .into_iter()
            .fold(0.0, |longest, (slope, part)| f64::max(longest, length(slope, part)));
        let bits = longest.to_bits();
        let exponent = i64::try_from(bits >> 52).unwrap_or(0) - 1023;
        let [_, _, _, _, _, fraction, ..] = (bits >> 4).to_le_bytes();
        (exponent * 256 + i64::from(LOGARITHMS[usize::from(fraction)])).saturating_add(self.added())
    }

    /// The number of a level within the limits, and the part of the next one in the result, if there are so
    /// many more levels than the first.
    pub(super) fn within(&self, level: i64, more: usize) -> (usize, i64) {
        let last = i64::try_from(more).unwrap_or(i64::MAX >> 8) << 8;
        let [least, most] = self.range.map(cut);
        let level = level.min(most).max(least).clamp(0, last);
        let level = if self.linear { level } else { (level + 128) & !255 };
        (usize::try_from(level >> 8).unwrap_or(0), level & 255)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_derivatives_are_estimated_as_on_an_h200() {
        let rule = LevelRule { linear: true, bias: 0.5, range: [0.0, 99.0], anisotropy: 0 };
        let level = |[a, b]: [[f32; 2]; 2]| rule.of_slopes([a, b].map(|[x, y]| [x, y, 0.0])) - 128;
        // Logarithms, a diagonal, and two derivatives of one length: across each other, and the same.
        assert_eq!([1.0, 1.25, 2.0, 16.125].map(|x| level([[x, 0.0], [0.0; 2]])), [0, 83, 256, 1028]);
        assert_eq!(level([[1.0, 1.0], [0.0; 2]]), 110);
        assert_eq!(level([[1.0, 1.0], [-1.0, 1.0]]), 118);
        assert_eq!(level([[1.0, 0.0], [1.0, 0.0]]), 118);
        assert!(level([[0.0; 2]; 2]) < -128_000 && level([[f32::INFINITY, 0.0], [f32::NAN; 2]]) > 128_000);
        assert_eq!(rule.within(rule.of_slopes([[0.0; 3]; 2]), 3), (0, 0));
    }
}
