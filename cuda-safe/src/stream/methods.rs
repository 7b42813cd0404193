//! The methods that all types of streams have, written once.
//!
//! This is a macro because inherent methods need no import and appear on each type's page. Provided
//! methods of `AsStream` would require a `use` in every program that synchronizes a stream. With
//! `Deref`, a copied view could outlive its stream.

/// Implements the methods of [`StreamRef`](super::StreamRef) for a type with `as_stream`.
macro_rules! stream_methods {
    ($type:ty) => {
        impl $type {
            /// Returns the stream's device.
            #[doc(alias = "cudaStreamGetDevice")]
            #[must_use]
            #[inline]
            pub fn device(&self) -> $crate::Device {
                self.as_stream().device()
            }

            /// Returns the raw handle. The tracker does not see work that other code submits to it: make such
            /// calls by `call` or `enqueue`.
            #[must_use]
            #[inline]
            pub fn as_raw(&self) -> $crate::sys::cudaStream_t {
                self.as_stream().as_raw()
            }

            /// Returns whether this stream and the legacy stream of the device wait for each other.
            #[doc(alias = "cudaStreamGetFlags")]
            #[must_use]
            pub fn is_blocking(&self) -> bool {
                self.as_stream().is_blocking()
            }

            /// Returns the stream's priority. A smaller number is a higher priority.
            ///
            /// # Errors
            /// Returns the runtime's error.
            #[doc(alias = "cudaStreamGetPriority")]
            #[track_caller]
            pub fn priority(&self) -> $crate::Result<i32> {
                self.as_stream().priority()
            }

            /// Returns a number that no other stream of the process has or will have.
            ///
            /// # Errors
            /// Returns the runtime's error.
            #[doc(alias = "cudaStreamGetId")]
            #[track_caller]
            pub fn id(&self) -> $crate::Result<u64> {
                self.as_stream().id()
            }

            /// Blocks until the stream has completed everything submitted before this call.
            ///
            /// # Errors
            /// - The failure of any work that the device has run since the last check.
            /// - `CallbackPanicked` if a host function of this stream has panicked.
            /// - Refused inside a host function.
            #[doc(alias = "cudaStreamSynchronize")]
            #[track_caller]
            pub fn synchronize(&self) -> $crate::Result<()> {
                self.as_stream().synchronize()
            }

            /// Returns whether the stream has completed everything submitted before this call. Does not
            /// block.
            ///
            /// # Errors
            /// Fails as [`synchronize`](Self::synchronize).
            #[doc(alias = "cudaStreamQuery")]
            #[track_caller]
            pub fn is_done(&self) -> $crate::Result<bool> {
                self.as_stream().is_done()
            }

            /// Returns a future that is ready when the stream has completed everything submitted before this
            /// call. Does not block.
            ///
            /// See [`StreamRef::done`](crate::stream::StreamRef::done).
            #[doc(alias = "cudaStreamAddCallback")]
            #[doc(alias = "cudaStreamSynchronize")]
            #[track_caller]
            pub fn done(&self) -> $crate::stream::Done {
                self.as_stream().done()
            }

            /// Returns a future that is ready when the stream has completed everything submitted before its
            /// first poll: [`synchronize`](Self::synchronize) for tasks.
            ///
            /// For work of less than 20 µs, it is ready as soon as `synchronize` would return: the first poll
            /// asks the stream for up to 20 µs. After that, and in tasks of long work, the task is woken as
            /// by [`done`](Self::done), and the thread runs other tasks meanwhile. `done` never spins, and
            /// later work does not delay it.
            ///
            /// # Errors
            /// Fails as [`synchronize`](Self::synchronize).
            ///
            /// # Examples
            /// ```
            /// use cuda_safe::{DeviceBuffer, Stream, memset_async};
            ///
            /// async fn clear(buffer: &mut DeviceBuffer<u8>, stream: &Stream) -> cuda_safe::Result<()> {
            ///     memset_async(buffer, 0, stream)?;
            ///     stream.synchronized().await
            /// }
            /// ```
            #[doc(alias = "cudaStreamQuery")]
            #[doc(alias = "cudaStreamSynchronize")]
            #[track_caller]
            pub fn synchronized(&self) -> $crate::stream::Synchronized<'_, Self> {
                $crate::stream::Synchronized::new(self)
            }

            /// Makes all later work of the stream wait for the work that the event stands for. Does not
            /// block.
            ///
            /// # Errors
            /// Returns the runtime's error. Refused inside a host function.
            #[doc(alias = "cudaStreamWaitEvent")]
            #[inline]
            #[track_caller]
            pub fn wait(&self, event: &$crate::stream::Event) -> $crate::Result<()> {
                self.as_stream().wait(event)
            }

            /// Runs a function on the host after everything submitted to the stream before. Does not
            /// block.
            ///
            /// See [`StreamRef::launch_host_fn`](crate::stream::StreamRef::launch_host_fn).
            ///
            /// # Errors
            /// Returns the runtime's error. Refused inside another host function.
            #[doc(alias = "cudaLaunchHostFunc")]
            #[doc(alias = "cudaStreamAddCallback")]
            #[track_caller]
            pub fn launch_host_fn(&self, f: impl FnOnce() + Send + 'static) -> $crate::Result<()> {
                self.as_stream().launch_host_fn(f)
            }

            /// Runs a function on the host with memory, which it receives as slices. Does not block.
            ///
            /// See [`StreamRef::launch_host_fn_with`](crate::stream::StreamRef::launch_host_fn_with).
            ///
            /// # Errors
            /// Returns the runtime's error. Refused inside another host function.
            #[doc(alias = "cudaLaunchHostFunc")]
            #[track_caller]
            pub fn launch_host_fn_with<A: $crate::stream::HostFnArgument>(
                &self,
                memory: A,
                f: impl FnOnce(A::Slices<'_>) + Send + 'static,
            ) -> $crate::Result<()> {
                self.as_stream().launch_host_fn_with(memory, f)
            }

            /// Lets operations borrow memory of the caller. All of them are complete when this returns.
            ///
            /// See [`StreamRef::scope`](crate::stream::StreamRef::scope).
            ///
            /// # Errors
            /// Refuses before `f` runs, or returns the failure of the synchronization at the end.
            #[track_caller]
            pub fn scope<'env, F, R>(&self, f: F) -> $crate::Result<R>
            where
                F: for<'scope> FnOnce(&'scope $crate::stream::Scope<'scope, 'env>) -> R,
            {
                self.as_stream().scope(f)
            }

            /// Submits an operation that reads and writes the bytes in `accesses`, ordered after all
            /// conflicting work.
            ///
            /// See [`StreamRef::enqueue`](crate::stream::StreamRef::enqueue).
            ///
            /// # Errors
            /// Returns the error of `f`. Refuses as `StreamRef::enqueue`.
            ///
            /// # Safety
            /// The duties of `StreamRef::enqueue`.
            #[inline]
            #[track_caller]
            pub unsafe fn enqueue<R, E: From<$crate::Error>>(
                &self,
                accesses: &[$crate::hazard::Access<'_>],
                f: impl FnOnce($crate::sys::cudaStream_t) -> ::core::result::Result<R, E>,
            ) -> ::core::result::Result<R, E> {
                // SAFETY: the caller has the same duties.
                unsafe { self.as_stream().enqueue(accesses, f) }
            }

            /// Submits a call of another library with the memory that it uses.
            ///
            /// See [`StreamRef::call`](crate::stream::StreamRef::call).
            ///
            /// # Errors
            /// Returns the error of `f`. Refuses as `StreamRef::enqueue`.
            ///
            /// # Safety
            /// The duties of `StreamRef::call`.
            #[track_caller]
            pub unsafe fn call<A: $crate::stream::CallArgument, R, E: From<$crate::Error>>(
                &self,
                memory: A,
                f: impl FnOnce($crate::sys::cudaStream_t, A::Pointers) -> ::core::result::Result<R, E>,
            ) -> ::core::result::Result<R, E> {
                // SAFETY: the caller has the same duties.
                unsafe { self.as_stream().call(memory, f) }
            }
        }
    };
}
pub(super) use stream_methods;
