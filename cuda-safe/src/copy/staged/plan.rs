//! Whether a transfer is staged, and how: pure arithmetic over what the machine has and what the program wants.

use super::cut::Sizes;
use super::kit::DEPTH;
use super::settings::Settings;

/// Which way bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host to a device.
    Up,
    /// From a device to the host.
    Down,
}

/// What is known about a transfer before it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) way: Way,
    pub(super) bytes: usize,
    /// Whether the host's memory was allocated just now and has not been touched.
    pub(super) fresh: bool,
    /// Processors that the process may use.
    pub(super) processors: usize,
    /// How many threads keep the link busy, where that has been measured.
    pub(super) measured: Option<usize>,
    /// Bytes of pinned memory that it may take.
    pub(super) pinned: usize,
}

/// How a transfer is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) sizes: Sizes,
    /// Whether the host's stores go past its caches.
    pub(super) past_caches: bool,
    /// Whether pages are provided while the device fills a chunk.
    pub(super) provide: bool,
}

/// More threads than keep any link busy.
pub(super) const MOST_THREADS: usize = 64;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The largest chunk. Smaller ones cost the link a good part of its rate, larger ones add little to it.
const MOST: usize = 2 * MIB;

/// For each thread there should be as much: waking one takes some tens of microseconds.
const SHARE: usize = MIB;

/// The size from which on a transfer is staged where the program does not say. Below, the threads come too late, and the caller
/// alone is no faster than the runtime, which in turn is faster downwards than upwards.
fn threshold(way: Way) -> usize {
    match way {
        Way::Up => 4 * MIB,
        Way::Down => 8 * MIB,
    }
}

/// So many parties are faster than the runtime, which copies bytes that are in a processor's cache at almost twice its rate for others.
fn enough(way: Way) -> usize {
    match way {
        Way::Up => 3,
        Way::Down => 2,
    }
}

/// How many threads a transfer gets as long as nothing was measured: enough for the fastest link.
fn unmeasured(need: &Need) -> usize {
    match need.way {
        // Pages that come one by one take most of the time.
        Way::Down if need.fresh => 16,
        Way::Down => 12,
        Way::Up => 8,
    }
}

/// Whether stores that leave the caches alone are faster.
fn past_caches(need: &Need, parties: usize) -> bool {
    match need.way {
        // The device reads from memory rather than from some processor's cache.
        Way::Up => true,
        // Pages that are not needed soon: there are more than the caches hold.
        Way::Down if need.fresh => parties < 4 || need.bytes >= 256 * MIB,
        // One processor is faster with such stores, many are in each other's way.
        Way::Down => parties < 4 || need.bytes <= 8 * MIB,
    }
}

impl Plan {
    /// The plan for a transfer; none where it is not to be staged.
    pub(super) fn of(need: &Need, settings: &Settings) -> Option<Self> {
        let wanted = settings.threshold.unwrap_or_else(|| threshold(need.way));
        // One processor can do no more than the runtime does by itself.
        let alone = need.processors < 2 && settings.threshold.is_none();
        if !settings.enabled || need.bytes < wanted.max(1) || alone {
            return None;
        }
        let most = settings.chunk.unwrap_or(MOST).max(1);
        let threads = match settings.threads {
            Some(threads) => threads.clamp(1, MOST_THREADS),
            None => need.measured.unwrap_or_else(|| unmeasured(need)).min(need.processors),
        };
        let shares = need.bytes.div_ceil(SHARE.min(most));
        let parties = threads.min(shares).min(need.pinned / most / DEPTH);
        // Fewer than there could be are there as long as little pinned memory is, or as others have it.
        let enough = if settings.threshold.is_none() { enough(need.way).min(threads) } else { 1 };
        if parties < enough.max(1) {
            return None;
        }
        // The device comes first on the way down and last on the way up; where it does, pieces need not be small.
        let (first, last) = match need.way {
            Way::Up => (256 * KIB, MIB),
            Way::Down => (512 * KIB, 256 * KIB),
        };
        let sizes = Sizes { first: first.min(most), last: last.min(most), most, parties };
        Some(Self { sizes, past_caches: past_caches(need, parties), provide: need.fresh })
    }
}

#[cfg(test)]
mod tests {
    use super::{DEPTH, Need, Plan, Settings, Way};

    const MIB: usize = 1 << 20;

