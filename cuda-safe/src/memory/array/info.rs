//! The properties of an array: those that the program requests, and those that the runtime reports.
#![expect(unsafe_code, reason = "asks the runtime what an array is like")]

use crate::check;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::size;
use crate::sys;

bitflags::bitflags! {
    /// The uses of an array besides copies and reads through textures.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct ArrayFlags: u32 {
        /// Kernels may write it through a surface.
        const SURFACE = sys::cudaArraySurfaceLoadStore;
        /// Textures may gather: read one number of each of four neighbours. Only for two dimensions.
        const GATHER = sys::cudaArrayTextureGather;
    }
}

/// The meaning of an array's dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ArrayKind {
    /// One row.
    Line,
    /// Rows.
    Plane,
    /// Layers of rows, between which textures interpolate.
    Volume,
    /// Independent layers of one row each.
    LayeredLine,
    /// Independent layers of rows.
    LayeredPlane,
    /// Six faces of a cube, each with as many rows as columns.
    Cubemap,
    /// Several cubemaps, with six layers each.
    LayeredCubemap,
}

impl ArrayKind {
    /// Returns the flags for an array of this kind.
    pub(super) fn flags(self) -> u32 {
        match self {
            Self::Line | Self::Plane | Self::Volume => sys::cudaArrayDefault,
            Self::LayeredLine | Self::LayeredPlane => sys::cudaArrayLayered,
            Self::Cubemap => sys::cudaArrayCubemap,
            Self::LayeredCubemap => sys::cudaArrayCubemap | sys::cudaArrayLayered,
        }
    }

    /// Returns the extent as C needs it: zero for dimensions that the kind does not have.
    pub(super) fn extent(self, [width, height, depth]: [usize; 3]) -> sys::cudaExtent {
        match self {
            Self::Line => sys::cudaExtent { width, height: 0, depth: 0 },
            Self::Plane => sys::cudaExtent { width, height, depth: 0 },
            Self::LayeredLine => sys::cudaExtent { width, height: 0, depth },
            Self::Volume | Self::LayeredPlane | Self::Cubemap | Self::LayeredCubemap => {
                sys::cudaExtent { width, height, depth }
            }
        }
    }

    /// Returns the kind for an extent and flags of the runtime.
    fn of(extent: sys::cudaExtent, flags: u32) -> Self {
        let (layered, cube) = (flags & sys::cudaArrayLayered != 0, flags & sys::cudaArrayCubemap != 0);
        match (cube, layered, extent.height, extent.depth) {
            (true, false, ..) => Self::Cubemap,
            (true, true, ..) => Self::LayeredCubemap,
            (false, true, 0, _) => Self::LayeredLine,
            (false, true, ..) => Self::LayeredPlane,
            (false, false, 0, 0) => Self::Line,
            (false, false, _, 0) => Self::Plane,
            (false, false, ..) => Self::Volume,
        }
    }

    /// Returns whether the depth counts layers or faces. All mipmap levels have the same number of them.
    pub(super) fn is_layered(self) -> bool {
        !matches!(self, Self::Line | Self::Plane | Self::Volume)
    }
}

/// The properties of an array, as the runtime reports them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrayInfo {
    /// The meaning of the dimensions.
    pub kind: ArrayKind,
    /// The number of elements in a row.
    pub width: usize,
    /// The number of rows in a layer, at least 1.
    pub height: usize,
    /// The number of layers, at least 1.
    pub depth: usize,
    /// The uses of the array.
    pub flags: ArrayFlags,
    /// The description of the elements.
    pub descriptor: sys::cudaChannelFormatDesc,
}

impl ArrayInfo {
    /// Queries the properties of an array.
    ///
    /// # Safety
    /// The array is live and belongs to the device.
    #[track_caller]
    pub(crate) unsafe fn of(device: Device, raw: sys::cudaArray_t) -> Result<Self> {
        let _current = device.switch()?;
        let (mut descriptor, mut extent, mut flags) =
            (sys::cudaChannelFormatDesc::default(), sys::cudaExtent::default(), 0);
        // SAFETY: the caller guarantees that the array is live. The pointers are to live variables, which
        // the call fills.
        unsafe { check!(cudaArrayGetInfo(&raw mut descriptor, &raw mut extent, &raw mut flags, raw)) }?;
        Ok(Self {
            kind: ArrayKind::of(extent, flags),
            width: extent.width,
            height: extent.height.max(1),
            depth: extent.depth.max(1),
            flags: ArrayFlags::from_bits_truncate(flags),
            descriptor,
        })
    }

    /// Returns the number of elements in a row, of rows in a layer, and of layers.
    pub(super) fn extent(&self) -> [usize; 3] {
        [self.width, self.height, self.depth]
    }
}

/// Returns the number of bytes of the elements. Refuses zero in any dimension.
#[track_caller]
pub(super) fn bytes_of<T>(api: &'static str, extent: [usize; 3]) -> Result<usize> {
    let names = ["the width of an array", "the height of an array", "the number of layers of an array"];
    for (what, size) in names.into_iter().zip(extent) {
        if size == 0 {
            return Err(Error::refused(api, Detail::Zero { what }));
        }
    }
    let [width, height, depth] = extent;
    let times = |left: usize, right: usize| {
        let what = "the number of elements";
        left.checked_mul(right).ok_or_else(|| Error::refused(api, Detail::Overflow { what, left, right }))
    };
    size::bytes_of::<T>(api, times(times(width, height)?, depth)?)
}

#[cfg(test)]
mod tests {
    use super::{ArrayKind, bytes_of};
    use crate::error::Detail;

    #[test]
    fn extent_and_flags_say_the_kind_again() {
        for kind in [
            ArrayKind::Line,
            ArrayKind::Plane,
            ArrayKind::Volume,
            ArrayKind::LayeredLine,
            ArrayKind::LayeredPlane,
            ArrayKind::Cubemap,
            ArrayKind::LayeredCubemap,
        ] {
            assert_eq!(ArrayKind::of(kind.extent([6, 6, 6]), kind.flags()), kind);
        }
    }

    #[test]
    fn arrays_without_elements_and_those_that_no_number_counts_are_refused() {
        assert_eq!(bytes_of::<u32>("test", [3, 4, 5]).unwrap(), 240);
        assert!(matches!(bytes_of::<u32>("test", [3, 0, 5]).unwrap_err().detail(), Detail::Zero { .. }));
        let error = bytes_of::<u32>("test", [usize::MAX, 2, 1]).unwrap_err();
        assert!(matches!(error.detail(), Detail::Overflow { left: usize::MAX, right: 2, .. }));
    }
}
