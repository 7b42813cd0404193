//! The memory that graphs allocate by nodes of their own, counted for each device.
//!
//! A node has its memory from when it is made. The counts are of launches: a launch uses the memory of its
//! nodes until a node of this or another launch frees it.

use std::collections::{BTreeMap, BTreeSet};

/// The granularity of reservations.
const PIECE: u64 = 32 << 20;

/// The counts of one device, in bytes. What is reserved counts as used until it is trimmed, as on an H200:
/// graphs keep the memory for their next launch.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GraphMemory {
    /// What launches have allocated and nothing has freed since.
    live: u64,
    pub(crate) reserved: u64,
    pub(crate) reserved_high: u64,
    pub(crate) used_high: u64,
}

impl GraphMemory {
    fn take(&mut self, bytes: u64) {
        self.live = self.live.saturating_add(bytes);
        self.reserved = self.reserved.max(whole(self.live));
        self.reserved_high = self.reserved_high.max(self.reserved);
        self.used_high = self.used_high.max(self.reserved);
    }

    /// Releases memory that is reserved and not used.
    pub(crate) fn trim(&mut self) {
        self.reserved = whole(self.live);
    }
}

fn whole(bytes: u64) -> u64 {
    bytes.checked_next_multiple_of(PIECE).unwrap_or(u64::MAX)
}

/// The counts of all devices.
#[derive(Debug, Default)]
pub(crate) struct GraphMemories {
    devices: BTreeMap<usize, GraphMemory>,
    /// The memory in use: the device and the bytes, by address.
    live: BTreeMap<u64, (usize, u64)>,
    /// The memory that was in use and will be again if its graph is launched.
    idle: BTreeSet<u64>,
}

impl GraphMemories {
    /// The counts of a device.
    pub(crate) fn of(&mut self, device: usize) -> &mut GraphMemory {
        self.devices.entry(device).or_default()
    }

    /// Whether a launch has allocated the memory and nothing has freed it since.
    pub(crate) fn is_in_use(&self, address: u64) -> bool {
        self.live.contains_key(&address)
    }

    /// Whether a launch has ever allocated the memory.
    pub(crate) fn was_in_use(&self, address: u64) -> bool {
        self.is_in_use(address) || self.idle.contains(&address)
    }

    /// Counts an allocation by a launch.
    pub(crate) fn take(&mut self, address: u64, device: usize, bytes: u64) {
        if self.live.insert(address, (device, bytes)).is_none() {
            self.of(device).take(bytes);
            self.idle.remove(&address);
        }
    }

    /// Counts a free by the program. Returns whether it was in use; `None` if it is no memory of a graph.
    pub(crate) fn give_back(&mut self, address: u64) -> Option<bool> {
        if self.idle.contains(&address) {
            return Some(false);
        }
        self.is_in_use(address).then(|| self.free(address)).map(|()| true)
    }

    /// Counts a free by a launch.
    pub(crate) fn free(&mut self, address: u64) {
        if let Some((device, bytes)) = self.live.remove(&address) {
            self.idle.insert(address);
            let memory = self.of(device);
            memory.live = memory.live.saturating_sub(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_launches_take_and_free_is_counted_and_what_is_reserved_stays_until_it_is_trimmed() {
        let mut memories = GraphMemories::default();
        memories.take(0x1000, 1, 100);
        memories.take(0x1000, 1, 100);
        memories.take(0x2000, 1, PIECE);
        let it = *memories.of(1);
        assert_eq!((it.live, it.used_high, it.reserved), (PIECE + 100, 2 * PIECE, 2 * PIECE));
        assert!(memories.is_in_use(0x2000));
        memories.free(0x2000);
        memories.free(0x2000);
        assert!(memories.was_in_use(0x2000) && !memories.was_in_use(0x3000));
        assert!(memories.is_in_use(0x1000) && !memories.is_in_use(0x2000));
        let it = memories.of(1);
        assert_eq!((it.live, it.used_high, it.reserved), (100, 2 * PIECE, 2 * PIECE));
        it.trim();
        assert_eq!((it.reserved, it.reserved_high), (PIECE, 2 * PIECE));
        assert_eq!(memories.of(0).live, 0);
    }
}
