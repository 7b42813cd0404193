//! The ledger, counted by group.

use std::collections::BTreeMap;

use super::NOT_YET;

/// The rows of a ledger, seven columns each.
pub(crate) fn rows(ledger: &str) -> Vec<[&str; 7]> {
    let mut found = Vec::new();
    for line in ledger.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        found.push(<[&str; 7]>::try_from(fields).unwrap());
    }
    found
}

/// The number of functions of a group, and their states.
#[derive(Default)]
struct Count {
    all: usize,
    wrapped: usize,
    shown: usize,
    raw_only: usize,
    not_yet: usize,
}

/// A ledger, counted by group.
pub(crate) fn summary(ledger: &str) -> String {
    let mut groups = BTreeMap::<&str, Count>::new();
    for [_, group, _, wrapped, _, examples, why] in rows(ledger) {
        // The row for all groups is below the rows of each.
        for group in [group, "~"] {
            let count = groups.entry(group).or_default();
            count.all += 1;
            count.wrapped += usize::from(!wrapped.is_empty());
            count.shown += usize::from(!wrapped.is_empty() && !examples.is_empty());
            count.not_yet += usize::from(why == NOT_YET);
            count.raw_only += usize::from(wrapped.is_empty() && why != NOT_YET);
        }
    }
    let mut out = String::from(
        "# The coverage ledger in figures\n\n\
         The functions of the runtime by group. *Shown*: of those wrapped, those that an example names.\n\
         *Raw only*: left to `cuda-sys` for a reason that `raw-only.tsv` gives. \
         `cargo test -p cuda-safe --test ledger`\n\
         writes the whole ledger to `target/tmp/ledger.tsv`: what wraps, tests and shows each function.\n\n\
         | group | functions | wrapped | shown | raw only | not yet wrapped |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    for (group, Count { all, wrapped, shown, raw_only, not_yet }) in groups {
        let group = if group == "~" { "**all**" } else { group };
        out.push_str(&format!("| {group} | {all} | {wrapped} | {shown} | {raw_only} | {not_yet} |\n"));
    }
    out
}
