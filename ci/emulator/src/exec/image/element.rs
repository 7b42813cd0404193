//! Elements of images: where they lie, and the numbers that they hold.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "numbers are rounded to those of a format, and integers have the lowest bits"
)]

use std::ops::Range;

use half::f16;

use crate::exec::bytes::{read8, read16, read32};
use crate::exec::fault::{Fault, Refused};
use crate::exec::geometry::Geometry;

/// The type of an element's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    /// Floating-point numbers.
    Float,
    /// Integers with a sign.
    Signed,
    /// Integers without.
    Unsigned,
}

/// The format of an element: so many numbers of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Channels {
    /// The type of the numbers.
    pub(crate) kind: NumberKind,
    /// Bytes of each.
    pub(crate) bytes: u64,
    /// How many: 1, 2 or 4.
    pub(crate) count: u64,
}

/// An image in memory of this process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Image {
    /// Its first byte.
    pub(crate) host: *mut u8,
    /// The dimensions; `None` for elements in a row, which are read by index.
    pub(crate) geometry: Option<Geometry>,
    /// Elements of a row, rows, and layers of either kind; at least 1 each.
    pub(crate) size: [u64; 3],
    /// Bytes from row to row.
    pub(crate) pitch: u64,
    /// Bytes from layer to layer.
    pub(crate) slice: u64,
    /// The format of an element.
    pub(crate) channels: Channels,
}

impl Image {
    /// Bytes of an element.
    pub(crate) fn element(&self) -> u64 {
        self.channels.bytes * self.channels.count
    }

    /// The address of an element inside the image.
    pub(super) fn at(&self, [x, y, z]: [u64; 3]) -> *mut u8 {
        let offset = z * self.slice + y * self.pitch + x * self.element();
        self.host.wrapping_add(usize::try_from(offset).unwrap_or(0))
    }

    /// Refuses a surface instruction for images of other dimensions.
    pub(super) fn expect(&self, geometry: Geometry) -> Result<(), Refused> {
        match self.geometry {
            Some(found) if found == geometry => Ok(()),
            found => {
                Err((Fault::NOT_SUPPORTED, format!("an access of {geometry:?} to an image of {found:?}")))
            }
        }
    }

    /// Whether a texture instruction for such images reads this one. Lines and planes, with layers or
    /// without, read each other. All else that does not fit reads zeros, as on an H200.
    pub(super) fn is_read_as(&self, geometry: Geometry) -> bool {
        let kind = |it: Geometry| (it == Geometry::Solid, it.is_cube());
        self.geometry.is_some_and(|found| kind(found) == kind(geometry))
    }
}

/// How the numbers of elements are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// As they are.
    Plain,
    /// Integers as fractions of the largest one.
    Fractions,
    /// Such fractions of bytes as colours: the first three become linear values.
    Colours,
}

/// A format of elements, and how its numbers are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementFormat {
    pub(super) channels: Channels,
    pub(super) numbers: Numbers,
}

/// An element of a mean, with its share in 256ths.
pub(super) type WeightedElement = ([f32; 4], i64);

/// A fetched element: four numbers, as bits of floats or of integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Texel {
    Floats([f32; 4]),
    Integers([u32; 4]),
}

/// The bytes whose colours an H200 gives seven bits.
const COARSE: [u8; 14] = [32, 33, 65, 66, 68, 70, 97, 184, 186, 249, 250, 251, 252, 253];

/// The linear value of a colour's byte, by the sRGB curve, with the eight bits that an H200 gives it, and in
/// steps of at least 2^-14.
fn linear_colour(byte: u8) -> f32 {
    let fraction = f64::from(byte) / 255.0;
    let exact = if fraction <= 0.040_45 { fraction / 12.92 } else { ((fraction + 0.055) / 1.055).powf(2.4) };
    let bits = if COARSE.contains(&byte) { 6 } else { 7 };
    let step = (exact.log2().floor() - f64::from(bits)).max(-14.0).exp2();
    ((exact / step).round() * step) as f32
}

impl ElementFormat {
    /// Whether reads yield floating-point numbers.
    pub(super) fn floats(self) -> bool {
        self.numbers != Numbers::Plain || self.channels.kind == NumberKind::Float
    }

    /// How many of the channels are colours: three of four, or one.
    fn colours(self) -> u64 {
        match self.numbers {
            Numbers::Colours if self.channels.count == 4 => 3,
            Numbers::Colours => 1,
            _ => 0,
        }
    }

    /// The values of a read: signed fractions are at least -1.
    pub(super) fn within(self, values: [f32; 4]) -> [f32; 4] {
        let fractions = self.numbers != Numbers::Plain && self.channels.kind == NumberKind::Signed;
        if fractions { values.map(|it| it.max(-1.0)) } else { values }
    }

    /// Zeros.
    pub(super) fn nothing(self) -> Texel {
        if self.floats() { Texel::Floats([0.0; 4]) } else { Texel::Integers([0; 4]) }
    }

