//! The verdicts on the kernels of this project, and on kernels with planted errors.
//!
//! The planted errors and the usual kernels are those of `cuda-safe/testing/kernels`. The project's own
//! kernels are compiled here: without nvcc, the test says `NOT CHECKED` on the error output.
//!
//! Not under sanitizers: it uses no GPU.
//! Not in the bundle: it compiles sources with nvcc.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cuda_proof::{Kernel, Memory, Refusal, Verdict, kernels, prove};

mod compile;
mod spec;
use compile::{PROJECT, compile_all};
use cuda_testing_kernels::{patterns, planted, tool};
use spec::Spec;

/// What a launch with exactly the bytes of the list gets.
fn verdict(kernel: &Kernel, spec: &Spec) -> Result<(), Refusal> {
    let verdict = spec.with(|launch| prove(kernel, launch));
    check(&verdict, spec, 0)
}

fn check(verdict: &Verdict, spec: &Spec, less: u64) -> Result<(), Refusal> {
    let pointers = spec.pointers();
    let memory = |(parameter, offset, bytes): &(usize, u64, Option<u64>)| Memory {
        parameter: *parameter,
        offset: *offset,
        name: "memory",
        address: 0x1000,
        bytes: bytes.unwrap_or(1 << 30).saturating_sub(less),
        element: 1,
        is_writable: true,
    };
    let memory: Vec<Memory<'_>> = pointers.iter().map(memory).collect();
    verdict.check(&memory, &[]).map(|_| ())
}

#[test]
fn no_planted_error_passes_and_what_is_right_is_proven() {
    let text = planted();
    let all = kernels(text).unwrap();
    let mut tried = BTreeSet::new();
    for line in include_str!("planted.tsv").lines() {
        let (spec, index) = Spec::parse(line, &all).expect(line);
        let found = verdict(&all[index], &spec);
        assert_eq!(found.is_ok(), spec.kernel.starts_with("right_"), "{}: {found:?}", spec.kernel);
        if let Err(refusal) = found {
            let (file, _) = refusal.place.clone().expect("a refusal has a place");
            assert_eq!(file, "planted.cu");
            assert!(refusal.to_string().contains("planted.cu:"), "{refusal}");
        }
        tried.insert(spec.kernel);
    }
    assert_eq!(tried.len(), all.len(), "each kernel of planted.cu has a launch");
}

#[test]
fn a_byte_less_than_a_kernel_needs_is_refused() {
    let mut refused = 0;
    for (text, list) in [(planted(), include_str!("planted.tsv")), (patterns(), include_str!("patterns.tsv"))]
    {
        let all = kernels(text).unwrap();
        for line in list.lines() {
            let (spec, index) = Spec::parse(line, &all).expect(line);
            let verdict = spec.with(|launch| prove(&all[index], launch));
            if check(&verdict, &spec, 0).is_ok() {
                assert!(check(&verdict, &spec, 1).is_err(), "{}", spec.kernel);
                refused += 1;
            }
        }
    }
    assert!(refused > 25, "{refused}");
}

#[test]
fn a_refusal_names_the_elements_the_line_and_the_values() {
    let all = kernels(patterns()).unwrap();
    let line = "add | 4 | 256 | p,p,p,1024 | ";
    let (spec, index) = Spec::parse(line, &all).unwrap();
    let verdict = spec.with(|launch| prove(&all[index], launch));
    let memory = |parameter: usize, name: &'static str, address: u64, bytes: u64, is_writable: bool| Memory {
        parameter,
        offset: 0,
        name,
        address,
        bytes,
        element: 4,
        is_writable,
    };
    let names = ["a", "b", "sum", "count"];
    let with = |sum: Memory<'_>| {
        let memory = [memory(0, "a", 0, 4096, false), memory(1, "b", 0, 4096, false), sum];
        verdict.check(&memory, &names).map(|_| ()).map_err(|it| it.to_string())
    };
    assert_eq!(with(memory(2, "sum", 0, 4096, true)), Ok(()));
    assert_eq!(
        with(memory(2, "sum", 0, 4000, true)),
        Err("add may write sum[1000..1024], but sum has 1000 elements: patterns.cu:5; the index \
             is up to 1023 with grid 4, block 256, count 1024"
            .to_owned())
    );
    assert_eq!(
        with(memory(2, "sum", 0, 4096, false)),
        Err("add writes sum, which it is to read only: patterns.cu:5".to_owned())
    );
    assert_eq!(
        with(memory(2, "sum", 2, 4096, true)),
        Err("add needs sum at a multiple of 4 bytes, and it begins at 0x2: patterns.cu:5".to_owned())
    );
    let all = kernels(planted()).unwrap();
    let (spec, index) =
        Spec::parse("wrong_half_guard_on_gather | 4 | 256 | p,p,1000 | 4000,4000", &all).unwrap();
    let refusal = verdict_words(&all[index], &spec);
    assert!(
        refusal.starts_with("cannot prove wrong_half_guard_on_gather: may write memory[-8589934592..0]")
            && refusal.contains("the index comes from memory (line ")
            && refusal.ends_with("write `if (i >= 0 && i < n)` with that index before the access"),
        "{refusal}"
    );
}

