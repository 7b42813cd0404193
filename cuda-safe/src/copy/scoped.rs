//! Asynchronous copies of borrowed slices, within a scope that outlives them.

use bytemuck::{AnyBitPattern, NoUninit};

use super::operand::{
    AsyncDestination, AsyncSource, Destination, Dimensions, Linear, Operand, Planar, Source, Volumetric,
    sealed,
};
use super::plain::{self, Plain};
use super::transfer::{How, transfer};
use crate::error::Result;
use crate::memory::{Pageable, Plane, PlaneMut, Volume, VolumeMut};
use crate::stream::{Scope, StreamRef};
#[cfg(doc)]
use crate::sys;

/// What [`Scope::memcpy_async`] copies from: what [`memcpy_async`](crate::memcpy_async) takes, and slices, arrays and
/// vectors borrowed for the whole scope.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the source of a copy in this scope",
    note = "pass a reference: to device or pinned memory, or, borrowed from outside the scope, to a slice, array or vector; planes and volumes of these may be passed as they are"
)]
pub trait ScopedSource<'scope, Shape = Linear>: private::Source<Shape> {
    /// What is copied.
    type Element;
}

/// What [`Scope::memcpy_async`] copies to: what [`memcpy_async`](crate::memcpy_async) takes, and slices, arrays and
/// vectors borrowed for the whole scope.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the destination of a copy in this scope",
    note = "pass a mutable reference: to device or pinned memory, or, borrowed from outside the scope, to a slice, array or vector; planes and volumes of these are passed as they are"
)]
pub trait ScopedDestination<'scope, Shape = Linear>: private::Destination<Shape> {
    /// What is copied.
    type Element;
}

/// The part of the traits that is not for others to implement.
mod private {
    use super::{Operand, Plain, Result};

    pub trait Source<Shape> {
        fn operand(&self) -> Result<Operand<'_>>;

        fn plain(&self) -> Option<Plain<'_>>;
    }

    pub trait Destination<Shape> {
        fn operand_mut(&mut self) -> Result<Operand<'_>>;

        fn plain_mut(&mut self) -> Option<Plain<'_>>;
    }
}

impl<S: Source<Shape> + ?Sized, Shape> private::Source<Shape> for &S {
    fn operand(&self) -> Result<Operand<'_>> {
        sealed::Source::<Shape>::operand(*self)
    }

    #[inline]
    fn plain(&self) -> Option<Plain<'_>> {
        sealed::Source::<Shape>::plain(*self)
    }
}

impl<D: Destination<Shape> + ?Sized, Shape> private::Destination<Shape> for &mut D {
    fn operand_mut(&mut self) -> Result<Operand<'_>> {
        sealed::Destination::<Shape>::operand_mut(*self)
    }

    #[inline]
    fn plain_mut(&mut self) -> Option<Plain<'_>> {
        sealed::Destination::<Shape>::plain_mut(*self)
    }
}

/// A view that is passed as it is, and not by a reference to it: made in the line of the copy, it would not live as long as the
/// scope, which its elements do.
macro_rules! views {
    ($($shape:ty: $read:ident, $written:ident;)*) => {$(
        impl<'a, T: NoUninit + AnyBitPattern> private::Source<$shape> for $read<'a, T, Pageable> {
            fn operand(&self) -> Result<Operand<'_>> {
                sealed::Source::<$shape>::operand(self)
            }

            fn plain(&self) -> Option<Plain<'_>> {
                sealed::Source::<$shape>::plain(self)
            }
        }

        impl<'a, T: AnyBitPattern> private::Destination<$shape> for $written<'a, T, Pageable> {
            fn operand_mut(&mut self) -> Result<Operand<'_>> {
                sealed::Destination::<$shape>::operand_mut(self)
            }

            fn plain_mut(&mut self) -> Option<Plain<'_>> {
                sealed::Destination::<$shape>::plain_mut(self)
            }
        }

        impl<'scope, T: NoUninit + AnyBitPattern> ScopedSource<'scope, $shape> for $read<'scope, T, Pageable> {
            type Element = T;
        }

        impl<'scope, T: AnyBitPattern> ScopedDestination<'scope, $shape> for $written<'scope, T, Pageable> {
            type Element = T;
        }
    )*};
}

views! {
    Planar: Plane, PlaneMut;
    Volumetric: Volume, VolumeMut;
}

// Tracked memory waits for the copy by itself, so a borrow for the call is enough; pageable memory must be borrowed for the
// whole scope.
impl<'scope, S: AsyncSource<Shape> + ?Sized, Shape> ScopedSource<'scope, Shape> for &S {
    type Element = S::Element;
}

impl<'scope, D: AsyncDestination<Shape> + ?Sized, Shape> ScopedDestination<'scope, Shape> for &mut D {
    type Element = D::Element;
}

impl<'scope, T: NoUninit> ScopedSource<'scope> for &'scope [T] {
    type Element = T;
}

impl<'scope, T: NoUninit, const N: usize> ScopedSource<'scope> for &'scope [T; N] {
    type Element = T;
}

impl<'scope, T: NoUninit> ScopedSource<'scope> for &'scope Vec<T> {
    type Element = T;
}

impl<'scope, T: AnyBitPattern> ScopedDestination<'scope> for &'scope mut [T] {
    type Element = T;
}

impl<'scope, T: AnyBitPattern, const N: usize> ScopedDestination<'scope> for &'scope mut [T; N] {
    type Element = T;
}

impl<'scope, T: AnyBitPattern> ScopedDestination<'scope> for &'scope mut Vec<T> {
    type Element = T;
}

