//! The coverage ledger: for every function of the runtime, the items that wrap it and the tests and examples
//! that name these, or why it has no wrapper. The tests write it to `target/tmp/ledger.tsv`.
//!
//! It is made from `ledger/functions.tsv` (name, group, first version), the `#[doc(alias)]`es in `src`, the
//! tests of this crate, `cuda-kernels` and others, the programs of `examples` and those in the documentation
//! of both crates, and `ledger/raw-only.tsv` (why not).
//!
//! "Names" is the result of a plain scan: the item's name in the test or in a helper of its file that it
//! calls, and also the type's name if several types have such a method.
//!
//! Not in the bundle: it reads the sources.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod arguments;
mod call_sites;
mod examples;
mod scan;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use examples::{examples, showing};
use scan::{Item, has_name};

/// The maximum number of tests in a row, and of examples.
const NAMED: usize = 3;

const COLUMNS: &str = "function\tgroup\tsince\twrapped by\ttests\texamples\twhy not";

/// The entry of `raw-only.tsv` for functions that may be wrapped later.
const NOT_YET: &str = "not yet wrapped";

/// The groups that are complete: each raw-only function has a reason, and each other one an example.
const DONE: [&str; 15] = [
    "device",
    "driver entry point",
    "driver interoperation",
    "error",
    "event",
    "library",
    "logs",
    "memory",
    "memory pools",
    "peer",
    "stream",
    "surface object",
    "texture object",
    "unified addressing",
    "version",
];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = here().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The Rust files of a folder and, if requested, of its subfolders, sorted.
fn sources(folder: &Path, deep: bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && deep {
            found.extend(sources(&path, deep));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// One function of the runtime, as `ledger/functions.tsv` has it.
struct Function {
    name: String,
    group: String,
    since: String,
    gone: String,
}

fn functions() -> Vec<Function> {
    let field = |fields: &[&str], at: usize| (*fields.get(at).unwrap_or(&"")).to_owned();
    let function = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, group, since, gone] = [0, 1, 2, 3].map(|at| field(&fields, at));
        assert!(!name.is_empty() && !group.is_empty() && !since.is_empty(), "functions.tsv: {line:?}");
        Function { name, group, since, gone }
    };
    read("ledger/functions.tsv").lines().skip(1).map(function).collect()
}

/// Why a function, or every other function of a group, is raw-only.
fn reasons() -> BTreeMap<String, String> {
    let text = read("ledger/raw-only.tsv");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let split = |line: &str| {
        let (what, why) = line.split_once('\t').unwrap_or_else(|| panic!("raw-only.tsv: no tab in {line:?}"));
        (what.to_owned(), why.to_owned())
    };
    lines.map(split).collect()
}

/// The item that stands for a C function: its name, and the names of folders and files.
#[derive(Default)]
struct Wrapped {
    items: Vec<Item>,
    homes: BTreeSet<String>,
}

/// The items of this crate by the C names that they stand for.
fn items() -> BTreeMap<String, Wrapped> {
    let mut found = BTreeMap::<String, Wrapped>::new();
    let src = here().join("src");
    for path in sources(&src, true) {
        let inside = path.strip_prefix(&src).unwrap().with_extension("");
        let mut folders = inside.iter().map(|name| name.to_str().unwrap());
        let module = folders.clone().find(|name| *name == "node").or(folders.next()).unwrap();
        for (alias, item) in scan::items(module, &read(&path)) {
            let wrapped = found.entry(alias).or_default();
            wrapped.homes.extend(inside.iter().map(|name| name.to_str().unwrap().to_owned()));
            if !wrapped.items.contains(&item) {
                wrapped.items.push(item);
            }
        }
    }
    found
}

/// The names of methods that more than one type has. The kinds of stream count as one.
fn ambiguous() -> BTreeSet<String> {
    let mut owners = BTreeMap::<String, BTreeSet<String>>::new();
    for path in sources(&here().join("src"), true) {
        for (name, owner) in
            scan::methods(&read(path)).into_iter().filter(|(_, owner)| !owner.starts_with('$'))
        {
            owners.entry(name).or_default().insert(owner);
        }
    }
    owners.into_iter().filter(|(_, owners)| owners.len() > 1).map(|(name, _)| name).collect()
}

