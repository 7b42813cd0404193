//! Runs a graph with two branches and a host function.
//!
//! The program captures a stream once. After the first kernel, two branches read the data side by side: one
//! finds the sum of the elements, the other one the largest. Each copies what its blocks found to the host.
//! Where the branches join, a host function combines these numbers. The graph retains all memory, and the
//! host gets access to the result only when no launch uses it: the program needs no synchronisation.
use cuda_kernels::kernels::add_one;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, launch, memcpy_async};
use examples::kernels::{block_maxima, block_sums};

const BLOCKS: usize = 4;
const THREADS: usize = 256;

fn main() -> anyhow::Result<()> {
    let n = 1 << 12;
    let input: Vec<i32> = (0..1000).cycle().take(n).collect();
    let mut d_data = DeviceBuffer::from_slice(&input)?;
    let mut d_sums = DeviceBuffer::<i32>::alloc(BLOCKS)?;
    let mut d_maxima = DeviceBuffer::<i32>::alloc(BLOCKS)?;
    let mut h_sums = PinnedBuffer::<i32>::alloc(BLOCKS)?;
    let mut h_maxima = PinnedBuffer::<i32>::alloc(BLOCKS)?;
    let mut found = PinnedBuffer::<i32>::alloc(2)?;
    let mut stream = Stream::new()?;

    let graph = stream.capture(|s| {
        launch!(add_one<<<n / THREADS, THREADS, 0, s>>>(&mut d_data, n))?;
        let side = s.fork()?;
        launch!(block_sums<<<BLOCKS, THREADS, 0, s>>>(&d_data, &mut d_sums, n))?;
        memcpy_async(&mut h_sums, &d_sums, s)?;
        launch!(block_maxima<<<BLOCKS, THREADS, 0, &side>>>(&d_data, &mut d_maxima, n))?;
        memcpy_async(&mut h_maxima, &d_maxima, &side)?;
        s.join(side)?;
        let memory = (&h_sums, &h_maxima, &mut found);
        s.host_fn_with(memory, |(sums, maxima, found): (&[i32], &[i32], &mut [i32])| {
            found[0] = sums.iter().sum();
            found[1] = maxima.iter().copied().max().unwrap_or(i32::MIN);
        })
    })?;

    println!("a graph of {} nodes", graph.node_count()?);
    let mut exec = graph.instantiate()?;
    for launch in 1..=3 {
        exec.launch(&stream)?;
        let found = found.host()?; // waits for the launch
        println!("launch {launch}: the sum is {}, the largest {}", found[0], found[1]);
    }
    Ok(())
}
