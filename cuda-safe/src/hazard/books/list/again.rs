//! Accesses that do again what their stream did last to the same bytes: nothing but a tick is entered, for each of them, or once for a
//! [`Run`] of all.

use super::super::access::Access;
use super::super::clock::{SlotId, Stamp, Tick};
use super::super::entry::Entry;
use super::super::run::Run;
use super::List;

impl List {
    /// Enters accesses from the first on as long as [`alike`](Self::alike) says so; gives how many. The steady state of a program that
    /// uses many parts again and again.
    pub(in super::super) fn stamp_again(&mut self, accesses: &[Access<'_>], me: Stamp) -> usize {
        let (low, done) = self.alike(accesses, me.slot);
        self.stamp_at(low, done, me.tick);
        self.next = low + done;
        done
    }

    /// How many accesses from the first on are each of the same bytes and mode as the entry that stands where it belongs, which is of
    /// this stream and meets no other; and where the first of these entries is.
    #[inline]
    fn alike(&self, accesses: &[Access<'_>], slot: SlotId) -> (usize, usize) {
        let Some(first) = accesses.first() else { return (0, 0) };
        let low = self.entries.partition_point(|entry| entry.start < first.start);
        // Where those before it may reach into it, nothing is said.
        let longest = if self.tangled { self.longest } else { 0 };
        let reaches = |before: &Entry| before.end.max(before.start.saturating_add(longest)) > first.start;
        if low.checked_sub(1).and_then(|before| self.entries.get(before)).is_some_and(reaches) {
            return (0, 0);
        }
        let entries = self.entries.get(low..).unwrap_or_default();
        let (mut done, mut reach) = (0, 0);
        for (access, entry) in accesses.iter().zip(entries) {
            let same = entry.start == access.start && entry.mode == access.mode && entry.place.is_none();
            // An entry is never longer than its allocation, which an access may be.
            let ends = entry.end == access.end || entry.end == access.want().end;
            if !(same && ends && entry.start >= reach && entry.stamp.slot == slot) {
                break;
            }
            reach = entry.end;
            done += 1;
        }
        // The last one may meet the entry behind it.
        if entries.get(done).is_some_and(|behind| behind.start < reach) {
            done -= 1;
        }
        (low, done)
    }

    /// Gives so many entries a later tick of their stream. A loop of its own that stores nothing but what changes: that takes as long as
    /// all the rest.
    #[inline]
    fn stamp_at(&mut self, low: usize, count: usize, tick: Tick) {
        for entry in self.entries.get_mut(low..).unwrap_or_default().iter_mut().take(count) {
            entry.stamp.tick = tick;
        }
    }

    /// Enters accesses as a run, where all of them do again what their stream did last to the same bytes. Says no, and does nothing, where
    /// anything else is the case. `of` is the number of their [`Sorted`](super::Sorted), or of their [`Series`](super::Series): that goes on without them.
    #[inline]
    pub(in super::super) fn stamp_run(&mut self, of: u64, accesses: &[Access<'_>], me: Stamp) -> bool {
        let goes_on = self.run.as_mut().is_some_and(|run| run.goes_on(of, me));
        goes_on || self.begin_run(of, accesses, me)
    }

    #[cold]
    #[inline(never)]
    fn begin_run(&mut self, of: u64, accesses: &[Access<'_>], me: Stamp) -> bool {
        let (low, done) = self.alike(accesses, me.slot);
        // Of a series none may have been told.
        let whole = done == accesses.len() && done > 0;
        if whole {
            let run = Run { of, low, len: done, stamp: me };
            // Of one that is of the same entries, the ticks count no more.
            if self.run.is_none_or(|before| (before.low, before.len) != (low, done)) {
                self.end_run();
            }
            self.run = Some(run);
        }
        whole
    }

    /// Tells the entries of a run their tick.
    #[inline]
    pub(in super::super) fn end_run(&mut self) {
        if self.run.is_some() {
            self.tell_run();
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.stamp_at(run.low, run.len, run.stamp.tick);
        }
    }
}
