//! Blocking copies between pageable memory and a device, in turns: `cudaMemcpy` in C++, `cudaMemcpy`
//! here, and `memcpy` and `to_vec`.
//!
//!     staged --cpp PROGRAM [--emulator] [--turns N] [--most MIB]
//!
//! PROGRAM is the C++ twin in this folder. The program prints these tables:
//!
//! - the rates of all three for each size and direction, and the speed-up of `memcpy` over `cudaMemcpy`
//!   on the same memory in the same process, because the memory of a process has an effect of its own
//! - the rates of the largest size by the number of threads of a copy
//! - a pipeline against its stages
//!
//! Machines drift, so the programs take turns at each size, and the result is the median. Run it under
//! `taskset` to measure fewer processors. On the emulator it only proves that it runs.

#![expect(unsafe_code, reason = "calls `cudaMemcpy`, for comparison")]

mod pipeline;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use cuda_safe::copy::staged::{self, Settings, configure, statistics};
use cuda_safe::device::{driver_version, runtime_version};
use cuda_safe::{Device, DeviceBuffer, Result, check, memcpy, memset, sys};

use bench::program::Program;

const MIB: usize = 1 << 20;

/// The directions, by their names in the C++ program and their titles.
const WAYS: [(&str, &str); 3] = [
    ("up", "host to device"),
    ("down", "device to host, into memory that was written before"),
    ("fresh", "device to host, into newly allocated memory"),
];

struct Options {
    cpp: PathBuf,
    emulator: bool,
    turns: usize,
    most: usize,
}

impl Options {
    fn from_arguments() -> anyhow::Result<Self> {
        let mut options = Self { cpp: PathBuf::new(), emulator: false, turns: 5, most: 1024 };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            if argument == "--emulator" {
                (options.emulator, options.turns, options.most) = (true, 1, 1);
                continue;
            }
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            match argument.as_str() {
                "--cpp" => options.cpp = value.into(),
                "--turns" => options.turns = value.parse()?,
                "--most" => options.most = value.parse()?,
                _ => bail!("unknown argument {argument}"),
            }
        }
        ensure!(options.cpp.is_file(), "--cpp names the C++ program");
        ensure!(options.turns > 0 && options.most > 0, "at least one turn and one MiB");
        Ok(options)
    }
}

/// The memory of the copies.
struct Things {
    device: DeviceBuffer<u8>,
    host: Vec<u8>,
    next: usize,
}

impl Things {
    fn new(room: usize) -> Result<Self> {
        let mut device = DeviceBuffer::alloc(room)?;
        memset(&mut device, 1)?;
        Ok(Self { device, host: vec![2; room], next: 0 })
    }

    /// Returns the offset of the next copy.
    fn at(&mut self, bytes: usize) -> usize {
        if self.next + bytes > self.host.len() {
            self.next = 0;
        }
        self.next += bytes;
        self.next - bytes
    }

    /// Returns the nanoseconds of a copy by `cudaMemcpy`, called as in C++.
    fn measure_raw(&mut self, way: &str, bytes: usize, copies: u32) -> Result<f64> {
        let (up, down) = (sys::cudaMemcpyHostToDevice, sys::cudaMemcpyDeviceToHost);
        let device = self.device.as_mut_ptr();
        let there = |at: usize| device.wrapping_add(at).cast();
        match way {
            "up" => self.time(bytes, copies, |it, at| {
                // SAFETY: either side has as many bytes, and nothing else uses them.
                unsafe { check!(cudaMemcpy(there(at), it.host[at..at + bytes].as_ptr().cast(), bytes, up)) }
            }),
            "down" => self.time(bytes, copies, |it, at| {
                let here = it.host[at..at + bytes].as_mut_ptr().cast();
                // SAFETY: either side has as many bytes, and nothing else uses them.
                unsafe { check!(cudaMemcpy(here, there(at), bytes, down)) }
            }),
            _ => self.time(bytes, copies, |_, at| {
                let mut fresh = Vec::<u8>::with_capacity(bytes);
                // SAFETY: either side has as many bytes, and nothing else uses them. The vector has as much
                // capacity.
                unsafe { check!(cudaMemcpy(fresh.as_mut_ptr().cast(), there(at), bytes, down)) }
            }),
        }
    }

    /// Returns the nanoseconds of a copy: the median of `copies` copies, after one that does not count.
    fn measure(&mut self, way: &str, bytes: usize, copies: u32) -> Result<f64> {
        match way {
            "up" => self.time(bytes, copies, |it, at| {
                memcpy(&mut it.device.slice_mut(at..at + bytes)?, &it.host[at..at + bytes])
            }),
            "down" => self.time(bytes, copies, |it, at| {
                memcpy(&mut it.host[at..at + bytes], &it.device.slice(at..at + bytes)?)
            }),
            _ => self.time(bytes, copies, |it, at| it.device.slice(at..at + bytes)?.to_vec().map(drop)),
        }
    }

