//! Operations that are enqueued many times with the same accesses, which are sorted once.
#![expect(unsafe_code, reason = "declares an unsafe function that submits work")]

use std::ops::Range;
use std::panic::Location;

use cuda_hazard::{GroupId, Operation, RepeatedGroup, SortedAccesses};

use super::enqueue::Submission;
use super::view::StreamRef;
use crate::error::Error;
use crate::hazard::{Access, Mode};
use crate::sys;

/// The capacity of the fast path's array of access groups.
const GROUPS: usize = 4;

/// Up to this many accesses, `enqueue` is as fast.
const FEW: usize = 4;

/// The accesses of an operation that is enqueued many times, sorted once.
///
/// Use it for operations with many accesses, such as a kernel that copies 64 ranges. A repeated
/// [`enqueue_prepared`](StreamRef::enqueue_prepared) costs the tracker one step per group, regardless of
/// the number of ranges. A group is everything that the operation reads of one allocation, or everything
/// that it writes there. With more than four groups, preparing saves nothing.
///
/// The value stores ranges and numbers. It neither borrows nor owns memory: each enqueue borrows the
/// owners again.
#[derive(Debug)]
pub struct PreparedAccesses {
    /// In the operation's order. Empty if `enqueue` is as fast.
    parts: Vec<PreparedAccess>,
    /// The number by which the tracker knows the accesses of each group.
    groups: Vec<GroupId>,
}

/// One access and its group: all accesses of one mode to one allocation.
#[derive(Debug)]
struct PreparedAccess {
    range: Range<usize>,
    mode: Mode,
    /// Groups are numbered in the order of their first accesses.
    group: usize,
}

impl PreparedAccesses {
    /// Prepares the accesses of an operation.
    #[must_use]
    pub fn new(accesses: &[Access<'_>]) -> Self {
        let (mut parts, mut leads) = (Vec::with_capacity(accesses.len()), Vec::<&Access<'_>>::new());
        for access in accesses {
            let group = leads.iter().position(|lead| lead.is_like(access)).unwrap_or(leads.len());
            if group == leads.len() {
                leads.push(access);
            }
            parts.push(PreparedAccess { range: access.range(), mode: access.mode(), group });
        }
        if leads.len() > GROUPS || parts.len() <= FEW {
            return Self { parts: Vec::new(), groups: Vec::new() };
        }
        Self { parts, groups: leads.iter().map(|_| GroupId::new()).collect() }
    }

    /// Returns the first access of each group. Returns `None` if the accesses are not the prepared ones:
    /// the same bytes in the same modes, with each group in one allocation, which may be another one
    /// than before.
    #[inline]
    fn leads<'b, 'a>(&self, accesses: &'b [Access<'a>]) -> Option<[&'b Access<'a>; GROUPS]> {
        if accesses.len() != self.parts.len() {
            return None;
        }
        let (mut leads, mut found) = ([accesses.first()?; GROUPS], 0);
        for (access, part) in accesses.iter().zip(&self.parts) {
            if part.group == found {
                *leads.get_mut(part.group)? = access;
                found += 1;
            }
            let is_like = leads.get(part.group)?.is_like(access);
            if !is_like || part.range != access.range() || part.mode != access.mode() {
                return None;
            }
        }
        Some(leads)
    }

    /// Returns the accesses of each group in the tracker's order.
    fn sorted<'a>(&self, accesses: &[Access<'a>]) -> Vec<SortedAccesses<'a>> {
        let of = |group: usize| {
            let of_group = accesses.iter().zip(&self.parts).filter(|(_, part)| part.group == group);
            SortedAccesses::new(of_group.map(|(access, _)| *access).collect())
        };
        (0..self.groups.len()).map(of).collect()
    }
}

impl StreamRef<'_> {
    /// [`enqueue`](Self::enqueue) of an operation that is enqueued many times with the same accesses.
    ///
    /// The accesses are compared with the prepared ones. If they differ, this is `enqueue`.
    ///
    /// # Ordering
    /// As `enqueue`.
    ///
    /// # Errors
    /// As `enqueue`.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    #[track_caller]
    pub unsafe fn enqueue_prepared<R, E: From<Error>>(
        &self,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
        f: impl FnOnce(sys::cudaStream_t) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: the caller has the same duties.
        unsafe { self.enqueue_prepared_at(prepared, accesses, Location::caller(), f) }
    }

    /// [`enqueue_prepared`](Self::enqueue_prepared) for another call site.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    pub(crate) unsafe fn enqueue_prepared_at<R, E: From<Error>>(
        self,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
        call_site: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R, E>,
    ) -> Result<R, E> {
        // SAFETY: the caller has the same duties.
        let submission = match unsafe { self.begin_prepared(prepared, accesses) } {
            Some(submission) => submission,
            // SAFETY: as above.
            None => unsafe { self.begin(Operation::new(accesses), call_site) }?,
        };
        let answer = f(self.as_raw());
        submission.commit(answer.is_ok());
        answer
    }

    /// Begins an operation by the numbers of its groups of accesses. Returns `None` if the accesses are
    /// not the prepared ones, or if the tracker needs more than their numbers.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    unsafe fn begin_prepared(
        self,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
    ) -> Option<Submission> {
        let leads = prepared.leads(accesses)?;
        let mut repeats = [prepared.groups.first()?.repeat(leads[0]); GROUPS];
        for ((repeat, group), lead) in repeats.iter_mut().zip(&prepared.groups).zip(leads) {
            *repeat = group.repeat(lead);
        }
        let repeats = repeats.get(..prepared.groups.len())?;
        // SAFETY: the caller has the duties of `enqueue`. `leads` has checked that the accesses of each
        // group are to the same bytes of one allocation, in the same modes and order, as at every use of
        // the group's number.
        if let Some(submission) = unsafe { self.begin_repeated(repeats) } {
            return Some(submission);
        }
        let sorted = prepared.sorted(accesses);
        let groups = prepared.groups.iter().zip(&sorted);
        let told: Vec<RepeatedGroup<'_, '_>> =
            groups.filter_map(|(group, accesses)| group.repeat_with(accesses.as_slice())).collect();
        // SAFETY: as above. These are all accesses of each group.
        unsafe { self.begin_repeated(&told) }
    }
}
