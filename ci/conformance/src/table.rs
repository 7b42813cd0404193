//! The table of known answers: `answers.tsv`, one case a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::case::{Case, Cases};

/// The table at the time of the build.
const TABLE: &str = include_str!("../answers.tsv");

/// The answer of a case that is newer than the table.
pub(crate) const NOT_ASKED: &str = "not asked of a GPU yet";

/// The known answers by name, and the outcome in `cuda-safe`.
pub(crate) fn known() -> BTreeMap<&'static str, (&'static str, &'static str)> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let mut fields = line.split('\t');
        Some((fields.next()?, (fields.next()?, fields.next()?)))
    })
    .collect()
}

/// The cases without an answer in the table.
pub(crate) fn pending() -> BTreeSet<&'static str> {
    known().into_iter().filter(|(_, (answer, _))| *answer == NOT_ASKED).map(|(id, _)| id).collect()
}

/// The table with the new answers, and the old ones for all other cases.
pub(crate) fn write(cases: &Cases, new: &BTreeMap<String, String>, machine: &str) -> String {
    let known = known();
    let mut text = format!(
        "# What the CUDA runtime answers: case, answer, and what becomes of the case in cuda-safe.\n\
         # Asked of: {machine}\n"
    );
    for case in &cases.list {
        let old = known.get(case.id.as_str()).map(|(answer, _)| *answer);
        if let Some(answer) = new.get(&case.id).map(String::as_str).or(old) {
            let _ = writeln!(text, "{}\t{answer}\t{}", case.id, case.safe.name());
        }
    }
    text
}

/// The disagreements between cases and table, whatever a library answers.
pub(crate) fn disagreements(cases: &[Case]) -> Vec<String> {
    let known = known();
    let mut found = Vec::new();
    for case in cases {
        match known.get(case.id.as_str()) {
            None => found.push(format!(
                "{}: not in answers.tsv; ask a GPU with --write FILE, or add this row until then:\n\
                 {0}\t{NOT_ASKED}\t{}",
                case.id,
                case.safe.name()
            )),
            Some((_, safe)) if *safe != case.safe.name() => {
                found.push(format!(
                    "{}: classed {:?} in answers.tsv, {:?} by the case",
                    case.id,
                    safe,
                    case.safe.name()
                ));
            }
            Some(_) => {}
        }
    }
    for id in known.keys() {
        if !cases.iter().any(|case| case.id == *id) {
            found.push(format!("{id}: in answers.tsv, and there is no such case"));
        }
    }
    found
}