/// Every test of the crates that could name an item or a function, as `crate/file::name`, and its code.
/// The programs that the files belong to are no part of the name, nor of the order.
fn tests() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let packages = [
        "cuda-safe",
        "cuda-safe/hazard",
        "cuda-kernels",
        "cuda-kernels/build/tests/crate",
        "cuda-kernels/fixtures",
        "cuda-sys",
        "ci/same-names/program",
    ];
    for package in packages {
        let mut files = BTreeMap::new();
        for path in sources(&here().join("..").join(package).join("tests"), true) {
            let named = if path.ends_with("main.rs") { path.parent().unwrap() } else { &path };
            let file = named.file_stem().unwrap().to_str().unwrap().to_owned();
            let is_program = path.iter().all(|part| part != "compile_fail");
            if is_program && file != "ledger" {
                files.insert((file, path.clone()), read(&path));
            }
        }
        for ((file, _), source) in files {
            let named = |(test, code)| (format!("{package}/{file}::{test}"), code);
            found.extend(scan::tests(&source).into_iter().map(named));
        }
    }
    found
}

/// The ledger that the sources imply.
static LEDGER: LazyLock<String> = LazyLock::new(|| {
    let ledger = generate();
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("ledger.tsv"), &ledger).unwrap();
    ledger
});

/// The rows of the ledger, seven columns each.
fn rows() -> impl Iterator<Item = [&'static str; 7]> {
    let row = |line: &'static str| <[&str; 7]>::try_from(line.split('\t').collect::<Vec<_>>()).unwrap();
    LEDGER.lines().skip(1).map(row)
}

fn generate() -> String {
    let (items, reasons, mut tests, ambiguous) = (items(), reasons(), tests(), ambiguous());
    // These only expect refusals of functions, which is not a test of them.
    tests.retain(|(name, _)| !name.starts_with("cuda-safe/callbacks::"));
    let (examples, homeless) = (examples(), BTreeSet::new());
    let mut out = format!("{COLUMNS}\n");
    for Function { name, group, since, gone } in functions() {
        let entry = items.get(&name);
        let wrapped = entry.map_or(&[][..], |entry| entry.items.as_slice());
        let names_it = |code: &str| match wrapped {
            [] => has_name(code, &name),
            wrapped => wrapped.iter().any(|item| {
                let names_it = |code: &str| item.is_named_in(code, ambiguous.contains(&item.name));
                // A node is set, not added, in the same statement.
                let sets = item.is_operation() && name.contains("NodeSet");
                let mut statements = code.split(';').filter(|statement| statement.contains(".set("));
                if sets { statements.any(names_it) } else { names_it(code) }
            }),
        };
        let mut naming: Vec<&str> =
            tests.iter().filter(|(_, code)| names_it(code)).map(|(test, _)| test.as_str()).collect();
        // The file with the same name as the item's file has its own tests.
        naming.sort_by_key(|test| {
            let file = test.split(['/', ':']).nth(1).unwrap_or_default();
            let homes = entry.iter().flat_map(|entry| &entry.homes);
            !homes.into_iter().any(|home| file.starts_with(home.as_str()))
        });
        naming.truncate(NAMED);
        let homes = entry.map_or(&homeless, |entry| &entry.homes);
        let mut shown = showing(&examples, homes, names_it);
        shown.truncate(NAMED);
        let paths: Vec<String> = wrapped.iter().map(Item::path).collect();
        let since = if gone.is_empty() { since } else { format!("{since}, gone in {gone}") };
        let why = match (wrapped, reasons.get(&name)) {
            ([], Some(why)) => why.as_str(),
            ([], None) => reasons.get(&format!("group:{group}")).map_or("", String::as_str),
            _ => "",
        };
        let row =
            [&name, &group, &since, &paths.join(", "), &naming.join(", "), &shown.join(", "), why].join("\t");
        out.push_str(&row);
        out.push('\n');
    }
    out
}

#[test]
fn nothing_is_left_to_be_wrapped_or_shown_in_the_groups_that_are_done() {
    for done in DONE {
        let mut of_group = rows().filter(|[_, group, ..]| *group == done).peekable();
        assert!(of_group.peek().is_some(), "no function is of the group {done}");
        for [name, _, _, wrapped, _, examples, why] in of_group {
            if wrapped.is_empty() {
                assert!(!why.is_empty() && why != NOT_YET, "{name} ({done}) is not wrapped: {why:?}");
            } else {
                assert!(!examples.is_empty(), "{name} ({done}): no example shows {wrapped}");
            }
        }
    }
}

