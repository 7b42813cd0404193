//! One value everywhere: what a byte-wise memset cannot do.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use cuda_safe::Result;
use cuda_safe::launch::{ByValue, Kernel, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;

use crate::{check, kernels};

/// Blocks beyond which the kernel's loop does the rest: enough to keep any device busy.
const BLOCKS: u32 = 4096;

/// A number that there is a fill kernel for.
pub trait Fill: ByValue + sealed::Sealed {
    /// The kernel.
    #[doc(hidden)]
    fn kernel() -> &'static Kernel<(*mut Self, Self, u32)>;
}

mod sealed {
    /// Keeps other implementations out: the kernel must be the right one.
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
/// Memory of another device than the stream's, or what the launch reports.
#[track_caller]
pub fn fill<T: Fill>(out: impl KernelOutput<T>, value: T, stream: &impl AsStream) -> Result<()> {
    const API: &str = "fill";
    let needed = out.elements();
    check::output(API, "out", &out, needed, stream)?;
    let Some((count, config)) = check::grid(API, needed)? else { return Ok(()) };
    let config = LaunchConfig::new(config.grid.x.min(BLOCKS), config.block);
    // SAFETY: the kernel touches the first `count` elements, and there are as many, on the stream's device.
    unsafe { T::kernel().launch(config, stream, (out, value, count)) }
}
