//! Memory of pools that a stream was told to free and has not come to yet: another allocation may have it where it comes after that.
//!
//! What was freed already is the device's again, and anybody's. Before that, only an allocation of as many bytes is given the memory: what
//! is still to run on the old one finds all its bytes where they were.

use std::collections::{BTreeMap, HashMap};

use super::allocation::Kind;
use super::book::Book;
use super::pool::PoolKey;
use crate::stream::{Key, Tick};

/// Which memory is to be had, and which has been.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    /// What streams were told to free: where it starts, on which stream, and by which operation.
    offered: BTreeMap<u64, (Key, Tick)>,
    /// How many frees are still to come of memory that is another allocation's by now.
    passed_on: HashMap<u64, u32>,
}

impl Reuse {
    /// Says that an operation of a stream will free memory.
    pub(crate) fn offer(&mut self, start: u64, stream: Key, free: Tick) {
        self.offered.insert(start, (stream, free));
    }

    /// Whether a free that a stream has come to is of memory that is another allocation's: it then ends nothing.
    fn is_passed_on(&mut self, start: u64) -> bool {
        let Some(count) = self.passed_on.get_mut(&start) else { return false };
        *count -= 1;
        if *count == 0 {
            self.passed_on.remove(&start);
        }
        true
    }

    /// Forgets memory whose life ends.
    pub(super) fn forget(&mut self, start: u64) {
        self.offered.remove(&start);
        self.passed_on.remove(&start);
    }
}

impl Book {
    /// What of a pool is still to be freed and has so many bytes: where it starts, on which stream that is to be, and by which operation.
    pub(crate) fn to_be_had(&self, pool: PoolKey, size: u64) -> Vec<(u64, Key, Tick)> {
        let fits = |start: u64| {
            self.starting_at(start, &[Kind::Pool]).is_some_and(|it| it.size == size)
                && !self.is_shared(start)
                && self.pools.of(start).is_some_and(|(key, _)| key == pool)
        };
        let offered = self.reuse.offered.iter().filter(|(start, _)| fits(**start));
        offered.map(|(start, (stream, free))| (*start, *stream, *free)).collect()
    }

    /// Gives memory that is still to be freed to another allocation.
    pub(crate) fn pass_on(&mut self, start: u64, call: &'static str) {
        self.reuse.offered.remove(&start);
        *self.reuse.passed_on.entry(start).or_default() += 1;
        self.begin_anew(start, call);
    }

    /// Ends stream-ordered memory, unless it is another allocation's by now.
    pub(crate) fn free(&mut self, start: u64, call: &'static str) {
        if !self.reuse.is_passed_on(start) {
            self.remove(start, call);
        }
    }
}
