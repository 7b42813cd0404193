//! The level of a texture that a read selects.
#![expect(clippy::cast_possible_truncation, reason = "levels are cut to 256ths")]

/// How a texture with several levels chooses among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRule {
    /// Whether two levels are mixed.
    pub linear: bool,
    /// Added to the level.
    pub bias: f32,
    /// The lowest level that is read, and the highest.
    pub range: [f32; 2],
    /// The highest ratio of the derivatives that a read takes into account.
    pub anisotropy: u32,
}

/// A level in 256ths. Saturates, and makes zero of what is no number.
fn cut(level: f32) -> i64 {
    (level * 256.0) as i64
}

/// The length of a derivative.
fn length(slope: [f32; 3]) -> f32 {
    slope.iter().map(|it| it * it).sum::<f32>().sqrt()
}

impl LevelRule {
    /// The level that a number selects, in 256ths, as all levels here.
    pub(super) fn of_number(&self, level: f32) -> i64 {
        // Added is a lot if it is no number.
        let bias = if self.bias.is_nan() { f32::INFINITY } else { self.bias };
        cut(level).saturating_add(cut(bias))
    }

    /// The level that derivatives in elements select: the next 256th.
    pub(super) fn of_slopes(&self, slopes: [[f32; 3]; 2]) -> i64 {
        let longest = slopes.map(length).into_iter().fold(0.0, f32::max);
        self.of_number((longest.log2() * 256.0).ceil() / 256.0)
    }

    /// Whether a read by such derivatives takes several means along the longer one, which is unknown here.
    pub(super) fn is_anisotropic(&self, slopes: [[f32; 3]; 2]) -> bool {
        let [a, b] = slopes.map(length);
        self.anisotropy > 1 && a != b
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
