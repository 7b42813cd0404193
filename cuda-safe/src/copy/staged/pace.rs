//! How many threads keep a device's link busy, measured once for each kind of transfer.
//!
//! The first large transfer of a kind has as many threads as the fastest link could need, and each of them notes how long it moved bytes
//! and how long it waited for the device. Where they mostly waited, fewer do as well, and leave processors to the
//! program; where nobody waited, more would be faster. Whatever comes out holds for the rest of the process.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use super::plan::Way;

/// Smaller transfers say little: at their ends threads wait for other reasons.
const ENOUGH: usize = 64 << 20;

/// Threads that the measure says are needed, and some more, as parts of this: machines are not always equally fast.
const PARTS: u64 = 2;

/// What the threads of one transfer did with their time.
#[derive(Debug, Default)]
pub(super) struct Stopwatch {
    moved: AtomicU64,
    waited: AtomicU64,
}

impl Stopwatch {
    /// A thread has moved bytes for so long.
    pub(super) fn moved(&self, time: Duration) {
        self.moved.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }

    /// A thread has waited for the device for so long.
    pub(super) fn waited(&self, time: Duration) {
        self.waited.fetch_add(nanoseconds(time), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// How many threads would have kept the link busy, after so many have done a transfer.
fn needed(parties: usize, moved: u64, waited: u64, processors: usize) -> usize {
    let whole = moved.saturating_add(waited).max(1);
    let parties_wide = u64::try_from(parties).unwrap_or(u64::MAX);
    let busy = parties_wide.saturating_mul(moved);
    // Half as many more as were busy, rounded up.
    let enough = busy.saturating_mul(PARTS + 1).div_ceil(whole.saturating_mul(PARTS));
    usize::try_from(enough).unwrap_or(usize::MAX).clamp(2, processors.max(2))
}

/// What was measured, by kind of transfer; 0 where nothing was.
static MEASURED: [AtomicUsize; 3] = [const { AtomicUsize::new(0) }; 3];

fn kind(way: Way, fresh: bool) -> &'static AtomicUsize {
    match (way, fresh) {
        (Way::Up, _) => &MEASURED[0],
        (Way::Down, false) => &MEASURED[1],
        (Way::Down, true) => &MEASURED[2],
    }
}

/// How many threads transfers of a kind need, if that has been measured.
pub(super) fn measured(way: Way, fresh: bool) -> Option<usize> {
    match kind(way, fresh).load(Ordering::Relaxed) {
        0 => None,
        threads => Some(threads),
    }
}

/// Whether a transfer that so many threads are to work on is the one to measure.
pub(super) fn wants(way: Way, fresh: bool, bytes: usize, parties: usize) -> bool {
    bytes >= ENOUGH && parties >= 4 && measured(way, fresh).is_none()
}

/// Keeps what the threads of a transfer did with their time. The first measure counts.
pub(super) fn keep(way: Way, fresh: bool, parties: usize, watch: &Stopwatch, processors: usize) {
    let (moved, waited) = (watch.moved.load(Ordering::Relaxed), watch.waited.load(Ordering::Relaxed));
    let threads = needed(parties, moved, waited, processors);
    let _ = kind(way, fresh).compare_exchange(0, threads, Ordering::Relaxed, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::needed;

    #[test]
    fn threads_that_mostly_wait_are_too_many() {
        assert_eq!(needed(12, 40, 60, 16), 8);
        assert_eq!(needed(8, 50, 50, 16), 6);
        assert_eq!(needed(8, 1, 99, 16), 2);
    }

    #[test]
    fn threads_that_never_wait_are_too_few() {
        assert_eq!(needed(8, 100, 0, 16), 12);
        assert_eq!(needed(16, 100, 0, 16), 16);
    }

    #[test]
    fn nothing_measured_and_numbers_too_large_do_no_harm() {
        assert_eq!(needed(8, 0, 0, 16), 2);
        assert_eq!(needed(usize::MAX, u64::MAX, u64::MAX, 4), 2);
        assert_eq!(needed(1, 1, 0, 0), 2);
    }
}
