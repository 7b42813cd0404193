//! How costs grow with threads, streams, parts, nodes, buffers and allocations, and the costs of idioms: each
//! case in both languages.

use std::fmt::Write as _;

use crate::Options;
use bench::affinity::Pinned;
use bench::interval::median;
use bench::program::{Program, in_turns};

/// The maximum number of turns. Five are enough for a median, and all cases of a turn take a few seconds.
const MOST_TURNS: u32 = 5;

/// The largest size on the emulator, beyond the first size of each case.
const LARGEST_ON_THE_EMULATOR: u32 = 128;

/// The number of cases that the page shows.
const SHOWN: usize = 10;

/// A table of the report: cases with the same kind of size.
struct Group {
    title: &'static str,
    /// The meaning of the numbers.
    about: &'static str,
    /// The column of the sizes.
    size: &'static str,
    cases: &'static [Case],
}

/// A case: its name in the programs, its title, its sizes, the calls of a batch, and the batches of a turn.
struct Case(&'static str, &'static str, &'static [u32], u32, u32);

const THREADS: &[u32] = &[1, 2, 4, 8, 16];
const NODES: &[u32] = &[100, 1000, 3000, 10_000];
const BYTES: &[u32] = &[4096, 1 << 20];

/// The groups. A batch stays within the queue of a stream, about 1,000 operations, beyond which the host has
/// to wait.
const GROUPS: [Group; 7] = [
    Group {
        title: "Threads",
        about: "Each thread has its own stream and makes the same calls. The time from the first start to \
                the last end, divided by the calls of all threads.",
        size: "threads",
        cases: &[
            Case("threads_launch", "launch of a kernel", THREADS, 500, 4),
            Case("threads_shared", "kernel that reads a shared buffer", THREADS, 500, 4),
            Case("threads_memset", "memset, 4 KiB", THREADS, 500, 4),
            Case("threads_alloc", "allocate and drop, 4 KiB", THREADS, 500, 4),
        ],
    },
    Group {
        title: "Streams",
        about: "One thread uses the streams in turn. The time of a call.",
        size: "streams",
        cases: &[Case("streams", "kernel that reads a shared buffer", &[1, 2, 8, 32, 128], 512, 4)],
    },
    Group {
        title: "Parts of one buffer",
        about: "Parts of 64 bytes, filled on 8 streams in turn. The time of a fill.",
        size: "parts",
        cases: &[Case("parts", "memset of a part", &[8, 64, 512, 2048, 8192], 512, 4)],
    },
    Group {
        title: "Graphs",
        about: "The time for each node, and of one launch on an idle stream.",
        size: "nodes",
        cases: &[
            Case("graph_chain", "chain of kernels, each node", NODES, 1, 3),
            Case("graph_fills", "independent fills, each node", NODES, 1, 3),
            Case("graph_instantiate", "instantiate the chain, each node", NODES, 1, 3),
            Case("graph_launch", "launch of the chain", NODES, 1, 7),
        ],
    },
    Group {
        title: "Buffers of a launch",
        about: "The time of a launch whose kernel writes each of the buffers.",
        size: "buffers",
        cases: &[Case("buffers", "launch of a kernel", &[1, 4, 16], 200, 8)],
    },
    Group {
        title: "Live allocations",
        about: "The time of one more allocation while so many of 256 bytes live.",
        size: "live",
        cases: &[Case("live", "allocate from a pool and drop", &[10, 1000, 100_000], 200, 4)],
    },
    Group {
        title: "Idioms",
        about: "The first lines that a Rust programmer writes, and the C++ for the same work. An owner is \
                made and dropped. A pipeline brings an array through the device: copy, kernel, copy.",
        size: "bytes",
        cases: &[
            Case("from_slice", "`DeviceBuffer::from_slice`", BYTES, 20, 4),
            Case("to_vec", "`to_vec`", BYTES, 20, 4),
            Case("scope", "copy to the device in a `scope`", BYTES, 20, 4),
            Case("host", "copy to pinned memory, then `host`", BYTES, 20, 4),
            Case("pipeline", "a chunk of a `Pipeline` of 4 MiB", &[4096, 1 << 16, 1 << 20], 1, 4),
            Case("device", "`DeviceBuffer::alloc`", BYTES, 50, 4),
            Case("pinned", "`PinnedBuffer::alloc`", &[4096, 1 << 20, 1 << 30], 1, 3),
            Case("event", "`Event::new`", &[0], 200, 4),
            Case("stream", "`Stream::new`", &[0], 20, 4),
        ],
    },
];

/// The greatest allowed cost of Rust: so many times that of C++, or so many nanoseconds more, if that is
/// more.
#[derive(Clone, Copy)]
struct Goal {
    times: f64,
    more: f64,
}

impl Goal {
    /// Returns the goal of a case at a size, if it has one.
    fn of(name: &str, size: u32) -> Option<Self> {
        let (times, more) = match (name, size) {
            ("threads_alloc", 1) => (1.0, 60.0),
            ("threads_alloc", 2..) | ("threads_shared", 8..) | ("streams", 2..) => (1.05, 0.0),
            ("parts", 2048..) => (1.15, 0.0),
            ("graph_chain", 1000..) | ("graph_fills", 10_000..) => (1.3, 0.0),
            ("graph_launch", 100 | 1000) => (1.02, 50.0),
            _ => return None,
        };
        Some(Self { times, more })
    }

    fn limit(&self, cpp: f64) -> f64 {
        (self.times * cpp).max(cpp + self.more)
    }
}

/// One line of a table.
#[derive(Clone, Copy)]
struct Row {
    shown: &'static str,
    size: u32,
    /// The nanoseconds of C++ and Rust.
    times: [f64; 2],
    /// The median of the ratio within a turn.
    ratio: f64,
    goal: Option<Goal>,
}

/// Measures all cases, with the programs in turns. Returns the greatest ratios, and the section with all of
/// them.
pub(crate) fn measure(options: &Options) -> anyhow::Result<Option<(String, String)>> {
    let Some([cpp, rust]) = &options.scale else { return Ok(None) };
    let turns = options.turns().min(MOST_TURNS);
    let (mut page, mut text) = (String::new(), String::new());
    let mut worst = Vec::new();
    for Group { title, about, size: heading, cases } in &GROUPS {
        let mut rows = Vec::new();
        let one_thread = *heading != "threads" && !options.unpinned;
        let pinned = one_thread.then(Pinned::to_one_processor).transpose()?;
        let mut programs = [Program::start(cpp, &[])?, Program::start(rust, &[])?];
        if text.is_empty() {
            write!(
                text,
                "\n## How costs grow\n\n- {}\n\nHost time in nanoseconds. Each time is the median of {turns} \
                 turns, and a turn is the median of a few batches. The ratio is the median of the ratios \
                 within a turn. The goal is the greatest time that meets it. Programs that measure one thread \
                 stay on one processor, the same for both. The programs are in `examples/bench/scale`.\n",
                programs[0].machine()
            )?;
        }
        for &Case(name, shown, sizes, calls, batches) in *cases {
            let (calls, batches) = if options.emulator { (2, 1) } else { (calls, batches) };
            for (at, &size) in sizes.iter().enumerate() {
                if options.emulator && at > 0 && size > LARGEST_ON_THE_EMULATOR {
                    continue;
                }
                let times = in_turns(&mut programs, turns, &format!("{name}_{size}"), calls, batches)?;
                let [cpp, rust] = &times;
                let ratios: Vec<f64> = cpp.iter().zip(rust).map(|(cpp, rust)| rust / cpp).collect();
                let ratio = median(&ratios);
                let goal = Goal::of(name, size);
                rows.push(Row { shown, size, times: times.map(|times| median(&times)), ratio, goal });
            }
        }
        for program in programs {
            program.end()?;
        }
        drop(pinned);
        write!(text, "\n### {title}\n\n{about}\n\n{}", table(heading, &rows)?)?;
        let greatest = |rows: &[Row]| rows.iter().max_by(|a, b| a.ratio.total_cmp(&b.ratio)).copied();
        worst
            .extend(rows.chunk_by(|a, b| a.shown == b.shown).filter_map(greatest).map(|row| (*heading, row)));
    }
    worst.sort_by(|(_, a), (_, b)| b.ratio.total_cmp(&a.ratio));
    write!(
        page,
        "\n## The worst ratios\n\nThe {SHOWN} cases whose time in Rust is the greatest multiple of that in \
         C++, each at its worst size or number. Host time in nanoseconds.\n\n\
         | operation | at | C++ | safe | ratio |\n|---|--:|--:|--:|--:|\n"
    )?;
    for (heading, Row { shown, size, times: [cpp, rust], ratio, .. }) in worst.iter().take(SHOWN) {
        let at = if *size == 0 { String::new() } else { format!("{size} {heading}") };
        writeln!(page, "| {shown} | {at} | {cpp:.0} | {rust:.0} | {ratio:.2} |")?;
    }
    Ok(Some((page, text)))
}

fn table(heading: &str, rows: &[Row]) -> Result<String, std::fmt::Error> {
    let mut text = format!(
        "| operation | {heading} | C++ | safe | ratio | goal | met |\n|---|--:|--:|--:|--:|---|---|\n"
    );
    for Row { shown, size, times: [cpp, rust], ratio, goal } in rows {
        let size = if *size == 0 { String::new() } else { size.to_string() };
        write!(text, "| {shown} | {size} | {cpp:.0} | {rust:.0} | {ratio:.2} | ")?;
        match goal {
            None => writeln!(text, "| |")?,
            Some(goal) => {
                let limit = goal.limit(*cpp);
                writeln!(text, "{limit:.0} | {} |", if ratio * cpp <= limit { "yes" } else { "no" })?;
            }
        }
    }
    Ok(text)
}
