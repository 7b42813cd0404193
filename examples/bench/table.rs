//! Converts times to the lines of a Markdown table that is readable as plain text.

use std::fmt;

use crate::operations::{Operation, Starts};
use bench::interval::{self, median};

/// Whether the extra cost of Rust is within the goal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Met {
    Yes,
    No,
    /// The measurement is inconclusive.
    Open,
}

impl Met {
    /// Compares the interval of the difference with the goal. If the interval contains the goal, the
    /// result is inconclusive.
    fn of(interval: Option<[f64; 2]>, goal: f64) -> Self {
        match interval {
            Some([_, highest]) if highest <= goal => Self::Yes,
            Some([lowest, _]) if lowest > goal => Self::No,
            _ => Self::Open,
        }
    }
}

/// The results of one operation.
pub(crate) struct Row {
    shown: &'static str,
    /// The nanoseconds of C++, raw, and safe.
    medians: [f64; 3],
    raw: Difference,
    safe: Difference,
    goal: f64,
    pub(crate) met: Met,
}

/// The difference between a side and C++ within a turn.
struct Difference {
    median: f64,
    /// The interval that contains the true value.
    interval: Option<[f64; 2]>,
    /// The lowest and the highest median of a start.
    starts: [f64; 2],
}

impl Difference {
    fn new(starts: &Starts, side: usize) -> Self {
        let of_start = |turns: &Vec<[f64; 3]>| -> Vec<f64> {
            turns.iter().map(|times| times[side] - times[0]).collect()
        };
        let medians: Vec<f64> = starts.iter().map(|turns| median(&of_start(turns))).collect();
        let all: Vec<f64> = starts.iter().flat_map(of_start).collect();
        let lowest = medians.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = medians.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        Self { median: median(&all), interval: interval::of_median(&all), starts: [lowest, highest] }
    }
}

impl Row {
    pub(crate) fn new(operation: &Operation, starts: &Starts) -> Self {
        let medians = [0, 1, 2]
            .map(|side| median(&starts.iter().flatten().map(|times| times[side]).collect::<Vec<_>>()));
        let (raw, safe) = (Difference::new(starts, 1), Difference::new(starts, 2));
        let goal = operation.goal.max(0.02 * medians[0]);
        let met = Met::of(safe.interval, goal);
        Self { shown: operation.shown, medians, raw, safe, goal, met }
    }
}

/// Returns the two lines above the rows.
pub(crate) fn header() -> String {
    format!(
        "| {:<54} | {:>7} | {:>7} | {:>7} | {:>20} | {:>30} | {:>13} | {:>5} | met  \
         |\n|{:-<56}|{}|{}|{}|{}|{}|{}|{}|------|",
        "operation",
        "C++",
        "raw",
        "safe",
        "raw − C++",
        "safe − C++",
        "by start",
        "goal",
        "",
        "--------:",
        "--------:",
        "--------:",
        "---------------------:",
        "-------------------------------:",
        "--------------:",
        "------:",
    )
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:+.0} ", self.median)?;
        match self.interval {
            Some([lowest, highest]) => write!(f, "[{lowest:+.0}, {highest:+.0}]"),
            None => f.write_str("[too few]"),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cpp, raw, safe] = self.medians;
        let cost = format!("{} ({:+.1} %)", self.safe, 100.0 * self.safe.median / cpp);
        let starts = self.safe.starts.map(|median| format!("{median:+.0}")).join(" … ");
        let met = match self.met {
            Met::Yes => "yes",
            Met::No => "no",
            Met::Open => "open",
        };
        write!(
            f,
            "| {:<54} | {cpp:>7.0} | {raw:>7.0} | {safe:>7.0} | {:>20} | {cost:>30} | {starts:>13} | \
             {:>5.0} | {met:<4} |",
            self.shown,
            self.raw.to_string(),
            self.goal,
        )
    }
}