// The elements of a plane or volume are borrowed for the whole scope too: those that are read by anybody else as well, those
// that are written by nobody else, because the view itself is.
impl<'scope, T: NoUninit + AnyBitPattern> ScopedSource<'scope, Planar> for &Plane<'scope, T, Pageable> {
    type Element = T;
}

impl<'scope, T: AnyBitPattern> ScopedDestination<'scope, Planar> for &'scope mut PlaneMut<'_, T, Pageable> {
    type Element = T;
}

impl<'scope, T: NoUninit + AnyBitPattern> ScopedSource<'scope, Volumetric> for &Volume<'scope, T, Pageable> {
    type Element = T;
}

impl<'scope, T: AnyBitPattern> ScopedDestination<'scope, Volumetric>
    for &'scope mut VolumeMut<'_, T, Pageable>
{
    type Element = T;
}

/// Has a stream copy whatever can be copied: for what the short way has nothing.
#[cold]
#[inline(never)]
#[track_caller]
fn enqueue_anew<Shape, D, S>(
    api: &'static str,
    stream: StreamRef<'_>,
    mut destination: D,
    source: S,
) -> Result<()>
where
    D: private::Destination<Shape>,
    S: private::Source<Shape>,
{
    transfer(api, How::Enqueued(stream), &destination.operand_mut()?, &source.operand()?)
}

impl<'scope> Scope<'scope, '_> {
    /// Gives the scope's stream the copy of all elements of `source` to `destination`, and returns, as a rule: with pageable
    /// memory CUDA may wait.
    ///
    /// Stands for [`cudaMemcpyAsync`](sys::cudaMemcpyAsync). Slices, arrays and vectors are borrowed until the scope ends,
    /// and it ends only when the copy is done. No elements, no call.
    ///
    /// # Ordering
    /// In the order of the stream, and after conflicting work that other streams were given before.
    ///
    /// # Errors
    /// As [`memcpy_async`](crate::memcpy_async).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::DeviceBuffer;
    /// use cuda_safe::stream::Stream;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut device = DeviceBuffer::<u32>::alloc(3)?;
    /// let (source, mut back) = (vec![1, 2, 3], vec![0; 3]);
    /// stream.scope(|scope| {
    ///     scope.memcpy_async(&mut device, &source)?;
    ///     scope.memcpy_async(&mut back, &device)
    /// })??;
    /// assert_eq!(back, source);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemcpyAsync")]
    #[track_caller]
    pub fn memcpy_async<D, S>(&'scope self, mut destination: D, source: S) -> Result<()>
    where
        D: ScopedDestination<'scope>,
        S: ScopedSource<'scope, Element = D::Element>,
    {
        let stream = self.stream();
        if let Some(copy) = plain::copy(Dimensions::One, destination.plain_mut(), source.plain()) {
            return copy.enqueue(stream);
        }
        enqueue_anew("Scope::memcpy_async", stream, destination, source)
    }

    /// Gives the scope's stream the copy of the rows of `source` to those of `destination`, and returns, as a rule: with
    /// pageable memory CUDA may wait.
    ///
    /// Stands for [`cudaMemcpy2DAsync`](sys::cudaMemcpy2DAsync). Planes of slices are borrowed until the scope ends, and it ends
    /// only when the copy is done. No elements, no call.
    ///
    /// # Ordering
    /// In the order of the stream, and after conflicting work that other streams were given before.
    ///
    /// # Errors
    /// As [`memcpy_2d_async`](crate::memcpy_2d_async).
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::{PitchedBuffer, Plane, PlaneMut};
    /// use cuda_safe::stream::Stream;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let mut device = PitchedBuffer::<u32>::alloc(3, 2)?;
    /// let (source, mut back) = ([1, 2, 3, 4, 5, 6], vec![0; 6]);
    /// stream.scope(|scope| {
    ///     scope.memcpy_2d_async(&mut device, Plane::of_slice(&source, 3, 2)?)?;
    ///     scope.memcpy_2d_async(PlaneMut::of_slice(&mut back, 3, 2)?, &device)
    /// })??;
    /// assert_eq!(back, source);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemcpy2DAsync")]
    #[track_caller]
    pub fn memcpy_2d_async<D, S>(&'scope self, mut destination: D, source: S) -> Result<()>
    where
        D: ScopedDestination<'scope, Planar>,
        S: ScopedSource<'scope, Planar, Element = D::Element>,
    {
        let stream = self.stream();
        if let Some(copy) = plain::copy(Dimensions::Two, destination.plain_mut(), source.plain()) {
            return copy.enqueue(stream);
        }
        enqueue_anew("Scope::memcpy_2d_async", stream, destination, source)
    }

    /// Gives the scope's stream the copy of the layers of `source` to those of `destination`, and returns, as a rule: with
    /// pageable memory CUDA may wait.
    ///
    /// Stands for [`cudaMemcpy3DAsync`](sys::cudaMemcpy3DAsync). Volumes of slices are borrowed until the scope ends, and it
    /// ends only when the copy is done. No elements, no call.
    ///
    /// # Ordering
    /// In the order of the stream, and after conflicting work that other streams were given before.
    ///
    /// # Errors
    /// As [`memcpy_3d_async`](crate::memcpy_3d_async).
    #[doc(alias = "cudaMemcpy3DAsync")]
    #[track_caller]
    pub fn memcpy_3d_async<D, S>(&'scope self, mut destination: D, source: S) -> Result<()>
    where
        D: ScopedDestination<'scope, Volumetric>,
        S: ScopedSource<'scope, Volumetric, Element = D::Element>,
    {
        let stream = self.stream();
        if let Some(copy) = plain::copy(Dimensions::Three, destination.plain_mut(), source.plain()) {
            return copy.enqueue(stream);
        }
        enqueue_anew("Scope::memcpy_3d_async", stream, destination, source)
    }
}
