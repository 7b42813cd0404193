//! Whether a transfer is staged, and how: pure arithmetic over what the machine has and what the program wants.
//!
//! The numbers were measured on a machine with an H200 (a link of 54 GB/s, 16 processors of 10 GB/s each), with 1, 2, 3, 4, 6, 8 and
//! 16 processors. `cudaMemcpy` moved 9 GB/s up and 15.5 GB/s down there, up 16 GB/s where the bytes were in the processor's cache.

use super::cut::Sizes;
use super::flow::Way;
use super::settings::Settings;

/// What is known about a transfer before it begins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    pub(super) way: Way,
    pub(super) bytes: usize,
    /// Whether the host's memory was allocated just now and has not been touched.
    pub(super) fresh: bool,
    /// Processors that the process may use.
    pub(super) processors: usize,
    pub(super) company: Company,
}

/// Whether a transfer has the processors for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    /// As far as is known.
    Alone,
    /// Another one goes the other way meanwhile, as in a pipeline: more threads than processors are in each other's way.
    Paired,
}

impl Company {
    /// How many of the processors a transfer uses. Never one, if there are two: with one it would not be staged.
    fn share(self, processors: usize) -> usize {
        match self {
            Self::Alone => processors,
            Self::Paired => (processors / 2).max(2).min(processors),
        }
    }
}

/// How a transfer is staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) sizes: Sizes,
    /// How many work on it at most, the calling thread included.
    pub(super) threads: usize,
    /// How many where it had to wait for its turn: what it waited for is slower than it is, and the more threads there are, the more they
    /// are in the way of the other copies.
    threads_after_a_wait: usize,
    /// Whether the host's stores go past its caches.
    pub(super) past_caches: bool,
    /// Whether pages are provided while the device fills a slot.
    pub(super) provide: bool,
}

/// More threads than keep any link busy.
pub(super) const MOST_THREADS: usize = 64;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The largest block, and so a slot. Smaller ones cost the link a good part of its rate, larger ones add little to it.
const MOST: usize = 2 * MIB;

/// Room of fewer bytes is seldom fresh, though it was allocated just now: allocators give it from memory that was used before.
pub(super) const FRESH: usize = 32 * MIB;

/// The bytes of a slot of pinned memory.
pub(super) fn slot(settings: &Settings) -> usize {
    settings.chunk.unwrap_or(MOST).max(1)
}

/// The size from which on so many threads are faster than `cudaMemcpy`, with something to spare. One never is: it has to wait for the
/// device in addition. Two gain half and more.
fn threshold(way: Way, threads: usize) -> Option<usize> {
    match (way, threads) {
        (_, 0 | 1) => None,
        (_, 2) => Some(4 * MIB),
        (Way::Up, _) => Some(2 * MIB),
        (Way::Down, _) => Some(MIB),
    }
}

/// So many threads write down past the caches, and no more: then memory's queues are full.
const FEW: usize = 6;

/// As many threads as there is a use for: beyond these the link is the limit, or the memory.
fn enough(need: &Need) -> usize {
    match need.way {
        Way::Up => 10,
        // Pages take most of the time.
        Way::Down if need.fresh => 16,
        // Past the caches these keep the link as busy as twelve do otherwise, which have to be woken first.
        Way::Down if need.company == Company::Alone => FEW - 1,
        Way::Down => 12,
    }
}

/// Whether so many threads store past the caches.
///
/// On the way up the device then reads from memory rather than from some processor's cache; large transfers of many threads fill
/// memory's queues that way. On the way down it is what the host reads later, if at all, and storing that past the caches is nearly
/// twice as fast (two threads move 22 to 24 GB/s for 15, four 48 to 52 for 30), but for fresh pages, which the system has just cleared and left in
/// the caches, and where chunks go up meanwhile, whose stores fill the queues already.
fn past_caches(need: &Need, threads: usize) -> bool {
    match need.way {
        Way::Up => need.bytes < 256 * MIB || threads < 8,
        Way::Down => threads <= FEW && !need.fresh && need.company == Company::Alone,
    }
}

impl Plan {
    /// The plan for a transfer; none where it is not to be staged.
    pub(super) fn of(need: &Need, settings: &Settings) -> Option<Self> {
        let (threads, threads_after_a_wait) = if let Some(threads) = settings.threads {
            let threads = threads.clamp(1, MOST_THREADS);
            (threads, threads)
        } else {
            let threads = enough(need).min(need.company.share(need.processors)).max(1);
            (threads, threads.min(FEW - 1))
        };
        let threshold = settings.threshold.or_else(|| threshold(need.way, threads))?;
        if !settings.enabled || need.bytes < threshold.max(1) {
            return None;
        }
        let most = match settings.chunk {
            Some(_) => slot(settings),
            None => (need.bytes / 8).clamp(256 * KIB, MOST),
        };
        let piece = match need.bytes / MIB {
            // Threads that have the system provide neighbouring pages are in each other's way.
            _ if need.fresh => MIB,
            0..4 => 64 * KIB,
            _ => 128 * KIB,
        };
        let sizes = Sizes { first: most / 4, last: (most / 8).max(64 * KIB), most, piece: piece.min(most) };
        let past_caches = past_caches(need, threads);
        Some(Self { sizes, threads, threads_after_a_wait, past_caches, provide: need.fresh })
    }

