//! The table of known answers: `answers.tsv`, one case a line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::case::{Case, Cases};
use crate::run::ENDS;

/// The table at the time of the build.
const TABLE: &str = include_str!("../answers.tsv");

/// The page that explains each known difference to users, in a row of its table.
const EXPLAINED: &str = include_str!("../../emulator/README.md");

/// The answer of a case that is newer than the table.
pub(crate) const NOT_ASKED: &str = "not asked of a GPU yet";

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// The answer of a GPU.
    pub(crate) answer: &'static str,
    /// A known difference: the part of the answer in which the emulator differs.
    pub(crate) differs: Option<&'static str>,
}

/// The rows by the name of their case.
pub(crate) fn known() -> BTreeMap<&'static str, Row> {
    parse(TABLE)
}

pub(crate) fn parse(text: &'static str) -> BTreeMap<&'static str, Row> {
    let rows = text.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(|line| {
        let mut fields = line.split('\t');
        let (id, answer) = (fields.next()?, fields.next()?);
        Some((id, Row { answer, differs: fields.next() }))
    })
    .collect()
}

/// The cases without an answer in the table.
pub(crate) fn pending() -> BTreeSet<&'static str> {
    known().into_iter().filter(|(_, row)| row.answer == NOT_ASKED).map(|(id, _)| id).collect()
}

/// The table with the new answers, and the old ones for all other cases.
pub(crate) fn write(cases: &Cases, new: &BTreeMap<String, String>, machine: &str) -> String {
    let known = known();
    let mut text = format!(
        "# What the CUDA runtime answers: case, answer, and a known difference of the emulator.\n\
         # Asked of: {machine}\n"
    );
    for case in &cases.list {
        let old = known.get(case.id.as_str());
        if let Some(answer) = new.get(&case.id).map(String::as_str).or(old.map(|row| row.answer)) {
            let differs = old.and_then(|row| row.differs).map_or(String::new(), |why| format!("\t{why}"));
            let _ = writeln!(text, "{}\t{answer}{differs}", case.id);
        }
    }
    text
}

/// The disagreements between cases and table, whatever a library answers.
pub(crate) fn disagreements(cases: &[Case]) -> Vec<String> {
    let known = known();
    let mut found = Vec::new();
    for case in cases {
        if !known.contains_key(case.id.as_str()) {
            found.push(format!(
                "{}: not in answers.tsv; ask a GPU with --write FILE, or add this row until then:\n\
                 {0}\t{NOT_ASKED}",
                case.id
            ));
        }
    }
    for id in known.keys() {
        if !cases.iter().any(|case| case.id == *id) {
            found.push(format!("{id}: in answers.tsv, and there is no such case"));
        }
    }
    for (id, why) in known.iter().filter_map(|(id, row)| Some((id, row.differs?))) {
        if !EXPLAINED.contains(&format!("\n| {why} |")) {
            found.push(format!("{id}: the emulator's README does not explain the difference {why:?}"));
        }
    }
    found
}

/// Whether an answer is a GPU's. What a library prints before it ends the process is its own.
pub(crate) fn agrees(gpu: &str, here: &str) -> bool {
    here == gpu || gpu.starts_with(ENDS) && here.starts_with(gpu)
}

/// The differences between answers and table.
///
/// A GPU must give the answer of the table. So must the emulator, but for rows with a known difference, whose
/// mark has to go once the emulator agrees.
pub(crate) fn differences(
    known: &BTreeMap<&'static str, Row>,
    answers: &BTreeMap<String, String>,
    emulated: bool,
) -> Vec<String> {
    let differing = answers.iter().filter_map(|(id, answer)| {
        let row = known.get(id.as_str()).filter(|row| row.answer != NOT_ASKED)?;
        let agrees = agrees(row.answer, answer);
        match row.differs.filter(|_| emulated) {
            None if !agrees => {
                Some(format!("{id}\n    a GPU answers: {}\n    this library:  {answer}", row.answer))
            }
            Some(why) if agrees => {
                Some(format!("{id}: the emulator agrees now; remove {why:?} from its row in answers.tsv"))
            }
            _ => None,
        }
    });
    differing.collect()
}

/// Whether differences are found, on a GPU and on the emulator. It runs with the cases, as this program has
/// no other tests.
pub(crate) fn check_of_the_check() -> Vec<String> {
    let known = parse("# a head\na\t1\nb\t2\twhy\nc\tnot asked of a GPU yet\n");
    let mut found = Vec::new();
    for (a, b, emulated, wrong) in [
        ("1", "2", false, 0),
        ("1", "3", false, 1),
        ("1", "3", true, 0),
        ("1", "2", true, 1),
        ("0", "3", true, 1),
    ] {
        let answers = [("a", a), ("b", b), ("c", "4")].map(|(id, answer)| (id.to_owned(), answer.to_owned()));
        let list = differences(&known, &BTreeMap::from(answers), emulated);
        if list.len() != wrong {
            found.push(format!(
                "answers {a} and {b}, emulated {emulated}: not {wrong} differences but {list:?}"
            ));
        }
    }
    found
}
