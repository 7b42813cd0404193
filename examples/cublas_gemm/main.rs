//! Multiplies matrices with cuBLAS, on two streams and in a graph.
//!
//! `build.rs` finds cuBLAS and generates bindings to its header, and `cublas.rs` is the safe layer. The
//! matrices and the handle's workspace are declared to the tracker, which orders the products of two streams.
//! A graph retains them. Without cuBLAS, the program is built and says so.
#![cfg_attr(cublas, expect(unsafe_code, reason = "calls cuBLAS"))]
use std::process::ExitCode;

#[cfg(cublas)]
mod cublas;

/// The exit code of a program that has not run, and the reason.
fn not_run(why: &str) -> ExitCode {
    eprintln!("not run: {why}");
    ExitCode::from(77)
}

#[cfg(not(cublas))]
fn main() -> ExitCode {
    not_run("no cuBLAS")
}

#[cfg(cublas)]
fn main() -> anyhow::Result<ExitCode> {
    use cublas::Cublas;
    use cuda_safe::{Device, DeviceBuffer, Stream, memset};

    if Device::current()?.properties()?.name().starts_with("CUDA emulator") {
        return Ok(not_run("no GPU"));
    }
    let n = 256;
    let len = 256 * 256;
    let a: Vec<f32> = (0..7_u16).map(f32::from).cycle().take(len).collect();
    let b: Vec<f32> = (0..5_u16).map(f32::from).cycle().take(len).collect();

    let d_a = DeviceBuffer::from_slice(&a)?;
    let d_b = DeviceBuffer::from_slice(&b)?;
    let mut d_c = DeviceBuffer::<f32>::alloc(len)?;
    let mut d_d = DeviceBuffer::<f32>::alloc(len)?;
    let mut first = Stream::non_blocking()?;
    let second = Stream::non_blocking()?;
    let mut cublas = Cublas::new()?;

    // d = (a b) b
    cublas.multiply(n, &d_a.as_slice(), &d_b.as_slice(), &mut d_c.as_slice_mut(), &first)?;
    cublas.multiply(n, &d_c.as_slice(), &d_b.as_slice(), &mut d_d.as_slice_mut(), &second)?;
    let d = d_d.to_vec()?;
    println!("two streams: d[0] = {}, d[{}] = {}", d[0], len - 1, d[len - 1]);

    // The same as a graph.
    memset(&mut d_d, 0)?;
    let mut captured = Ok(());
    let graph = first.capture(|stream| {
        captured =
            cublas.multiply(n, &d_a.as_slice(), &d_b.as_slice(), &mut d_c.as_slice_mut(), stream).and_then(
                |()| cublas.multiply(n, &d_c.as_slice(), &d_b.as_slice(), &mut d_d.as_slice_mut(), stream),
            );
        Ok(())
    })?;
    captured?;
    let mut exec = graph.instantiate()?;
    exec.launch(&first)?;
    println!("a graph: the same, {}", if d_d.to_vec()? == d { "yes" } else { "no" });

    // cuBLAS's own error.
    let refused = cublas.multiply(-1, &d_a.as_slice(), &d_b.as_slice(), &mut d_c.as_slice_mut(), &first);
    // SAFETY: null means all streams of C. cuBLAS has printed to one, which Rust's output does not wait for.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    match refused {
        Err(error) => println!("-1 rows: {error}"),
        Ok(()) => println!("-1 rows: taken"),
    }
    Ok(ExitCode::SUCCESS)
}
