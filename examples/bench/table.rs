//! From times to the lines of a table, which is Markdown that people can read as it is.

use std::fmt;

use crate::Operation;

/// What was found out about one operation.
pub(crate) struct Row {
    shown: &'static str,
    /// C++, raw, safe: nanoseconds.
    medians: [f64; 3],
    /// Raw minus C++, within a turn.
    raw: f64,
    /// Safe minus C++, within a turn.
    safe: f64,
    /// Half of the interquartile range of those differences.
    spread: f64,
    goal: f64,
    pub(crate) met: bool,
}

/// A row for each operation, from the times of C++, raw and safe in turn.
pub(crate) fn rows(operations: &[Operation], times: &[[Vec<f64>; 3]]) -> Vec<Row> {
    let row = |(operation, [cpp, raw, safe]): (&Operation, &[Vec<f64>; 3])| {
        let minus_cpp =
            |times: &[f64]| -> Vec<f64> { times.iter().zip(cpp).map(|(one, cpp)| one - cpp).collect() };
        let medians = [quantile(cpp, 2), quantile(raw, 2), quantile(safe, 2)];
        let differences = minus_cpp(safe);
        let safe = quantile(&differences, 2);
        let goal = operation.goal.max(0.02 * medians[0]);
        Row {
            shown: operation.shown,
            medians,
            raw: quantile(&minus_cpp(raw), 2),
            safe,
            spread: (quantile(&differences, 3) - quantile(&differences, 1)) / 2.0,
            goal,
            met: safe <= goal,
        }
    };
    operations.iter().zip(times).map(row).collect()
}

/// The middle one.
pub(crate) fn median(times: &[f64]) -> f64 {
    quantile(times, 2)
}

/// The first, second (the median) or third quartile.
fn quantile(times: &[f64], quarter: usize) -> f64 {
    let mut times = times.to_vec();
    times.sort_by(f64::total_cmp);
    times[(times.len() - 1) * quarter / 4]
}

/// The two lines above the rows.
pub(crate) fn header() -> String {
    format!(
        "| {:<54} | {:>7} | {:>7} | {:>7} | {:>9} | {:>24} | {:>5} | met |\n|{:-<56}|{}|{}|{}|{}|{}|{}|-----|",
        "operation",
        "C++",
        "raw",
        "safe",
        "raw − C++",
        "safe − C++",
        "goal",
        "",
        "--------:",
        "--------:",
        "--------:",
        "----------:",
        "-------------------------:",
        "------:",
    )
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [cpp, raw, safe] = self.medians;
        let cost = format!("{:+.0} ± {:.0} ({:+.1} %)", self.safe, self.spread, 100.0 * self.safe / cpp);
        write!(
            f,
            "| {:<54} | {cpp:>7.0} | {raw:>7.0} | {safe:>7.0} | {:>+9.0} | {cost:>24} | {:>5.0} | {:<3} |",
            self.shown,
            self.raw,
            self.goal,
            if self.met { "yes" } else { "no" }
        )
    }
}
