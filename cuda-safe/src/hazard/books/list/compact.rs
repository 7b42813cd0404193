//! What makes a list shorter.

use super::super::access::Mode;
use super::super::clock::Stamp;
use super::super::entry::{Entry, View};
use super::{COMPACT_AT, List};

/// Entries beyond which accesses of one stream are taken together although their ticks differ.
const AT_MOST: usize = 512;

impl List {
    /// Drops what has completed.
    pub(in super::super) fn prune(&mut self, completed: impl Fn(Stamp) -> bool) {
        self.entries.retain(|entry| !completed(entry.stamp));
        self.measure();
    }

    /// Finds out what is known of all entries.
    fn measure(&mut self) {
        self.longest = self.entries.iter().map(|entry| entry.end - entry.start).max().unwrap_or(0);
        self.tangled = tangled(&self.entries);
    }

    /// Makes the list shorter: drops what has completed, joins equal neighbours and, if that is not enough,
    /// takes the accesses of a stream together, the last tick standing for all. The last is the only step
    /// that forgets, and it errs towards waiting.
    pub(super) fn compact<V: View>(&mut self, view: &V) {
        self.prune(|stamp| view.completed(stamp));
        self.join(|a, b| a.stamp == b.stamp && a.end >= b.start);
        if self.entries.len() > AT_MOST {
            self.entries
                .sort_unstable_by_key(|entry| (entry.stamp.slot, entry.mode == Mode::Write, entry.start));
            self.join(|a, b| a.stamp.slot == b.stamp.slot);
            self.entries.sort_unstable_by_key(|entry| (entry.start, entry.end));
        }
        self.measure();
        self.limit = COMPACT_AT.max(self.entries.len() * 2);
    }

    /// Joins neighbours of the same mode that `same` allows to.
    fn join(&mut self, same: impl Fn(&Entry, &Entry) -> bool) {
        self.entries.dedup_by(|next, kept| {
            let join = kept.mode == next.mode && same(kept, next);
            if join {
                kept.end = kept.end.max(next.end);
                kept.start = kept.start.min(next.start);
                if next.stamp.tick > kept.stamp.tick {
                    kept.stamp = next.stamp;
                    kept.place = next.place;
                }
            }
            join
        });
    }
}

/// Whether some of these entries, which are sorted, overlap though they are of different bytes.
pub(super) fn tangled(entries: &[Entry]) -> bool {
    // Where none of two neighbours do, ends are in order too.
    entries.windows(2).any(|pair| match pair {
        [a, b] => a.end > b.start && !a.is_of(b.start, b.end),
        _ => false,
    })
}