fn verdict_words(kernel: &Kernel, spec: &Spec) -> String {
    verdict(kernel, spec).expect_err("it is refused").to_string()
}

#[test]
fn the_work_of_a_proof_has_an_end() {
    let all = kernels(patterns()).unwrap();
    let (spec, index) = Spec::parse("bitonic | 4 | 256 | p | 4096", &all).unwrap();
    let Verdict::Refused(refusal) = spec.with(|launch| cuda_proof::prove_within(&all[index], launch, 100))
    else {
        panic!("100 steps are not enough")
    };
    assert!(refusal.reason.contains("the proof takes more work than its budget"), "{refusal}");
}

#[test]
fn every_usual_kernel_is_proven_with_the_bytes_that_it_has() {
    let all = kernels(patterns()).unwrap();
    for line in include_str!("patterns.tsv").lines() {
        let (spec, index) = Spec::parse(line, &all).expect(line);
        let verdict = spec.with(|launch| prove(&all[index], launch));
        assert_eq!(check(&verdict, &spec, 0).map_err(|it| it.to_string()), Ok(()), "{line}");
    }
}

/// Work does not depend on the machine, as time does.
#[test]
fn proofs_of_usual_kernels_take_a_small_part_of_the_budget() {
    let all = kernels(patterns()).unwrap();
    let mut work: Vec<(u64, &str)> = Vec::new();
    for line in include_str!("patterns.tsv").lines() {
        let (spec, index) = Spec::parse(line, &all).expect(line);
        let is_refused = |budget: u64| {
            let verdict = spec.with(|launch| cuda_proof::prove_within(&all[index], launch, budget));
            matches!(verdict, Verdict::Refused(it) if it.reason.contains("more work than its budget"))
        };
        let mut budget = 100;
        while is_refused(budget) {
            budget *= 2;
        }
        work.push((budget, line));
    }
    work.sort_unstable();
    assert!(work[work.len() / 2].0 <= cuda_proof::BUDGET / 500, "the median: {work:#?}");
    assert!(work[work.len() - 1].0 <= cuda_proof::BUDGET / 8, "the most: {work:#?}");
}

#[test]
fn bytes_that_are_no_slice_are_an_error() {
    let all = kernels(patterns()).unwrap();
    let (spec, index) = Spec::parse("stencil | 4 | 256 | p,p,1000 | 4000,4000", &all).unwrap();
    let bytes = all[index].to_bytes();
    assert!(bytes.len() < 4096, "a slice is compact: {} bytes", bytes.len());
    assert_eq!(Kernel::from_bytes(&bytes).as_ref(), Ok(&all[index]));
    let mut read = 0;
    for at in 0..bytes.len() {
        assert!(Kernel::from_bytes(&bytes[..at]).is_err(), "the first {at} bytes");
        for flip in [1, 0x10, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= flip;
            // It may be another kernel's slice. Then its proof ends, without a panic.
            if let Ok(kernel) = Kernel::from_bytes(&changed) {
                read += 1;
                let _ = spec.with(|launch| cuda_proof::prove_within(&kernel, launch, 20_000));
            }
        }
    }
    assert!(read > 100, "{read} changed slices are read");
}

