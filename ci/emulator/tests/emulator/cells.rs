//! Every kind of access, in every scope, beside every partner: what PTX's memory model says of the pair,
//! and what the emulator does. Each cell is a program in which nothing orders the two, and a twin in which
//! something does (`programs/cells.cu`).

use std::io::Write as _;
use std::process::Stdio;

use super::built;

/// What the emulator does about a program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Expected {
    /// It names the race.
    Named,
    /// It is silent.
    Silent,
    /// It says at the end that it has not checked this.
    Unchecked(&'static str),
    /// The process ends by this signal, without a word.
    Killed(i32),
}
use Expected::{Killed, Named, Silent, Unchecked};

/// Runs cells in a schedule, and checks what the emulator does.
fn run(schedule: &str, cells: &[(String, Expected)]) {
    let mut command = built::command(built::compile("cells", &["--extended-lambda"]), "late");
    command.env("CUDA_EMULATOR_RACES", "1").arg(schedule);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines: String = cells.iter().map(|(cell, _)| format!("{cell}\n")).collect();
    let mut input = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut answers = text.lines();
    let mut wrong = Vec::new();
    for (cell, expected) in cells {
        let answer = answers.next().unwrap_or("no answer");
        let is_right = match expected {
            Named => answer == "named",
            Silent => answer == "silent",
            Killed(signal) => answer == format!("signal {signal}"),
            Unchecked(what) => answer.strip_prefix("unchecked ").is_some_and(|it| it.contains(what)),
        };
        if !is_right {
            wrong.push(format!("{cell}: {answer}, expected {expected:?}"));
        }
    }
    let count = wrong.len();
    assert!(wrong.is_empty(), "{schedule}: {count} of {} cells:\n{}", cells.len(), wrong.join("\n"));
}

/// The threads that the scopes include, from the narrowest on.
const SCOPES: [&str; 4] = ["cta", "cluster", "gpu", "sys"];

/// A way of access: the name, the number in the program, and the scope if it is strong.
#[derive(Clone, Copy, Debug)]
struct How {
    name: &'static str,
    number: usize,
    scope: Option<&'static str>,
}

const PLAIN: How = How { name: "plain", number: 0, scope: None };
/// By PTX a volatile access is a relaxed one of the system's scope.
const VOLATILE: How = How { name: "volatile", number: 1, scope: Some("sys") };

/// All ways. An atomic operation writes.
fn ways() -> Vec<How> {
    let mut ways = vec![PLAIN, VOLATILE];
    for (first, name) in [(2, "relaxed"), (6, "ordered"), (10, "atomic")] {
        ways.extend((first..).zip(SCOPES).map(|(number, scope)| How { name, number, scope: Some(scope) }));
    }
    ways
}

/// The partners of a thread, the narrowest scope that includes them, and the memory that both use. Accesses
/// of copies, fills and system calls are never strong. The host's own may be, and nobody knows.
const PARTNERS: [(&str, Option<&str>, &[&str]); 10] = [
    ("lane", Some("cta"), &["shared", "device"]),
    ("warp", Some("cta"), &["shared", "device"]),
    // Neither the blocks of the cells nor their kernels are of one cluster.
    ("block", Some("gpu"), &["device"]),
    ("kernel", Some("gpu"), &["device"]),
    ("device", Some("sys"), &["device"]),
    ("copy", None, &["device"]),
    ("fill", None, &["device"]),
    ("host", Some("sys"), &["managed", "pinned"]),
    ("function", Some("sys"), &["managed", "pinned"]),
    ("call", None, &["managed", "pinned"]),
];

/// Whether two accesses do not race by the memory model: each is strong, and its scope includes the other.
fn are_strong(one: How, two: How, narrowest: Option<&str>) -> bool {
    let rank = |scope: &str| SCOPES.iter().position(|it| *it == scope);
    let reaches =
        |how: How| how.scope.is_some_and(|scope| narrowest.is_some_and(|it| rank(scope) >= rank(it)));
    reaches(one) && reaches(two)
}

/// What differs from the model, with the sentence of the documents that says so.
fn differs(partner: &str, one: How, two: How) -> Option<(Expected, &'static str)> {
    let of_cluster = [one, two].iter().any(|it| it.scope == Some("cluster"));
    let both = [one, two].iter().all(|it| it.scope.is_some_and(|scope| scope != "cta"));
    match partner {
        "block" | "kernel" if of_cluster && both => {
            Some((Silent, "A cluster's scope counts as the device's."))
        }
        "lane" | "warp" if [one, two].iter().all(|it| it.name == "volatile") => {
            let what = "races of volatile accesses within a block";
            Some((Unchecked(what), what))
        }
        _ => None,
    }
}

