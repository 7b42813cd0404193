//! Calls of other libraries, with the memory that they use.
#![expect(unsafe_code, reason = "declares an unsafe function that submits work")]

use super::memory_argument::{Accesses, CallArgument};
use super::view::StreamRef;
use crate::error::Error;
use crate::sys;

impl StreamRef<'_> {
    /// [`enqueue`](Self::enqueue) of a call whose accesses and pointers come from the same borrows, so
    /// that they cannot differ.
    ///
    /// `&memory` is declared as read and reaches `f` as `*const T`, `&mut memory` is declared as written
    /// and reaches it as `*mut T`: the addresses by which devices reach the memory. `f` may return the
    /// library's own error type, if [`Error`] converts to it.
    ///
    /// # Ordering
    /// As [`enqueue`](Self::enqueue).
    ///
    /// # Errors
    /// Those of [`enqueue`](Self::enqueue); `cudaErrorInvalidValue` for host memory that is not mapped.
    ///
    /// # Safety
    /// The duties of [`enqueue`](Self::enqueue): the call stays within the memory of its pointers, and
    /// does not write what it gets by a `*const T`.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, check, sys};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::new()?;
    /// let x = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
    /// let mut y = PinnedBuffer::<f32>::alloc(3)?;
    /// let bytes = x.size_in_bytes();
    /// // SAFETY: the call reads the bytes of `x`, and writes as many of `y`, on the stream that it gets.
    /// unsafe {
    ///     stream.call((&x, &mut y), |raw, (x, y)| {
    ///         check!(cudaMemcpyAsync(y.cast(), x.cast(), bytes, sys::cudaMemcpyDefault, raw))
    ///     })
    /// }?;
    /// assert_eq!(*y.host()?, [1.0, 2.0, 3.0]);
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub unsafe fn call<A: CallArgument, R, E: From<Error>>(
        &self,
        memory: A,
        f: impl FnOnce(sys::cudaStream_t, A::Pointers) -> core::result::Result<R, E>,
    ) -> core::result::Result<R, E> {
        let pointers = memory.pointers()?;
        let mut accesses = Accesses::default();
        memory.accesses(&mut accesses);
        // SAFETY: the caller has the same duties, with the accesses of the arguments.
        unsafe { self.enqueue(&accesses.0, |raw| f(raw, pointers)) }
    }
}
