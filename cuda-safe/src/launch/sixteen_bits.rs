//! The 16-bit numbers of the crate `half` for `__half`, `__nv_bfloat16` and their vectors: feature `half`.
//!
//! `cuda-kernels-build` names [`F16`] and [`Bf16`] as the components of CUDA's types, whether the feature is
//! on or not. Memory of components is then an argument, as memory of `f32` is for `float4*`. Numbers by value
//! are here.
#![cfg_attr(feature = "half", expect(unsafe_code, reason = "declares which values a kernel receives"))]

#[cfg(feature = "half")]
pub use half::{bf16 as Bf16, f16 as F16};

/// Without the feature, CUDA's 16-bit numbers have components that nobody can make.
#[cfg(not(feature = "half"))]
#[derive(Debug)]
pub enum F16 {}

/// As [`F16`], for `__nv_bfloat16`.
#[cfg(not(feature = "half"))]
#[derive(Debug)]
pub enum Bf16 {}

#[cfg(feature = "half")]
mod values {
    use super::super::{CheckedArg, Components, KernelArg, PlainValue};
    use super::{Bf16, F16};
    use crate::error::Result;

    macro_rules! values {
        ([$($count:tt)*] $component:ty, $argument:ty) => {
            // SAFETY: the parameter has the layout of an array of these components, and as many bytes as the
            // argument. It is no memory of an owner.
            #[diagnostic::do_not_recommend]
            unsafe impl<V: Components<Component = $component>, $($count)*> KernelArg<V> for $argument {
                #[inline]
                fn value(&self) -> Result<V> {
                    const {
                        assert!(
                            size_of::<V>() == size_of::<$argument>(),
                            "one number is for `__half` or `__nv_bfloat16`, an array of two for their vectors"
                        );
                    }
                    // SAFETY: both have the same size, and all bytes are valid values of the components, of
                    // which the parameter's type consists.
                    Ok(unsafe { std::mem::transmute_copy(self) })
                }
            }

            // SAFETY: the value has no pointer and is no handle.
            #[diagnostic::do_not_recommend]
            unsafe impl<V: Components<Component = $component> + PlainValue, $($count)*> CheckedArg<V>
                for $argument
            {
            }
        };
    }

    values!([] F16, F16);
    values!([] Bf16, Bf16);
    values!([const N: usize] F16, [F16; N]);
    values!([const N: usize] Bf16, [Bf16; N]);
}