#[test]
fn every_function_of_the_headers_is_in_the_ledger() {
    let known: BTreeSet<String> = functions().into_iter().map(|function| function.name).collect();
    let bindings = read("../cuda-sys/snapshot/bindings.rs");
    let bound: BTreeSet<&str> = names_after(&bindings, "pub fn ").collect();
    assert!(bound.contains("cudaMalloc"));
    let missing: Vec<_> = bound.into_iter().filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "in the bindings, not in ledger/functions.tsv: {missing:?}");

    let folders: Vec<_> = std::env::split_paths(env!("CUDART_INCLUDE")).collect();
    let Some(folder) = folders.first().filter(|folder| !folder.as_os_str().is_empty()) else {
        // Documentation builds have no headers, and run no tests.
        panic!("built without headers");
    };
    let header = std::fs::read(folder.join("cuda_runtime_api.h")).unwrap();
    let header = String::from_utf8_lossy(&header);
    let declared: BTreeSet<&str> = names_after(&header, " CUDARTAPI ")
        // C's `--default-stream per-thread` replaces others by these.
        .filter(|name| !name.ends_with("_ptsz") && !name.ends_with("_ptds"))
        .collect();
    assert!(declared.contains("cudaMalloc"));
    let missing: Vec<_> = declared.into_iter().filter(|name| !known.contains(*name)).collect();
    assert!(missing.is_empty(), "in the header, not in ledger/functions.tsv: {missing:?}");
}

/// The identifiers that follow a marker and come before a parenthesis.
fn names_after<'a>(text: &'a str, marker: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(marker).skip(1).filter_map(|rest| {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
        let is_function = rest[end..].trim_start().starts_with('(');
        (is_function && rest.starts_with("cuda")).then_some(&rest[..end])
    })
}

#[test]
fn every_row_says_where_or_why() {
    for [name, group, _, wrapped, tests, _, why] in rows() {
        if wrapped.is_empty() {
            assert!(
                !why.is_empty(),
                "{name} ({group}) has neither an item nor a reason in ledger/raw-only.tsv"
            );
        } else {
            assert!(!tests.is_empty(), "no test names {wrapped}, which stands for {name}");
        }
    }
}

#[test]
fn no_reason_is_out_of_date() {
    let (functions, items) = (functions(), items());
    let mut names = BTreeSet::new();
    assert!(functions.iter().all(|function| names.insert(&function.name)), "a function twice");
    for what in reasons().keys() {
        if let Some(group) = what.strip_prefix("group:") {
            let mut of_group = functions.iter().filter(|function| function.group == group);
            assert!(
                of_group.any(|function| !items.contains_key(&function.name)),
                "all of {group} is wrapped"
            );
        } else {
            assert!(names.contains(what), "raw-only.tsv: there is no function {what}");
            assert!(!items.contains_key(what), "raw-only.tsv: {what} is wrapped");
        }
    }
    // The target that a reason names exists.
    let paths: BTreeSet<String> =
        items.values().flat_map(|wrapped| wrapped.items.iter().map(Item::path)).collect();
    for (what, why) in reasons() {
        for path in why.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c)) {
            let path = path.trim_end_matches(':');
            assert!(!path.contains("::") || paths.contains(path), "raw-only.tsv: {what}: there is no {path}");
        }
    }
}

#[test]
fn every_alias_is_a_name_of_the_runtime() {
    let bindings = read("../cuda-sys/snapshot/bindings.rs") + &read("../cuda-sys/src/constants.rs");
    // Templates of the C++ header.
    let templates = [
        "cudaLaunchKernelEx",
        "cudaOccupancyMaxPotentialBlockSize",
        "cudaOccupancyMaxPotentialBlockSizeVariableSMem",
    ];
    let names: BTreeSet<String> = functions().into_iter().map(|function| function.name).collect();
    let known =
        |alias: &str| names.contains(alias) || has_name(&bindings, alias) || templates.contains(&alias);
    let unknown: Vec<String> =
        items().into_keys().filter(|alias| alias.starts_with("cuda") && !known(alias)).collect();
    assert!(unknown.is_empty(), "aliases that no header has: {unknown:?}");
}

/// For each page about soundness: its file, and its minimum number of rows.
const PAGES: [(&str, usize); 3] = [("hazard-programs.md", 60), ("mistakes.md", 39), ("proofs.md", 9)];

