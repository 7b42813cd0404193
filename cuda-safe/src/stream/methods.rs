//! The methods that all kinds of streams have, written once.
//!
//! A macro, because inherent methods need no import and stand on each type's page. As provided methods of
//! `AsStream` they would ask a `use` of every program that synchronises a stream; by `Deref`, a copied view
//! could outlive its stream.

/// Gives a type that has `as_stream` the methods of [`StreamRef`](super::StreamRef).
macro_rules! stream_methods {
    ($type:ty) => {
        impl $type {
            /// The device that the stream is of.
            #[doc(alias = "cudaStreamGetDevice")]
            #[must_use]
            #[inline]
            pub fn device(&self) -> $crate::Device {
                self.as_stream().device()
            }

            /// The raw handle. What is put on it behind the crate's back, the tracker does not know of.
            #[must_use]
            #[inline]
            pub fn as_raw(&self) -> $crate::sys::cudaStream_t {
                self.as_stream().as_raw()
            }

            /// Whether the legacy stream of the device waits for this stream and the other way round.
            #[doc(alias = "cudaStreamGetFlags")]
            #[must_use]
            pub fn is_blocking(&self) -> bool {
                self.as_stream().is_blocking()
            }

            /// The stream's priority: smaller numbers go first.
            ///
            /// # Errors
            /// What the runtime fails with.
            #[doc(alias = "cudaStreamGetPriority")]
            #[track_caller]
            pub fn priority(&self) -> $crate::Result<i32> {
                self.as_stream().priority()
            }

            /// A number that no other stream of the process has or will have.
            ///
            /// # Errors
            /// What the runtime fails with.
            #[doc(alias = "cudaStreamGetId")]
            #[track_caller]
            pub fn id(&self) -> $crate::Result<u64> {
                self.as_stream().id()
            }

            /// Blocks until the stream has done all that it was given before this call.
            ///
            /// # Errors
            /// The failure of any work that the device has done since; `CallbackPanicked` if a host function
            /// of this stream did; a refusal inside a host function.
            #[doc(alias = "cudaStreamSynchronize")]
            #[track_caller]
            pub fn synchronize(&self) -> $crate::Result<()> {
                self.as_stream().synchronize()
            }

            /// Whether the stream has done all that it was given before this call. Does not block.
            ///
            /// # Errors
            /// Those of [`synchronize`](Self::synchronize).
            #[doc(alias = "cudaStreamQuery")]
            #[track_caller]
            pub fn is_done(&self) -> $crate::Result<bool> {
                self.as_stream().is_done()
            }

            /// Has everything that the stream is given from now on wait for what the event stands for. Does
            /// not block.
            ///
            /// # Errors
            /// What the runtime fails with; a refusal inside a host function.
            #[doc(alias = "cudaStreamWaitEvent")]
            #[inline]
            #[track_caller]
            pub fn wait(&self, event: &$crate::stream::Event) -> $crate::Result<()> {
                self.as_stream().wait(event)
            }

            /// Runs a function on the host once the stream has done all that it was given before. Does not
            /// block.
            ///
            /// See [`StreamRef::launch_host_fn`](crate::stream::StreamRef::launch_host_fn).
            ///
            /// # Errors
            /// What the runtime fails with, and a refusal inside another host function.
            #[doc(alias = "cudaLaunchHostFunc")]
            #[doc(alias = "cudaStreamAddCallback")]
            #[track_caller]
            pub fn launch_host_fn(&self, f: impl FnOnce() + Send + 'static) -> $crate::Result<()> {
                self.as_stream().launch_host_fn(f)
            }

            /// Lets operations borrow memory of the caller: all of them are over when this returns.
            ///
            /// See [`StreamRef::scope`](crate::stream::StreamRef::scope).
            ///
            /// # Errors
            /// A refusal before `f` runs, or the failure of the synchronisation at the end.
            #[track_caller]
            pub fn scope<'env, F, R>(&self, f: F) -> $crate::Result<R>
            where
                F: for<'scope> FnOnce(&'scope $crate::stream::Scope<'scope, 'env>) -> R,
            {
                self.as_stream().scope(f)
            }

            /// Puts an operation on the stream that reads and writes the bytes in `accesses`, ordered after
            /// whatever conflicts with it.
            ///
            /// See [`StreamRef::enqueue`](crate::stream::StreamRef::enqueue).
            ///
            /// # Errors
            /// What `f` fails with, and the refusals of `StreamRef::enqueue`.
            ///
            /// # Safety
            /// The duties of `StreamRef::enqueue`.
            #[inline]
            #[track_caller]
            pub unsafe fn enqueue<R>(
                &self,
                accesses: &[$crate::hazard::Access<'_>],
                f: impl FnOnce($crate::sys::cudaStream_t) -> $crate::Result<R>,
            ) -> $crate::Result<R> {
                // SAFETY: the caller has taken on the same duties.
                unsafe { self.as_stream().enqueue(accesses, f) }
            }
        }
    };
}
pub(super) use stream_methods;
