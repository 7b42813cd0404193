//! The format of an array's elements: the number and width of their channels, and their size.

use crate::error::Answer;
use crate::sys::*;

/// Width, height and depth in elements, rows and layers, as the program gave them. Zero means that there is
/// no such dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) width: u64,
    pub(crate) height: u64,
    pub(crate) depth: u64,
}

/// A format whose description was found right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Elements of so many bytes.
    Elements(u64),
    /// A plane of bytes, and one of half its size of pairs of bytes.
    TwoPlanes,
}

/// The formats whose names give the number and width of their channels.
const NAMED: [(cudaChannelFormatKind, i32, u64); 12] = [
    (cudaChannelFormatKindUnsignedNormalized8X1, 8, 1),
    (cudaChannelFormatKindUnsignedNormalized8X2, 8, 2),
    (cudaChannelFormatKindUnsignedNormalized8X4, 8, 4),
    (cudaChannelFormatKindUnsignedNormalized16X1, 16, 1),
    (cudaChannelFormatKindUnsignedNormalized16X2, 16, 2),
    (cudaChannelFormatKindUnsignedNormalized16X4, 16, 4),
    (cudaChannelFormatKindSignedNormalized8X1, 8, 1),
    (cudaChannelFormatKindSignedNormalized8X2, 8, 2),
    (cudaChannelFormatKindSignedNormalized8X4, 8, 4),
    (cudaChannelFormatKindSignedNormalized16X1, 16, 1),
    (cudaChannelFormatKindSignedNormalized16X2, 16, 2),
    (cudaChannelFormatKindSignedNormalized16X4, 16, 4),
];

/// How many channels a description has, all of as many bits as the first.
fn channels(desc: cudaChannelFormatDesc) -> Option<u64> {
    match (desc.y, desc.z, desc.w) {
        (0, 0, 0) => Some(1),
        (y, 0, 0) if y == desc.x => Some(2),
        (y, z, w) if y == desc.x && z == desc.x && w == desc.x => Some(4),
        _ => None,
    }
}

impl Format {
    /// The format that a description means.
    ///
    /// # Errors
    /// `cudaErrorInvalidChannelDescriptor` if there is no such format, `cudaErrorNotSupported` for formats
    /// that pack elements together, which are unknown here.
    pub(crate) fn of(desc: cudaChannelFormatDesc) -> Answer<Self> {
        let kind = desc.f;
        if kind == cudaChannelFormatKindNV12 {
            let right = (desc.x, desc.y, desc.z, desc.w) == (8, 8, 8, 0);
            return right.then_some(Self::TwoPlanes).ok_or(cudaErrorInvalidChannelDescriptor);
        }
        if (cudaChannelFormatKindUnsignedBlockCompressed1.0
            ..=cudaChannelFormatKindUnsignedNormalized1010102.0)
            .contains(&kind.0)
        {
            return Err(cudaErrorNotSupported);
        }
        let channels = channels(desc).ok_or(cudaErrorInvalidChannelDescriptor)?;
        let right = match NAMED.iter().find(|named| named.0 == kind) {
            Some((_, bits, count)) => desc.x == *bits && channels == *count,
            None if kind == cudaChannelFormatKindFloat => matches!(desc.x, 16 | 32),
            None if kind == cudaChannelFormatKindSigned || kind == cudaChannelFormatKindUnsigned => {
                matches!(desc.x, 8 | 16 | 32)
            }
            None => false,
        };
        let bytes = u64::try_from(desc.x / 8).ok().filter(|_| right);
        Ok(Self::Elements(bytes.ok_or(cudaErrorInvalidChannelDescriptor)? * channels))
    }

    /// Bytes of an element, for copies.
    pub(crate) fn element(self) -> u64 {
        match self {
            Self::Elements(bytes) => bytes,
            Self::TwoPlanes => 1,
        }
    }

    /// Whether it is copied plane by plane only.
    pub(crate) fn is_planar(self) -> bool {
        self == Self::TwoPlanes
    }

    /// Bytes of one layer.
    pub(super) fn bytes(self, width: u64, rows: u64) -> Option<u64> {
        match self {
            Self::Elements(bytes) => width.checked_mul(bytes)?.checked_mul(rows),
            Self::TwoPlanes => width.checked_mul(rows)?.checked_add(width.checked_mul(rows / 2)?),
        }
    }

    /// The planes of an array of this extent, if there is more than one: format, description, extent, first
    /// byte.
    pub(super) fn planes(self, extent: Extent) -> Vec<(Self, cudaChannelFormatDesc, Extent, u64)> {
        if !self.is_planar() {
            return Vec::new();
        }
        let desc = |y| cudaChannelFormatDesc { x: 8, y, z: 0, w: 0, f: cudaChannelFormatKindUnsigned };
        let half = Extent { width: extent.width / 2, height: extent.height / 2, depth: extent.depth };
        vec![
            (Self::Elements(1), desc(0), extent, 0),
            (Self::Elements(2), desc(8), half, extent.width * extent.height.max(1)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(x: i32, y: i32, z: i32, w: i32, f: cudaChannelFormatKind) -> Answer<Format> {
        Format::of(cudaChannelFormatDesc { x, y, z, w, f })
    }

    #[test]
    fn one_two_or_four_equal_channels_make_an_element() {
        assert_eq!(of(8, 0, 0, 0, cudaChannelFormatKindUnsigned), Ok(Format::Elements(1)));
        assert_eq!(of(16, 16, 0, 0, cudaChannelFormatKindFloat), Ok(Format::Elements(4)));
        assert_eq!(of(32, 32, 32, 32, cudaChannelFormatKindSigned), Ok(Format::Elements(16)));
        assert_eq!(of(16, 16, 16, 16, cudaChannelFormatKindSignedNormalized16X4), Ok(Format::Elements(8)));
    }

    #[test]
    fn anything_else_is_no_description() {
        for (x, y, z, w) in
            [(-1, 0, 0, 0), (0, 0, 0, 0), (10, 0, 0, 0), (100, 0, 0, 0), (8, 16, 0, 0), (8, 8, 8, 0)]
        {
            let kind = cudaChannelFormatKindUnsigned;
            assert_eq!(of(x, y, z, w, kind), Err(cudaErrorInvalidChannelDescriptor), "{x} {y} {z} {w}");
        }
        for (bits, kind) in [
            (8, cudaChannelFormatKindFloat),
            (8, cudaChannelFormatKindNone),
            (8, cudaChannelFormatKind(0xff)),
            (16, cudaChannelFormatKindUnsignedNormalized8X1),
        ] {
            assert_eq!(of(bits, 0, 0, 0, kind), Err(cudaErrorInvalidChannelDescriptor), "{kind:?}");
        }
        assert_eq!(of(8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed1), Err(cudaErrorNotSupported));
    }
}
