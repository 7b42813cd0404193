//! Questions to the runtime from elsewhere, row by row, and the cases here that ask them: `rows.tsv`.
//!
//! A row has five columns: the function, the question, the cases that ask it (a name, or a prefix with `*`
//! behind it; several between ` | `), the answer of hardware if it is not the one that the row hopes for, and
//! the reason if no case asks.

use crate::case::Case;

/// The rows at the time of the build.
const ROWS: &str = include_str!("../rows.tsv");

/// The disagreements between rows and cases.
pub(crate) fn disagreements(cases: &[Case]) -> Vec<String> {
    check(ROWS, cases.iter().map(|case| case.id.as_str()).collect::<Vec<_>>().as_slice())
}

fn check(text: &str, ids: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let said = text.lines().next().and_then(|head| head.strip_prefix("# ")?.split(' ').next()?.parse().ok());
    let rows: Vec<_> = text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')).collect();
    if said != Some(rows.len()) {
        found.push(format!("rows.tsv has {} rows, and says {said:?} at its head", rows.len()));
    }
    for (number, line) in rows {
        let place = format!("rows.tsv, line {}", number + 1);
        let columns: Vec<_> = line.split('\t').collect();
        let [api, asked, cases, _, because] = columns[..] else {
            found.push(format!("{place}: {} columns and not 5", columns.len()));
            continue;
        };
        if api.is_empty() || asked.is_empty() {
            found.push(format!("{place}: a function and a question belong to a row"));
        }
        if cases.is_empty() == because.is_empty() {
            found.push(format!("{place}: {api}, {asked}: either cases or a reason belong to a row"));
        }
        for case in cases.split(" | ").filter(|case| !case.is_empty()) {
            let there = match case.strip_suffix('*') {
                Some(beginning) => ids.iter().any(|id| id.starts_with(beginning)),
                None => ids.contains(&case),
            };
            if !there {
                found.push(format!("{place}: there is no case {case:?}"));
            }
        }
    }
    found
}

/// Whether the check finds its targets. It runs with the cases, as this program has no other tests.
pub(crate) fn check_of_the_check() -> Vec<String> {
    let ids = ["a/one", "a/two"];
    let right = "# 2 rows\na\tq\ta/one | a/t*\t\t\na\tq\t\t\tno answer\n";
    let wrong = [
        right.replace("# 2", "# 3"),
        right.replace("# 2", "# some"),
        right.replace("a/one", "a/three"),
        right.replace("a/t*", "b/*"),
        right.replace("no answer", ""),
        right.replace("a/one | a/t*\t\t", "a/one\t\twhy"),
        right.replace("\ta/one", "\t\ta/one"),
        right.replace("q\ta/one", "\ta/one"),
    ];
    let missed = wrong.iter().filter(|text| check(text, &ids).is_empty());
    let mut found: Vec<_> =
        missed.map(|text| format!("rows.tsv: nothing is found wrong with {text:?}")).collect();
    found.extend(check(right, &ids));
    found
}
