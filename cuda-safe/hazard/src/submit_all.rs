//! One operation on several streams: begin, call, commit.
//!
//! [`Tracker::begin_all`] is for calls that submit work to several streams at once and return only then, such
//! as the end of a group of collectives. It enters the accesses of all streams before the call, and each
//! stream has a [`Submission`] of its own.
//!
//! # Why threads do not wait in a circle
//! 1. **Locks first.** The submit states are locked in the order of their timelines' numbers, before anything
//!    is entered. A thread that waits for a submit state has entered nothing and holds only states with lower
//!    numbers. So along a chain of threads that wait for submit states the number rises, and the chain ends
//!    at a thread that has all of its locks. A stream that is named twice is locked once.
//! 2. **Then entries, by address.** The accesses of all streams are one list, sorted by the addresses of the
//!    access histories. The accesses to one allocation are entered in one step: of one stream as ever, of
//!    several streams under the lock of the interval list. Only then the thread waits for the epochs that
//!    were in the history before this step and are not yet published. An epoch that another thread finds
//!    belongs to an operation that has all of its locks. So the operation that is waited for stands at the
//!    same access history and came to it earlier, or stands at a later one, exactly as with one stream. (With
//!    one step per stream this would not hold: two operations that each have two streams at one allocation
//!    could enter in the order A, C, B, D and then wait for each other.)
//! 3. **Then waits.** Added waits come after all entries. They wait for no thread: every epoch that they
//!    stand for is published. While one is added, the locks of the operation's other streams are held too.
//!    The backend takes none of them: the wait target of a stream has a lock of its own, under which nothing
//!    waits for a submit state.
//! 4. **No operation waits for itself.** Accesses of two streams that conflict are refused before anything is
//!    locked. One case is left: if the interval list becomes too long, its entries count for the whole
//!    allocation, and the last one of a stream stands for all. So an access may meet an entry that another
//!    stream of the same operation has just made. The thread then waits for what that stream was given
//!    *before*: this covers every operation for which the entry stands, and is published.
//!
//! # Why it is sound
//! Each stream's part is an operation as the crate's page describes it, with an epoch, a clock and a rule of
//! its own; the only question is whether two parts of one call need an order, and conflicts between them are
//! refused. The legacy rule's order for a part is read before the call, as ever. If the call submits to the
//! legacy stream and to a blocking stream, CUDA orders the two in some way that the tracker does not claim:
//! at the commit, the epochs of both are published, and the next operation of either stream takes the rule
//! into account.
#![expect(unsafe_code, reason = "declares how an operation on several streams begins")]

use std::sync::atomic::Ordering::SeqCst;

use crate::added_wait::EventBackend;
use crate::entry::{Conflict, Interval, View as _};
use crate::history::{Access, AccessHistory};
use crate::operation_view::{OperationView, hazard};
use crate::policy::Policy;
use crate::primitives::fence;
use crate::sorted::{AccessFlags, InlineAccesses, by_allocation, sorted};
use crate::submission::{Refusal, Submission, meets_host_guard};
use crate::timeline::{SubmitStateGuard, Timeline};
use crate::tracker::Tracker;
use crate::wait_log::CallSite;

/// The part of an operation on several streams that goes to one of them.
#[derive(Clone, Copy, Debug)]
pub struct StreamAccesses<'s, 'b, 'a, P> {
    /// The stream.
    pub timeline: &'s Timeline,
    /// The accesses of the work that it is given, in any order; some may be empty.
    pub accesses: &'b [Access<'a>],
    /// Adds waits to the stream.
    pub backend: P,
}

/// The part of one stream, with the accesses sorted.
struct StreamPart<'s, 'a, 'p, P> {
    timeline: &'s Timeline,
    accesses: InlineAccesses<'a>,
    flags: AccessFlags,
    backend: &'p P,
}

/// The accesses of one part to one allocation.
#[derive(Clone, Copy)]
struct Group<'b, 'a> {
    part: usize,
    history: &'a AccessHistory,
    accesses: &'b [Access<'a>],
}

