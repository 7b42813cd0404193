//! The types that elements of arrays can have, and their descriptions in CUDA.

use bytemuck::{Pod, Zeroable};

use crate::sys;

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

#[cfg(test)]
mod tests {
    use super::{ArrayElement, Half};

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
