//! Memory as an argument: of host functions ([`HostFnArgument`]) and of calls ([`CallArgument`]).
#![expect(unsafe_code, reason = "declares the function that makes the slices")]

use crate::error::Result;
use crate::hazard::Access;

/// The accesses of a host function or a call.
#[derive(Debug, Default)]
pub struct Accesses<'m>(pub(crate) Vec<Access<'m>>);

/// Memory that a host function reads or writes: `&memory` lends it as `&[T]`, and `&mut memory` as `&mut
/// [T]`.
///
/// Implemented for pinned, registered and managed memory, for parts of these, and for tuples of up to four:
/// `(&x, &mut y)` lends `(&[X], &mut [Y])`. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be lent to a host function",
    label = "not a reference to memory that the host reaches",
    note = "pass `&h` to read or `&mut h` to write a `PinnedBuffer`, `Registered` or managed memory, a part \
            of one, or a tuple of these; the host cannot reach device memory: copy it to pinned memory before"
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

/// Memory that a call reads or writes: `&memory` gives it a `*const T`, and `&mut memory` a `*mut T`.
///
/// Implemented for all buffers, registered memory, parts of these, and tuples of up to eight: `(&x, &mut
/// y)` gives `(*const X, *mut Y)`. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no memory for a call",
    label = "not a reference to memory of this crate",
    note = "pass `&x` to read or `&mut x` to write a buffer, `Registered` memory, a part of one, or a tuple \
            of these"
)]
pub trait CallArgument {
    /// The addresses that the call receives.
    type Pointers;

    /// Returns the addresses for a device.
    #[doc(hidden)]
    #[track_caller]
    #[allow(clippy::missing_errors_doc, reason = "hidden")]
    fn pointers(&self) -> Result<Self::Pointers>;

    /// Adds the accesses of the call to a list.
    #[doc(hidden)]
    fn accesses<'m>(&'m self, accesses: &mut Accesses<'m>);
}