impl Tracker {
    /// Begins one operation on several streams: enters the accesses of all of them, and orders each stream
    /// after everything that conflicts with its own accesses. Parts of the same stream are merged. Returns a
    /// submission for each stream, in the order of the timelines; the caller commits each of them.
    ///
    /// # Errors
    /// - [`Refusal::Overlap`] if two streams access the same bytes and one of them writes.
    /// - Those of [`begin_slow`](Self::begin_slow).
    ///
    /// # Safety
    /// The duties of [`begin_slow`](Self::begin_slow) for each part. The call is one for all parts: it gives
    /// each stream whose accesses have any bytes something to do.
    pub unsafe fn begin_all<'s, P: EventBackend>(
        &'s self,
        parts: &[StreamAccesses<'s, '_, '_, P>],
        at: CallSite,
    ) -> Result<Vec<Submission<'s>>, Refusal<P::Error>> {
        let parts = merged(parts);
        let groups = groups(&parts);
        refuse_overlap(&groups)?;
        let mut states: Vec<SubmitStateGuard<'s>> =
            parts.iter().map(|part| part.timeline.state.lock()).collect();
        // Read once, with everything locked: the policy under which all parts are entered and published.
        let policy = self.policy();
        let mut pending = Vec::with_capacity(parts.len());
        for (part, state) in parts.iter().zip(&mut states) {
            let takes_pending = !part.accesses.is_empty() && self.catch_up(part.timeline, state);
            pending.push(takes_pending);
            if policy == Policy::Error {
                self.refuse(part.timeline, state, takes_pending, &part.accesses, at)?;
            }
            if part.flags.unborrowed && part.accesses.iter().any(meets_host_guard) {
                return Err(Refusal::HostBorrowed);
            }
        }
        let begun = parts.iter().zip(states).zip(pending).map(|((part, state), pending)| {
            Submission::new(part.timeline, state, !part.accesses.is_empty(), pending)
        });
        let mut begun: Vec<Submission<'s>> = begun.collect();
        if policy == Policy::Off {
            return Ok(begun);
        }
        let call_site = (policy == Policy::Error).then_some(at);
        let conflicts = self.enter_groups(&groups, &begun, call_site);
        for ((part, submission), conflicts) in parts.iter().zip(&mut begun).zip(conflicts) {
            if conflicts.is_empty() {
                continue;
            }
            if policy == Policy::Error {
                return Err(Refusal::Hazard(hazard(&conflicts, at)));
            }
            // Again, because a wait of another part may have been an action of the legacy stream.
            let more = self.catch_up(part.timeline, &mut submission.state);
            submission.state.in_flight.takes_pending |= more;
            let (state, at_call) = (&mut submission.state, part.flags.at_call);
            self.order_all(part.timeline, state, at_call, conflicts, part.backend, at)
                .map_err(Refusal::Call)?;
            let view = OperationView::in_flight(self, part.timeline, &submission.state);
            for group in by_allocation(&part.accesses) {
                if let Some(first) = group.first() {
                    first.history.settle(group, &view);
                }
            }
        }
        // Again, because a guard that is taken from now on sees the epochs.
        if parts.iter().any(|part| part.flags.unborrowed) {
            fence(SeqCst);
            if parts.iter().any(|part| part.accesses.iter().any(meets_host_guard)) {
                return Err(Refusal::HostBorrowed);
            }
        }
        Ok(begun)
    }

    /// Enters the accesses of all parts, allocation by allocation, and waits for conflicting epochs that are
    /// not published yet. Returns the conflicts of each part.
    fn enter_groups(
        &self,
        groups: &[Group<'_, '_>],
        begun: &[Submission<'_>],
        call_site: Option<CallSite>,
    ) -> Vec<Vec<Conflict>> {
        let mut conflicts = vec![Vec::new(); begun.len()];
        for together in by_history(groups) {
            let view = |group: &Group<'_, '_>| {
                let submission = begun.get(group.part)?;
                let view = OperationView::in_flight(self, submission.timeline(), &submission.state);
                Some(if AccessFlags::of(group.accesses).at_call { view.at_call() } else { view })
            };
            let views: Vec<OperationView<'_>> = together.iter().filter_map(view).collect();
            let mut found = vec![Vec::new(); together.len()];
            match (together, views.as_slice(), found.as_mut_slice()) {
                ([group], [view], [found]) => group.history.enter(group.accesses, view, call_site, found),
                ([first, ..], ..) => {
                    let each = together.iter().zip(&views).zip(&mut found);
                    let each = each.map(|((group, view), found)| (group.accesses, view, found));
                    first.history.enter_together(each, call_site);
                }
                ([], ..) => {}
            }
            for ((group, mut found), view) in together.iter().zip(found).zip(&views) {
                for conflict in &mut found {
                    // An entry of this very operation: see 4 in this file's documentation.
                    if begun.iter().any(|it| it.epoch() == conflict.epoch) {
                        conflict.epoch.sequence -= 1;
                    }
                    self.await_published(conflict.epoch);
                }
                found.retain(|conflict| !view.is_after(conflict.epoch));
                if let Some(conflicts) = conflicts.get_mut(group.part) {
                    conflicts.append(&mut found);
                }
            }
        }
        conflicts
    }
}

