//! Scopes: operations that borrow from the caller, all complete before the scope returns.
//!
//! # The end of the process
//! Once the runtime is gone, no thread can find out any more whether its work is complete. One thread
//! ends the process and runs the exit handlers, while the others go on until it has finished. If one of
//! these is in a scope, it must not leave the scope, and need not: it has no future.
#![expect(unsafe_code, reason = "asks the C library for a call at exit, and which thread makes it")]

use std::fmt;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Once, OnceLock};

use super::view::{AsStream, StreamRef, sealed};
use crate::busy;
use crate::error::{Detail, Error, ErrorKind, Result, ensure};
use crate::{process, sys};

/// The stream that [`StreamRef::scope`] lends to its closure, with the promise that it is synchronized
/// before `'scope` ends.
pub struct Scope<'scope, 'env: 'scope> {
    stream: StreamRef<'scope>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl<'scope> Scope<'scope, '_> {
    /// Returns the stream of the scope.
    #[must_use]
    pub fn stream(&self) -> StreamRef<'scope> {
        self.stream
    }
}

impl fmt::Debug for Scope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl sealed::SealedStream for Scope<'_, '_> {}

impl AsStream for Scope<'_, '_> {
    fn as_stream(&self) -> StreamRef<'_> {
        self.stream
    }
}

impl StreamRef<'_> {
    /// Lets operations borrow memory of the caller. The stream is synchronized before this returns, also
    /// if `f` panics.
    ///
    /// Lifetimes are those of [`std::thread::scope`]: a value that is borrowed in the scope must outlive
    /// it, and can be used again after it.
    ///
    /// # Errors
    /// Refused before `f` runs inside a host function, another operation, or the child of a fork. At the
    /// end, returns the failure of the device's work; the context is then lost and nothing runs any more.
    /// Also reports the panic of a host function.
    ///
    /// If the synchronization fails for another reason, the process is aborted, because there is no safe
    /// way to continue. A scope that has not ended when the process exits does not return.
    ///
    /// # Examples
    /// ```compile_fail
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = cuda_safe::stream::Stream::new()?;
    /// let mut escaped = None;
    /// stream.scope(|scope| escaped = Some(scope))?; // the scope does not outlive its closure
    /// # Ok(())
    /// # }
    /// ```
    #[track_caller]
    pub fn scope<'env, F, R>(&self, f: F) -> Result<R>
    where
        F: for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> R,
    {
        busy::ensure_idle("StreamRef::scope")?;
        // Its end could not be waited for.
        ensure(!process::is_child(), "StreamRef::scope", || Detail::IN_CHILD)?;
        let process = process::number();
        note_exit();
        self.ensure_not_captured("StreamRef::scope")?;
        self.ensure_not_ending("StreamRef::scope")?;
        let scope = Scope { stream: *self, scope: PhantomData, env: PhantomData };
        let answer = catch_unwind(AssertUnwindSafe(|| f(&scope)));
        let over = self.synchronize();
        if let Err(error) = &over
            && !error.is_sticky()
            // Reported only after the stream has completed its work.
            && error.detail().kind() != ErrorKind::Panicked
            // The thread that ends the process has left all its scopes before, and has submitted nothing
            // since.
            && !is_exit_of_this_thread(error)
            // The closure may have forked. The work is the parent's, with the parent's memory.
            && process::is(process)
        {
            park_on_exit(error);
            eprintln!("cuda-safe: a scope could not be brought to its end: {error}");
            std::process::abort();
        }
        match answer {
            Ok(answer) => over.map(|()| answer),
            Err(panic) => resume_unwind(panic),
        }
    }
}

/// The thread that ends the process, set by its exit handler.
static ENDS: OnceLock<usize> = OnceLock::new();

/// Registers an exit handler that records which thread ends the process. The runtime is called before
/// the first scope, so its own exit handler runs after this one.
#[inline]
fn note_exit() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // If the handler cannot be registered, every thread counts as another one.
        // SAFETY: the function may be called at any time, on any thread.
        let _ = unsafe { libc::atexit(note) };
    });
}

extern "C" fn note() {
    let _ = ENDS.set(this_thread());
}

/// Returns a number that no other thread has while this one lives, also when its other locals are gone.
fn this_thread() -> usize {
    thread_local! {
        static OWN: u8 = const { 0 };
    }
    OWN.with(|own| std::ptr::from_ref(own).addr())
}

fn is_exit(error: &Error) -> bool {
    error.code() == sys::cudaErrorCudartUnloading
}

/// Returns whether the runtime is gone and this is the thread that ends the process.
fn is_exit_of_this_thread(error: &Error) -> bool {
    is_exit(error) && ENDS.get() == Some(&this_thread())
}

/// Does not return if the runtime is gone.
fn park_on_exit(error: &Error) {
    while is_exit(error) {
        std::thread::park();
    }
}
