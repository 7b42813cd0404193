//! The types behind [`launch!`](crate::launch!): they decide where errors of the compiler point, and which
//! type a number without one has.
//!
//! The macro passes each argument to [`Launcher::launch`] on its own. A wrong one is then what the compiler
//! points at; in a tuple it would be the whole launch. The number of arguments is checked first, by
//! [`Takes`]. Two more effects come from the types of what `launch` returns, one [`Passed`] for each
//! argument:
//!
//! - A whole number converts to its parameter's type, so `32` could have any type, and the compiler would
//!   choose `i32`. [`Passed::infer`] exists for an argument of the very type of its parameter, and the
//!   compiler chooses this type.
//! - [`like`] tells the compiler the type of a variable before it is passed. Where a `&mut` borrow is
//!   expected, the compiler borrows again from a variable that is one; otherwise it would move the variable.

use std::fmt;
use std::marker::PhantomData;

use super::{Checked, Kernel};

/// A list of `N` parameters.
#[diagnostic::on_unimplemented(
    message = "{N} arguments do not fit the kernel's parameters `{Self}`",
    label = "wrong number of arguments: the kernel's parameters are `{Self}`"
)]
pub trait Takes<const N: usize>: Sized {
    /// Always [`Launcher<'k, Self>`](Launcher).
    type Launcher<'k>
    where
        Self: 'k;

    /// Always [`CheckedLauncher<'k, Self>`](CheckedLauncher).
    type CheckedLauncher<'k>
    where
        Self: 'k;

    /// Makes the launcher of a kernel.
    fn launcher(kernel: &Kernel<Self>) -> Self::Launcher<'_>;

    /// Makes the launcher of a kernel whose launches are proven.
    fn checked_launcher(kernel: &Checked<Self>) -> Self::CheckedLauncher<'_>;
}

/// A kernel that is given as many arguments as it has parameters.
pub struct Launcher<'k, P>(pub(super) &'k Kernel<P>);

impl<P> fmt::Debug for Launcher<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

/// A kernel whose launches are proven, given as many arguments as it has parameters.
pub struct CheckedLauncher<'k, P>(pub(super) &'k Checked<P>);

impl<P> fmt::Debug for CheckedLauncher<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl<P> Checked<P> {
    /// Checks the number of arguments.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn taking<const N: usize>(&self) -> P::CheckedLauncher<'_>
    where
        P: Takes<N>,
    {
        P::checked_launcher(self)
    }
}

impl<P> Kernel<P> {
    /// Checks the number of arguments.
    #[doc(hidden)]
    #[inline]
    #[must_use]
    pub fn taking<const N: usize>(&self) -> P::Launcher<'_>
    where
        P: Takes<N>,
    {
        P::launcher(self)
    }
}

/// The types of an argument and of its parameter.
#[derive(Debug)]
pub struct Passed<A, P>(PhantomData<fn(A, P)>);

impl<P> Passed<P, P> {
    /// Makes the two types the same if the argument's is open.
    #[inline]
    pub fn infer(self) {}
}

/// [`Passed::infer`] of arguments of another type than their parameter's.
pub trait Infer {
    /// Does nothing.
    fn infer(self);
}

impl<A, P> Infer for Passed<A, P> {
    #[inline]
    fn infer(self) {}
}

/// Returns the type of an argument that is a variable.
#[inline]
#[must_use]
pub fn like<A, P>(_: &A) -> Passed<A, P> {
    Passed(PhantomData)
}

/// Leaves the type of an argument open.
#[inline]
#[must_use]
pub fn unknown<A, P>() -> Passed<A, P> {
    Passed(PhantomData)
}

/// Returns `done`, whose types are those of the arguments.
#[inline]
pub fn joined<R, T>(_: T, done: (R, T)) -> (R, T) {
    done
}
