//! How much of what a GPU answered to the drawn cases a library answers, too: shares of cases and of single
//! observations, plain and weighted, with intervals.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use crate::table;

/// The draw at the time of the build.
const DRAWN: &str = include_str!("../drawn.tsv");

/// The beginning of the names of drawn cases.
pub(crate) const PREFIX: &str = "drawn/";

/// The rows that measure the emulator: nobody who mends it has read their cases. Those before it are cases
/// that once differed.
const SCORED: RangeInclusive<usize> = 401..=500;

/// One drawn call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DrawnRow {
    pub(crate) function: &'static str,
    /// The calls of the function in all counted programs.
    calls: f64,
}

fn rows() -> impl Iterator<Item = (usize, DrawnRow)> {
    DRAWN.lines().filter(|line| !line.starts_with('#')).filter_map(|line| {
        let mut columns = line.split('\t');
        let (number, function) = (columns.next()?, columns.nth(1)?);
        let calls = columns.nth(1)?.parse().ok()?;
        Some((number.parse().ok()?, DrawnRow { function, calls }))
    })
}

/// The row with a number.
pub(crate) fn drawn(number: usize) -> Option<DrawnRow> {
    rows().find(|row| row.0 == number).map(|row| row.1)
}

/// The number in the name of a case.
fn number(id: &str) -> Option<usize> {
    id.strip_prefix(PREFIX)?.split(' ').next()?.parse().ok()
}

/// The disagreements between the draw and the cases: each row has one case.
pub(crate) fn disagreements<'a>(ids: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut count = BTreeMap::<usize, usize>::new();
    for id in ids.filter(|id| id.starts_with(PREFIX)) {
        *count.entry(number(id).unwrap_or(0)).or_default() += 1;
    }
    let mut found = Vec::new();
    for (number, row) in rows() {
        let cases = count.remove(&number).unwrap_or(0);
        if cases != 1 {
            found.push(format!("drawn.tsv: row {number}, {}: {cases} cases and not 1", row.function));
        }
    }
    found.extend(count.keys().map(|number| format!("drawn.tsv: no row {number}, and there is a case")));
    found
}

/// The observations of an answer that are as the GPU's, and all of the GPU's. What is missing is not equal.
fn observations(gpu: &str, here: &str) -> (usize, usize) {
    let (gpu, here): (Vec<_>, Vec<_>) = (gpu.split("; ").collect(), here.split("; ").collect());
    let equal = gpu.iter().zip(&here).filter(|(a, b)| a == b).count();
    (equal, gpu.len().max(here.len()))
}

/// What one case adds to a score.
#[derive(Clone, Copy, Debug)]
struct Part {
    full: bool,
    equal: usize,
    all: usize,
    /// The calls of its function that it stands for.
    weight: f64,
}

/// A share of the parts: of cases or of observations, each case with its weight or alike.
fn share(parts: &[Part], of_cases: bool, weighted: bool) -> f64 {
    let (mut equal, mut all) = (0.0, 0.0);
    for part in parts {
        let weight = if weighted { part.weight } else { 1.0 };
        let (good, of) = if of_cases {
            (f64::from(u8::from(part.full)), 1.0)
        } else {
            (part.equal as f64, part.all as f64)
        };
        // A weighted case counts by its calls, however many observations it has.
        let of_one = if weighted { of } else { 1.0 };
        equal += weight * good / of_one;
        all += weight * of / of_one;
    }
    equal / all
}

/// Draws of the bootstrap.
const DRAWS: usize = 10_000;

/// The interval that has 95 of 100 shares when as many cases are drawn again.
fn interval(parts: &[Part], of_cases: bool, weighted: bool) -> (f64, f64) {
    let mut state = 30_u64;
    let mut random = || {
        // SplitMix64.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = state;
        it = (it ^ (it >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ (it >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        it ^ (it >> 31)
    };
    let mut shares: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let again: Vec<Part> =
                parts.iter().map(|_| parts[(random() % parts.len() as u64) as usize]).collect();
            share(&again, of_cases, weighted)
        })
        .collect();
    shares.sort_by(f64::total_cmp);
    (shares[DRAWS / 40], shares[DRAWS - 1 - DRAWS / 40])
}

/// The score of the answers here against a table with a GPU's.
pub(crate) fn report(gpu: &'static str, here: &BTreeMap<String, String>) -> String {
    let name = format!("rows {} to {}", SCORED.start(), SCORED.end());
    let mut asked = Vec::new();
    for (id, row) in &table::parse(gpu) {
        let drawn = number(id).filter(|number| SCORED.contains(number)).and_then(drawn);
        let (Some(drawn), Some(answer)) = (drawn, here.get(*id)) else { continue };
        if row.answer != table::NOT_ASKED {
            let (equal, all) = observations(row.answer, answer);
            asked.push((drawn, Part { full: table::agrees(row.answer, answer), equal, all, weight: 0.0 }));
        }
    }
    if asked.is_empty() {
        return format!("{name}: no case has a GPU's answer in the table\n");
    }
    let parts: Vec<Part> = asked
        .iter()
        .map(|(row, part)| {
            let alike = asked.iter().filter(|(other, _)| other.function == row.function).count();
            // What ends the process has no observations to compare.
            let equal = if part.full { part.all } else { part.equal };
            Part { weight: row.calls / alike as f64, equal, ..*part }
        })
        .collect();
    let full = parts.iter().filter(|part| part.full).count();
    let (equal, all) = parts.iter().fold((0, 0), |(equal, all), part| (equal + part.equal, all + part.all));
    let mut text =
        format!("{name}: {} cases: {full} equal in full; {equal} of {all} observations equal\n", parts.len());
    for (what, of_cases, weighted) in [
        ("cases", true, false),
        ("observations", false, false),
        ("cases by calls", true, true),
        ("observations by calls", false, true),
    ] {
        let (low, high) = interval(&parts, of_cases, weighted);
        let share = 100.0 * share(&parts, of_cases, weighted);
        text += &format!("    {what}: {share:.1} % (95 %: {:.1} to {:.1})\n", 100.0 * low, 100.0 * high);
    }
    text
}

/// Whether the score counts what it should. It runs with the cases, as this program has no other tests.
pub(crate) fn check_of_the_check() -> Vec<String> {
    let mut found = Vec::new();
    for (gpu, here, want) in [
        ("a=1; b=2", "a=1; b=2", (2, 2)),
        ("a=1; b=2", "a=1; b=3", (1, 2)),
        ("a=1; b=2", "a=1", (1, 2)),
        ("a=1", "a=1; b=2", (1, 2)),
        ("a=1; b=2", "b=2; a=1", (0, 2)),
    ] {
        if observations(gpu, here) != want {
            found.push(format!("score: {gpu:?} and {here:?} are not {want:?}"));
        }
    }
    let part = |full, equal, weight| Part { full, equal, all: 4, weight };
    let parts = [part(true, 4, 3.0), part(false, 2, 1.0)];
    for (of_cases, weighted, want) in
        [(true, false, 0.5), (true, true, 0.75), (false, false, 0.75), (false, true, 0.875)]
    {
        let got = share(&parts, of_cases, weighted);
        if (got - want).abs() > 1e-9 {
            found.push(format!("score: of cases {of_cases}, weighted {weighted}: {got} and not {want}"));
        }
    }
    let (low, high) = interval(&parts, true, false);
    if (low, high) != (0.0, 1.0) {
        found.push(format!("score: two cases, one equal: {low} to {high} and not 0 to 1"));
    }
    found
}
