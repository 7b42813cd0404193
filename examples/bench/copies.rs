//! Many small copies: a loop, a batch, and, within the device, one kernel; each in both languages.

use std::fmt::Write as _;

use crate::Options;
use crate::program::Program;
use crate::table::median;

const COPIES: u32 = 64;
const SIZES: [u32; 3] = [256, 4096, 65536];

/// A direction, what it is called, the best way that there is, and how many times as fast as the loop that has to be, for
/// copies of 4 KiB.
const DIRECTIONS: [(&str, &str, &str, f64); 3] = [
    ("h2d", "host to device, pinned", "batch", 1.5),
    ("d2h", "device to host, pinned", "batch", 3.0),
    ("d2d", "within the device", "kernel", 20.0),
];

/// One line of the table, and of the plot.
pub(crate) struct Row {
    pub(crate) direction: &'static str,
    pub(crate) bytes: u32,
    /// C++ and Rust, in microseconds, by way: loop, batch, kernel.
    pub(crate) times: [Option<[f64; 2]>; 3],
}

/// Measures all of it, the programs in turns.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<Vec<Row>>> {
    let Some([cpp, rust]) = &options.many else { return Ok(None) };
    let (calls, batches) = if options.emulator { (1, 1) } else { (20, 15) };
    let mut programs = [Program::start(cpp, &[])?, Program::start(rust, &[])?];
    let mut rows = Vec::new();
    for (direction, shown, ..) in DIRECTIONS {
        for bytes in SIZES {
            let mut times = [None; 3];
            for (way, times) in ["loop", "batch", "kernel"].into_iter().zip(&mut times) {
                if way == "kernel" && direction != "d2d" {
                    continue;
                }
                let mut found = [Vec::new(), Vec::new()];
                for turn in 0..options.turns() {
                    for place in 0..2 {
                        let side = (turn as usize + place) % 2;
                        let operation = format!("{direction}_{way}_{bytes}");
                        found[side].push(programs[side].measure(&operation, calls, batches)? / 1000.0);
                    }
                }
                *times = Some(found.map(|times| median(&times)));
            }
            rows.push(Row { direction: shown, bytes, times });
        }
    }
    for program in programs {
        program.end()?;
    }
    Ok(Some(rows))
}

/// The section of the report.
pub(crate) fn report(rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "\n## Many small copies\n\n{COPIES} copies on one stream, and waiting for them: microseconds, medians. A loop of asynchronous \
         copies, one batch (`CopyBatch`), one kernel (`copy_many`); the last column is the best safe way against the loop in C++.\n\n\
         | copies | of | loop, C++ | safe | batch, C++ | safe | kernel, C++ | safe | against the loop | goal | met |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n"
    );
    let cell = |time: Option<[f64; 2]>, side: usize| {
        time.map_or("–".to_owned(), |time| format!("{:.1}", time[side]))
    };
    for row in rows {
        let [one_by_one, batch, kernel] = row.times;
        let Some((.., best, goal)) = DIRECTIONS.iter().find(|direction| direction.1 == row.direction) else {
            continue;
        };
        let best = if *best == "kernel" { kernel } else { batch };
        let faster = one_by_one.zip(best).map_or(0.0, |(one_by_one, best)| one_by_one[0] / best[1]);
        // The goals are for copies of 4 KiB.
        let (goal, met) = if row.bytes == 4096 {
            (format!("{goal:.1}"), if faster >= *goal { "yes" } else { "no" })
        } else {
            (String::new(), "")
        };
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {faster:.1} times | {goal} | {met} |",
            row.direction,
            row.bytes,
            cell(one_by_one, 0),
            cell(one_by_one, 1),
            cell(batch, 0),
            cell(batch, 1),
            cell(kernel, 0),
            cell(kernel, 1),
        )?;
    }
    Ok(text)
}
