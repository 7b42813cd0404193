//! The host's guards of one allocation: whether the host is looking.

use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use super::access::Mode;
use super::sync::{AtomicU64, constructor, fence};

/// Added to the count by a guard that writes; readers add one.
const WRITER: u64 = 1 << 32;

/// Guards of one kind beyond which no more are given out, so that forgotten ones can never make the count
/// wrap.
const LIMIT: u64 = 1 << 31;

/// How many guards are alive, of either kind.
pub(super) struct Hosts(AtomicU64);

impl Hosts {
    constructor! {
        /// None yet.
        pub(super) fn new() -> Self {
            Self(AtomicU64::new(0))
        }
    }

    /// Counts a guard in. To be called before looking for conflicts, so that either side sees the other.
    /// Says no when there are so many that some must have been forgotten.
    #[must_use]
    pub(super) fn enter(&self, mode: Mode) -> bool {
        let before = self.0.fetch_add(weight(mode), SeqCst);
        // With the fence of whoever enters an access: either the host then finds the stamp, or the stamper finds the
        // guard.
        fence(SeqCst);
        let fits = before % WRITER < LIMIT && before / WRITER < LIMIT;
        if !fits {
            self.leave(mode);
        }
        fits
    }

    /// Counts a guard out.
    pub(super) fn leave(&self, mode: Mode) {
        self.0.fetch_sub(weight(mode), SeqCst);
    }

    /// Whether a live guard stands against an access that no Rust borrow keeps away from it. To be asked behind a fence where the
    /// access has been entered: either the guard is then found, or whoever takes one finds the access.
    #[inline]
    pub(super) fn stand_against(&self, mode: Mode) -> bool {
        let hosts = self.0.load(SeqCst);
        match mode {
            Mode::Read => hosts >= WRITER,
            Mode::Write => hosts != 0,
        }
    }

    /// All that are alive.
    pub(super) fn count(&self) -> u64 {
        let hosts = self.0.load(Relaxed);
        hosts / WRITER + hosts % WRITER
    }
}

/// What a guard adds to the count.
fn weight(mode: Mode) -> u64 {
    match mode {
        Mode::Read => 1,
        Mode::Write => WRITER,
    }
}
