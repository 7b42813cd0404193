//! Random programs: lists of steps, and their outcomes.

use std::fmt;

use super::bench::Bench;
use super::step::{BUFFERS, BYTES, Dice, Step};
use crate::common::Tracker;
use crate::common::machine::Set;
use cuda_hazard::{AccessHistory, Policy};

/// What is broken on purpose, to show that the model notices.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sabotage {
    None,
    /// The tracker's waits are not made.
    NoWait,
    /// A wait is added that is not needed.
    WaitTwice,
    /// The host goes ahead without waiting.
    NoHostWait,
    /// A synchronisation's snapshot is read after it instead of before.
    LateSnapshot,
    /// The legacy stream does not wait for the last event of a stream that goes.
    NoLastEvent,
    /// An event that completes after another record is taken for complete.
    AnyRecord,
    /// The tracker does not know which reads are made during the call.
    NotAtCall,
}

/// The outcome of a program, or of all programs.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Totals {
    pub(crate) operations: u64,
    pub(crate) added_waits: u64,
    /// Conflicting pairs that the program itself had ordered.
    pub(crate) ordered_pairs: u64,
    pub(crate) refusals: u64,
    pub(crate) host_waits: u64,
    pub(crate) by_legacy_rule: u64,
    pub(crate) reused_timelines: u64,
    pub(crate) failed_calls: u64,
    /// Operations with sorted accesses that took the fast path.
    pub(crate) repeated: u64,
    /// Operations on several streams, and those of them whose streams conflict.
    pub(crate) on_several: u64,
    pub(crate) overlaps: u64,
    /// Frees that the one stream that used the buffer could take.
    pub(crate) frees: u64,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Self) {
        self.operations += other.operations;
        self.added_waits += other.added_waits;
        self.ordered_pairs += other.ordered_pairs;
        self.refusals += other.refusals;
        self.host_waits += other.host_waits;
        self.by_legacy_rule += other.by_legacy_rule;
        self.reused_timelines += other.reused_timelines;
        self.failed_calls += other.failed_calls;
        self.repeated += other.repeated;
        self.on_several += other.on_several;
        self.overlaps += other.overlaps;
        self.frees += other.frees;
    }
}

/// A program: any list of numbers is one. Each step takes what it needs from its number.
#[derive(Clone)]
pub(crate) struct Program {
    pub(crate) policy: Policy,
    /// Whether the policy changes every few operations.
    pub(crate) changes: bool,
    pub(crate) failures: bool,
    steps: Vec<u64>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let changes = if self.changes { " and the other one in turn" } else { "" };
        let fail = if self.failures { "may" } else { "never" };
        writeln!(f, "policy {:?}{changes}, calls {fail} fail", self.policy)?;
        for step in &self.steps {
            writeln!(f, "  {:?}", Step::of(*step))?;
        }
        Ok(())
    }
}

impl Program {
    pub(crate) fn random(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let length = 8 + dice.roll() % 40;
        let policy = if dice.roll().is_multiple_of(4) { Policy::Error } else { Policy::Order };
        let [failures, changes] = [(); 2].map(|()| dice.roll().is_multiple_of(4));
        Self { policy, changes, failures, steps: (0..length).map(|_| dice.roll()).collect() }
    }

    /// Runs the program with the tracker and in the model.
    pub(crate) fn run(&self, sabotage: Sabotage) -> Result<Totals, String> {
        let tracker = Tracker::new(Policy::default);
        tracker.set_policy(self.policy);
        let histories: Vec<AccessHistory> = (0..BUFFERS).map(|_| AccessHistory::new(BYTES)).collect();
        let mut bench = Bench::new(&tracker, &histories, self, sabotage);
        for step in &self.steps {
            if bench.backend.machine.borrow().nodes.len() + 3 >= Set::LIMIT {
                break;
            }
            bench.step(Step::of(*step)).map_err(|message| format!("{message}, in {:?}", Step::of(*step)))?;
        }
        bench.check_frees().map_err(|message| format!("{message}, at the end"))?;
        let mut run = bench.run;
        run.added_waits = tracker.added_waits();
        Ok(run)
    }

    /// Leaves out steps for as long as the program still fails.
    pub(crate) fn shrink(&self, message: String, sabotage: Sabotage) -> (Self, String) {
        let (mut small, mut message) = (self.clone(), message);
        let mut at = 0;
        while at < small.steps.len() {
            let mut shorter = small.clone();
            shorter.steps.remove(at);
            match shorter.run(sabotage) {
                Err(found) => (small, message, at) = (shorter, found, 0),
                Ok(_) => at += 1,
            }
        }
        (small, message)
    }
}
