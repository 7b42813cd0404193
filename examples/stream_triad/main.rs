//! The bandwidth of device memory, measured with five kernels.
//!
//! The sizes and the report are those of BabelStream. Each iteration runs the five kernels. The host's
//! clock times each kernel, and the first iteration does not count. A kernel's rate is that of its best
//! time. The arrays are checked at the end.
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use cuda_safe::{Device, DeviceBuffer, Result, Stream, launch, memcpy};
use examples::kernels::{
    STREAM_SCALAR, STREAM_THREADS, stream_add, stream_copy, stream_dot, stream_init, stream_mul, stream_triad,
};

const START: [f64; 3] = [0.1, 0.2, 0.0];
const USAGE: &str = "stream_triad [--arraysize N] [--numtimes N] [--csv | --no-times]";

struct Kernel {
    name: &'static str,
    /// The number of arrays that it reads or writes.
    arrays: f64,
    times: Vec<f64>,
}

fn seconds(run: impl FnOnce() -> Result<()>) -> Result<f64> {
    let start = Instant::now();
    run()?;
    Ok(start.elapsed().as_secs_f64())
}

/// Returns the mean distance of the elements from the expected value.
fn error_of(elements: &[f64], expected: f64, count: f64) -> f64 {
    elements.iter().map(|element| (element - expected).abs()).sum::<f64>() / count
}

fn main() -> anyhow::Result<ExitCode> {
    let (mut arraysize, mut numtimes): (u32, u32) = (1 << 25, 100);
    let (mut csv, mut no_times) = (false, false);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--csv" => csv = true,
            "--no-times" => no_times = true,
            "--arraysize" => arraysize = arguments.next().context(USAGE)?.parse()?,
            "--numtimes" => numtimes = arguments.next().context(USAGE)?.parse()?,
            _ => bail!(USAGE),
        }
    }
    ensure!(
        arraysize > 0 && arraysize.is_multiple_of(STREAM_THREADS),
        "--arraysize must be a multiple of {STREAM_THREADS}"
    );
    ensure!(numtimes >= 2, "--numtimes must be at least 2");
    let size = arraysize as usize;

    let properties = Device::current()?.properties()?;
    let megabytes = f64::from(arraysize) * 8.0 * 1e-6;
    if !csv {
        println!("Five kernels {numtimes} times on {}", properties.name());
        println!("Precision: double");
        println!("Array size: {megabytes:.1} MB, of three arrays: {:.1} MB", 3.0 * megabytes);
    }

    let mut a = DeviceBuffer::<f64>::alloc(size)?;
    let mut b = DeviceBuffer::<f64>::alloc(size)?;
    let mut c = DeviceBuffer::<f64>::alloc(size)?;
    let blocks = arraysize / STREAM_THREADS;
    let dot_blocks = properties.multi_processor_count() * 4;
    let mut d_sums = DeviceBuffer::<f64>::alloc(dot_blocks as usize)?;
    let mut sums = vec![0.0; dot_blocks as usize];
    let stream = Stream::non_blocking()?;
    let [start_a, start_b, start_c] = START;
    // In all launches there is a thread for each element of the arrays, and `d_sums` has an element for
    // each block.
    launch!(stream_init<<<blocks, STREAM_THREADS, 0, &stream>>>(&mut a, &mut b, &mut c, start_a, start_b, start_c))?;
    stream.synchronize()?;

    let kernel = |name, arrays| Kernel { name, arrays, times: Vec::new() };
    let mut kernels = [
        kernel("Copy", 2.0),
        kernel("Mul", 2.0),
        kernel("Add", 3.0),
        kernel("Triad", 3.0),
        kernel("Dot", 2.0),
    ];
    let mut dot = 0.0;
    for _ in 0..numtimes {
        let [copy, mul, add, triad, product] = &mut kernels;
        copy.times.push(seconds(|| {
            launch!(stream_copy<<<blocks, STREAM_THREADS, 0, &stream>>>(&a, &mut c))?;
            stream.synchronize()
        })?);
        mul.times.push(seconds(|| {
            launch!(stream_mul<<<blocks, STREAM_THREADS, 0, &stream>>>(&mut b, &c))?;
            stream.synchronize()
        })?);
        add.times.push(seconds(|| {
            launch!(stream_add<<<blocks, STREAM_THREADS, 0, &stream>>>(&a, &b, &mut c))?;
            stream.synchronize()
        })?);
        triad.times.push(seconds(|| {
            launch!(stream_triad<<<blocks, STREAM_THREADS, 0, &stream>>>(&mut a, &b, &c))?;
            stream.synchronize()
        })?);
        product.times.push(seconds(|| {
            launch!(stream_dot<<<dot_blocks, STREAM_THREADS, 0, &stream>>>(&a, &b, &mut d_sums, arraysize))?;
            stream.synchronize()?;
            memcpy(&mut sums, &d_sums)?;
            dot = sums.iter().sum();
            Ok(())
        })?);
    }

    // Computes the same with three numbers.
    let [mut in_a, mut in_b, mut in_c] = START;
    for _ in 0..numtimes {
        in_c = in_a;
        in_b = STREAM_SCALAR * in_c;
        in_c = in_a + in_b;
        in_a = in_b + STREAM_SCALAR * in_c;
    }
    let count = f64::from(arraysize);
    let in_dot = in_a * in_b * count;
    let mut right = true;
    for (name, array, expected) in [("a", &a, in_a), ("b", &b, in_b), ("c", &c, in_c)] {
        let error = error_of(&array.to_vec()?, expected, count);
        if error > f64::EPSILON * 100.0 {
            eprintln!("Validation failed on {name}: average error {error}");
            right = false;
        }
    }
    let dot_error = ((dot - in_dot) / in_dot).abs();
    if dot_error > 1e-8 {
        eprintln!("Validation failed on the sum: error {dot_error}, sum {dot}, expected {in_dot}");
        right = false;
    }

    if csv {
        println!(
            "function,num_times,n_elements,sizeof,max_mbytes_per_sec,min_runtime,max_runtime,avg_runtime"
        );
    } else if no_times {
        println!("{:<12}MBytes", "Function");
    } else {
        println!("{:<12}{:<12}{:<12}{:<12}Average", "Function", "MBytes/sec", "Min (sec)", "Max");
    }
    for Kernel { name, arrays, times } in &kernels {
        let times = &times[1..];
        let least = times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = times.iter().copied().fold(0.0, f64::max);
        let average = times.iter().sum::<f64>() / f64::from(numtimes - 1);
        let moved = arrays * megabytes;
        let rate = moved / least;
        if csv {
            println!("{name},{numtimes},{arraysize},8,{rate:.3},{least:.9},{most:.9},{average:.9}");
        } else if no_times {
            println!("{name:<12}{moved:.3}");
        } else {
            println!("{name:<12}{rate:<12.3}{least:<12.5}{most:<12.5}{average:.5}");
        }
    }
    if !csv && right {
        println!("Validation passed: the arrays and the sum are right");
    }
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
