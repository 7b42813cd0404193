//! Random programs over several streams and devices: copies, batches, sets, kernels, host functions, host
//! accesses, allocations, drops, events, waits and synchronisations. Each program must have the results
//! of its sequential execution, in any order of the streams. So must random graphs ([`graphs`]).
//!
//! Each of the two tests of programs runs 1,000 in each schedule of the emulator, and 5,000 in
//! `ci/test --all`; that of graphs runs a tenth as many. `CUDA_RANDOM_PROGRAMS` sets another number, and
//! `CUDA_RANDOM_SEED` sets the first seed. The test shrinks a failing program as much as possible and prints
//! it with its seed.
#![expect(unsafe_code, reason = "adds kernels; switches the tracker off, to prove that the test detects it")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod batch;
mod bench;
mod draw;
mod graphs;
mod order;
mod program;
mod shapes;

use std::collections::HashSet;
use std::mem::discriminant;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use bench::{Run, run};
use cuda_safe::Device;
use cuda_safe::hazard::{self, Policy};
use cuda_safe::memory::ManagedBuffer;
use draw::{Flavour, draw};
use order::ordered;
use program::{Op, Sequential, World};

const SCHEDULE: &str = "CUDA_EMULATOR_SCHEDULE";

/// Runs one test at a time, because the count of added waits is the process's.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn world() -> World {
    let devices = Device::all().unwrap().count().min(2);
    if devices == 1 {
        println!("one device only: no copies between devices");
    }
    World { devices, managed: ManagedBuffer::<u8>::alloc(1).is_ok() }
}

fn on_the_emulator() -> bool {
    std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator")
}

/// Reads a number from the environment.
fn number(variable: &str) -> Option<u64> {
    Some(std::env::var(variable).ok()?.parse().unwrap())
}

/// The seeds of the programs of a test.
fn seeds() -> std::ops::Range<u64> {
    let usual = if cuda_testing::all() { 5_000 } else { 1_000 };
    let first = number("CUDA_RANDOM_SEED").unwrap_or(1);
    first..first + number("CUDA_RANDOM_PROGRAMS").unwrap_or(usual)
}

/// Runs a program and checks it.
type Check = fn(&[Op], World) -> Result<Run, String>;

/// Checks that a program that the tracker orders has the right results.
fn is_right(ops: &[Op], world: World) -> Result<Run, String> {
    run(ops, world)
}

/// Checks that a program that orders its own work has the right results without added waits.
fn costs_nothing(ops: &[Op], world: World) -> Result<Run, String> {
    let run = run(ops, world)?;
    if run.added_waits > 0 {
        let waits = hazard::recent_waits();
        let last = waits.len().saturating_sub(usize::try_from(run.added_waits).unwrap());
        return Err(format!("{} waits were added: {:#?}", run.added_waits, &waits[last..]));
    }
    Ok(run)
}

/// Returns the program, with the operations that order it if the flavour requires them.
fn complete(ops: &[Op], seed: u64, flavour: Flavour, world: World) -> Vec<Op> {
    let mut state = Sequential::default();
    // An operation that does nothing orders nothing.
    let fits = |op: &&Op| state.fits(op).then(|| state.run(op)).is_some();
    let ops: Vec<Op> = ops.iter().filter(fits).cloned().collect();
    if flavour == Flavour::Ordered { ordered(&ops, seed, world) } else { ops }
}

/// Removes operations while the program still fails.
fn shrink(
    ops: &[Op],
    seed: u64,
    flavour: Flavour,
    world: World,
    check: Check,
    why: String,
) -> (Vec<Op>, String) {
    let (mut small, mut why) = (ops.to_vec(), why);
    let mut at = 0;
    while at < small.len() {
        let mut shorter = small.clone();
        shorter.remove(at);
        match check(&complete(&shorter, seed, flavour, world), world) {
            Err(found) => (small, why, at) = (shorter, found, 0),
            Ok(_) => at += 1,
        }
    }
    (complete(&small, seed, flavour, world), why)
}

/// Runs programs of a flavour. Panics at the first failure, with the smallest program that still fails.
fn try_all(flavour: Flavour, check: Check) -> Run {
    let (world, mut all, mut kinds) = (world(), Run::default(), HashSet::new());
    for seed in seeds() {
        let ops = draw(seed, flavour, world);
        let whole = complete(&ops, seed, flavour, world);
        match check(&whole, world) {
            Ok(run) => {
                kinds.extend(whole.iter().map(discriminant));
                all.operations += run.operations;
                all.added_waits += run.added_waits;
            }
            Err(why) => {
                let (small, why) = shrink(&ops, seed, flavour, world, check, why);
                let program: String = small.iter().map(|op| format!("    {op:?}\n")).collect();
                panic!("CUDA_RANDOM_SEED={seed}: {why}\n{program}");
            }
        }
    }
    let programs = seeds().count();
    println!("{programs} programs: {all:?}, {} kinds of operations", kinds.len());
    assert!(programs < 200 || kinds.len() == Op::KINDS, "{} kinds", kinds.len());
    all
}

