//! How much a copy moves, and in what arrangement.

use super::operand::{Dimensions, Operand};
use crate::error::{Detail, Error, Result};
use crate::memory::size::{self, Layout};

/// The arrangement of the bytes that both sides of a copy share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// Bytes in a row.
    Linear {
        /// How many.
        bytes: usize,
    },
    /// Rows, which on each side have a pitch.
    Plane {
        /// Bytes of a row.
        row: usize,
        /// Rows.
        rows: usize,
    },
    /// Layers of rows, which on each side have a pitch and begin so many rows apart.
    Volume {
        /// Bytes of a row.
        row: usize,
        /// Rows of a layer.
        rows: usize,
        /// Layers.
        layers: usize,
    },
}

impl Shape {
    /// The arrangement that two operands share.
    ///
    /// # Errors
    /// A refusal where the lengths or extents differ, or where the two share a byte.
    #[inline]
    #[track_caller]
    pub(super) fn of(api: &'static str, destination: &Operand<'_>, source: &Operand<'_>) -> Result<Self> {
        let shape = Self::of_one(destination);
        if let Self::Linear { bytes } = shape {
            size::same_length(api, destination.len(), source.len())?;
            // Most copies: two rows, of as many bytes.
            let arrays = destination.array().is_some() || source.array().is_some();
            if !arrays && destination.address().abs_diff(source.address()) >= bytes {
                return Ok(shape);
            }
        } else if destination.extent() != source.extent() {
            let (destination, source) = (destination.extent(), source.extent());
            return Err(Error::refused(api, Detail::ExtentMismatch { destination, source }));
        }
        if let (Some(to), Some(from)) = (destination.array(), source.array())
            && to.overlaps(from, destination.extent())
        {
            return Err(overlapping(api, destination, source, shape));
        }
        if destination.array().is_some() || source.array().is_some() {
            return Ok(shape);
        }
        // Addresses of host and devices are of one space, so this also finds what two owners of one memory share.
        let (to, from) = (destination.address(), source.address());
        if Layout::overlap((to, destination.layout()), (from, source.layout())) {
            return Err(overlapping(api, destination, source, shape));
        }
        Ok(shape)
    }

    /// The arrangement of one operand.
    pub(super) fn of_one(operand: &Operand<'_>) -> Self {
        Self::new(operand.dimensions(), operand.layout())
    }

    /// The arrangement of a layout.
    #[inline]
    pub(super) fn new(dimensions: Dimensions, layout: &Layout) -> Self {
        let Layout { row, rows, layers, .. } = *layout;
        match dimensions {
            Dimensions::One => Self::Linear { bytes: row },
            Dimensions::Two => Self::Plane { row, rows },
            Dimensions::Three => Self::Volume { row, rows, layers },
        }
    }

    /// Whether there are no bytes.
    #[inline]
    pub(super) fn is_empty(self) -> bool {
        match self {
            Self::Linear { bytes } => bytes == 0,
            Self::Plane { row, rows } => row == 0 || rows == 0,
            Self::Volume { row, rows, layers } => row == 0 || rows == 0 || layers == 0,
        }
    }

    /// Size in bytes. Memory holds it, so it does not overflow; saturating where a side has no bytes at all.
    #[inline]
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Linear { bytes } => bytes,
            Self::Plane { row, rows } => row.saturating_mul(rows),
            Self::Volume { row, rows, layers } => row.saturating_mul(rows).saturating_mul(layers),
        }
    }
}

/// The refusal of a copy of memory onto itself.
#[cold]
#[track_caller]
fn overlapping(api: &'static str, destination: &Operand<'_>, source: &Operand<'_>, shape: Shape) -> Error {
    // Of two owners of the same memory, and of slices, only addresses tell where they are.
    let (destination, source) = match (destination.books(), source.books()) {
        (Some((to, destination)), Some((from, source))) if std::ptr::eq(to, from) => {
            (destination.start, source.start)
        }
        _ => (destination.address(), source.address()),
    };
    Error::refused(api, Detail::Overlapping { destination, source, bytes: shape.bytes() })
}

