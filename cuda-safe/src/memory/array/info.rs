//! The description of an array: its kind, extent and flags, and the types that its elements can have.
#![expect(unsafe_code, reason = "asks the runtime what an array is like")]

use bytemuck::{Pod, Zeroable};

use crate::device::Device;
use crate::error::{Detail, OrRefused, Result, ensure};
use crate::memory::size;
use crate::{check, sys};

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
    pub(crate) fn extent(self, [width, height, depth]: [usize; 3]) -> sys::cudaExtent {
        let height = if matches!(self, Self::Line | Self::LayeredLine) { 0 } else { height };
        let depth = if matches!(self, Self::Line | Self::Plane) { 0 } else { depth };
        sys::cudaExtent { width, height, depth }
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
    pub(crate) fn is_layered(self) -> bool {
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
        ensure(size > 0, api, || Detail::zero(what))?;
    }
    let [width, height, depth] = extent;
    let what = "the number of elements";
    let overflow = |left, right| Detail::overflow(what, left, right);
    let layer = width.checked_mul(height).or_refused(api, || overflow(width, height))?;
    size::bytes_of::<T>(api, layer.checked_mul(depth).or_refused(api, || overflow(layer, depth))?)
}

/// An element of an array: one, two or four numbers of 8, 16 or 32 bits.
///
/// Numbers are `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `f32` and [`Half`]. CUDA has no elements of three
/// numbers and none of 64 bits. The trait is sealed: textures can interpret only these types.
///
/// ```
/// use cuda_safe::memory::ArrayElement;
/// use cuda_safe::sys;
///
/// let pairs = <[f32; 2]>::descriptor();
/// assert_eq!((pairs.x, pairs.y, pairs.z, pairs.w), (32, 32, 0, 0));
/// assert_eq!(pairs.f, sys::cudaChannelFormatKindFloat);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the element of a CUDA array",
    note = "elements are numbers of 8, 16 or 32 bits: `u8`, `i8`, `u16`, `i16`, `u32`, `i32`, `f32`, `Half`, \
            or arrays of two or four of them"
)]
pub trait ArrayElement: Pod + sealed::SealedElement {
    /// Returns CUDA's description of the elements. [`cudaCreateChannelDesc`](sys::cudaCreateChannelDesc)
    /// makes the same.
    #[doc(alias = "cudaCreateChannelDesc")]
    #[must_use]
    fn descriptor() -> sys::cudaChannelFormatDesc;
}

mod sealed {
    pub trait SealedElement {}
}

/// A 16-bit floating-point number, as its bits: `__half` of CUDA C++, `f16` of the crate `half`.
///
/// ```
/// use cuda_safe::memory::Half;
///
/// let one = Half::from_bits(0x3c00);
/// assert_eq!(one.to_bits(), 0x3c00);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct Half(u16);

impl Half {
    /// Makes the number with these bits: a sign bit, five bits of exponent, ten of fraction.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the bits of the number.
    #[must_use]
    pub const fn to_bits(self) -> u16 {
        self.0
    }
}

/// Implements the trait for a number of a kind, and for two and four of them.
macro_rules! elements {
    ($($number:ty: $bits:literal $kind:ident;)*) => {
        $(
            elements!(@one $number: [$bits, 0, 0, 0], $kind);
            elements!(@one [$number; 2]: [$bits, $bits, 0, 0], $kind);
            elements!(@one [$number; 4]: [$bits, $bits, $bits, $bits], $kind);
        )*
    };
    (@one $element:ty: [$x:literal, $y:literal, $z:literal, $w:literal], $kind:ident) => {
        impl sealed::SealedElement for $element {}

        impl ArrayElement for $element {
            fn descriptor() -> sys::cudaChannelFormatDesc {
                sys::cudaChannelFormatDesc { x: $x, y: $y, z: $z, w: $w, f: sys::$kind }
            }
        }
    };
}

elements! {
    u8: 8 cudaChannelFormatKindUnsigned;
    i8: 8 cudaChannelFormatKindSigned;
    u16: 16 cudaChannelFormatKindUnsigned;
    i16: 16 cudaChannelFormatKindSigned;
    u32: 32 cudaChannelFormatKindUnsigned;
    i32: 32 cudaChannelFormatKindSigned;
    Half: 16 cudaChannelFormatKindFloat;
    f32: 32 cudaChannelFormatKindFloat;
}
#[cfg(feature = "half")]
elements! {
    half::f16: 16 cudaChannelFormatKindFloat;
}

#[cfg(test)]
mod tests {
    use super::{ArrayElement, ArrayKind, Half, bytes_of};

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
        assert!(
            bytes_of::<u32>("test", [3, 0, 5])
                .unwrap_err()
                .detail()
                .as_str()
                .contains("is zero, at least 1 is needed")
        );
        let error = bytes_of::<u32>("test", [usize::MAX, 2, 1]).unwrap_err();
        assert!(error.detail().as_str().contains(&format!(" overflows: {} and 2 do not fit", usize::MAX)));
    }

    fn bits<T: ArrayElement>() -> usize {
        let desc = T::descriptor();
        [desc.x, desc.y, desc.z, desc.w].iter().map(|bits| usize::try_from(*bits).unwrap()).sum()
    }

    #[test]
    fn descriptions_are_as_large_as_their_elements() {
        assert_eq!(bits::<u8>(), 8);
        assert_eq!(bits::<[i16; 2]>(), 8 * size_of::<[i16; 2]>());
        assert_eq!(bits::<[Half; 4]>(), 8 * size_of::<[Half; 4]>());
        assert_eq!(bits::<[f32; 4]>(), 8 * size_of::<[f32; 4]>());
    }
}
