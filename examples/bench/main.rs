//! Compares CUDA C++ and Rust in turns, and prints tables; see `ci/bench`. Machines drift, so the result
//! is the median of the differences within a turn.

mod builds;
mod operations;
mod scale;
mod stream;
mod table;
mod transfers;
mod whole;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};

/// The sections of the report, as `--only` names them.
const SECTIONS: [&str; 8] =
    ["program", "operations", "tracker", "scale", "kernels", "large", "pageable", "everything"];

#[derive(Default)]
struct Options {
    /// The whole program: C++ and Rust.
    program: Option<[PathBuf; 2]>,
    /// The cost of each operation: the library in C++, and the program in Rust that loads it.
    overhead: Option<[PathBuf; 2]>,
    tracker: Option<PathBuf>,
    /// How costs grow: C++ and Rust.
    scale: Option<[PathBuf; 2]>,
    /// The five kernels over large arrays: C++ and Rust.
    stream: Option<[PathBuf; 2]>,
    /// Large copies: C++ and Rust.
    bandwidth: Option<[PathBuf; 2]>,
    /// Blocking copies of pageable memory: C++ and Rust.
    staged: Option<[PathBuf; 2]>,
    /// The times of clean builds, as `ci/cold` writes them.
    cold: Option<PathBuf>,
    /// The file for the page of the report.
    write: Option<PathBuf>,
    /// The folder for the sweeps of the report.
    results: Option<PathBuf>,
    turns: Option<u32>,
    /// The batches of each operation that every side makes at each start.
    batches: Option<u32>,
    starts: Option<u32>,
    /// The sections to measure; all if it is empty.
    only: Vec<String>,
    emulator: bool,
    /// Whether the system chooses the processor that measures the operations.
    unpinned: bool,
}

impl Options {
    fn from_arguments() -> anyhow::Result<Self> {
        let mut options = Self::default();
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if let Some(flag) = match argument.as_str() {
                "--emulator" => Some(&mut options.emulator),
                "--unpinned" => Some(&mut options.unpinned),
                _ => None,
            } {
                *flag = true;
                continue;
            }
            let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
            if let Some(pair) = match argument.as_str() {
                "--program" => Some(&mut options.program),
                "--overhead" => Some(&mut options.overhead),
                "--scale" => Some(&mut options.scale),
                "--stream" => Some(&mut options.stream),
                "--bandwidth" => Some(&mut options.bandwidth),
                "--staged" => Some(&mut options.staged),
                _ => None,
            } {
                *pair = Some([value()?.into(), value()?.into()]);
                continue;
            }
            let value = value()?;
            match argument.as_str() {
                "--tracker" => options.tracker = Some(value.into()),
                "--cold" => options.cold = Some(value.into()),
                "--results" => options.results = Some(value.into()),
                "--write" => options.write = Some(value.into()),
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--turns" => options.turns = Some(value.parse()?),
                "--batches" => options.batches = Some(value.parse()?),
                "--starts" => options.starts = Some(value.parse()?),
                _ => bail!("unknown argument {argument}"),
            }
        }
        let no_less_than_one = [options.turns, options.batches, options.starts];
        ensure!(!no_less_than_one.contains(&Some(0)), "at least one turn, one batch and one start");
        if let Some(unknown) = options.only.iter().find(|name| !SECTIONS.contains(&name.as_str())) {
            bail!("--only {unknown}: the sections are {}", SECTIONS.join(", "));
        }
        Ok(options)
    }

    /// Returns whether a section is to be measured.
    fn wants(&self, section: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|name| name == section)
    }

    /// Returns the number of turns. On the emulator the programs only prove that they run.
    fn turns(&self) -> u32 {
        self.turns.unwrap_or(if self.emulator { 1 } else { 11 })
    }
}

/// What a run has measured: one page, and everything else.
#[derive(Default)]
struct Report {
    page: String,
    /// The times by size and number, and those of the tracker and of builds.
    sweeps: String,
}

