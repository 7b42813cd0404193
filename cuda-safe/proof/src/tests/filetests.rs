//! Kernels that try to fool the analysis, and those that it must prove: files in `tests/filetests`.
//!
//! The head of a file says what it is about, which launch is tried (in the form of `tests/kernels/spec.rs`),
//! and which words stand for steps that occur often. Then come cases: each line has the steps that follow
//! those of `prelude.ptx`, and goes on in lines that begin with a space. `REPEAT9{...}` stands for the same
//! steps nine times, with the numbers 1 to 9 for `#`. `//= RESULT` says of the cases behind it what the
//! launch may access, or why it is refused:
//!
//! - `x 400, y 4`: up to that byte behind each of the pointers, or `beyond` all memory that there may be,
//! - `nothing` behind the pointers,
//! - `refused:` and the reason.
//!
//! What is proven is compared with random threads, too. `BLESS=1 cargo test -p cuda-proof --lib filetests`
//! writes what is found in place of what is expected.

use std::path::PathBuf;

use super::oracle::Random;
use super::runs::{Count, is_far, run};
use super::spec::Spec;
use super::work::prove_in_time;
use crate::{BUDGET, Kernel, Verdict, kernels};
use cuda_ptx::parse;

const PRELUDE: &str = include_str!("../../tests/filetests/prelude.ptx");
const LAUNCH: &str = "k | 4 | 64 | p,p,100 | , | ";
/// The words that all files have.
const WORDS: [(&str, &str); 2] = [
    ("STORE", "mul.wide.u32 %rd10, %r10, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], 0;"),
    ("SIGNED", "mul.wide.s32 %rd10, %r10, 4; add.s64 %rd11, %rd1, %rd10; st.global.u32 [%rd11], 0;"),
];

/// Proves a launch, and returns the ends of the bytes of x and y, or the refusal. Threads must agree.
fn prove(body: &str, launch: &str, budget: u64) -> Result<[i64; 2], String> {
    let text = format!("{PRELUDE}{body}\nret;\n}}\n");
    let kernels = kernels(&text).unwrap_or_else(|error| panic!("{error}: {body}"));
    assert_eq!(Kernel::from_bytes(&kernels[0].to_bytes()).as_ref(), Ok(&kernels[0]), "{body}");
    let (spec, _) = Spec::parse(launch, &kernels).expect("a launch");
    match spec.with(|launch| prove_in_time(&kernels[0], launch, budget)) {
        Verdict::Refused(refusal) => Err(refusal.to_string()),
        Verdict::Proven(proof) => {
            let (module, mut random) = (parse(&text).expect("PTX"), Random(28));
            let far = proof.needs().iter().any(|it| is_far(&it.reads) || is_far(&it.writes));
            for _ in 0..if far { 0 } else { 8 } {
                run(&module, &kernels[0], &spec, &proof, &mut random, &mut Count::default())
                    .unwrap_or_else(|wrong| panic!("{wrong}: {body}"));
            }
            let mut ends = [0, 0];
            for need in proof.needs() {
                for bytes in need.reads.iter().chain(&need.writes) {
                    let is_far = bytes.low < 0 || bytes.high > 1 << 20;
                    let end = if is_far { i64::MAX } else { bytes.high };
                    ends[need.parameter] = end.max(ends[need.parameter]);
                }
            }
            Ok(ends)
        }
    }
}

/// Does the same with bytes of shared memory, a budget, and the whole text of a store.
pub(super) fn proven_within(body: &str, shared: &str, budget: u64) -> Result<[i64; 2], String> {
    prove(&body.replace(WORDS[0].0, WORDS[0].1), &format!("{LAUNCH}{shared}"), budget)
}

#[track_caller]
pub(super) fn bytes(body: &str, x: i64, y: i64) {
    assert_eq!(proven_within(body, "256", BUDGET), Ok([x, y]), "{body}");
}

#[track_caller]
pub(super) fn refused(body: &str, why: &str) {
    match proven_within(body, "256", BUDGET) {
        Err(refusal) => assert!(refusal.contains(why), "{refusal}: {body}"),
        Ok(ends) => assert!(why.is_empty() && ends.contains(&i64::MAX), "{ends:?} is proven: {body}"),
    }
}

/// Returns a result as the files have it.
fn result(found: Result<[i64; 2], String>) -> String {
    match found {
        Ok(ends) => {
            let of = |(name, end): (&str, i64)| match end {
                0 => None,
                i64::MAX => Some(format!("{name} beyond")),
                end => Some(format!("{name} {end}")),
            };
            let ends: Vec<String> = ["x", "y"].into_iter().zip(ends).filter_map(of).collect();
            if ends.is_empty() { "nothing".to_owned() } else { ends.join(", ") }
        }
        Err(refusal) => {
            let words = refusal.strip_prefix("cannot prove k: ").or_else(|| refusal.strip_prefix("k "));
            let words = words.unwrap_or(&refusal);
            let words = match words.split_once(", ") {
                Some((place, rest)) if place.starts_with("PTX:") => rest,
                _ => words,
            };
            format!("refused: {}", words.split("; ").next().unwrap_or_default())
        }
    }
}

