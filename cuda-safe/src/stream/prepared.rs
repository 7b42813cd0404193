//! Operations that are enqueued many times with the same accesses: the accesses are put in order once.
#![expect(unsafe_code, reason = "declares an unsafe door")]

use std::ops::Range;
use std::panic::Location;

use cuda_hazard::{GroupId, Operation, RepeatedGroup, SortedAccesses};

use super::enqueue::Submission;
use super::view::StreamRef;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::sys;

/// The fast path has an array for the groups of accesses.
const GROUPS: usize = 4;

/// With so few accesses, `enqueue` is as fast.
const FEW: usize = 4;

/// The accesses of an operation that is enqueued many times, put in order once.
///
/// For operations with many accesses, such as a kernel that copies 64 ranges: a repeated
/// [`enqueue_prepared`](StreamRef::enqueue_prepared) costs the tracker one step per group, however many ranges there are.
/// A group is all that the operation reads of one allocation, or all that it writes. With more than four groups,
/// preparing saves nothing.
///
/// It keeps ranges and numbers. It neither borrows nor owns memory: each enqueue borrows the owners again.
#[derive(Debug)]
pub struct PreparedAccesses {
    /// In the operation's order. Empty if `enqueue` is as fast.
    parts: Vec<Part>,
    /// The tracker knows the accesses of each group by one number.
    groups: Vec<GroupId>,
}

/// One access, and its group: the accesses of one allocation and of one kind.
#[derive(Debug)]
struct Part {
    range: Range<usize>,
    mode: Mode,
    group: usize,
    is_first: bool,
}

impl PreparedAccesses {
    /// Prepares the accesses of an operation.
    #[must_use]
    pub fn new(accesses: &[Access<'_>]) -> Self {
        let (mut parts, mut leads) = (Vec::with_capacity(accesses.len()), Vec::<&Access<'_>>::new());
        for access in accesses {
            let found = leads.iter().position(|lead| lead.is_like(access));
            let group = found.unwrap_or(leads.len());
            if found.is_none() {
                leads.push(access);
            }
            parts.push(Part { range: access.range(), mode: access.mode(), group, is_first: found.is_none() });
        }
        if leads.len() > GROUPS || parts.len() <= FEW {
            return Self { parts: Vec::new(), groups: Vec::new() };
        }
        Self { parts, groups: leads.iter().map(|_| GroupId::new()).collect() }
    }

    /// The first access of each group. `None` if the accesses are not the prepared ones: of the same bytes, in the same
    /// modes, those of each group of one allocation, which may be another one than before.
    #[inline]
    fn leads<'b, 'a>(&self, accesses: &'b [Access<'a>]) -> Option<[&'b Access<'a>; GROUPS]> {
        if accesses.len() != self.parts.len() {
            return None;
        }
        let mut leads = [accesses.first()?; GROUPS];
        for (access, part) in accesses.iter().zip(&self.parts) {
            if part.is_first {
                *leads.get_mut(part.group)? = access;
            }
            let is_like = leads.get(part.group)?.is_like(access);
            if !is_like || part.range != access.range() || part.mode != access.mode() {
                return None;
            }
        }
        Some(leads)
    }

    /// The accesses of each group, in the tracker's order.
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
    /// The accesses are compared with those that were prepared. If they differ, this is `enqueue`.
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
    pub unsafe fn enqueue_prepared<R>(
        &self,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller's duties are just these.
        unsafe { self.enqueue_prepared_at(prepared, accesses, Location::caller(), f) }
    }

    /// [`enqueue_prepared`](Self::enqueue_prepared) on behalf of another call site.
    ///
    /// # Safety
    /// The duties of `enqueue`.
    #[inline]
    pub(crate) unsafe fn enqueue_prepared_at<R>(
        self,
        prepared: &PreparedAccesses,
        accesses: &[Access<'_>],
        call_site: &'static Location<'static>,
        f: impl FnOnce(sys::cudaStream_t) -> Result<R>,
    ) -> Result<R> {
        // SAFETY: the caller's duties are just these.
        let submission = match unsafe { self.begin_prepared(prepared, accesses) } {
            Some(submission) => submission,
            // SAFETY: as above.
            None => unsafe { self.begin(Operation::new(accesses), call_site) }?,
        };
        let answer = f(self.as_raw());
        submission.commit(answer.is_ok());
        answer
    }

    /// Begins an operation by the numbers of its groups of accesses. Returns `None` if the accesses are not the
    /// prepared ones, or if the tracker needs more than their numbers.
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
        for ((repeat, series), lead) in repeats.iter_mut().zip(&prepared.groups).zip(leads) {
            *repeat = series.repeat(lead);
        }
        let repeats = repeats.get(..prepared.groups.len())?;
        // SAFETY: the duties of `enqueue` are the caller's. `leads` has checked that the accesses of each group
        // are of the same bytes of one allocation, in the same modes and order, as whenever its series is used.
        if let Some(submission) = unsafe { self.begin_repeated(repeats) } {
            return Some(submission);
        }
        let sorted = prepared.sorted(accesses);
        let groups = prepared.groups.iter().zip(&sorted);
        let told: Vec<RepeatedGroup<'_, '_>> =
            groups.filter_map(|(series, accesses)| series.repeat_with(accesses.as_slice())).collect();
        // SAFETY: as above; these are all accesses of each group.
        unsafe { self.begin_repeated(&told) }
    }
}