#[test]
fn random_programs_give_the_sequential_result() {
    let _turn = turn();
    let all = try_all(Flavour::Any, is_right);
    assert!(all.operations > 0 && all.added_waits > 0, "{all:?}");
}

#[test]
fn random_graphs_give_the_sequential_result() {
    let _turn = turn();
    let seeds = seeds();
    let programs = (seeds.end - seeds.start).div_ceil(10);
    let counts = graphs::try_all(seeds.start..seeds.start + programs);
    println!("{programs} programs: {counts:?}");
    let refused = counts.values().filter(|(_, refused)| *refused > 0).count();
    assert!(programs < 50 || counts.len() == graphs::KINDS && refused > 4, "{counts:?}");
}

#[test]
fn random_programs_that_order_their_work_cost_no_wait() {
    let _turn = turn();
    let all = try_all(Flavour::Ordered, costs_nothing);
    assert!(all.operations > 0, "{all:?}");
}

/// The emulator reads its schedule when it starts, so each schedule needs a process. There, freeing does
/// not wait: CUDA only says that it may, so drops must wait.
#[test]
fn the_same_in_the_emulator_s_other_schedules() {
    if !on_the_emulator() || std::env::var_os(SCHEDULE).is_some() {
        println!("not on the emulator, or in a schedule of it already: nothing to choose");
        return;
    }
    let children = ["eager", "random:1", "random:2", "random:3"].map(|schedule| {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["random_", "--test-threads=1"])
            .env(SCHEDULE, schedule)
            .env("CUDA_EMULATOR_FREE", "at-once")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        (schedule, child.unwrap())
    });
    for (schedule, child) in children {
        let output = child.wait_with_output().unwrap();
        let (printed, told) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let passed = printed.contains("3 passed");
        assert!(output.status.success() && passed, "{schedule}:\n{printed}\n{told}");
        assert!(!told.contains("CUDA emulator: race: "), "{schedule}:\n{told}");
    }
}

#[test]
fn without_the_tracker_programs_go_wrong_and_are_made_small() {
    let late = std::env::var(SCHEDULE).map_or(true, |schedule| schedule == "late");
    if !on_the_emulator() || !late {
        println!("only the late schedule of the emulator is sure to show what nobody orders");
        return;
    }
    // The programs race on purpose. The emulator reads this when it starts.
    const RACES: &str = "CUDA_EMULATOR_RACES";
    if std::env::var(RACES).is_ok_and(|races| races == "1") {
        let mut child = Command::new(std::env::current_exe().unwrap());
        let child = child.args(["without_the_tracker_", "--nocapture"]).env(RACES, "0");
        let output = child.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
        return;
    }
    let (_turn, world) = (turn(), world());
    // SAFETY: the programs access only device memory, which they free after all work is complete.
    // Accesses in the wrong order there touch bytes of the emulator.
    unsafe { hazard::set_policy_off() }.unwrap();
    let (mut wrong, mut smallest) = (0, Vec::new());
    for seed in 1..=100 {
        let ops = draw(seed, Flavour::Tame, world);
        if let Err(why) = run(&ops, world) {
            wrong += 1;
            if smallest.is_empty() {
                (smallest, _) = shrink(&ops, seed, Flavour::Tame, world, is_right, why);
            }
        }
    }
    hazard::set_policy(Policy::Order).unwrap();
    println!("{wrong} of 100; a small one: {smallest:#?}");
    assert!(wrong > 50, "{wrong} of 100 programs went wrong");
    // An allocation and two operations that conflict, or one operation that conflicts with the
    // allocation.
    assert!((2..=4).contains(&smallest.len()), "{smallest:?}");
    assert!(run(&smallest, world).is_ok(), "the tracker orders it");
}

#[test]
fn without_what_orders_them_programs_cost_waits() {
    let (_turn, world) = (turn(), world());
    let mut costly = 0;
    for seed in 1..=100 {
        let whole = ordered(&draw(seed, Flavour::Ordered, world), seed, world);
        assert_eq!(run(&whole, world).unwrap().added_waits, 0);
        let bare: Vec<Op> = whole.into_iter().filter(|op| !op.orders()).collect();
        costly += u32::from(run(&bare, world).unwrap().added_waits > 0);
    }
    assert!(costly > 50, "{costly} of 100 programs cost waits");
}
