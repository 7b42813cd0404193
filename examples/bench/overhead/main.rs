//! The host cost of each operation: the three sides of `ci/bench` in one process, on one context.
//!
//!     overhead LIBRARY [--unpinned]
//!
//! LIBRARY is the C++ side, made from `library.cu` in this folder. The other two are Rust, through
//! `check!` around the C functions (`raw.rs`) and through `cuda-safe` (`safe.rs`). All use the same
//! streams, events and memory (`things.rs`).
//!
//! Prints a description of the machine. Then it answers every line `OPERATION CALLS TURNS` of standard
//! input with a line of nanoseconds, three for each turn: the time of a call in the batch of the C++, the
//! raw and the safe side.

mod raw;
mod safe;
mod things;
mod turns;
mod twin;

use std::io::{Write as _, stdin, stdout};
use std::path::Path;
use std::sync::atomic::AtomicU32;

use anyhow::{Context as _, bail, ensure};
use bench::affinity::Pinned;
use cuda_safe::Device;
use cuda_safe::device::{driver_version, runtime_version};

use crate::things::{Handles, Things};
use crate::turns::{Batch, Plan, Times, Turns};
use crate::twin::Twin;

const FLOATS: usize = 1024;
const BYTES: usize = FLOATS * size_of::<f32>();
const MEBIBYTE: usize = 1 << 20;

/// The elements of a row of planes and volumes, their pitch in bytes, and the number of rows.
const ROW: usize = 32;
const PITCH: usize = 256;
const ROWS: usize = 16;
const LAYER_ROWS: usize = 4;
const LAYERS: usize = 4;

/// The copies of a batch, the elements of each, and the distance of their starts in elements.
const COPIES: usize = 64;
const SMALL: usize = 8;
const APART: usize = 16;

/// The volumes of a batch, the distance of their starts in elements, the elements of their rows, the
/// pitch of these in bytes, and the number of rows.
const SOLIDS: usize = 16;
const SOLID: usize = 64;
const SOLID_ROW: usize = 8;
const SOLID_PITCH: usize = 64;
const SOLID_ROWS: usize = 2;
const SOLID_LAYERS: usize = 2;

/// The counter that host functions increment.
static COUNTER: AtomicU32 = AtomicU32::new(0);

/// The three sides, all of which use `things`.
struct Sides {
    device: Device,
    twin: Twin,
    handles: Handles,
    // Dropped last, because the C++ side uses it.
    things: Things,
}

impl Sides {
    fn new(device: Device, library: &Path) -> anyhow::Result<Self> {
        let mut things = Things::new(device)?;
        let handles = things.handles();
        let twin = Twin::load(library, &handles)?;
        Ok(Self { device, twin, handles, things })
    }

    /// Runs the sides in turns with an operation. Each side starts only when all are ready, and all
    /// resources live until the last turn.
    fn take_turns(&mut self, operation: &str, turns: &Turns) -> anyhow::Result<Vec<Times>> {
        let Self { device, twin, handles, things } = self;
        ensure!(twin.measure(operation, 1).is_some(), "the C++ side has no operation {operation}");
        let mut cpp = |calls| Ok(twin.measure(operation, calls).unwrap_or(f64::NAN));
        let mut times = None;
        let mut with_raw = |raw: Batch<'_>| {
            let mut with_both = |safe: Batch<'_>| {
                times = Some(turns.take([&mut cpp, &mut *raw, safe])?);
                Ok(())
            };
            safe::measure(operation, Plan::new(*device, &mut with_both), things)
        };
        raw::measure(operation, Plan::new(*device, &mut with_raw), *handles)?;
        times.with_context(|| format!("a Rust side has no operation {operation}"))
    }
}

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (library, pinned) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [library] => (library, true),
        [library, "--unpinned"] => (library, false),
        _ => bail!("overhead LIBRARY [--unpinned], and not {}", arguments.join(" ")),
    };
    let device = Device::current()?;
    let mut sides = Sides::new(device, Path::new(library))?;
    // After this, no event is still pending when it is queried.
    device.synchronize()?;
    let (runtime, driver) = (runtime_version()?, driver_version()?);
    println!("{}; runtime {runtime}, driver for {driver}", device.properties()?.name());

    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [operation, calls, counted] = words[..] else { bail!("not OPERATION CALLS TURNS: {line}") };
        let turns = Turns { calls: calls.parse()?, counted: counted.parse()? };
        ensure!(turns.calls > 0 && turns.counted > 0, "nothing to measure: {line}");
        let _pinned = if pinned {
            // Threads inherit the pinning, so the threads that the runtime starts for an operation must
            // exist before the pinning.
            sides.take_turns(operation, &Turns { calls: 1, counted: 0 })?;
            Some(Pinned::to_one_processor()?)
        } else {
            None
        };
        let times = sides.take_turns(operation, &turns)?;
        let times: Vec<String> = times.iter().flatten().map(|time| format!("{time:.2}")).collect();
        println!("{}", times.join(" "));
        stdout().flush()?;
    }
    Ok(())
}
