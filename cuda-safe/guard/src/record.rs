//! The record of a launch's first failure, and what it means.

use crate::{Guarded, Member, Region};

/// The bytes of a record: in memory of the device or pinned memory, zero before the launch, aligned to 8.
pub const RECORD: usize = 40;

/// What the first thread that failed has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    site: usize,
    offset: u64,
    block: [u32; 3],
    thread: [u32; 3],
}

/// An access that a guard has stopped: the first one of its thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The access.
    pub member: Member,
    /// The memory that it was to be in. `None` if the kernel lost the base of its address, so that it could
    /// have been in any argument or variable.
    pub region: Option<Region>,
    /// Its offset from the start of that memory in bytes, or its address if the base was lost.
    pub offset: i64,
    /// The block of the thread.
    pub block: [u32; 3],
    /// The thread within its block.
    pub thread: [u32; 3],
}

impl Record {
    /// Reads a record. Returns `None` if nothing has failed.
    #[must_use]
    pub fn read(bytes: &[u8; RECORD]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let three = |at| [word(at), word(at + 4), word(at + 8)];
        let site = usize::try_from(word(4)).ok()?.checked_sub(1).filter(|_| word(0) != 0)?;
        let offset = u64::from(word(8)) | u64::from(word(12)) << 32;
        Some(Self { site, offset, block: three(16), thread: three(28) })
    }
}

impl Guarded {
    /// Returns which access has failed. `bytes` returns the bytes of the memory that an argument of the
    /// launch points to, and for a shared variable those of the dynamic shared memory.
    ///
    /// Returns `None` for the record of another kernel.
    #[must_use]
    pub fn failure(&self, record: &Record, bytes: impl Fn(Region) -> u64) -> Option<Failure> {
        let site = self.sites.get(record.site)?;
        let region = if let [region] = site.regions[..] { Some(region) } else { None };
        let bytes = region.map(|region| site.bytes.unwrap_or_else(|| bytes(region)));
        let is_wrong = |it: &&Member| {
            let start = record.offset.wrapping_add(it.offset);
            let is_in = |bytes: u64| start.checked_add(it.bytes).is_some_and(|end| end <= bytes);
            start.checked_rem(it.bytes) != Some(0) || !bytes.is_some_and(is_in)
        };
        let member = site.members.iter().find(is_wrong).or(site.members.first())?.clone();
        let offset = record.offset.wrapping_add(member.offset).cast_signed();
        Some(Failure { member, region, offset, block: record.block, thread: record.thread })
    }
}
