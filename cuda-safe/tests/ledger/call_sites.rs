//! Errors name the line of the program: each fallible function knows its caller, no closure makes an error
//! of its own line, and tests make each public function fail and look at the place.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::scan::has_name;
use crate::sources::{files_of, files_of_the_crate, read};

/// The sources whose errors have a call site.
const FOLDERS: [&str; 5] = [
    "cuda-safe/src",
    "cuda-safe/nccl/src",
    "cuda-safe/nvrtc/src",
    "cuda-safe/dlpack/src",
    "cuda-kernels/src",
];

fn sources() -> impl Iterator<Item = (PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let files = FOLDERS.into_iter().flat_map(move |folder| files_of(root.join(folder)));
    files.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
}

/// Functions that return a `Result`, are not marked `#[track_caller]`, and do not take the call site either:
/// why no error of theirs names a line of the crate.
const NOT_TRACKED: &[(&str, &[&str])] = &[
    (
        "returns the index of an edge, or nothing at all",
        &["/graph/steps.rs: parted", "/copy/staged.rs: try_copy"],
    ),
    (
        "its callers move the error to the call site of the whole batch",
        &[
            "/copy/batch/copies.rs: behind_fills",
            "/copy/batch/copies.rs: copy",
            "/copy/batch/copies.rs: is_capturing",
        ],
    ),
    ("its error is a reason, of which the caller makes an error", &["/library/image.rs: texts"]),
    ("the call site is in `self`", &["/stream/enqueue.rs: check"]),
    ("only its argument is fallible", &["/graph/node/conditional.rs: conditional"]),
    (
        "its error is a reason, of which the caller makes an error",
        &["/nvrtc/src/raw.rs: find", "/nvrtc/src/raw.rs: open"],
    ),
    (
        "its error has no call site",
        &[
            "/dlpack/src/capsule.rs: from_raw",
            "/dlpack/src/capsule.rs: host",
            "/dlpack/src/capsule.rs: elements",
            "/dlpack/src/capsule.rs: len_of",
            "/dlpack/src/tensor.rs: as_slice_mut",
        ],
    ),
    (
        "the pipeline has checked the range",
        &["/copy/pipeline/array.rs: part", "/copy/pipeline/array.rs: split"],
    ),
];

/// The public functions of a source that return a `Result`: their names, and whether they know the call site.
fn fallible(source: &str) -> Vec<(&str, bool)> {
    let mut code = source.split("\nmod tests {").next().unwrap_or_default();
    let (mut found, mut tracked) = (Vec::new(), false);
    while let Some((line, rest)) = code.split_once('\n') {
        let text = line.trim_start();
        let is_start = |word: &str| {
            matches!(word, "const" | "unsafe" | "async") || word.starts_with("pub") || word.ends_with(')')
        };
        let function = text
            .split_once("fn ")
            .filter(|(start, _)| start.starts_with("pub") && start.split_whitespace().all(is_start));
        if let Some((_, name)) = function {
            let signature = &code[..code.find(['{', ';']).unwrap_or(code.len())];
            let known =
                ["Location<'static>", "CallSite", "&Call"].iter().any(|with| signature.contains(with));
            if signature.rsplit_once("->").is_some_and(|(_, output)| output.contains("Result<")) {
                found.push((name.split(['(', '<']).next().unwrap_or_default(), tracked || known));
            }
        }
        // Other attributes and comments may stand between.
        tracked = text == "#[track_caller]" || tracked && text.starts_with(['#', '/']);
        code = rest;
    }
    found
}

#[test]
fn every_fallible_function_knows_its_caller() {
    let (mut all, mut wrong) = (0, Vec::new());
    for (path, source) in sources() {
        for (name, is_known) in fallible(&source) {
            all += 1;
            let function = format!("{}: {name}", path.display());
            let has_reason =
                NOT_TRACKED.iter().flat_map(|(_, names)| *names).any(|it| function.ends_with(it));
            if !is_known && !has_reason {
                wrong.push(function);
            }
        }
    }
    assert!(all > 500, "{all} functions were found");
    assert!(wrong.is_empty(), "give these `#[track_caller]`, or say in NOT_TRACKED why not:\n{wrong:#?}");
}