    fn need(way: Way, bytes: usize) -> Need {
        Need { way, bytes, fresh: false, processors: 16, measured: None, pinned: 64 * MIB }
    }

    #[test]
    fn small_transfers_are_not_staged() {
        let settings = Settings::default();
        for way in [Way::Up, Way::Down] {
            for bytes in [0, 1, 64 << 10, 512 << 10] {
                assert_eq!(Plan::of(&need(way, bytes), &settings), None);
            }
            assert!(Plan::of(&need(way, 64 * MIB), &settings).is_some());
        }
    }

    #[test]
    fn the_program_can_say_from_which_size_on() {
        let settings = Settings { threshold: Some(1000), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Up, 999), &settings), None);
        assert_eq!(Plan::of(&need(Way::Up, 1000), &settings).unwrap().sizes.parties, 1);
        let all = Settings { threshold: Some(0), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Up, 0), &all), None);
    }

    #[test]
    fn switched_off_or_without_pinned_memory_nothing_is_staged() {
        let off = Settings { enabled: false, threshold: Some(1), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Down, 64 * MIB), &off), None);
        let without = Need { pinned: 0, ..need(Way::Down, 64 * MIB) };
        assert_eq!(Plan::of(&without, &Settings::default()), None);
    }

    #[test]
    fn one_processor_alone_stages_only_when_told_to() {
        let one = Need { processors: 1, ..need(Way::Up, 64 * MIB) };
        assert_eq!(Plan::of(&one, &Settings::default()), None);
        let told = Settings { threshold: Some(1), ..Settings::default() };
        assert_eq!(Plan::of(&one, &told).unwrap().sizes.parties, 1);
    }

    #[test]
    fn no_more_threads_than_processors_shares_and_chunks() {
        let settings = Settings::default();
        let parties = |need: &Need| Plan::of(need, &settings).unwrap().sizes.parties;
        assert!(parties(&need(Way::Up, 1 << 30)) > 4);
        assert_eq!(parties(&need(Way::Up, 5 * MIB)), 5);
        assert_eq!(parties(&Need { processors: 3, ..need(Way::Up, 1 << 30) }), 3);
        assert_eq!(parties(&Need { pinned: 12 * MIB, ..need(Way::Up, 1 << 30) }), 3);
        let few = Settings { threads: Some(2), ..settings };
        assert_eq!(Plan::of(&need(Way::Down, 1 << 30), &few).unwrap().sizes.parties, 2);
        for pinned in [0, MIB, 4 * MIB, 5 * MIB, 64 * MIB] {
            if let Some(plan) = Plan::of(&Need { pinned, ..need(Way::Down, 1 << 30) }, &settings) {
                assert!(plan.sizes.parties * DEPTH * plan.sizes.most <= pinned);
            }
        }
    }

    #[test]
    fn a_few_parties_that_are_no_faster_than_the_runtime_are_not_sent() {
        let settings = Settings::default();
        let few = |way, pinned| {
            Plan::of(&Need { pinned, ..need(way, 1 << 30) }, &settings).map(|it| it.sizes.parties)
        };
        assert_eq!([few(Way::Up, 8 * MIB), few(Way::Up, 12 * MIB)], [None, Some(3)]);
        assert_eq!([few(Way::Down, 4 * MIB), few(Way::Down, 8 * MIB)], [None, Some(2)]);
        // Where there are no more processors, fewer will do.
        assert!(Plan::of(&Need { processors: 2, ..need(Way::Up, 1 << 30) }, &settings).is_some());
        let told = Settings { threshold: Some(1), ..settings };
        assert!(Plan::of(&Need { pinned: 4 * MIB, ..need(Way::Up, 1 << 30) }, &told).is_some());
    }

    #[test]
    fn what_was_measured_counts_unless_the_program_says_otherwise() {
        let measured = Need { measured: Some(5), ..need(Way::Up, 1 << 30) };
        assert_eq!(Plan::of(&measured, &Settings::default()).unwrap().sizes.parties, 5);
        let more = Need { measured: Some(50), ..measured };
        assert_eq!(Plan::of(&more, &Settings::default()).unwrap().sizes.parties, 16);
        let told = Settings { threads: Some(7), ..Settings::default() };
        assert_eq!(Plan::of(&measured, &told).unwrap().sizes.parties, 7);
    }
}
