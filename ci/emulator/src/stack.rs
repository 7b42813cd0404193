//! Stacks for calls on threads that have little of their own. On ARM calls stay on the thread's stack.

#[cfg(target_arch = "x86_64")]
pub(crate) use stacker::{grow, maybe_grow};

/// Runs a function on a new stack of so many bytes.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn grow<R>(_: usize, run: impl FnOnce() -> R) -> R {
    run()
}

/// Runs a function on a new stack if this one has fewer bytes left than the first number.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn maybe_grow<R>(_: usize, _: usize, run: impl FnOnce() -> R) -> R {
    run()
}
