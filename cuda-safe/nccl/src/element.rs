//! The types that NCCL can send and reduce.

use crate::raw;

/// An element that NCCL knows: integers of 8, 32 and 64 bits, and floating-point numbers of 16 to 64 bits.
///
/// The trait is sealed.
pub trait Element: sealed::Sealed {}

pub(crate) mod sealed {
    /// Seals [`Element`](super::Element).
    pub trait Sealed {
        /// NCCL's name of the type.
        #[doc(hidden)]
        const TYPE: u32;
    }
}

macro_rules! elements {
    ($($element:ty = $name:ident;)+) => {$(
        impl sealed::Sealed for $element {
            const TYPE: u32 = raw::$name.0;
        }
        impl Element for $element {}
    )+};
}

elements! {
    i8 = ncclInt8;
    u8 = ncclUint8;
    i32 = ncclInt32;
    u32 = ncclUint32;
    i64 = ncclInt64;
    u64 = ncclUint64;
    half::f16 = ncclFloat16;
    half::bf16 = ncclBfloat16;
    f32 = ncclFloat32;
    f64 = ncclFloat64;
}

/// The operation of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// `ncclSum`.
    Sum,
    /// `ncclProd`.
    Product,
    /// `ncclMax`.
    Max,
    /// `ncclMin`.
    Min,
    /// `ncclAvg`: the sum, divided by the number of ranks.
    Average,
}

impl Reduction {
    pub(crate) fn raw(self) -> raw::ncclRedOp_t {
        match self {
            Self::Sum => raw::ncclSum,
            Self::Product => raw::ncclProd,
            Self::Max => raw::ncclMax,
            Self::Min => raw::ncclMin,
            Self::Average => raw::ncclAvg,
        }
    }
}
