//! Chooses the size of a block by the occupancy of the device.
//!
//! A kernel runs with small blocks, and then with blocks of the size for which the most threads run at the
//! same time. Times go to standard error.
use anyhow::{Result, ensure};
use cuda_kernels::kernels::square;
use cuda_safe::{Device, DeviceBuffer, Event, Stream, launch, memset};

const N: u32 = 100_000;

fn occupancy(block: u32) -> Result<f64> {
    let most = Device::current()?.properties()?.max_threads_per_multi_processor();
    let blocks = square.blocks_per_multiprocessor(block, 0)?;
    Ok(100.0 * f64::from(blocks * block) / f64::from(most))
}

fn run(name: &str, block: u32, d_in: &DeviceBuffer<i32>, d_out: &mut DeviceBuffer<i32>) -> Result<()> {
    let (legacy, start, stop) = (Stream::legacy()?, Event::new()?, Event::new()?);
    memset(d_out, 0)?;
    let grid = N.div_ceil(block);
    start.record(&legacy)?;
    launch!(square<<<grid, block, 0, &legacy>>>(d_in, d_out, N))?;
    stop.record(&legacy)?;

    let squares = d_out.to_vec()?;
    ensure!(squares.iter().zip((0..100).cycle()).all(|(found, number)| *found == number * number));
    println!("{name}: {grid} blocks of {block}, occupancy {:.1} %", occupancy(block)?);
    eprintln!("{name}: {:.3} ms", stop.elapsed_ms(&start)?);
    Ok(())
}

fn main() -> Result<()> {
    let numbers: Vec<i32> = (0..100).cycle().take(N as usize).collect();
    let d_numbers = DeviceBuffer::from_slice(&numbers)?;
    let mut d_squares = DeviceBuffer::<i32>::alloc(N as usize)?;

    run("small blocks", 32, &d_numbers, &mut d_squares)?;
    let (least, block) = square.max_potential_block_size(|_| 0, 0)?;
    println!("the device is full with {least} blocks of {block}");
    run("suggested blocks", block, &d_numbers, &mut d_squares)
}