#[test]
fn every_pair_of_accesses_is_named_or_is_none_by_the_memory_model() {
    let rules = include_str!("../../races.md");
    let (mut quick, mut all) = (Vec::new(), Vec::new());
    for (partner, narrowest, memories) in PARTNERS {
        for one in ways() {
            let of_host = ["host", "function"].contains(&partner);
            let of_threads = narrowest.is_some() && !of_host;
            let mut others = if of_threads { vec![one, PLAIN, VOLATILE] } else { vec![PLAIN] };
            others.dedup_by_key(|it| it.number);
            for (two, (first, second)) in others
                .iter()
                .flat_map(|two| [(true, true), (true, false), (false, true)].map(|it| (*two, it)))
            {
                let reads_only = |how: How, writes: bool| how.name == "atomic" && !writes;
                if reads_only(one, first) || reads_only(two, second) || partner == "fill" && !second {
                    continue;
                }
                let by_model = if of_host { VOLATILE } else { two };
                let mut expected = if are_strong(one, by_model, narrowest) { Silent } else { Named };
                if let Some((differs, sentence)) = differs(partner, one, two) {
                    assert!(rules.replace('\n', " ").contains(sentence), "{sentence}");
                    expected = differs;
                }
                for memory in memories {
                    let cell = |ordered: u8| {
                        let sides =
                            format!("{} {} {} {}", one.number, u8::from(first), two.number, u8::from(second));
                        format!("accesses {memory} {partner} {sides} {ordered}")
                    };
                    let both = [(cell(0), expected.clone()), (cell(1), Silent)];
                    if !of_threads {
                        quick.extend(both.clone());
                    }
                    all.extend(both);
                }
            }
        }
    }
    eprintln!("{} cells", all.len());
    run("late", &all);
    // When an operation runs matters to the host.
    run("eager", &quick);
    run("random:1", &quick);
}

#[test]
fn memory_that_a_kernel_reaches_is_guarded_before_it_has_run_whatever_leads_there() {
    let ways = [
        "argument",
        "struct",
        "packed",
        "managed_memory",
        "device_memory",
        "device_table",
        "variable",
        "device_variable",
        "constant",
        "managed_variable",
    ];
    let mut cells = Vec::new();
    for (way, memory) in ways.into_iter().flat_map(|way| ["managed", "pinned"].map(|memory| (way, memory))) {
        for access in ["read", "write", "call"] {
            cells.push((format!("ways {memory} {way} {access} 0"), Named));
            cells.push((format!("ways {memory} {way} {access} 1"), Silent));
        }
    }
    for schedule in ["late", "eager", "random:1"] {
        run(schedule, &cells);
    }
}

#[test]
fn a_barrier_in_memory_that_begins_beside_its_arrivals_is_named() {
    for schedule in ["late", "eager", "random:1"] {
        run(schedule, &[("barriers 0".to_owned(), Named), ("barriers 1".to_owned(), Silent)]);
    }
}

#[test]
fn each_access_of_the_host_to_pages_of_pending_work_counts_and_not_only_the_first() {
    let mut cells = Vec::new();
    for memory in ["managed", "pinned"] {
        for by in ["words", "vectors", "repeated", "library"] {
            for writes in [0, 1] {
                for (order, expected) in [("none", Named), ("waits", Silent), ("beside", Silent)] {
                    // An instruction that repeats itself opens its page.
                    let is_one = by == "repeated" && order != "waits";
                    let unchecked = Unchecked("further accesses of the host to pages of pending work");
                    let expected = if is_one && expected == Silent { unchecked } else { expected };
                    cells.push((format!("beyond {memory} {by} {writes} {order}"), expected));
                }
            }
        }
    }
    for schedule in ["late", "eager", "random:1"] {
        run(schedule, &cells);
    }
}

#[test]
fn a_programs_handlers_masks_and_small_stacks_stay_its_own_business() {
    let ways = ["none", "signal", "sigaction", "blocked", "procmask", "handled", "stack"];
    let mut cells: Vec<_> = ways.map(|way| (format!("signals {way}"), Silent)).into();
    cells.push(("own_handlers kept".to_owned(), Silent));
    cells.push(("own_handlers default".to_owned(), Killed(11)));
    for schedule in ["late", "eager"] {
        run(schedule, &cells);
    }
}

/// Runs cells whose last word is whether the program is right.
fn pairs(schedules: &[&str], wrong: &[&str]) {
    let both = wrong.iter().flat_map(|it| [(format!("{it} 0"), Named), (format!("{it} 1"), Silent)]);
    let cells: Vec<_> = both.collect();
    schedules.iter().for_each(|schedule| run(schedule, &cells));
}

#[test]
fn an_instruction_of_a_warp_whose_mask_names_lanes_that_go_on_elsewhere_is_named() {
    let all = ["shuffle", "ballot", "any", "match", "sum", "many", "loop"].map(|it| format!("masks {it}"));
    pairs(&["late", "random:1", "random:2"], &all.each_ref().map(|it| &**it));
    run("late", &[("masks branches 1".to_owned(), Silent), ("masks outside 1".to_owned(), Silent)]);
}

#[test]
fn a_kernel_that_may_begin_early_and_does_not_wait_races_with_the_one_before_it() {
    let unnamed = ["1 set", "1 unset", "0 unset", "0 copied"].map(|it| (format!("dependent {it}"), Silent));
    for schedule in ["late", "eager", "random:1"] {
        run(schedule, &[("dependent 0 set".to_owned(), Named)]);
        run(schedule, &unnamed);
    }
}

#[test]
fn parameters_of_a_node_that_it_has_no_longer_are_named_and_their_values_hold() {
    pairs(&["late"], &["stale"]);
}

#[test]
fn managed_memory_that_the_host_touches_while_a_kernel_runs_is_named_where_that_ends_a_process() {
    pairs(&["late", "eager"], &["exclusive read", "exclusive write"]);
}

#[test]
fn what_is_right_and_looks_wrong_is_not_named() {
    for schedule in ["late", "eager", "random:1"] {
        run(
            schedule,
            &["other_device", "no_pitch", "unloaded", "log"].map(|it| (format!("right {it}"), Silent)),
        );
    }
}