/// Returns steps with the words and repetitions written out.
fn written_out(steps: &str, words: &[(String, String)]) -> String {
    let mut text = steps.to_owned();
    for (word, meaning) in words {
        text = text.replace(word.as_str(), meaning);
    }
    while let Some(start) = text.find("REPEAT") {
        let (count, rest) = text[start + 6..].split_once('{').expect("`{` behind the number");
        let (steps, rest) = rest.split_once('}').expect("`}` behind the steps");
        let count: u32 = count.parse().expect("a number");
        let all: String = (1..=count).map(|at| format!("{steps} ").replace('#', &at.to_string())).collect();
        text = format!("{}{all}{rest}", &text[..start]);
    }
    text
}

/// Tries the cases of a file.
fn check(name: &str) {
    let path = folder().join(format!("{name}.ptx"));
    let text = std::fs::read_to_string(&path).expect("the file");
    let (head, cases) = text.split_once("\n\n").expect("an empty line behind the head");
    let mut launch = String::new();
    let mut words: Vec<(String, String)> = Vec::new();
    for line in head.lines().filter_map(|line| line.strip_prefix("// ")) {
        if let Some(line) = line.strip_prefix("launch: ") {
            line.clone_into(&mut launch);
        } else if let Some((word, meaning)) = line
            .split_once(" = ")
            .filter(|(word, _)| word.chars().all(|it| it.is_ascii_uppercase() || it == '_'))
        {
            words.push((word.to_owned(), meaning.to_owned()));
        } else if let Some((_, meaning)) = words.last_mut() {
            *meaning += " ";
            *meaning += line;
        }
    }
    words.extend(WORDS.map(|(word, meaning)| (word.to_owned(), meaning.to_owned())));
    let (mut blessed, mut wrong) = (format!("{head}\n\n"), Vec::new());
    let (mut expected, mut written, mut count) = ("", String::new(), 0);
    let mut lines = cases.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(result) = line.strip_prefix("//= ") {
            (expected, written) = (result, String::new());
            continue;
        }
        if let Some(other) = line.strip_prefix("// launch: ") {
            other.clone_into(&mut launch);
        }
        if line.is_empty() || line.starts_with("//") {
            blessed += &format!("{line}\n");
            continue;
        }
        let mut steps = format!("{line}\n");
        while let Some(more) = lines.next_if(|line| line.starts_with(' ')) {
            steps += &format!("{more}\n");
        }
        let found = result(prove(&written_out(&steps, &words), &launch, BUDGET));
        if found != expected {
            wrong.push(format!("expected {expected}, found {found}:\n{steps}"));
        }
        if found != written {
            blessed += &format!("//= {found}\n");
        }
        blessed += &steps;
        (written, count) = (found, count + 1);
    }
    assert!(count > 0, "{name} has no case");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, blessed).expect("the file is written");
    } else {
        assert!(wrong.is_empty(), "{name}: {} of {count} are wrong\n{}", wrong.len(), wrong.join("\n"));
    }
}

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/filetests"))
}

/// Defines a test for each file.
macro_rules! files {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name));
            }
        )*

        #[test]
        fn each_file_is_tried() {
            let mut names = vec!["prelude", $(stringify!($name)),*];
            let files = std::fs::read_dir(folder()).expect("the folder").map(|it| it.expect("a file").path());
            let mut found: Vec<PathBuf> = files.map(|it| it.with_extension("")).collect();
            found.sort();
            names.sort_unstable();
            assert!(found.iter().map(|it| it.file_name().and_then(|it| it.to_str())).eq(names.into_iter().map(Some)));
        }
    };
}

files! {
    addresses beyond_all_memory chosen_pointers clamps comparisons conversions copied_counters
    counted_bits flags float_comparisons float_magnitudes following_a_flag grid_barrier guards
    guards_of_other_values hints indirect_calls inserted_bits left_over_rounds loops
    loops_of_threads many_quotients masks_and_quotients matrices min_and_max names_and_functions
    no_clamps one_register_twice only_floats parameters pragmas predicates quotients_of_max
    rounded_ends rows_and_columns search_by_ends search_by_stride shared_barriers shared_contents
    signs spaces_and_alignment stack stack_in_a_loop stack_of_fewer_bits stack_stored_later
    strides_in_a_row thresholds unknown_instructions unreachable unstable_uses unstable_values
    variables_of_functions wide_counters wrapping
}
