//! Operations on several streams, and what must hold for each.

use std::panic::Location;

use super::bench::Bench;
use super::model::Model;
use super::operate::asked;
use crate::common::machine::Touch;
use cuda_hazard::{Access, EventBackend, Kind, Mode, Policy, Refusal, StreamAccesses, Timeline, WaitMethod};

/// The part of one stream.
struct Part<'a> {
    track: usize,
    timeline: &'a Timeline,
    touches: Vec<Touch>,
}

/// The model as the backend of one stream of several.
struct PartBackend<'m, 'a> {
    model: &'m Model<'a>,
    /// What the stream's part accesses.
    asked: Vec<Touch>,
}

// SAFETY: no memory depends on it.
unsafe impl EventBackend for PartBackend<'_, '_> {
    type Error = ();

    fn order(&self, waiter: &Timeline, other: &Timeline, data: &mut usize) -> Result<WaitMethod, ()> {
        self.model.touches.borrow_mut().clone_from(&self.asked);
        self.model.order(waiter, other, data)
    }
}

/// Returns whether two streams access the same bytes and one of them writes.
fn overlap(parts: &[Part<'_>]) -> bool {
    let conflict = |a: &Touch, b: &Touch| {
        a.buffer == b.buffer
            && a.start.max(b.start) < a.end.min(b.end)
            && (a.mode == Mode::Write || b.mode == Mode::Write)
    };
    parts.iter().enumerate().any(|(at, part)| {
        let others = parts[at + 1..].iter().flat_map(|other| &other.touches);
        others.clone().any(|b| part.touches.iter().any(|a| conflict(a, b)))
    })
}

impl<'a> Bench<'a> {
    pub(crate) fn operate_all(&mut self, named: Vec<(usize, Vec<Touch>)>, fails: bool) -> Result<(), String> {
        let listed: Vec<(&Timeline, Vec<Access<'_>>)> =
            named.iter().map(|(stream, touches)| (self.stream(*stream).1, self.accesses(touches))).collect();
        let mut parts: Vec<Part<'a>> = Vec::new();
        for (stream, touches) in named {
            let (track, timeline) = self.stream(stream);
            let touches = touches.into_iter().filter(|touch| touch.start < touch.end);
            match parts.iter_mut().find(|part| part.timeline.id == timeline.id) {
                Some(part) => part.touches.extend(touches),
                None => parts.push(Part { track, timeline, touches: touches.collect() }),
            }
        }
        let overlap = overlap(&parts);
        if fails && !overlap {
            self.backend.imprecise.set(true);
            self.run.failed_calls += 1;
        }
        // The tracker does not rely on what the legacy stream's part implies for the others: it does not know
        // the order of the calls, and a wait that is added to the legacy stream is no action.
        if parts.len() > 1 && parts.iter().any(|part| part.timeline.kind == Kind::Legacy) {
            self.backend.imprecise.set(true);
        }
        let backends: Vec<PartBackend<'_, '_>> = listed
            .iter()
            .map(|(timeline, _)| {
                let part = parts.iter().find(|part| part.timeline.id == timeline.id).unwrap();
                PartBackend { model: &self.backend, asked: asked(&part.touches) }
            })
            .collect();
        let operation: Vec<StreamAccesses<'_, '_, '_, _>> = listed
            .iter()
            .zip(backends)
            .map(|((timeline, accesses), backend)| StreamAccesses { timeline, accesses, backend })
            .collect();
        let count = |touches: &[Touch], track| {
            let machine = self.backend.machine.borrow();
            machine.unordered(touches, machine.orders(track)).count()
        };
        let unordered: usize = parts.iter().map(|part| count(&part.touches, part.track)).sum();
        let at_most: usize = parts.iter().map(|part| count(&asked(&part.touches), part.track)).sum();
        let before = self.tracker.added_waits();
        let mut nodes = Vec::new();
        // The call may give its streams their work in any order.
        let mut given: Vec<_> = parts.iter().filter(|part| !part.touches.is_empty()).collect();
        if self.run.operations.is_multiple_of(2) {
            given.reverse();
        }
        let call = || {
            if fails {
                return Err(());
            }
            for part in given {
                nodes.push(self.backend.machine.borrow_mut().operate(part.track, part.touches.clone()));
            }
            Ok(())
        };
        let answer = self.tracker.enqueue_all(&operation, Location::caller(), call);
        let waited = self.tracker.added_waits() - before;
        self.run.operations += 1;
        self.run.on_several += 1;
        let imprecise = self.backend.is_imprecise(&self.backend.machine.borrow());
        match answer {
            Err(Refusal::Overlap { .. }) if overlap && waited == 0 => self.run.overlaps += 1,
            Err(Refusal::Overlap { .. }) => return Err("refused although its streams do not conflict".into()),
            _ if overlap => return Err("taken although two of its streams conflict".into()),
            Err(Refusal::Hazard(_)) => {
                self.run.refusals += 1;
                if self.policy != Policy::Error {
                    return Err("refused although the policy is to order".into());
                }
                if at_most == 0 && !imprecise {
                    return Err("refused although everything was ordered".into());
                }
            }
            Err(Refusal::HostBorrowed) => return Err("refused for a guard that there is not".into()),
            Err(Refusal::Call(())) if fails => {}
            Err(Refusal::Call(())) => return Err("a call failed that could not".into()),
            Ok(()) => {
                if self.policy == Policy::Error && unordered > 0 {
                    return Err(format!("{unordered} unordered conflicts were not reported"));
                }
                if at_most == 0 && waited > 0 && !imprecise {
                    return Err(format!("{waited} waits added where everything was ordered"));
                }
                let machine = self.backend.machine.borrow();
                for node in &nodes {
                    let (touches, before) = (&machine.nodes[*node].touches, machine.nodes[*node].before);
                    if let Some(race) =
                        machine.unordered(touches, before).find(|other| !nodes.contains(other))
                    {
                        return Err(format!("operation {node} races with operation {race}"));
                    }
                }
            }
        }
        Ok(())
    }
}
