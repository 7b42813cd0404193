//! The words of an access to an image.

/// How many words an access to an image has besides the handle: coordinates with the layer first, a level,
/// and derivatives in both directions of a warp's threads.
pub(crate) const IMAGE_OPERANDS: usize = 11;
/// The position of the level among them.
pub(crate) const LEVEL: u8 = 4;
/// The position of the first derivatives.
pub(crate) const DX: u8 = 5;
/// The position of the second derivatives.
pub(crate) const DY: u8 = 8;

/// The words of an access to an image.
pub(crate) type ImageOperands = [u32; IMAGE_OPERANDS];

/// Three numbers of an access.
pub(super) fn three(given: &ImageOperands, first: usize) -> [f32; 3] {
    [0, 1, 2].map(|n| f32::from_bits(given.get(first + n).copied().unwrap_or(0)))
}
