//! [`HostFnArgument`]: memory that a host function takes.
#![expect(unsafe_code, reason = "declares the function that makes the slices")]

use crate::hazard::Access;

/// The accesses of a host function.
#[derive(Debug, Default)]
pub struct Accesses<'m>(pub(crate) Vec<Access<'m>>);

/// Memory that a host function reads or writes: `&memory` lends it as `&[T]`, and `&mut memory` as `&mut [T]`.
///
/// Implemented for pinned, registered and managed memory, for parts of these, and for tuples of up to four:
/// `(&x, &mut y)` lends `(&[X], &mut [Y])`. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a host function",
    label = "not a reference to memory that the host reaches",
    note = "pass `&h` to read or `&mut h` to write a `PinnedBuffer`, `Registered` or managed memory, a part of \
            one, or a tuple of these; the host cannot reach device memory: copy it to pinned memory before"
)]
pub trait HostFnArgument: Sized {
    /// The slices that the function receives.
    type Slices<'s>;

    /// The addresses and lengths of the slices.
    #[doc(hidden)]
    type Parts: Copy + Send + Sync + 'static;

    /// Adds the accesses of the function to a list, and returns the addresses for it.
    #[doc(hidden)]
    fn parts<'m>(self, accesses: &mut Accesses<'m>) -> Self::Parts
    where
        Self: 'm;

    /// Makes the slices for one call of the function.
    ///
    /// # Safety
    /// For the lifetime `'s` the memory lives and no work conflicts with the accesses that
    /// [`parts`](Self::parts) has added. The host has no conflicting slices of it either.
    #[doc(hidden)]
    unsafe fn slices<'s>(parts: Self::Parts) -> Self::Slices<'s>;
}
