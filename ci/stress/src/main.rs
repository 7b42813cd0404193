//! Makes, uses and drops one kind of owner on many threads, beside launches, copies, waits and captures.
//!
//! `stress KIND THREADS SECONDS`. Half of the threads make, use and drop owners of the kind (`mixed`: of all
//! kinds, at random), the others do everything else. Everything is safe code, so each value must be right,
//! each call must succeed, and no capture may be lost to another thread. Prints `ok` and exits with 0 then,
//! and otherwise prints what went wrong and exits with 1. `stress list` prints the kinds.
//!
//! A hang ends the process with 3 after 20 seconds without progress, with the round that each thread is in.
#![forbid(unsafe_code)]

mod kinds;
mod work;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cuda_safe::Result;
use kinds::{KINDS, Round};
use work::Worker;

/// The rounds of each thread.
static ROUNDS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The kind that each thread is in, by its place in the table, and `KINDS.len()` for other work.
static NOW: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

/// The kind that makes rounds of all others.
const MIXED: &str = "mixed";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [kind, threads, seconds] = words[..] else {
        if words == ["list"] {
            KINDS.iter().for_each(|(name, _)| println!("{name}"));
            println!("{MIXED}");
            return ExitCode::SUCCESS;
        }
        return usage("stress KIND THREADS SECONDS, or stress list");
    };
    let chosen: Vec<usize> = (0..KINDS.len()).filter(|&at| kind == MIXED || kind == KINDS[at].0).collect();
    let (Ok(threads), Ok(seconds)) = (threads.parse::<usize>(), seconds.parse::<f64>()) else {
        return usage("THREADS and SECONDS are numbers");
    };
    if chosen.is_empty() || threads < 2 || threads > ROUNDS.len() {
        return usage("stress list prints the kinds; THREADS is from 2 to 64");
    }
    let (end, over) = (Instant::now() + Duration::from_secs_f64(seconds), &AtomicBool::new(false));
    let failed = std::thread::scope(|scope| {
        let guard = scope.spawn(move || guard(threads, over));
        let workers: Vec<_> = (0..threads)
            .map(|n| {
                (
                    n,
                    scope.spawn({
                        let chosen = chosen.as_slice();
                        move || thread(n, chosen, end)
                    }),
                )
            })
            .collect();
        let mut failed = 0;
        for (n, worker) in workers {
            match worker.join() {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    failed += 1;
                    println!("thread {n}, in {}: {error}", now(n));
                }
                Err(_) => {
                    failed += 1;
                    println!("thread {n}, in {}: a panic", now(n));
                }
            }
        }
        over.store(true, Relaxed);
        guard.thread().unpark();
        failed
    });
    let rounds = |odd: usize| (odd..threads).step_by(2).map(|n| ROUNDS[n].load(Relaxed)).sum::<u64>();
    println!("{kind}, {threads} threads: {} rounds beside {} of other work", rounds(0), rounds(1));
    println!("{}", kinds::remarks());
    if failed != 0 {
        println!("{failed} threads failed");
        return ExitCode::FAILURE;
    }
    println!("ok");
    ExitCode::SUCCESS
}

fn usage(text: &str) -> ExitCode {
    eprintln!("{text}");
    ExitCode::from(2)
}

fn now(n: usize) -> &'static str {
    let at = usize::try_from(NOW[n].load(Relaxed)).ok();
    at.and_then(|at| KINDS.get(at)).map_or("other work", |(name, _)| *name)
}

/// The even threads make rounds of the kinds, the odd ones of other work.
fn thread(n: usize, chosen: &[usize], end: Instant) -> Result<()> {
    let mut worker = Worker::new(n)?;
    while Instant::now() < end {
        let (at, round): (usize, Round) = if n.is_multiple_of(2) {
            let at = chosen[worker.below(chosen.len())];
            (at, KINDS[at].1)
        } else {
            (KINDS.len(), Worker::other_work)
        };
        NOW[n].store(at as u64, Relaxed);
        round(&mut worker)?;
        ROUNDS[n].fetch_add(1, Relaxed);
    }
    worker.end()
}

/// Ends the process if no thread makes progress.
fn guard(threads: usize, over: &AtomicBool) {
    let (mut last, mut since) = (0, Instant::now());
    while !over.load(Relaxed) {
        std::thread::park_timeout(Duration::from_millis(500));
        let rounds: u64 = ROUNDS.iter().map(|rounds| rounds.load(Relaxed)).sum();
        if rounds != last {
            (last, since) = (rounds, Instant::now());
        }
        if since.elapsed() > Duration::from_secs(20) {
            println!("HANG");
            (0..threads).for_each(|n| println!("thread {n} is in {}", now(n)));
            std::process::exit(3);
        }
    }
}