#[cfg(test)]
mod tests {
    use super::Shape;
    use crate::copy::operand::Operand;
    use crate::copy::operand::sealed::{Destination, Source};
    use crate::error::Detail;
    use crate::memory::{Plane, PlaneMut, Volume};

    #[test]
    fn sides_of_different_lengths_are_refused_with_both() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 5]);
        let error = Shape::of("memcpy", &Operand::of_slice_mut(&mut a), &Operand::of_slice(&b)).unwrap_err();
        assert_eq!(error.detail(), &Detail::LengthMismatch { destination: 4, source: 5 });
        assert_eq!(error.api(), "memcpy");
    }

    #[test]
    fn sides_of_one_length_share_as_many_bytes() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 4]);
        let shape = Shape::of("memcpy", &Operand::of_slice_mut(&mut a), &Operand::of_slice(&b)).unwrap();
        assert_eq!(shape.bytes(), 16);
    }

    #[test]
    fn memory_copied_onto_itself_is_refused() {
        let a = [0_u8; 8];
        let error =
            Shape::of("memcpy", &Operand::of_slice(&a[2..6]), &Operand::of_slice(&a[4..8])).unwrap_err();
        let (destination, source) = (a[2..].as_ptr().addr(), a[4..].as_ptr().addr());
        assert_eq!(error.detail(), &Detail::Overlapping { destination, source, bytes: 4 });
        assert!(Shape::of("memcpy", &Operand::of_slice(&a[0..4]), &Operand::of_slice(&a[4..8])).is_ok());
    }

    #[test]
    fn nothing_overlaps_nothing() {
        let a = [0_u8; 8];
        let shape = Shape::of("memcpy", &Operand::of_slice(&a[4..4]), &Operand::of_slice(&a[4..4])).unwrap();
        assert_eq!(shape.bytes(), 0);
    }

    #[test]
    fn planes_of_different_extents_are_refused_though_they_have_as_many_elements() {
        let (mut a, b) = ([0_u16; 6], [0_u16; 6]);
        let (mut to, from) = (PlaneMut::of_slice(&mut a, 3, 2).unwrap(), Plane::of_slice(&b, 2, 3).unwrap());
        let error = Shape::of("memcpy_2d", &to.operand_mut().unwrap(), &from.operand().unwrap()).unwrap_err();
        let expected = Detail::ExtentMismatch { destination: [3, 2, 1], source: [2, 3, 1] };
        assert_eq!(error.detail(), &expected);
    }

    #[test]
    fn columns_of_one_plane_that_lie_in_each_other_share_nothing() {
        let a = [0_u16; 12];
        let plane = Plane::of_slice(&a, 4, 3).unwrap();
        let columns = |range| plane.columns(range).unwrap();
        let shape = |a: Plane<'_, u16, _>, b: Plane<'_, u16, _>| {
            Shape::of("memcpy_2d", &a.operand().unwrap(), &b.operand().unwrap())
        };
        assert_eq!(shape(columns(0..2), columns(2..4)).unwrap(), Shape::Plane { row: 4, rows: 3 });
        let error = shape(columns(0..2), columns(1..3)).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overlapping { bytes: 12, .. }));
    }

    #[test]
    fn a_volume_has_layers() {
        let (a, b) = ([0_u16; 12], [0_u16; 12]);
        let (a, b) = (Volume::of_slice(&a, 3, 2, 2).unwrap(), Volume::of_slice(&b, 3, 2, 2).unwrap());
        let shape = Shape::of("memcpy_3d", &a.operand().unwrap(), &b.operand().unwrap()).unwrap();
        assert_eq!((shape, shape.bytes()), (Shape::Volume { row: 6, rows: 2, layers: 2 }, 24));
    }
}
