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

/// The largest chunk.
const MOST: usize = 2 << 20;

/// The smallest piece that is worth a call.
const LEAST: usize = 256 << 10;

/// The size from which on a transfer is staged where the program does not say.
fn threshold(way: Way) -> usize {
    match way {
        Way::Up => 2 << 20,
        Way::Down => 1 << 20,
    }
}

/// How many threads are worth having, at the rate of the fastest links and of one processor.
fn worthwhile(need: &Need) -> usize {
    match need.way {
        // Pages that come one by one take most of the time.
        Way::Down if need.fresh => 16,
        Way::Down => 12,
        Way::Up => 8,
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
        let chunk = settings.chunk.unwrap_or(MOST).max(1);
        let chunks = need.pinned / chunk;
        let threads = match settings.threads {
            Some(threads) => threads.clamp(1, MOST_THREADS),
            None => worthwhile(need).min(need.processors),
        };
        let pieces = need.bytes.div_ceil(LEAST.min(chunk));
        let parties = threads.min(pieces).min(chunks / DEPTH);
        if parties == 0 {
            return None;
        }
        let sizes = Sizes { least: LEAST.min(chunk), most: chunk, parties };
        let past_caches = match need.way {
            Way::Up => true,
            Way::Down => parties < 4,
        };
        Some(Self { sizes, past_caches, provide: need.fresh })
    }
}

#[cfg(test)]
mod tests {
    use super::{Need, Plan, Settings, Way};

    const MIB: usize = 1 << 20;

    fn need(way: Way, bytes: usize) -> Need {
        Need { way, bytes, fresh: false, processors: 16, pinned: 64 * MIB }
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
    fn no_more_threads_than_processors_pieces_and_chunks() {
        let settings = Settings::default();
        let parties = |need: &Need| Plan::of(need, &settings).unwrap().sizes.parties;
        assert!(parties(&need(Way::Up, 1 << 30)) > 4);
        assert_eq!(parties(&Need { processors: 3, ..need(Way::Up, 1 << 30) }), 3);
        assert_eq!(parties(&Need { pinned: 8 * MIB, ..need(Way::Up, 1 << 30) }), 2);
        let few = Settings { threads: Some(2), ..settings };
        assert_eq!(Plan::of(&need(Way::Down, 1 << 30), &few).unwrap().sizes.parties, 2);
        for pinned in [0, MIB, 4 * MIB, 5 * MIB, 64 * MIB] {
            if let Some(plan) = Plan::of(&Need { pinned, ..need(Way::Down, 1 << 30) }, &settings) {
                assert!(plan.sizes.parties * super::DEPTH * plan.sizes.most <= pinned);
            }
        }
    }
}
