//! Shows a profiler two streams, their operations and their waits.
//!
//! Two streams take turns with one buffer. In a timeline of Nsight Systems the streams have names, each
//! submission is a range, and a mark shows each wait that the tracker added: the line of the program that
//! waits, and the work that it waits for. Without a profiler, NVTX does nothing. `traced.rs` is all that
//! a program needs.
//!
//!     ci/with-libclang cargo build -p profiling --features nvtx
//!     nsys profile --trace=cuda,nvtx target/debug/profiling

#[cfg(feature = "nvtx")]
mod traced;

#[cfg(not(feature = "nvtx"))]
fn main() -> std::process::ExitCode {
    eprintln!("not run: no NVTX");
    eprintln!("ci/with-libclang cargo run -p profiling --features nvtx");
    std::process::ExitCode::from(77)
}

#[cfg(feature = "nvtx")]
fn main() -> cuda_safe::Result<()> {
    use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, hazard, memcpy_async, memset_async};
    use traced::{name, traced};

    let n = 1 << 16;
    let (copies, fills) = (Stream::non_blocking()?, Stream::non_blocking()?);
    name(&copies, c"copies");
    name(&fills, c"fills");

    let input = PinnedBuffer::from_slice(&vec![21; n])?;
    let mut output = PinnedBuffer::<i32>::alloc(n)?;
    let mut d = DeviceBuffer::<i32>::alloc(n)?;
    for _ in 0..3 {
        traced(c"upload", || memcpy_async(&mut d, &input, &copies))?;
        traced(c"clear the first half", || memset_async(&mut d.slice_mut(..n / 2)?, 0, &fills))?;
        traced(c"download", || memcpy_async(&mut output, &d, &copies))?;
    }
    let numbers = traced(c"wait for all", || output.host())?;

    println!("the first number is {}, the last {}", numbers[0], numbers[n - 1]);
    println!("{} waits between the streams", hazard::added_waits());
    Ok(())
}
