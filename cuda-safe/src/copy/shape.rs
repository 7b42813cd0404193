//! How much a copy moves, and in what arrangement.
//!
//! One row of bytes so far. Planes and volumes will be further arrangements, with their pitches.

use super::operand::Operand;
use crate::error::{Detail, Error, Result};
use crate::memory::size;

/// The arrangement of the bytes that both sides of a copy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Bytes in a row.
    Linear {
        /// How many.
        bytes: usize,
    },
}

impl Shape {
    /// The row that two operands share.
    ///
    /// # Errors
    /// A refusal where the lengths differ, or where the two share a byte.
    #[track_caller]
    pub(super) fn linear(api: &'static str, destination: &Operand<'_>, source: &Operand<'_>) -> Result<Self> {
        size::same_length(api, destination.len(), source.len())?;
        let bytes = destination.bytes();
        let (to, from) = (destination.address(), source.address());
        // Addresses of host and devices are of one space, so this also finds what two owners of one memory share.
        if size::overlap(&(to..to + bytes), &(from..from + bytes)) {
            let (destination, source) = (destination.offset(), source.offset());
            return Err(Error::refused(api, Detail::Overlapping { destination, source, bytes }));
        }
        Ok(Self::Linear { bytes })
    }

    /// Size in bytes.
    pub(super) fn bytes(self) -> usize {
        let Self::Linear { bytes } = self;
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::copy::operand::Operand;
    use crate::error::Detail;

    #[test]
    fn sides_of_different_lengths_are_refused_with_both() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 5]);
        let error =
            Shape::linear("memcpy", &Operand::of_slice_mut(&mut a), &Operand::of_slice(&b)).unwrap_err();
        assert_eq!(error.detail(), Detail::LengthMismatch { destination: 4, source: 5 });
        assert_eq!(error.api(), "memcpy");
    }

    #[test]
    fn sides_of_one_length_share_as_many_bytes() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 4]);
        let shape = Shape::linear("memcpy", &Operand::of_slice_mut(&mut a), &Operand::of_slice(&b)).unwrap();
        assert_eq!(shape.bytes(), 16);
    }

    #[test]
    fn memory_copied_onto_itself_is_refused() {
        let a = [0_u8; 8];
        let error =
            Shape::linear("memcpy", &Operand::of_slice(&a[2..6]), &Operand::of_slice(&a[4..8])).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overlapping { bytes: 4, .. }));
        assert!(Shape::linear("memcpy", &Operand::of_slice(&a[0..4]), &Operand::of_slice(&a[4..8])).is_ok());
    }

    #[test]
    fn nothing_overlaps_nothing() {
        let a = [0_u8; 8];
        let shape =
            Shape::linear("memcpy", &Operand::of_slice(&a[4..4]), &Operand::of_slice(&a[4..4])).unwrap();
        assert_eq!(shape.bytes(), 0);
    }
}
