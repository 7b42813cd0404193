//! The emulator has each function that the safe crate wraps, and none that no toolkit has.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const FUNCTIONS: &str = include_str!("../../../../cuda-safe/ledger/functions.tsv");
const EXPORTS: &str = include_str!("../../exports.txt");

/// Returns the text of all files of a folder.
fn sources(folder: &Path) -> String {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| if path.is_dir() { sources(path) } else { fs::read_to_string(path).unwrap() })
        .collect()
}

#[test]
fn the_emulator_has_the_functions_that_the_safe_crate_wraps() {
    let api = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/api"));
    let has = |name: &str| ["(", " |"].iter().any(|after| api.contains(&format!("fn {name}{after}")));
    let safe = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cuda-safe/src"));
    let is_wrapped = |name: &str| safe.contains(&format!("doc(alias = \"{name}\")"));
    let (mut lacking, mut wrapped) = (Vec::new(), 0);
    for row in FUNCTIONS.lines().skip(1) {
        let fields: Vec<_> = row.split('\t').collect();
        let (name, gone) = (fields[0], fields.get(3).copied().unwrap_or_default());
        // The emulator is a library of CUDA 13.
        if gone.is_empty() && is_wrapped(name) {
            wrapped += 1;
            if !has(name) {
                lacking.push(name);
            }
        }
    }
    assert!(wrapped > 200, "{wrapped} functions are wrapped");
    assert!(lacking.is_empty(), "src/api: write {lacking:?} (\"Adding a function\" in the README)");
    let known: BTreeSet<_> = FUNCTIONS.lines().filter_map(|row| row.split('\t').next()).collect();
    let of_13: BTreeSet<_> = EXPORTS.lines().collect();
    let unknown: Vec<_> = api
        .lines()
        .filter_map(|line| {
            let (effect, rest) = line.trim_start().split_once(" fn ")?;
            let name = rest.split(['(', ' ']).next()?;
            let is_call = ["allowed", "waits", "conflicts"].contains(&effect);
            (is_call && !known.contains(name) && !of_13.contains(name)).then_some(name)
        })
        .collect();
    assert!(unknown.is_empty(), "src/api: functions.tsv and exports.txt lack {unknown:?}");
}
