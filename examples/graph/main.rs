//! Runs the same short work twenty times as a graph.
//!
//! The program captures a stream once: copy in, two kernels, copy out. Each launch of the graph runs all
//! four with one call. The graph retains the buffers, and the host gets access to the pinned memory only
//! when no launch uses it. So the program needs no synchronisation before it reads the result.
#![expect(unsafe_code, reason = "launches kernels")]
use std::process::ExitCode;

use cuda_kernels::kernels::{add_one, double_values};
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, memcpy_async};

fn main() -> anyhow::Result<ExitCode> {
    let (n, threads) = (1 << 12, 256);
    let input: Vec<i32> = (0..10).cycle().take(n).collect();
    let mut h_data = PinnedBuffer::from_slice(&input)?;
    let mut d_data = DeviceBuffer::<i32>::alloc(n)?;
    let mut stream = Stream::new()?;

    let graph = stream.capture(|s| {
        memcpy_async(&mut d_data, &h_data, s)?;
        // SAFETY: the buffer holds the `n` integers of both kernels' counts.
        unsafe { launch!(double_values<<<n / threads, threads, 0, s>>>(&mut d_data, n)) }?;
        // SAFETY: as above.
        unsafe { launch!(add_one<<<n / threads, threads, 0, s>>>(&mut d_data, n)) }?;
        memcpy_async(&mut h_data, &d_data, s)
    })?;
    let mut exec = graph.instantiate()?;
    let nodes = graph.node_count()?;
    println!("a graph of {nodes} nodes; nothing has run: the last number is {}", h_data.host()?[n - 1]);

    for _ in 0..20 {
        exec.launch(&stream)?;
    }

    // x -> 2x + 1, twenty times: (x + 1) * 2^20 - 1.
    let data = h_data.host()?;
    let right = data.iter().zip(&input).filter(|(found, x)| **found == (**x + 1) * (1 << 20) - 1).count();
    println!("after 20 launches it is {}; {right} of {n} are right", data[n - 1]);
    Ok(if right == n { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
