//! The types of elements that DLPack and this crate share.
#![expect(unsafe_code, reason = "the trait states a layout")]

use cuda_safe::bytemuck::Pod;
use half::{bf16, f16};

use crate::raw::DLDataType;

/// An element with a name in DLPack: integers, floating-point numbers, and the 16-bit numbers of the crate
/// `half`.
///
/// # Safety
/// A number of [`DTYPE`](Self::DTYPE) has the size, the alignment and the meaning of `Self`.
pub unsafe trait Element: Pod + Send + Sync {
    /// DLPack's name of the type.
    const DTYPE: DLDataType;
}

macro_rules! elements {
    ($($element:ty = $code:literal $bits:literal;)+) => {$(
        // SAFETY: the code and the bits are those of the specification for this type.
        unsafe impl Element for $element {
            const DTYPE: DLDataType = DLDataType { code: $code, bits: $bits, lanes: 1 };
        }
    )+};
}

elements! {
    i8 = 0 8;
    i16 = 0 16;
    i32 = 0 32;
    i64 = 0 64;
    u8 = 1 8;
    u16 = 1 16;
    u32 = 1 32;
    u64 = 1 64;
    f16 = 2 16;
    f32 = 2 32;
    f64 = 2 64;
    bf16 = 4 16;
}