#[test]
fn a_fallible_function_without_its_caller_is_noticed() {
    let found = fallible(
        "    #[track_caller]\n    pub fn one() -> Result<()> {\n    }\n    \
         pub(crate) fn two(\n        a: u32,\n    ) -> Result<()> {\n    }\n    pub fn three() {\n    }\n",
    );
    assert_eq!(found, [("one", true), ("two", false)]);
}

/// Calls that take their caller's line. (`check!` in a closure is tried by `alone/call_sites.rs`, which makes
/// calls fail.)
const MAKE_ERRORS: [&str; 5] =
    ["Error::refused(", "Error::new(", "Error::from_code(", "(unsupported(", " unsupported("];

/// Closures that do so all the same, and why.
const MOVED: &[(&str, &[&str])] = &[
    ("the operation's recipient moves it to the caller", &["/graph/node/kernel.rs"]),
    ("its callers move the error to the call site of the whole batch", &["/copy/batch/linear.rs"]),
];

/// The code of a source: without its tests, and with blanks for comments and texts.
fn code(source: &str) -> String {
    let source = source.split("\nmod tests {").next().unwrap();
    let mut all = String::new();
    for line in source.lines() {
        let mut rest = line;
        while let Some(at) = rest.find(['"', '/']) {
            let (before, after) = rest.split_at(at);
            all += before;
            rest = if after.starts_with("//") {
                ""
            } else if let Some(text) = after.strip_prefix('"') {
                let is_end = |at: &usize| !text[..*at].ends_with('\\');
                let ends = text.match_indices('"').map(|(at, _)| at);
                all += "\"\"";
                ends.into_iter().find(is_end).map_or("", |at| &text[at + 1..])
            } else {
                all.push('/');
                &after[1..]
            };
        }
        all = all + rest + "\n";
    }
    all
}

/// Where an expression ends, and its statement: at brackets, commas and semicolons that are not its own.
fn end_of(code: &str, ends: &[char]) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' if depth == 0 && ends.contains(&c) => return at,
            ')' | ']' | '}' => depth -= 1,
            c if depth <= 0 && ends.contains(&c) => return at,
            _ => {}
        }
    }
    code.len()
}