    /// The same for a copy that had to wait for its turn.
    pub(super) fn after_a_wait(self) -> Self {
        Self { threads: self.threads_after_a_wait, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{Company, MIB, Need, Plan, Settings, Way};

    fn need(way: Way, bytes: usize) -> Need {
        Need { way, bytes, fresh: false, processors: 16, company: Company::Alone }
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
    fn the_fewer_processors_the_larger_a_transfer_has_to_be() {
        let staged = |way, bytes, processors| {
            Plan::of(&Need { processors, ..need(way, bytes) }, &Settings::default()).is_some()
        };
        assert_eq!([1, 2, 3, 16].map(|it| staged(Way::Up, 2 * MIB, it)), [false, false, true, true]);
        assert_eq!([1, 2, 3, 16].map(|it| staged(Way::Down, MIB, it)), [false, false, true, true]);
        assert_eq!([1, 2].map(|it| staged(Way::Up, 4 * MIB, it)), [false, true]);
        assert_eq!([1, 2].map(|it| staged(Way::Down, 4 * MIB, it)), [false, true]);
        assert!(!staged(Way::Down, 1 << 30, 1));
    }

    #[test]
    fn the_program_can_say_from_which_size_on() {
        let settings = Settings { threshold: Some(1000), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Up, 999), &settings), None);
        assert!(Plan::of(&need(Way::Up, 1000), &settings).is_some());
        let one = Need { processors: 1, ..need(Way::Up, 64 * MIB) };
        assert_eq!(Plan::of(&one, &settings).unwrap().threads, 1);
        let all = Settings { threshold: Some(0), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Up, 0), &all), None);
    }

    #[test]
    fn switched_off_nothing_is_staged() {
        let off = Settings { enabled: false, threshold: Some(1), ..Settings::default() };
        assert_eq!(Plan::of(&need(Way::Down, 64 * MIB), &off), None);
    }

    #[test]
    fn no_more_threads_than_processors_unless_the_program_says_so() {
        let settings = Settings::default();
        let threads = |need: &Need, settings| Plan::of(need, settings).unwrap().threads;
        assert!(threads(&need(Way::Up, 1 << 30), &settings) > 4);
        assert_eq!(threads(&Need { processors: 3, ..need(Way::Up, 1 << 30) }, &settings), 3);
        let many = Settings { threads: Some(20), ..settings };
        assert_eq!(threads(&need(Way::Down, 1 << 30), &many), 20);
        let none = Settings { threads: Some(0), threshold: Some(1), ..settings };
        assert_eq!(threads(&need(Way::Down, 1 << 30), &none), 1);
    }

    #[test]
    fn after_a_wait_five_threads_unless_the_program_says_how_many() {
        let after = |threads| {
            let settings = Settings { threads, ..Settings::default() };
            Plan::of(&need(Way::Up, 1 << 30), &settings).unwrap().after_a_wait().threads
        };
        assert_eq!([None, Some(2), Some(20)].map(after), [5, 2, 20]);
    }

    #[test]
    fn of_two_transfers_at_once_each_uses_half_of_the_processors() {
        let shares = |company: Company| [1, 2, 3, 4, 16, 17].map(|processors| company.share(processors));
        assert_eq!(shares(Company::Alone), [1, 2, 3, 4, 16, 17]);
        assert_eq!(shares(Company::Paired), [1, 2, 2, 2, 8, 8]);
    }

    #[test]
    fn a_few_threads_write_down_past_the_caches_and_many_do_not() {
        let plan =
            |need: Need, threads| Plan::of(&need, &Settings { threads, ..Settings::default() }).unwrap();
        let down = need(Way::Down, 64 * MIB);
        for processors in [2, 4, 6, 8, 16] {
            let plan = plan(Need { processors, ..down }, None);
            assert_eq!((plan.threads, plan.past_caches), (processors.min(5), true));
        }
        assert!(plan(down, Some(6)).past_caches && !plan(down, Some(7)).past_caches);
        let fresh = plan(Need { fresh: true, processors: 4, ..down }, None);
        let paired = plan(Need { company: Company::Paired, ..down }, None);
        assert!(!fresh.past_caches && !paired.past_caches && (fresh.threads, paired.threads) == (4, 8));
    }

    #[test]
    fn a_block_is_never_larger_than_a_slot_nor_a_piece_than_a_block() {
        for chunk in [None, Some(0), Some(1), Some(4096), Some(1 << 20), Some(5 << 20)] {
            let settings = Settings { threshold: Some(1), chunk, ..Settings::default() };
            for bytes in [1, 5000, MIB, 3 * MIB, 5 * MIB, 1 << 30] {
                for fresh in [false, true] {
                    let sizes = Plan::of(&Need { fresh, ..need(Way::Down, bytes) }, &settings).unwrap().sizes;
                    assert!(sizes.most <= super::slot(&settings) && sizes.piece <= sizes.most, "{sizes:?}");
                    assert!(sizes.most > 0 && sizes.piece > 0);
                }
            }
        }
    }
}
