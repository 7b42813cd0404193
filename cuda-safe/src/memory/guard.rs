//! Guards: pinned memory, lent to the host while no work conflicts.
#![expect(unsafe_code, reason = "makes slices of memory that devices reach too")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::{ptr, slice};

use super::allocation::Span;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream;

/// Elements of pinned memory, lent to the host for reading. No work writes them while it lives.
#[must_use]
pub struct HostRef<'a, T> {
    loan: Loan<'a, T>,
    /// Has the compiler treat the guard as a slice: it may be sent to another thread only if a slice may.
    elements: PhantomData<&'a [T]>,
}

/// Elements of pinned memory, lent to the host for writing. No work uses them while it lives.
#[must_use]
pub struct HostMut<'a, T> {
    loan: Loan<'a, T>,
    /// As above. It also makes the type invariant in `T`.
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> HostRef<'a, T> {
    /// Waits for writers and lends the elements. The span's borrow keeps new writers away.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>) -> Result<Self> {
        Ok(Self { loan: Loan::new(span, Mode::Read)?, elements: PhantomData })
    }
}

impl<'a, T> HostMut<'a, T> {
    /// Waits for readers and writers and lends the elements. Nobody else may have borrowed the span, which
    /// keeps new readers and writers away.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>) -> Result<Self> {
        Ok(Self { loan: Loan::new(span, Mode::Write)?, elements: PhantomData })
    }
}

impl<T> Deref for HostRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: the memory has `len` aligned elements, lent for reading. The loan waited for pending
        // writes, and the borrow in the span forbids new ones. Any bytes are a valid `T`: owners are made
        // only for `AnyBitPattern`.
        unsafe { slice::from_raw_parts(pointer, len) }
    }
}

impl<T> Deref for HostMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: as for `HostRef`. The elements are reached only through the loan.
        unsafe { slice::from_raw_parts(pointer, len) }
    }
}

impl<T> DerefMut for HostMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: the memory has `len` aligned elements, lent for writing. The loan waited for pending
        // accesses, the exclusive borrow that the span was made from forbids new ones, and `self` is
        // borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(pointer, len) }
    }
}

/// The record in the allocation's access history that the host has these bytes.
pub(super) struct Loan<'a, T> {
    span: Span<'a, T>,
    mode: Mode,
}

impl<'a, T> Loan<'a, T> {
    /// Records the loan first and waits then, so that no conflicting work comes between.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>, mode: Mode) -> Result<Self> {
        let history = span.allocation().history();
        crate::hazard::lend(history, mode)?;
        let loan = Self { span, mode };
        stream::wait_host(history, span.range(), mode)?;
        Ok(loan)
    }

    /// Returns pointer and length for a slice. The pointer is never null, even if the length is 0.
    pub(super) fn parts(&self) -> (*mut T, usize) {
        match self.span.len() {
            0 => (ptr::dangling_mut(), 0),
            len => (self.span.pointer(), len),
        }
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `new` counted the loan in, and it lends nothing any more.
        unsafe { self.span.allocation().history().remove_host_guard(self.mode) };
    }
}

impl<T: fmt::Debug> fmt::Debug for HostRef<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for HostMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
