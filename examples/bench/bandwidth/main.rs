//! Measures the bandwidth of copies on this machine: between host and device from every kind of host
//! memory, within a device, and between two devices.
//!
//! The method is that of nvbandwidth's copy-engine cases: see `measure.rs`. On the emulator the numbers
//! have no meaning.
//!
//! Not under sanitizers: a kernel polls a flag until all copies are enqueued.
#![allow(clippy::cast_precision_loss, reason = "sizes and rates are far below 2^52")]

mod cases;
mod measure;
mod output;
mod size;

use std::io::{IsTerminal as _, Write as _, stderr, stdin, stdout};
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use clap::Parser;
use cuda_safe::Device;
use cuda_safe::device::{driver_version, runtime_version};
use indicatif::{ProgressBar, ProgressStyle};

use crate::cases::{CASES, Case};
use crate::measure::Plan;
use crate::output::{Report, Series};
use crate::size::Size;

/// How fast copies are on this machine.
#[derive(Parser)]
#[command(name = "bandwidth")]
struct Arguments {
    /// Bytes of a copy [default: 512MiB; on the emulator 1MiB].
    #[arg(long)]
    size: Option<Size>,
    /// Copies that are timed; of blocking ones a quarter.
    #[arg(long, default_value_t = 16)]
    copies: u32,
    /// Copies before these, which do not count.
    #[arg(long, default_value_t = 4)]
    warmups: u32,
    /// Measurements, of which the median is shown.
    #[arg(long, default_value_t = 3)]
    samples: u32,
    /// Only cases whose names begin so; may be repeated.
    #[arg(long)]
    only: Vec<String>,
    /// Smaller copies too, from --sweep-from on, each four times as large as the one before.
    #[arg(long)]
    sweep: bool,
    /// Where the sweep begins.
    #[arg(long, default_value = "4KiB")]
    sweep_from: Size,
    /// Where the sweep ends [default: the size].
    #[arg(long)]
    sweep_to: Option<Size>,
    /// Prints JSON.
    #[arg(long, group = "format")]
    json: bool,
    /// Prints comma-separated values.
    #[arg(long, group = "format")]
    csv: bool,
    /// Prints a table in Markdown.
    #[arg(long, group = "format")]
    markdown: bool,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
    /// Names all cases and ends.
    #[arg(long)]
    list: bool,
    /// Answers `CASE COPIES SAMPLES` on standard input with a rate: for ci/bench.
    #[arg(long)]
    serve: bool,
}

fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    if arguments.list {
        for case in &CASES {
            println!("{:<16} {}", case.name, case.shown);
        }
        return Ok(());
    }
    let name = Device::current()?.properties()?.name().to_owned();
    let machine = format!("{name}; runtime {}, driver for {}", runtime_version()?, driver_version()?);
    let emulated = name.starts_with("CUDA emulator");
    let size = arguments.size.unwrap_or(Size(if emulated { 1 << 20 } else { 512 << 20 }));
    if arguments.serve {
        return serve(&machine, arguments.warmups, size);
    }
    if emulated {
        eprintln!("bandwidth: this is the CUDA emulator: the numbers have no meaning");
    }
    ensure!(arguments.copies > 0 && arguments.samples > 0, "at least one copy and one sample");

    let Arguments { copies, warmups, samples, .. } = arguments;
    let plan = Plan { warmups, copies, samples };
    let sizes = sizes(&arguments, size);
    let devices = Device::count()?;
    let chosen = |case: &&Case| {
        arguments.only.is_empty() || arguments.only.iter().any(|only| case.name.starts_with(only.as_str()))
    };
    let cases: Vec<&Case> = CASES.iter().filter(chosen).collect();
    ensure!(!cases.is_empty(), "no case is called {}: see --list", arguments.only.join(" or "));
    let (cases, beyond): (Vec<_>, Vec<_>) = cases.into_iter().partition(|case| case.devices <= devices);
    if !beyond.is_empty() {
        eprintln!("bandwidth: {devices} device here, so nothing about copies between two");
    }

    let bar = progress(arguments.quiet, cases.len() * sizes.len())?;
    let mut series = Vec::new();
    for case in cases {
        bar.set_message(case.shown);
        let mut rates = Vec::new();
        for size in &sizes {
            let rate = case.measure(plan, size.0);
            rates.push(rate.with_context(|| format!("{}, {size}", case.shown))?);
            bar.inc(1);
        }
        series.push(Series { name: case.name, shown: case.shown, rates });
    }
    bar.finish_and_clear();

    let method = format!(
        "Each rate is the median of {samples} samples of {copies} copies, after {warmups} that do not \
         count. Blocking copies are a quarter as many.",
    );
    let report = Report { machine, emulated, method, sizes, series };
    let text = if arguments.json {
        report.json()
    } else if arguments.csv {
        report.csv()
    } else if arguments.markdown {
        report.markdown()
    } else {
        report.table()
    };
    stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Returns the sizes to measure, in ascending order.
fn sizes(arguments: &Arguments, size: Size) -> Vec<Size> {
    if !arguments.sweep {
        return vec![size];
    }
    let end = arguments.sweep_to.unwrap_or(size);
    let steps = std::iter::successors(Some(arguments.sweep_from), |size| size.0.checked_mul(4).map(Size));
    let mut sizes: Vec<Size> = steps.take_while(|size| *size < end).collect();
    sizes.push(end);
    sizes
}

/// Returns a progress bar, which is hidden if nobody watches.
fn progress(quiet: bool, steps: usize) -> anyhow::Result<ProgressBar> {
    if quiet || !stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    let bar = ProgressBar::new(u64::try_from(steps)?);
    bar.set_style(ProgressStyle::with_template("{bar:40} {pos}/{len}  {msg}")?);
    bar.enable_steady_tick(Duration::from_millis(200));
    Ok(bar)
}

/// Prints a description of the machine, then answers questions, as the C++ program of `bench/transfer`
/// does.
fn serve(machine: &str, warmups: u32, size: Size) -> anyhow::Result<()> {
    println!("{machine}");
    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, copies, samples] = words[..] else { bail!("not CASE COPIES SAMPLES: {line}") };
        let case = CASES.iter().find(|case| case.name == name).with_context(|| format!("no case {name}"))?;
        let plan = Plan { warmups, copies: copies.parse()?, samples: samples.parse()? };
        ensure!(plan.copies > 0 && plan.samples > 0, "nothing to measure: {line}");
        println!("{}", case.measure(plan, size.0)?);
        stdout().flush()?;
    }
    Ok(())
}