/// Merges the parts of each stream, and sorts them by timeline.
fn merged<'s, 'a, 'p, P>(parts: &'p [StreamAccesses<'s, '_, 'a, P>]) -> Vec<StreamPart<'s, 'a, 'p, P>> {
    let mut parts: Vec<_> = parts.iter().collect();
    parts.sort_by_key(|part| part.timeline.id);
    let streams = parts.chunk_by(|one, next| one.timeline.id == next.timeline.id).filter_map(|same| {
        let StreamAccesses { timeline, backend, .. } = same.first()?;
        let accesses = sorted(same.iter().flat_map(|part| part.accesses).copied().collect());
        Some(StreamPart { timeline, flags: AccessFlags::of(&accesses), accesses, backend })
    });
    streams.collect()
}

/// Returns the accesses of all parts by allocation, in the order of the histories' addresses.
fn groups<'b, 'a, P>(parts: &'b [StreamPart<'_, 'a, '_, P>]) -> Vec<Group<'b, 'a>> {
    let mut groups = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let groups_of = by_allocation(&part.accesses).filter_map(|accesses| {
            Some(Group { part: number, history: accesses.first()?.history, accesses })
        });
        groups.extend(groups_of);
    }
    groups.sort_by_key(|group| std::ptr::from_ref(group.history).addr());
    groups
}

/// Returns the groups of each allocation.
fn by_history<'g, 'b, 'a>(groups: &'g [Group<'b, 'a>]) -> impl Iterator<Item = &'g [Group<'b, 'a>]> {
    groups.chunk_by(|one, next| std::ptr::eq(one.history, next.history))
}

/// Refuses accesses of two streams to the same bytes if one of them writes: nothing orders the two.
fn refuse_overlap<E>(groups: &[Group<'_, '_>]) -> Result<(), Refusal<E>> {
    for together in by_history(groups).filter(|together| together.len() > 1) {
        let mut all: Vec<(usize, Interval)> = Vec::new();
        for group in together {
            all.extend(group.accesses.iter().map(|access| (group.part, access.interval())));
        }
        all.retain(|(_, interval)| !interval.is_empty());
        all.sort_by_key(|(_, interval)| interval.start);
        // The earlier ones that reach into the next one's bytes.
        let mut open: Vec<(usize, Interval)> = Vec::new();
        for (part, next) in all {
            open.retain(|(_, earlier)| earlier.end > next.start);
            let met =
                open.iter().find(|(other, earlier)| *other != part && (next.writes() || earlier.writes()));
            if let Some((_, earlier)) = met {
                let bytes = earlier.end.min(next.end) - next.start;
                return Err(Refusal::Overlap { first: earlier.start, second: next.start, bytes });
            }
            open.push((part, next));
        }
    }
    Ok(())
}
