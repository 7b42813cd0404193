//! Fills memory with one value of any number type. A runtime memset only sets bytes.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::{ByValue, Kernel, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// The maximum number of blocks, enough to keep any device busy. The kernel's loop covers the rest.
const BLOCKS: u32 = 4096;

/// A number type that has a fill kernel.
pub trait Fill: ByValue + sealed::Sealed {
    /// Returns the kernel.
    #[doc(hidden)]
    fn kernel() -> &'static Kernel<(*mut Self, Self, u32)>;
}

mod sealed {
    /// Seals [`Fill`](super::Fill): the kernel must be the right one.
    pub trait Sealed {}
}

macro_rules! fills {
    ($($number:ty: $kernel:ident),*) => {$(
        impl sealed::Sealed for $number {}

        impl Fill for $number {
            fn kernel() -> &'static Kernel<(*mut Self, Self, u32)> {
                &kernels::$kernel
            }
        }
    )*};
}

fills!(u8: fill_u8, i32: fill_i32, u32: fill_u32, u64: fill_u64, f32: fill_f32, f64: fill_f64);

/// Sets every element to `value`.
///
/// # Errors
/// The memory is on another device than the stream's, or the launch fails.
#[track_caller]
pub fn fill<T: Fill>(out: impl KernelOutput<T>, value: T, stream: &impl AsStream) -> Result<()> {
    const API: &str = "fill";
    let needed = out.elements();
    check::output(API, "out", &out, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    let config = LaunchConfig::new(config.grid.x.min(BLOCKS), config.block);
    // SAFETY: the kernel touches the first `count` elements. The memory has as many, on the stream's
    // device.
    unsafe { T::kernel().launch(config, stream, (out, value, count)) }
}
