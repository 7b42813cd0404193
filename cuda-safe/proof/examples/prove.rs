//! Proves the launches of a list: `prove LIST FOLDER [ONLY [BUDGET [TIMES]]]`. A line begins with the PTX
//! file, in the folder, and goes on as `tests/kernels/spec.rs` says.

#![allow(
    clippy::expect_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a tool for developers"
)]

use std::collections::BTreeMap;
use std::time::Instant;

use cuda_proof::{BUDGET, Memory, Verdict, kernels, prove_within};

#[path = "../tests/kernels/spec.rs"]
mod spec;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(list), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: prove LIST FOLDER [ONLY [BUDGET [TIMES]]]");
        std::process::exit(2);
    };
    let only = arguments.next().unwrap_or_default();
    let budget = arguments.next().map_or(BUDGET, |it| it.parse().expect("a budget"));
    let repeats = arguments.next().map_or(5, |it| it.parse().expect("how often each is proven"));
    let mut files = BTreeMap::new();
    let (mut proven, mut all, mut times) = (0, 0, Vec::new());
    for line in std::fs::read_to_string(list).expect("the list").lines() {
        let Some((file, launch)) =
            line.split_once('|').filter(|_| !line.starts_with('#') && line.contains(&only))
        else {
            continue;
        };
        let file = file.trim().to_owned();
        let kernels = files.entry(file.clone()).or_insert_with(|| {
            let text = std::fs::read_to_string(format!("{folder}/{file}"));
            text.map_err(|it| it.to_string()).and_then(|text| kernels(&text).map_err(|it| it.to_string()))
        });
        all += 1;
        let kernels = match kernels {
            Ok(kernels) => kernels,
            Err(error) => {
                println!("ERROR    {file}: {error}");
                continue;
            }
        };
        let Some((spec, index)) = spec::Spec::parse(launch, kernels) else {
            println!("MISSING  {file} {launch}");
            continue;
        };
        let kernel = &kernels[index];
        // The least of some times: other programs disturb.
        let (mut time, mut verdict) = (f64::INFINITY, None);
        for _ in 0..repeats {
            let start = Instant::now();
            verdict = Some(spec.with(|launch| prove_within(kernel, launch, budget)));
            time = time.min(start.elapsed().as_secs_f64() * 1e6);
        }
        let verdict = verdict.expect("a verdict");
        let pointers = spec.pointers();
        let memory: Vec<Memory<'_>> = pointers
            .iter()
            .map(|(parameter, offset, bytes)| Memory {
                parameter: *parameter,
                offset: *offset,
                name: "memory",
                address: 0,
                bytes: bytes.unwrap_or(u64::MAX >> 1),
                element: 1,
                is_writable: true,
            })
            .collect();
        match verdict.check(&memory, &[]) {
            Ok(needs) => {
                proven += 1;
                let needs: Vec<String> = needs
                    .iter()
                    .map(|it| {
                        let range = |it: &Option<cuda_proof::Bytes>| {
                            it.as_ref().map_or("-".to_owned(), |it| format!("{}..{}", it.low, it.high))
                        };
                        format!(
                            "{}+{}: r {} w {} a{}",
                            it.parameter,
                            it.offset,
                            range(&it.reads),
                            range(&it.writes),
                            it.align
                        )
                    })
                    .collect();
                println!("proven   {file} {} {time:.0} us, {}", spec.kernel, needs.join(", "));
            }
            Err(refusal) => {
                let kind = if matches!(verdict, Verdict::Proven(_)) { "too far " } else { "refused " };
                println!("{kind} {file} {} {time:.0} us: {refusal}", spec.kernel);
            }
        }
        times.push(time);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or_default();
    println!(
        "{proven} of {all} proven; median {:.0} us, 90 % {:.0}, 95 % {:.0}, last {:.0}",
        at(0.5),
        at(0.9),
        at(0.95),
        at(0.9999)
    );
}
