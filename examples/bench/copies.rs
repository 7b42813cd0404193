//! Many small copies: a loop, a batch, and one kernel, each in both languages.

use std::fmt::Write as _;

use crate::Options;
use bench::interval::median;
use bench::program::{Program, in_turns};

const COPIES: u32 = 64;
const SIZES: [u32; 3] = [256, 4096, 65536];

/// A direction, its title, and the required speed-up of the fastest method over the loop, for copies of 4
/// KiB.
const DIRECTIONS: [(&str, &str, f64); 3] = [
    ("h2d", "host to device, pinned", 1.5),
    ("d2h", "device to host, pinned", 3.0),
    ("d2d", "within the device", 20.0),
];

const WAYS: [&str; 3] = ["loop", "batch", "kernel"];

/// One line of the table and of the plot.
pub(crate) struct Row {
    pub(crate) direction: &'static str,
    pub(crate) bytes: u32,
    /// The times of C++ and Rust, in microseconds, for the loop, the batch and the kernel.
    pub(crate) times: [[f64; 2]; 3],
}

/// Measures all cases, with the programs in turns.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<Vec<Row>>> {
    let Some([cpp, rust]) = &options.many else { return Ok(None) };
    let (calls, batches) = if options.emulator { (1, 1) } else { (20, 15) };
    let mut programs = [Program::start(cpp, &[])?, Program::start(rust, &[])?];
    let mut rows = Vec::new();
    for (direction, shown, _) in DIRECTIONS {
        for bytes in SIZES {
            let mut times = [[0.0; 2]; 3];
            for (way, times) in WAYS.into_iter().zip(&mut times) {
                let operation = format!("{direction}_{way}_{bytes}");
                let found = in_turns(&mut programs, options.turns(), &operation, calls, batches)?;
                *times = found.map(|times| median(&times) / 1000.0);
            }
            rows.push(Row { direction: shown, bytes, times });
        }
    }
    for program in programs {
        program.end()?;
    }
    Ok(Some(rows))
}

/// Returns the section of the report.
pub(crate) fn report(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "\n## Many small copies\n\n{COPIES} copies on one stream, and the wait for them: medians in \
         microseconds. The columns are a loop of asynchronous copies, one batch (`CopyBatch`), and one \
         kernel (`copy_many`), which accesses pinned memory too; then the speed-up of the safe batch and \
         the safe kernel over the loop in C++. The column of the safe kernel measures a plan \
         (`CopyManyPlan`), which is made once, before the timed calls.\n\n\
         | copies | of | loop, C++ | safe | batch, C++ | safe | kernel, C++ | safe | batch against the loop \
         | kernel | goal | met |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"
    );
    for Row { direction, bytes, times } in rows {
        let Some((.., goal)) = DIRECTIONS.iter().find(|known| known.1 == *direction) else { continue };
        write!(text, "| {direction} | {bytes} |")?;
        for time in times.as_flattened() {
            write!(text, " {time:.1} |")?;
        }
        let [[one_by_one, _], [_, batch], [_, kernel]] = *times;
        let [by_batch, by_kernel] = [one_by_one / batch, one_by_one / kernel];
        // The goals are for copies of 4 KiB.
        let (goal, met) = match by_batch.max(by_kernel) >= *goal {
            _ if *bytes != 4096 => (String::new(), ""),
            true => (format!("{goal:.1}"), "yes"),
            false => (format!("{goal:.1}"), "no"),
        };
        writeln!(text, " {by_batch:.1} times | {by_kernel:.1} times | {goal} | {met} |")?;
    }
    Ok(text)
}
