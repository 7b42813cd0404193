//! A list with hints and short ways, beside one without.

use super::super::access::{Access, Mode};
use super::super::clock::{SlotId, Stamp};
use super::super::entry::{Entry, View};
use super::super::ledger::Ledger;
use super::super::sync::in_a_test;
use super::List;

/// A stream that knows nothing of others.
pub(in super::super) struct Alone(pub(in super::super) Stamp);

impl View for Alone {
    fn me(&self) -> Stamp {
        self.0
    }
    fn completed(&self, _: Stamp) -> bool {
        false
    }
    fn knows(&self, stamp: Stamp) -> bool {
        stamp.slot == self.0.slot
    }
}

#[test]
fn where_an_entry_is_expected_changes_nothing_about_what_is_found() {
    in_a_test(|| {
        let mut state = 7_u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let (mut hits, mut again, mut behind, mut untangled) = (0, 0, 0, 0);
        // Long enough for all parts but the last ones of some sets.
        let ledger = Ledger::new(200);
        for _ in 0..300 {
            let lists = || (List::default(), List::default(), List::default(), List::default());
            let (mut hinted, mut searched, mut together, mut short) = lists();
            // A few sets of parts, each used by several operations, as chunked programs do.
            let sets: Vec<Vec<(usize, usize)>> = (0..3)
                .map(|_| {
                    let (stride, len) = (1 + random(12), 1 + random(14));
                    (0..1 + random(20))
                        .map(|i| (i * stride, i * stride + len))
                        .filter(|part| part.0 < 200)
                        .collect()
                })
                .collect();
            for tick in 1..20 {
                let me = Alone(Stamp { slot: SlotId(u32::try_from(random(2)).unwrap()), tick });
                let mode = if random(2) == 0 { Mode::Read } else { Mode::Write };
                let (mut found, mut expected) = (Vec::new(), Vec::new());
                let set = &sets[random(3)];
                for &(start, end) in set {
                    let want = Access::new(&ledger, start..end, mode).want();
                    let at = hinted.next;
                    hits += usize::from(at > 0 && hinted.window_at(at, want).0 == at);
                    hinted.stamp(want, &me, None, &mut found);
                    searched.next = usize::MAX;
                    searched.stamp(want, &me, None, &mut expected);
                    assert_eq!(format!("{:?}", hinted.entries), format!("{:?}", searched.entries));

                    // The same bytes found by looking at all of them.
                    let meets = |entry: &&Entry| entry.start < end && start < entry.end;
                    let low = searched.entries.iter().position(|entry| meets(&entry)).unwrap();
                    let met = searched.entries.iter().filter(meets).count();
                    let window = searched.window(want);
                    assert!(window.0 <= low && window.1 >= low + met, "{window:?}, {low}, {met}");
                    if !searched.tangled {
                        assert_eq!(window, (low, low + met));
                        untangled += 1;
                    }

                    let mut conflicts = Vec::new();
                    short.conflicts(want, |stamp| me.knows(stamp), &mut conflicts);
                    let before = format!("{:?}", short.entries);
                    if short.stamp_behind(want, &me) {
                        assert!(conflicts.is_empty());
                        behind += 1;
                    } else {
                        assert_eq!(format!("{:?}", short.entries), before);
                        short.stamp(want, &me, None, &mut Vec::new());
                    }
                    assert_eq!(format!("{:?}", short.entries), format!("{:?}", searched.entries));
                }
                assert_eq!(format!("{found:?}"), format!("{expected:?}"));

                let accesses: Vec<_> =
                    set.iter().map(|&(start, end)| Access::new(&ledger, start..end, mode)).collect();
                let mut found = Vec::new();
                let done = together.stamp_again(&accesses, me.0);
                for access in accesses.iter().skip(done) {
                    together.stamp(access.want(), &me, None, &mut found);
                }
                again += done;
                assert_eq!(format!("{:?}", together.entries), format!("{:?}", searched.entries));
                assert_eq!(format!("{found:?}"), format!("{expected:?}"));
            }
        }
        assert!(hits > 500, "{hits} entries were where they were expected");
        assert!(again > 100, "{again} accesses were those of the last time");
        assert!(behind > 1000, "{behind} accesses went the short way");
        assert!(untangled > 1000, "{untangled} windows were exact");
    });
}

#[test]
fn no_bytes_are_not_on_the_list() {
    in_a_test(|| {
        let ledger = Ledger::new(8);
        let me = Alone(Stamp { slot: SlotId(1), tick: 1 });
        let (mut list, mut found) = (List::default(), Vec::new());
        for range in [3..3, 9..12] {
            let want = Access::write(&ledger, range).want();
            list.stamp(want, &me, None, &mut found);
            assert!(!list.stamp_behind(want, &me));
        }
        assert_eq!((list.len(), found.len()), (0, 0));
    });
}
