//! Guards: pinned memory, lent to the host while no work conflicts.
#![expect(unsafe_code, reason = "makes slices of memory that devices reach too")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::{ptr, slice};

use super::span::Span;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream;

/// Elements of pinned memory, lent to the host for reading. No work writes them while it lives.
#[must_use]
pub struct HostRef<'a, T> {
    loan: Loan<'a, T>,
    /// What it stands for, for the compiler too: it may go to another thread only where a slice may.
    elements: PhantomData<&'a [T]>,
}

/// Elements of pinned memory, lent to the host for writing. No work uses them while it lives.
#[must_use]
pub struct HostMut<'a, T> {
    loan: Loan<'a, T>,
    /// As above. Nor does it become one of another type.
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T> HostRef<'a, T> {
    /// Waits for writers and lends the elements out. The span's borrow keeps new writers away.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>) -> Result<Self> {
        Ok(Self { loan: Loan::new(span, Mode::Read)?, elements: PhantomData })
    }
}

impl<'a, T> HostMut<'a, T> {
    /// Waits for readers and writers and lends the elements out. The span must be borrowed by nobody else, which keeps
    /// new ones away.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>) -> Result<Self> {
        Ok(Self { loan: Loan::new(span, Mode::Write)?, elements: PhantomData })
    }
}

impl<T> Deref for HostRef<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: `len` elements are there, aligned, and lent for reading: the books said that no write is pending, the
        // borrow in the span forbids new ones, and any bytes are a valid `T` (owners are made for `AnyBitPattern` only).
        unsafe { slice::from_raw_parts(pointer, len) }
    }
}

impl<T> Deref for HostMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: as for `HostRef`; the loan is the only way to the elements.
        unsafe { slice::from_raw_parts(pointer, len) }
    }
}

impl<T> DerefMut for HostMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let (pointer, len) = self.loan.parts();
        // SAFETY: `len` elements are there, aligned, and lent for writing: the books said that no access is pending, the
        // exclusive borrow that the span was made from forbids new ones, and `self` is borrowed exclusively.
        unsafe { slice::from_raw_parts_mut(pointer, len) }
    }
}

/// The entry in the allocation's books that says that the host has these bytes.
pub(super) struct Loan<'a, T> {
    span: Span<'a, T>,
    mode: Mode,
}

impl<'a, T> Loan<'a, T> {
    /// Enters the loan first and waits then, so that nothing conflicting slips in between.
    #[track_caller]
    pub(super) fn new(span: Span<'a, T>, mode: Mode) -> Result<Self> {
        let ledger = span.allocation().ledger();
        crate::hazard::lend(ledger, mode)?;
        let loan = Self { span, mode };
        stream::wait_host(ledger, span.range(), mode)?;
        Ok(loan)
    }

    /// Pointer and length for a slice: never null, also where there are no elements.
    pub(super) fn parts(&self) -> (*mut T, usize) {
        match self.span.len() {
            0 => (ptr::dangling_mut(), 0),
            len => (self.span.pointer(), len),
        }
    }
}

impl<T> Drop for Loan<'_, T> {
    fn drop(&mut self) {
        // SAFETY: it was counted in, and lends nothing any more.
        unsafe { self.span.allocation().ledger().host_leaves(self.mode) };
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