/// Every row of the pages names a test, every named test exists, and the documentation has the pages.
#[test]
fn the_tests_that_the_pages_about_soundness_name_are_there() {
    let tests: BTreeSet<String> =
        tests().into_iter().filter_map(|(name, _)| Some(name.split_once("::")?.1.to_owned())).collect();
    let is_there =
        |name: &str| tests.contains(name) || here().join(format!("tests/compile_fail/{name}.rs")).is_file();
    let module = read("src/soundness.rs");
    for (page, least) in PAGES {
        assert!(
            module.contains(&format!("include_str!(\"../docs/{page}\")")),
            "src/soundness.rs lacks {page}"
        );
        let text = read(format!("docs/{page}"));
        // Those of tables whose last column is that of tests.
        let mut is_of_tests = false;
        let mut rows = Vec::new();
        for line in text.lines() {
            if line.ends_with("| test |") {
                is_of_tests = true;
            } else if !line.starts_with('|') {
                is_of_tests = false;
            } else if is_of_tests && line.starts_with("| ") {
                rows.push(line);
            }
        }
        assert!(rows.len() >= least, "docs/{page}: {} rows", rows.len());
        for row in rows {
            let cell = row.trim_end_matches('|').rsplit('|').next().unwrap();
            let named = cell.split('`').skip(1).step_by(2).filter(|name| !name.starts_with("cuda-"));
            let found = named.inspect(|name| assert!(is_there(name), "docs/{page}: there is no test {name}"));
            assert!(found.count() > 0, "docs/{page}: no test in {row}");
        }
    }
}

/// Whether a name matches a pattern, in which a star stands for any letters.
fn fits(name: &str, pattern: &str) -> bool {
    let mut parts: Vec<&str> = pattern.split('*').collect();
    let last = parts.pop().unwrap();
    let Some((first, middle)) = parts.split_first() else { return name == last };
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// The table of modules: each name is one that the module exports.
#[test]
fn docs_porting_has_names_in_the_modules_that_have_them() {
    let page = read("docs/porting.md");
    let (_, rest) = page.split_once("### Modules").unwrap();
    let table = rest.split("\n## ").next().unwrap();
    let mut found = 0;
    for row in table.lines().filter(|line| line.starts_with("| `cuda_safe")) {
        let [module, names] = row.trim_matches('|').split('|').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let Some(module) = module.trim().strip_prefix("`cuda_safe").and_then(|it| it.strip_suffix('`'))
        else {
            continue;
        };
        if module.contains('`') {
            continue;
        }
        let (folder, file) = match module.strip_prefix("::") {
            None => ("src/lib.rs".to_owned(), String::new()),
            Some(name) => (format!("src/{name}/mod.rs"), format!("src/{name}.rs")),
        };
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let source = read(if here.join(&folder).exists() { &folder } else { &file });
        // A module below has its names behind its own.
        let own = names.split("; in").next().unwrap();
        for name in own.split('`').skip(1).step_by(2).filter(|name| !name.ends_with('!')) {
            found += 1;
            assert!(has_name(&source, name), "{name} is not in cuda_safe{module}");
        }
    }
    assert!(found > 40, "{found} names");
}

#[test]
fn docs_porting_names_every_function() {
    assert!(fits("cudaGraphAddEventWaitNode", "cudaGraphAddEvent*Node") && fits("cudaFree", "cudaFree"));
    assert!(!fits("cudaFreeHost", "cudaFree") && !fits("cudaGraphAddNode", "cudaGraphAddEvent*Node"));
    let page = read("docs/porting.md");
    let words = page.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '*'));
    // The prefix of a family of functions is longer than the prefix that all functions share.
    let named: BTreeSet<&str> = words
        .filter(|word| word.starts_with("cuda") && word.split('*').next().is_some_and(|head| head.len() > 7))
        .collect();
    let later = |name: &str| {
        name.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix("_v").map(str::to_owned)
    };
    let missing: Vec<String> = functions()
        .into_iter()
        .map(|function| function.name)
        .filter(|name| {
            let base = later(name).unwrap_or_else(|| name.clone());
            !named.iter().any(|pattern| fits(name, pattern) || fits(&base, pattern))
        })
        .collect();
    assert!(missing.is_empty(), "docs/porting.md says nothing of {missing:?}");
}
