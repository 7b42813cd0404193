//! The smallest whole program: it squares ten integers.
use anyhow::ensure;
use cuda_kernels::kernels::square;
use cuda_safe::launch;
use cuda_safe::{DeviceBuffer, Stream, memcpy};

fn main() -> anyhow::Result<()> {
    const N: usize = 10;
    let numbers = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
    let mut squares = [0; N];

    let mut d_numbers = DeviceBuffer::<i32>::alloc(numbers.len())?;
    let mut d_squares = DeviceBuffer::<i32>::alloc(squares.len())?;
    memcpy(&mut d_numbers, &numbers)?;
    launch!(square<<<1, N, 0, &Stream::legacy()?>>>(&d_numbers, &mut d_squares, N))?;
    memcpy(&mut squares, &d_squares)?;

    for (number, squared) in numbers.iter().zip(squares) {
        ensure!(squared == number * number);
        println!("{number} squared is {squared}");
    }
    Ok(())
}
