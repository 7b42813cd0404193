//! The operations of a program, and what must hold for each.

use std::panic::Location;
use std::rc::Rc;

use super::bench::Bench;
use super::program::Sabotage;
use super::step::BUFFERS;
use crate::common::exclusive;
use crate::common::machine::Touch;
use cuda_hazard::{Access, EventBackend, Mode, Policy, Refusal, SortedAccesses};

/// What an operation did, to be repeated.
#[derive(Clone)]
pub(crate) struct Repeatable<'a> {
    sorted: Rc<SortedAccesses<'a>>,
    /// The number of its stream.
    stream: usize,
    touches: Vec<Touch>,
}

/// Returns the touches as the tracker may ask for them: once for each buffer, whichever of its bytes are read
/// during the call.
pub(crate) fn asked(touches: &[Touch]) -> Vec<Touch> {
    let mut asked = touches.to_vec();
    for buffer in 0..BUFFERS {
        let mut of_it: Vec<_> = asked.iter_mut().filter(|touch| touch.buffer == buffer).collect();
        let at_call = of_it.iter().any(|touch| touch.at_call);
        of_it.iter_mut().for_each(|touch| touch.at_call = at_call);
    }
    asked
}

impl<'a> Bench<'a> {
    /// Returns the accesses of an operation for the tracker.
    pub(crate) fn accesses(&self, touches: &[Touch]) -> Vec<Access<'a>> {
        let access = |touch: &Touch| {
            let access = Access::new(&self.histories[touch.buffer], touch.start..touch.end, touch.mode);
            let at_call = touch.at_call && self.backend.sabotage != Sabotage::NotAtCall;
            let access = if at_call { access.at_call() } else { access };
            // One thread enters everything here, so any write could have borrowed exclusively.
            if touch.mode == Mode::Write && touch.buffer.is_multiple_of(2) {
                exclusive(access)
            } else {
                access
            }
        };
        touches.iter().map(access).collect()
    }

    pub(crate) fn operate(&mut self, stream: usize, touches: Vec<Touch>, fails: bool) -> Result<(), String> {
        if self.changes && self.run.operations % 5 == 4 {
            self.policy = if self.policy == Policy::Order { Policy::Error } else { Policy::Order };
            self.tracker.set_policy(self.policy);
        }
        // Two of eight repeat what one before them did on its stream, as a batch does, and one repeats it on
        // any stream.
        let turn = self.run.operations % 8;
        let (again, stream, touches) = match self.earlier.clone() {
            Some(earlier) if turn == 7 => (Some(Rc::clone(&earlier)), stream, earlier.touches.clone()),
            Some(earlier) if turn > 4 => (Some(Rc::clone(&earlier)), earlier.stream, earlier.touches.clone()),
            _ => (None, stream, touches),
        };
        let (track, timeline) = self.stream(stream);
        let accesses = self.accesses(&touches);
        let rolled = touches.clone();
        let touches: Vec<Touch> = touches.into_iter().filter(|touch| touch.start < touch.end).collect();
        let asked = asked(&touches);
        if fails {
            self.backend.imprecise.set(true);
            self.run.failed_calls += 1;
        }
        *self.backend.touches.borrow_mut() = asked.clone();
        if self.backend.sabotage == Sabotage::WaitTwice
            && let Some((_, other)) = self.streams.iter().find(|(_, other)| other.id != timeline.id)
        {
            // A tracker that waits for a stream whether it needs to or not.
            let _ = self.backend.order(timeline, other, &mut 0);
        }
        let (unordered, at_most, pairs, by_rule) = {
            let machine = self.backend.machine.borrow();
            let ordered = machine.orders(track);
            let own = machine.tracks[track].tail;
            let conflicting = |node: &usize| {
                machine.nodes[*node].timeline != timeline.id && machine.conflicts(*node, &touches)
            };
            let pairs =
                (0..machine.nodes.len()).filter(conflicting).filter(|node| ordered.all.contains(*node));
            let by_rule = pairs.clone().filter(|node| !own.contains(*node)).count();
            let count = |touches| machine.unordered(touches, ordered).count();
            (count(&touches), count(&asked), pairs.count(), by_rule)
        };
        let before = self.tracker.added_waits();
        let mut node = None;
        let mut call = || {
            if fails {
                return Err(());
            }
            if !touches.is_empty() {
                node = Some(self.backend.machine.borrow_mut().operate(track, touches.clone()));
            }
            Ok(())
        };
        // About every second one has its accesses sorted in advance, and some of the repeated ones try the
        // fast path first.
        let call_site = Location::caller();
        let mut repeated = 0;
        let answer = if self.run.operations.is_multiple_of(2) && again.is_none() {
            self.tracker.enqueue(timeline, &accesses, true, &self.backend, call_site, call).map(|((), _)| ())
        } else {
            let earlier = again.unwrap_or_else(|| {
                Rc::new(Repeatable {
                    sorted: Rc::new(SortedAccesses::new(accesses)),
                    stream,
                    touches: rolled,
                })
            });
            self.earlier = Some(Rc::new(Repeatable { stream, ..Repeatable::clone(&earlier) }));
            match self.tracker.begin_fast(timeline, &earlier.sorted) {
                Some(submission) => {
                    repeated = 1;
                    let answer = call();
                    submission.commit(answer.is_ok());
                    answer.map_err(Refusal::Call)
                }
                None => self
                    .tracker
                    .enqueue_sorted(timeline, &earlier.sorted, &self.backend, call_site, call)
                    .map(|((), _)| ()),
            }
        };
        let waited = self.tracker.added_waits() - before;
        self.run.operations += 1;
        self.run.repeated += repeated;
        self.run.ordered_pairs += u64::try_from(pairs).unwrap();
        self.run.by_legacy_rule += u64::try_from(by_rule).unwrap();
        match answer {
            Err(Refusal::Hazard(hazard)) => {
                self.run.refusals += 1;
                if self.policy != Policy::Error {
                    return Err("refused although the policy is to order".into());
                }
                if at_most == 0 && !self.backend.is_imprecise(&self.backend.machine.borrow()) {
                    return Err("refused although everything was ordered".into());
                }
                // Under the policy before this one, call sites were not recorded.
                if hazard.first.is_none() && !self.changes {
                    return Err("the refusal does not say where the earlier operation was".into());
                }
            }
            Err(Refusal::Overlap { .. }) => {
                return Err("refused for a second stream that there is not".into());
            }
            Err(Refusal::HostBorrowed) => return Err("refused for a guard that there is not".into()),
            Err(Refusal::Call(())) if fails => {}
            Err(Refusal::Call(())) => return Err("a call failed that could not".into()),
            Ok(()) => {
                if self.policy == Policy::Error && unordered > 0 {
                    return Err(format!("{unordered} unordered conflicts were not reported"));
                }
                if at_most == 0 && waited > 0 && !self.backend.is_imprecise(&self.backend.machine.borrow()) {
                    return Err(format!("{waited} waits added where everything was ordered"));
                }
                if let Some(node) = node {
                    let machine = self.backend.machine.borrow();
                    let before = machine.nodes[node].before;
                    if let Some(race) = machine.unordered(&touches, before).find(|other| *other != node) {
                        return Err(format!("operation {node} races with operation {race}"));
                    }
                }
            }
        }
        Ok(())
    }
}