fn main() -> anyhow::Result<ExitCode> {
    let options = Options::from_arguments()?;
    let mut report = Report::default();
    if options.emulator {
        report.page.push_str("These times were taken on the emulator: they have no meaning.\n\n");
    }
    for section in SECTIONS.into_iter().filter(|section| options.wants(section)) {
        let start = Instant::now();
        let (page, sweeps) = match section {
            "program" => (whole::measure(&options)?.map(|rows| whole::report(&rows)).transpose()?, None),
            "operations" => (Some(operations::measure(&options)?), None),
            "tracker" => (None, options.tracker.as_deref().map(tracker).transpose()?),
            "scale" => scale::measure(&options)?.unzip(),
            "kernels" => (stream::measure(&options)?.map(|rows| stream::report(&rows)).transpose()?, None),
            "large" => {
                (transfers::measure(&options)?.map(|rows| transfers::report(&rows)).transpose()?, None)
            }
            "pageable" => (None, transfers::pageable(&options)?),
            _ => (None, transfers::everything(&options)?),
        };
        report.page.push_str(&page.unwrap_or_default());
        report.sweeps.push_str(&sweeps.unwrap_or_default());
        eprintln!("{section}: {:.0} s", start.elapsed().as_secs_f64());
    }
    if let Some(file) = &options.cold {
        report.sweeps.push_str(&builds::report(file)?);
    }
    print!("{}{}", report.page, report.sweeps);

    if let Some(file) = &options.write {
        let folder = options.results.as_ref().context("--write needs --results, a folder")?;
        ensure!(!options.emulator, "nothing is written down from the emulator");
        std::fs::create_dir_all(folder).with_context(|| format!("{}", folder.display()))?;
        for (file, text) in
            [(file, page(&report.page, folder)), (&folder.join(SWEEPS), sweeps(&report.sweeps))]
        {
            std::fs::write(file, wrapped(&text)).with_context(|| format!("{}", file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the output of the tracker's own measurement, one line for each case.
fn tracker(program: &Path) -> anyhow::Result<String> {
    let output = Command::new(program)
        .args(["--ignored", "--nocapture"])
        .output()
        .with_context(|| format!("{}", program.display()))?;
    ensure!(output.status.success(), "{} failed: {}", program.display(), output.status);
    let text = String::from_utf8(output.stdout)?;
    let lines: String =
        text.lines().filter(|line| line.contains(" ns  ")).map(|line| format!("{line}\n")).collect();
    ensure!(!lines.is_empty(), "{} printed no times", program.display());
    Ok(format!("\n## The tracker\n\nThe cost of the tracker alone, without CUDA:\n\n```text\n{lines}```\n"))
}

/// The file of the sweeps in the folder of the results.
const SWEEPS: &str = "sweeps.md";

fn page(report: &str, results: &Path) -> String {
    format!(
        "# Benchmarks\n\n`ci/bench --write` writes this page. On a machine without Rust, use \
         `ci/bundle`, and there `run bench`. In the table of operations, \"C++\" is \
         `examples/bench/overhead/library.cu`. \"Raw\" and \"safe\" are the Rust program in the same \
         folder: raw calls the C functions through `check!`, and safe uses `cuda-safe`. The goal for safe \
         minus C++ is 60 ns for each CUDA call, or 2 % if that is more. All other tables, by size and \
         number, are in [{}]({0}).\n\n{report}",
        results.join(SWEEPS).display()
    )
}

fn sweeps(report: &str) -> String {
    format!(
        "# Benchmarks by size and number\n\nThe data behind the page of benchmarks: `ci/bench --write` \
         writes both. The machine is that of the page.\n{report}"
    )
}

/// Wraps the prose of a report. Tables, blocks of code and headings keep their lines.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 110;
    let mut result = String::new();
    let mut code = false;
    for line in text.lines() {
        code ^= line.starts_with("```");
        let mut column = 0;
        let prose = !code && !line.starts_with(['|', '#', '-']);
        for word in line.split_inclusive(' ').filter(|_| prose) {
            if column > 0 && column + word.trim_end().chars().count() > WIDTH {
                result.truncate(result.trim_end().len());
                result.push('\n');
                column = 0;
            }
            result.push_str(word);
            column += word.chars().count();
        }
        if !prose {
            result.push_str(line);
        }
        result.push('\n');
    }
    result
}