    fn time(
        &mut self,
        bytes: usize,
        copies: u32,
        mut copy: impl FnMut(&mut Self, usize) -> Result<()>,
    ) -> Result<f64> {
        let mut times = Vec::new();
        for turn in 0..=copies {
            self.device.device().synchronize()?;
            let at = self.at(bytes);
            let start = Instant::now();
            copy(self, at)?;
            let spent = start.elapsed();
            if turn > 0 {
                times.push(spent.as_secs_f64() * 1e9);
            }
        }
        Ok(median(&mut times))
    }
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns a rate in GB/s.
fn rate(bytes: usize, nanoseconds: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a size has few digits")]
    let bytes = bytes as f64;
    bytes / nanoseconds
}

/// Formats a size.
fn shown(bytes: usize) -> String {
    if bytes < MIB { format!("{} KiB", bytes >> 10) } else { format!("{} MiB", bytes >> 20) }
}

fn main() -> anyhow::Result<()> {
    let options = Options::from_arguments()?;
    let room = options.most * MIB;
    let mut cpp = Program::start(&options.cpp, &[&room.to_string()])?;
    let name = Device::current()?.properties()?.name().to_owned();
    let machine = format!("{name}; runtime {}, driver for {}", runtime_version()?, driver_version()?);
    ensure!(machine == cpp.machine(), "the programs run on {machine} and on {}", cpp.machine());
    ensure!(
        machine.starts_with("CUDA emulator") == options.emulator,
        "this is {machine}: times taken on the emulator have no meaning; --emulator there, and only there"
    );
    let mut things = Things::new(room)?;
    println!("- {machine}; {} processors may be used", std::thread::available_parallelism()?);
    if options.emulator {
        println!("- These times were taken on the emulator: they have no meaning.");
    }

    let sizes =
        std::iter::successors(Some(16 << 10), |&size| Some(size * if size < 16 * MIB { 2 } else { 4 }))
            .take_while(|&size| size <= room);
    println!(
        "\nRates in GB/s, medians of {} turns. Each copy uses the next part of {} MiB.",
        options.turns, options.most
    );
    for (way, meaning) in WAYS {
        println!(
            "\n| {meaning:<52} | C++ | the same here | memcpy | times |\n|{:-<54}|----:|----:|----:|----:|",
            ""
        );
        for bytes in sizes.clone() {
            let copies = u32::try_from((128 * MIB / bytes).clamp(1, 30))?;
            let mut times = [Vec::new(), Vec::new(), Vec::new()];
            let mut ratios = Vec::new();
            for turn in 0..options.turns {
                // Each side is the first one equally often.
                for place in 0..3 {
                    let side = (turn + place) % 3;
                    times[side].push(match side {
                        0 => cpp.ask(&format!("{way} {bytes} {copies}"))?,
                        1 => things.measure_raw(way, bytes, copies)?,
                        _ => things.measure(way, bytes, copies)?,
                    });
                }
                ratios.push(times[1][turn] / times[2][turn]);
            }
            let rates = times.map(|mut times| format!("{:.2}", rate(bytes, median(&mut times))));
            println!("| {:<52} | {} | {:.2} |", shown(bytes), rates.join(" | "), median(&mut ratios));
        }
    }

    let (chosen, processors) = (staged::settings(), std::thread::available_parallelism()?.get());
    println!(
        "\n| {} in GB/s, by threads | host to device | device to host | fresh |\n|----|----:|----:|----:|",
        shown(room)
    );
    let threads = [1, 2, 4, 6, 8, 12, 16].into_iter().filter(|&threads| threads <= processors);
    for threads in threads.map(Some).chain([None]) {
        configure(Settings { threads, enabled: threads.is_some(), ..chosen });
        let mut rates = Vec::new();
        for (way, _) in WAYS {
            rates.push(format!("{:.2}", rate(room, things.measure(way, room, 3)?)));
        }
        let threads = threads.map_or("switched off".to_owned(), |it| it.to_string());
        println!("| {threads} | {} |", rates.join(" | "));
    }
    configure(chosen);
    let held = statistics().most_pinned / MIB;
    pipeline::run(room, options.turns, options.emulator)?;
    println!(
        "\nThe maximum of pinned memory that the staged copies held, with default settings: {held} MiB."
    );
    cpp.end()
}