/// The closures that make an error at their own line, unless their statement moves it to the caller's.
fn closures_with_errors(source: &str) -> Vec<String> {
    let code = code(source);
    let mut found = Vec::new();
    for (at, _) in code.match_indices('|') {
        let before = code[..at].trim_end();
        let begins = before.ends_with(['(', ',', '=', '{', ';']) && !before.ends_with("!=");
        if !begins && !["=>", " move", " return"].iter().any(|word| before.ends_with(word)) {
            continue;
        }
        let parameters = code[at + 1..].find('|').unwrap_or(0);
        let body = &code[at + parameters + 2..];
        let body = &body[..end_of(body, &[',', ';', ')', ']', '}'])];
        let makes = MAKE_ERRORS.iter().any(|it| body.contains(it));
        let statement = &code[at..][..end_of(&code[at..], &[';'])];
        if makes && ![".at_caller()", ".at("].iter().any(|it| statement.contains(it)) {
            found.push(body.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    // A function as a value knows no caller, either. A closure with a name was looked at above.
    for (at, _) in code.match_indices("map_err(") {
        let statement = &code[at..][..end_of(&code[at..], &[';'])];
        let name = statement["map_err(".len()..].split(')').next().unwrap();
        let is_name =
            name.chars().all(|c| c.is_alphanumeric() || "_:".contains(c)) && !name.contains("Error::from");
        let is_closure =
            code.contains(&format!("let {name} = |")) || code.contains(&format!("let {name} = move |"));
        if is_name && !is_closure && ![".at_caller()", ".at("].iter().any(|it| statement.contains(it)) {
            found.push(name.to_owned());
        }
    }
    found
}

#[test]
fn no_closure_makes_an_error_of_its_own_line() {
    let wrong = |(path, source): (PathBuf, String)| {
        let is_moved = MOVED.iter().flat_map(|(_, files)| *files).any(|file| path.ends_with(&file[1..]));
        let closures = closures_with_errors(&source).into_iter().filter(move |_| !is_moved);
        closures.map(move |it| format!("{}: {it}", path.display())).collect::<Vec<_>>()
    };
    let wrong: Vec<_> = sources().flat_map(wrong).collect();
    assert!(
        wrong.is_empty(),
        "a closure knows no caller: use a match, `or_refused` or `at_caller`:\n{wrong:#?}"
    );
}

#[test]
fn a_closure_that_makes_an_error_is_noticed() {
    let found = closures_with_errors(
        "fn f() {\n    let refused = |what| Error::refused(api, what);\n    \
         a.ok_or_else(|| {\n        Error::new(b)\n    })?;\n    a.ok_or_else(|| Error::new(c)).at_caller()?;\n    \
         let text = \"|| Error::new(d)\"; // || Error::new(e)\n    let or = a || Error::new(f) == b;\n    \
         g(a, move |it| match it { _ => Err(unsupported(api, h)) });\n    a.map_err(b::c)?;\n    \
         a.map_err(b::d).at_caller()?;\n    let e = |it| it;\n    a.map_err(e)?;\n}\n",
    );
    let all = [
        "Error::refused(api, what)",
        "{ Error::new(b) }",
        "match it { _ => Err(unsupported(api, h)) }",
        "b::c",
    ];
    assert_eq!(found, all);
}

/// The files whose tests make functions fail, and look at the call site.
const TRIED: [&str; 5] = [
    "cuda-safe/tests/alone/every_function.rs",
    "cuda-safe/tests/alone/call_sites.rs",
    "cuda-safe/tests/graph/call_sites.rs",
    "cuda-safe/tests/memory/call_sites.rs",
    "cuda-kernels/fixtures/tests/launch/call_sites.rs",
];

/// Public functions that these tests do not make fail, and why.
const NOT_TRIED: &[(&str, &[&str])] = &[
    (
        "unsafe: takes what other code or another process has made, and has tests with that",
        &[
            "/memory/ipc.rs: import",
            "/memory/ipc.rs: open",
            "/memory/external.rs: import",
            "/memory/external.rs: import_timeline",
            "/memory/external.rs: open",
            "/memory/external.rs: signal_external_semaphores",
            "/memory/external.rs: wait_external_semaphores",
            "/memory/managed.rs: from_raw",
            "/memory/pinned.rs: from_raw",
            "/memory/device.rs: adopt",
            "/memory/device.rs: from_raw",
            "/memory/array/owned.rs: from_raw",
            "/stream/owned.rs: from_raw",
            "/stream/ipc.rs: open",
            "/stream/foreign.rs: adopt",
            "/stream/foreign.rs: lend",
            "/library/builder.rs: from_data",
            "/library/builder.rs: from_file",
            "/library/builder.rs: load_data",
            "/library/builder.rs: load_file",
        ],
    ),
    (
        "unsafe: changes the process or the device for all",
        &["/reset.rs: reset", "/hazard.rs: set_policy_off", "/memory/pool/owned.rs: disable_access"],
    ),
    (
        "takes its owner, and fails only while something uses that",
        &[
            "/memory/managed.rs: into_raw",
            "/memory/pinned.rs: into_raw",
            "/memory/device.rs: into_raw",
            "/memory/array/owned.rs: into_raw",
            "/texture/object.rs: destroy",
            "/library/owned.rs: unload",
            "/logs.rs: stop",
            "/device/notification.rs: unregister",
        ],
    ),
    (
        "of newer CUDA than the toolkit of these tests",
        &[
            "/launch/attributes.rs: parameter_count",
            "/copy/batch/single.rs: memcpy_with_attributes_async",
            "/copy/batch/single.rs: memcpy_2d_with_attributes_async",
            "/copy/batch/single.rs: memcpy_3d_with_attributes_async",
            "/stream/host_function.rs: launch_host_fn_with_sync",
            "/stream/execution.rs: execution_context",
            "/stream/execution.rs: green",
            "/stream/execution.rs: sm_resource",
            "/stream/execution.rs: split",
            "/stream/execution.rs: split_by_count",
        ],
    ),
    (
        "only of CUDA 13.0 and newer, where these files have functions of all versions",
        &[
            "/logs.rs: dump_to_file",
            "/logs.rs: dump_to_memory",
            "/logs.rs: on_message",
            "/memory/pool/owned.rs: current_at",
            "/memory/pool/owned.rs: default_at",
            "/memory/managed/advice.rs: locations",
            "/device/atomic.rs: host_atomic_capabilities",
            "/device/atomic.rs: peer_atomic_capabilities",
        ],
    ),
    (
        "a macro writes it, and its names are tried",
        &[
            "/memory/plane.rs: $make",
            "/memory/plane.rs: $make_mut",
            "/memory/plane.rs: $pitched",
            "/memory/plane.rs: $pitched_mut",
            "/stream/attributes.rs: $name",
        ],
    ),
    (
        "its error is that of the program's code or call",
        &[
            "/error.rs: check",
            "/error.rs: ensure_callable",
            "/stream/enqueue_all.rs: enqueue_all",
            "/memory/lent.rs: lend",
            "/memory/lent.rs: lend_mut",
        ],
    ),
    (
        "fails only after the runtime or the device has, or where the hardware lacks it",
        &[
            "/hazard.rs: set_policy",
            "/memory/managed.rs: attach_async",
            "/memory/array/owned.rs: memory_requirements",
            "/memory/array/owned.rs: sparse_properties",
            "/memory/array/builder.rs: deferred",
            "/memory/array/builder.rs: nv12",
            "/launch/kernel.rs: using",
            "/launch/symbol.rs: access_mut",
            "/device/notification.rs: on_notification",
            "/texture/object.rs: with_view",
            "/texture/object.rs: resource_view_desc",
            "/graph/capture.rs: host_fn_with",
        ],
    ),
];

/// The public functions of a source that return a `Result`.
fn public(source: &str) -> BTreeSet<&str> {
    let is_public = |line: &&str| {
        line.trim_start().starts_with("pub fn ") || line.trim_start().starts_with("pub unsafe fn ")
    };
    let names = source
        .lines()
        .filter(is_public)
        .filter_map(|line| line.split("fn ").nth(1)?.split(['(', '<']).next());
    let fallible: BTreeSet<_> = fallible(source).into_iter().map(|(name, _)| name).collect();
    names.filter(|name| fallible.contains(name)).collect()
}

#[test]
fn each_public_function_is_made_to_fail_or_has_a_reason() {
    let tried: Vec<_> = TRIED.iter().map(|path| read(path)).collect();
    let (mut missing, mut needless, mut all) = (Vec::new(), BTreeSet::new(), 0);
    for path in files_of_the_crate() {
        let source = std::fs::read_to_string(&path).unwrap();
        for name in public(&source) {
            all += 1;
            let is_tried = tried.iter().any(|test| has_name(test, name));
            let function = format!("{}: {name}", path.display());
            let reasons = NOT_TRIED.iter().flat_map(|(_, names)| *names);
            let has_reason = reasons.into_iter().any(|it| function.ends_with(it));
            if !is_tried && !has_reason {
                missing.push(function);
            } else if is_tried && has_reason {
                needless.insert(function);
            }
        }
    }
    assert!(all > 300, "{all} functions were found");
    assert!(
        missing.is_empty(),
        "have one of {TRIED:?} make these fail, or say in NOT_TRIED why not:\n{missing:#?}"
    );
    assert!(needless.is_empty(), "these are tried, and in NOT_TRIED: {needless:#?}");
}
