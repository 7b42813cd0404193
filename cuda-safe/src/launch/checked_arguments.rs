//! The parameters and arguments of launches that are proven.
#![expect(unsafe_code, reason = "declares which values and memory a proof may speak of")]

use crate::hazard::Access;

use super::{Arguments, ByValue, KernelArg, Parameters, SurfaceObject, TextureObject};

/// A parameter of a kernel whose launches can be proven.
///
/// # Safety
/// - Each byte of a value is initialised: the type has no padding.
/// - The addresses among its bytes are at the offsets [`POINTERS`](Self::POINTERS).
pub unsafe trait CheckedParameter: ByValue {
    /// The offsets of pointers in a value.
    const POINTERS: &'static [u64] = &[];
    /// The size of an element behind the pointers, in which an error counts.
    const ELEMENT: usize = 1;
}

/// A type that is passed by value and contains no pointer: a number, or a struct of numbers without padding
/// that `cuda-kernels-build` generated.
///
/// # Safety
/// No bytes of the type are an address, or the handle of a texture, a surface or a condition.
pub unsafe trait PlainValue: CheckedParameter {}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        // SAFETY: a number has no padding and is no address.
        unsafe impl CheckedParameter for $number {}
        // SAFETY: as above.
        unsafe impl PlainValue for $number {}
    )* };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool);

// SAFETY: the value is one address.
unsafe impl<T: 'static> CheckedParameter for *const T {
    const POINTERS: &'static [u64] = &[0];
    const ELEMENT: usize = size_of::<T>();
}

// SAFETY: as above.
unsafe impl<T: 'static> CheckedParameter for *mut T {
    const POINTERS: &'static [u64] = &[0];
    const ELEMENT: usize = size_of::<T>();
}

// SAFETY: a handle is a number. Kernels reach the memory behind it only by its own instructions, which stay
// within it.
unsafe impl CheckedParameter for TextureObject {}

// SAFETY: as above.
unsafe impl CheckedParameter for SurfaceObject {}

/// A value that may be passed for a parameter of type `P` in a launch that is proven: all that [`KernelArg`]
/// lists, except raw pointers, flags, handles by number, and structs with padding or pointers.
///
/// # Safety
/// - If `P` has pointers, the first one is the address of the bytes of [`access`](KernelArg::access), which
///   is a write if the kernel may write them. Without an access, no bytes belong to the argument.
/// - Nothing but the kernel changes these bytes while it runs.
/// - A handle is that of a live texture or surface, whose memory is that of `access`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an argument for a kernel parameter of type `{P}` in a launch that is proven",
    label = "the kernel declares this parameter as `{P}`",
    note = "`*const T` takes a shared borrow of device or pinned memory of `T`, `*mut T` a mutable one",
    note = "a whole number converts to any type of whole numbers, other numbers do not: `2.0` for a `float`, \
            `x as f32` for another number",
    note = "raw pointers, flags and handles by number are for launches without proof: \
            `unsafe {{ launch!(kernel.unchecked()<<<grid, block, shared_bytes, &stream>>>(arguments)) }}`"
)]
pub unsafe trait CheckedArg<P: ByValue>: KernelArg<P> {}

// SAFETY: the value has no pointer and is no handle.
#[diagnostic::do_not_recommend]
unsafe impl<T: PlainValue> CheckedArg<T> for T {}

/// A tuple of arguments of a launch that is proven. The trait is sealed.
///
/// # Safety
/// `each_access` returns the access of each argument, in order.
#[diagnostic::on_unimplemented(
    message = "the arguments `{Self}` do not fit the kernel's parameters `{P}` in a launch that is proven",
    label = "the kernel's parameters are `{P}`",
    note = "raw pointers, flags and handles by number are for launches without proof: `kernel.unchecked()`"
)]
pub unsafe trait CheckedArguments<P>: Arguments<P> {
    /// Returns the access of each argument.
    #[doc(hidden)]
    fn each_access<'a>(&'a self) -> impl AsRef<[Option<Access<'a>>]>;
}

/// A parameter list of [`CheckedParameter`]s. The trait is sealed.
pub trait CheckedParameters: Parameters {
    /// What the proof knows of each parameter.
    #[doc(hidden)]
    const DESCRIPTIONS: &'static [Description];
}

/// A parameter's size, the offsets of its pointers, and the size of an element behind them.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Description {
    pub(super) bytes: usize,
    pub(super) pointers: &'static [u64],
    pub(super) element: usize,
}

impl Description {
    pub(super) const fn of<P: CheckedParameter>() -> Self {
        Self { bytes: size_of::<P>(), pointers: P::POINTERS, element: P::ELEMENT }
    }
}