    /// Reads one element. A number that the element lacks is 0, as on an H200. The lowest signed fraction may
    /// be less than -1, as a mean needs it.
    pub(super) fn texel(self, at: *mut u8) -> Texel {
        let Channels { kind, bytes, count } = self.channels;
        let channel = |n: u64| at.wrapping_add(usize::try_from(n * bytes).unwrap_or(0));
        let bits = |n: u64| match bytes {
            1 => u32::from(read8(channel(n))),
            2 => u32::from(read16(channel(n))),
            _ => read32(channel(n)),
        };
        let integer = |n: u64| match (kind, bytes) {
            (NumberKind::Signed, 1) => i32::from(read8(channel(n)).cast_signed()).cast_unsigned(),
            (NumberKind::Signed, 2) => i32::from(read16(channel(n)).cast_signed()).cast_unsigned(),
            _ => bits(n),
        };
        let float = |n: u64| match (kind, bytes) {
            (NumberKind::Float, 2) => f16::from_bits(read16(channel(n))).to_f32(),
            (NumberKind::Float, _) => f32::from_bits(bits(n)),
            (NumberKind::Unsigned, 1) => bits(n) as f32 / 255.0,
            (NumberKind::Unsigned, _) => bits(n) as f32 / 65_535.0,
            (NumberKind::Signed, 1) => integer(n).cast_signed() as f32 / 127.0,
            (NumberKind::Signed, _) => integer(n).cast_signed() as f32 / 32_767.0,
        };
        if self.floats() {
            let mut found = [0.0; 4];
            for (to, n) in found.iter_mut().zip(0..count) {
                *to = if n < self.colours() { linear_colour(read8(channel(n))) } else { float(n) };
            }
            return Texel::Floats(found);
        }
        let mut found = [0; 4];
        found.iter_mut().zip(0..count).for_each(|(to, n)| *to = integer(n));
        Texel::Integers(found)
    }

    /// The border's colour in the format of an element: fractions are rounded to those that there are, and
    /// integers have the lowest bits of the numbers.
    pub(super) fn outside(self, mut border: [f32; 4]) -> Texel {
        let Channels { kind, bytes, count } = self.channels;
        let most = match (kind, bytes) {
            (NumberKind::Signed, 1) => 127.0,
            (NumberKind::Signed, _) => 32_767.0,
            (_, 1) => 255.0,
            _ => 65_535.0,
        };
        let least = if kind == NumberKind::Signed { -1.0 } else { 0.0 };
        let fraction = |it: f32| (it.clamp(least, 1.0) * most).round() / most;
        let integer = |it: f32| match (kind, bytes) {
            (NumberKind::Signed, 1) => i32::from(it.to_bits() as i8).cast_unsigned(),
            (NumberKind::Signed, 2) => i32::from(it.to_bits() as i16).cast_unsigned(),
            (_, 1) => it.to_bits() & 0xff,
            (_, 2) => it.to_bits() & 0xffff,
            _ => it.to_bits(),
        };
        border.iter_mut().zip(0..).filter(|(_, n)| *n >= count).for_each(|(it, _)| *it = 0.0);
        match (self.floats(), kind) {
            (false, _) => Texel::Integers(border.map(integer)),
            (true, NumberKind::Float) => Texel::Floats(border),
            (true, _) => Texel::Floats(border.map(fraction)),
        }
    }

    /// The mean of elements with shares in 256ths, as an H200 rounds it: fractions to 16 bits, 16-bit numbers
    /// and colours to 16-bit numbers. Halves are rounded up.
    pub(super) fn mean(self, parts: &[WeightedElement]) -> [f32; 4] {
        let Channels { kind, bytes, .. } = self.channels;
        if let [(values, _)] = parts
            && kind != NumberKind::Signed
        {
            return *values;
        }
        let colours = usize::try_from(self.colours()).unwrap_or(0);
        [0, 1, 2, 3].map(|n| {
            let sum = |step: f64| -> f64 {
                let cut = |value: f32| (f64::from(value) / step).trunc() * step;
                parts.iter().map(|(values, share)| cut(values[n]) * (*share as f64 / 256.0)).sum()
            };
            // Elements are cut to the bits of the largest one before they are added, as if they shared its
            // exponent. Colours share one for all channels.
            let largest = |channels: Range<usize>| {
                let all = parts.iter().flat_map(|(values, _)| &values[channels.clone()]);
                f64::from(all.fold(0.0_f32, |most, it| most.max(it.abs())))
            };
            match kind {
                _ if n < colours => rounded(sum(ulp(largest(0..colours), 7, -14)), 10, -24) as f32,
                NumberKind::Float if bytes == 2 => {
                    rounded(sum(ulp(largest(n..n + 1), 14, -28)), 10, -24) as f32
                }
                NumberKind::Float => rounded(sum(ulp(largest(n..n + 1), 27, -153)), 23, -149) as f32,
                _ => {
                    let most = if kind == NumberKind::Signed { 32_767.0 } else { 65_535.0 };
                    // Elements are no exact fractions here: their errors are rounded away.
                    let sum = (sum(f64::EPSILON) * most * 1024.0).round() / 1024.0;
                    ((sum + 0.5).floor() / most) as f32
                }
            }
        })
    }
}

/// The value of the last of so many bits of a number's fraction, which is at least a power of two.
pub(super) fn ulp(number: f64, bits: i32, least: i32) -> f64 {
    let exponent = i32::try_from(number.to_bits() >> 52 & 0x7ff).unwrap_or(0) - 1023;
    2.0_f64.powi((exponent - bits).max(least))
}

/// A number of so many bits of fraction. Halves are rounded up.
fn rounded(number: f64, bits: i32, least: i32) -> f64 {
    let step = ulp(number, bits, least);
    (number / step + 0.5).floor() * step
}
