//! Types that kernels take by value.
#![expect(unsafe_code, reason = "declares which types have the same layout in C and in Rust")]

/// A type that is passed to kernels by value and has the same bytes in C and in Rust.
///
/// Numbers, `bool`, raw pointers, and types that `cuda-kernels-build` generates from a header implement it.
/// To pass a struct of your own, declare it in the header.
///
/// # Safety
/// - The type has the size, the alignment and the layout of the C type in the kernel's prototype.
/// - A copy of its bytes may be given to the device: it contains no reference, no lock and no owner.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel by value",
    note = "numbers, raw pointers and types generated from the kernel's header can"
)]
pub unsafe trait ByValue: Copy + 'static {}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(
            // SAFETY: a number has the same size and representation on both sides.
            unsafe impl ByValue for $number {}
        )*
    };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool);

// SAFETY: with unified addresses a pointer is the same number on both sides. The caller of a launch is
// responsible for the memory behind it.
unsafe impl<T: 'static> ByValue for *const T {}

// SAFETY: as above.
unsafe impl<T: 'static> ByValue for *mut T {}

// SAFETY: an array inside a C struct has the layout of its elements in sequence.
unsafe impl<T: ByValue, const N: usize> ByValue for [T; N] {}