#[test]
fn text_that_is_not_ptx_is_an_error_or_a_refusal() {
    let text = patterns();
    let lines: Vec<&str> = text.lines().collect();
    let mut errors = 0;
    for at in (0..lines.len()).step_by(7) {
        let mut changed = lines.clone();
        let cut = lines[at].len() / 2;
        let Some(half) = lines[at].get(..cut) else { continue };
        changed[at] = half;
        errors += u32::from(kernels(&changed.join("\n")).is_err());
    }
    assert!(errors > 10, "{errors}");
    let error = kernels(".version 8.0\n.target sm_75\n.entry k() { mov ?; }").expect_err("an unknown sign");
    assert_eq!(error.to_string(), "PTX line 3: unexpected '?'");
}

/// `project.tsv`: file, launch, and what is expected: `proven`, or `refused` and words of the reason.
#[test]
fn the_kernels_of_this_project_are_proven_or_refused_for_a_reason() {
    let Some(nvcc) = tool("nvcc", "the kernels of this project") else { return };
    let parse = |(file, text): (&str, String)| {
        (file.to_owned(), kernels(&text).unwrap_or_else(|error| panic!("{file}: {error}")))
    };
    let all: BTreeMap<String, Vec<Kernel>> = compile_all(&nvcc).into_iter().map(parse).collect();
    let mut missing: BTreeSet<(String, String)> = BTreeSet::new();
    for (file, kernels) in &all {
        missing.extend(kernels.iter().map(|kernel| (file.clone(), kernel.name().to_owned())));
    }
    let (mut proven, mut wrong, mut count) = (0, Vec::new(), 0);
    for line in PROJECT.lines() {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [file, .., expected, reason] = &columns[..] else { panic!("{line}: too few columns") };
        let (expected, reason) = if *reason == "proven" { (*reason, "") } else { (*expected, *reason) };
        let launch = line.split_once('|').expect("columns").1;
        let kernels = &all[*file];
        let (spec, index) = Spec::parse(launch, kernels).unwrap_or_else(|| panic!("{line}: no such kernel"));
        missing.remove(&((*file).to_owned(), spec.kernel.clone()));
        count += 1;
        match verdict(&kernels[index], &spec) {
            Ok(()) if expected == "proven" => proven += 1,
            Ok(()) => wrong.push(format!("{}: proven", spec.kernel)),
            Err(refusal) if expected == "refused" && refusal.to_string().contains(reason) => {}
            Err(refusal) => wrong.push(format!("{}: {refusal}", spec.kernel)),
        }
    }
    println!("{proven} of {count} kernels are proven");
    assert!(wrong.is_empty(), "not as tests/kernels/project.tsv says:\n{}", wrong.join("\n"));
    assert!(missing.is_empty(), "kernels without a launch in tests/kernels/project.tsv: {missing:?}");
}

/// The verdicts on the corpus, their sums above them, and the page about proofs have the same numbers.
#[test]
fn the_corpus_has_the_numbers_that_are_told_of_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(folder.join(file)).expect("a file of the repository");
    let (table, page) = (read("tests/corpus/verdicts.tsv"), read("../docs/proofs.md"));
    let verdicts: Vec<&str> =
        table.lines().filter(|it| !it.starts_with('#')).filter_map(|it| it.rsplit('\t').next()).collect();
    let of = |word: &str| verdicts.iter().filter(|it| **it == word).count();
    let [proven, right, large] = ["proven", "right", "too large"].map(of);
    let rest = verdicts.len() - proven - right - large;
    for (word, count) in [("proven", proven), ("right", right), ("too large", large), ("not provable", rest)]
    {
        let sum = table.lines().find_map(|it| it.strip_prefix("#   ")?.strip_prefix(word));
        let sum = sum.and_then(|it| it.split_whitespace().next()).map(str::to_owned);
        assert_eq!(sum, Some(count.to_string()), "{word}");
    }
    for words in [
        format!("{} compile and are launched", verdicts.len()),
        format!("| proven | {proven} | {:.1} % (", 100.0 * proven as f64 / verdicts.len() as f64),
        format!("| refused, and the kernel leaves its buffer | {right} | "),
        format!("| refused, and the launch is correct: a false alarm | {} | ", rest + large),
    ] {
        assert!(page.contains(&words), "{words:?} is not in docs/proofs.md");
    }
}
