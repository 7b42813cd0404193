//! The parameters of launches that are proven.
#![expect(unsafe_code, reason = "declares which values a proof may speak of")]

use super::{ByValue, CheckedArg, SurfaceObject, TextureObject};

/// A parameter of a kernel whose launches can be proven.
///
/// # Safety
/// - Each byte of a value is initialised, or [`FIELDS`](Self::FIELDS) lists bytes that are.
/// - The addresses among its bytes are at the offsets [`POINTERS`](Self::POINTERS).
/// - [`WRITES`](Self::WRITES) is true unless they point to `const`.
/// - [`HANDLE`](Self::HANDLE) is that of the type: no other type is said to be a handle.
pub unsafe trait CheckedParameter: ByValue {
    /// The offsets of pointers in a value.
    const POINTERS: &'static [u64] = &[];
    /// The size of an element behind the pointers, in which an error counts.
    const ELEMENT: usize = 1;
    /// Offset and size of each field, if there is padding between or after them.
    const FIELDS: Option<&'static [(usize, usize)]> = None;
    /// Whether a kernel may write through the pointers.
    const WRITES: bool = false;
    /// `Some(false)` for the handle of a texture, `Some(true)` for that of a surface.
    const HANDLE: Option<bool> = None;
}

/// A type that is passed by value and contains no pointer: a number, or a struct of numbers that
/// `cuda-kernels-build` generated.
///
/// # Safety
/// No bytes of the type are an address, or the handle of a texture, a surface or a condition.
pub unsafe trait PlainValue: CheckedParameter {}

macro_rules! numbers {
    ($($number:ty)*) => { $(
        // SAFETY: a number has no padding and is no address.
        unsafe impl CheckedParameter for $number {}
        // SAFETY: a number is no address and no handle.
        unsafe impl PlainValue for $number {}
    )* };
}

numbers!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool);

// SAFETY: the value is one address.
unsafe impl<T: 'static> CheckedParameter for *const T {
    const POINTERS: &'static [u64] = &[0];
    const ELEMENT: usize = size_of::<T>();
}

// SAFETY: the value is one address.
unsafe impl<T: 'static> CheckedParameter for *mut T {
    const POINTERS: &'static [u64] = &[0];
    const ELEMENT: usize = size_of::<T>();
    const WRITES: bool = true;
}

// SAFETY: a handle is a number. Kernels reach the memory behind it only by its own instructions, which stay
// within it.
unsafe impl CheckedParameter for TextureObject {
    const HANDLE: Option<bool> = Some(false);
}

// SAFETY: a handle is a number, and surface instructions stay within the surface.
unsafe impl CheckedParameter for SurfaceObject {
    const HANDLE: Option<bool> = Some(true);
}

// SAFETY: the value has no pointer and is no handle.
#[diagnostic::do_not_recommend]
unsafe impl<T: PlainValue> CheckedArg<T> for T {}

/// A parameter's size, the offsets of its pointers, the size of an element behind them, which handle it
/// is, whether a kernel may write through it, and its fields if it has padding.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Description {
    pub(super) bytes: usize,
    pub(super) pointers: &'static [u64],
    pub(super) element: usize,
    pub(super) handle: Option<bool>,
    pub(super) writes: bool,
    pub(super) fields: Option<&'static [(usize, usize)]>,
}

impl Description {
    /// Returns whether all of these bytes of a value are initialised.
    pub(super) fn has(&self, start: usize, end: usize) -> bool {
        let holds = |(offset, size): &(usize, usize)| *offset <= start && end <= offset.saturating_add(*size);
        end <= self.bytes && self.fields.is_none_or(|fields| fields.iter().any(holds))
    }

    pub(super) const fn of<P: CheckedParameter>() -> Self {
        Self {
            bytes: size_of::<P>(),
            pointers: P::POINTERS,
            element: P::ELEMENT,
            handle: P::HANDLE,
            writes: P::WRITES,
            fields: P::FIELDS,
        }
    }
}
