//! The handle for launches that nothing checks.

use std::ops::Deref;

use super::Kernel;

/// A kernel whose launches the caller answers for: they are `unsafe`, and cost no proof. It has all methods
/// of [`Kernel`].
///
/// `launch!(kernel.unchecked()<<<4, 256, 0, &stream>>>(&x, &mut y))` is a launch by it.
#[derive(Debug)]
pub struct Unchecked<'k, P>(&'k Kernel<P>);

impl<P> Kernel<P> {
    /// Returns the handle for launches without proof: `unsafe`, and for raw pointers and flags, too.
    #[inline]
    #[must_use]
    pub fn unchecked(&self) -> Unchecked<'_, P> {
        Unchecked(self)
    }
}

impl<P> Deref for Unchecked<'_, P> {
    type Target = Kernel<P>;

    #[inline]
    fn deref(&self) -> &Kernel<P> {
        self.0
    }
}
