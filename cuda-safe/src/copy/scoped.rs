//! The copies of a [`Scope`]: asynchronous copies of borrowed slices, which outlive the scope.

use super::operand::{AsyncDestination, AsyncSource, ByScope, Linear, Planar, Volumetric};
use super::transfer;
use crate::error::Result;
use crate::stream::Scope;
#[cfg(doc)]
use crate::sys;

impl<'scope> Scope<'scope, '_> {
    /// Submits the copy of all elements of `source` to `destination` to the scope's stream. Usually
    /// returns at once, but CUDA may wait if memory is pageable.
    ///
    /// Stands for [`cudaMemcpyAsync`](sys::cudaMemcpyAsync). Slices, arrays and vectors are borrowed
    /// until the scope ends, which it does only after the copy is complete. A zero-length copy is a
    /// no-op.
    ///
    /// # Ordering
    /// The copy runs in the order of the stream, and after conflicting work that was submitted to other
    /// streams before.
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
        D: AsyncDestination<Linear, ByScope<'scope>>,
        S: AsyncSource<Linear, ByScope<'scope>, Element = D::Element>,
    {
        transfer::enqueue("Scope::memcpy_async", self.stream(), destination.operand_mut()?, source.operand()?)
    }

    /// Submits the copy of the rows of `source` to those of `destination` to the scope's stream. Usually
    /// returns at once, but CUDA may wait if memory is pageable.
    ///
    /// Stands for [`cudaMemcpy2DAsync`](sys::cudaMemcpy2DAsync). Planes of slices are borrowed until the
    /// scope ends, which it does only after the copy is complete. A zero-length copy is a no-op.
    ///
    /// # Ordering
    /// The copy runs in the order of the stream, and after conflicting work that was submitted to other
    /// streams before.
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
    ///     scope.memcpy_2d_async(&mut device, Plane::from_slice(&source, 3, 2)?)?;
    ///     scope.memcpy_2d_async(PlaneMut::from_slice(&mut back, 3, 2)?, &device)
    /// })??;
    /// assert_eq!(back, source);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemcpy2DAsync")]
    #[track_caller]
    pub fn memcpy_2d_async<D, S>(&'scope self, mut destination: D, source: S) -> Result<()>
    where
        D: AsyncDestination<Planar, ByScope<'scope>>,
        S: AsyncSource<Planar, ByScope<'scope>, Element = D::Element>,
    {
        let (to, from) = (destination.operand_mut()?, source.operand()?);
        transfer::enqueue("Scope::memcpy_2d_async", self.stream(), to, from)
    }

    /// Submits the copy of the layers of `source` to those of `destination` to the scope's stream.
    /// Usually returns at once, but CUDA may wait if memory is pageable.
    ///
    /// Stands for [`cudaMemcpy3DAsync`](sys::cudaMemcpy3DAsync). Volumes of slices are borrowed until
    /// the scope ends, which it does only after the copy is complete. A zero-length copy is a no-op.
    ///
    /// # Ordering
    /// The copy runs in the order of the stream, and after conflicting work that was submitted to other
    /// streams before.
    ///
    /// # Errors
    /// As [`memcpy_3d_async`](crate::memcpy_3d_async).
    #[doc(alias = "cudaMemcpy3DAsync")]
    #[track_caller]
    pub fn memcpy_3d_async<D, S>(&'scope self, mut destination: D, source: S) -> Result<()>
    where
        D: AsyncDestination<Volumetric, ByScope<'scope>>,
        S: AsyncSource<Volumetric, ByScope<'scope>, Element = D::Element>,
    {
        let (to, from) = (destination.operand_mut()?, source.operand()?);
        transfer::enqueue("Scope::memcpy_3d_async", self.stream(), to, from)
    }
}
