//! Streams and memory that `cuda-safe` and cudarc share, under load from eight threads.
//!
//! First, one stream and one slice of cudarc in the hands of both: kernels of two crates and copies of cudarc
//! take turns, in order, without a blocking call. Then eight threads do the same at once, on streams of both
//! sides, and pass ownership of memory back and forth. `beside.rs` is all that a program needs, and says what
//! each side must keep.
//!
//! The emulator answers the runtime's calls and not the driver's, so the example needs a GPU:
//!
//!     cargo run -p with_cudarc --features cudarc

#[cfg(feature = "cudarc")]
mod beside;
#[cfg(feature = "cudarc")]
mod load;

#[cfg(not(feature = "cudarc"))]
fn main() -> std::process::ExitCode {
    eprintln!("not run: no cudarc");
    eprintln!("cargo run -p with_cudarc --features cudarc");
    std::process::ExitCode::from(77)
}

#[cfg(feature = "cudarc")]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use std::process::ExitCode;

    if !load::has_driver() {
        eprintln!("not run: no libcuda, which the emulator does not provide");
        return Ok(ExitCode::from(77));
    }
    let context = cudarc::driver::CudaContext::new(0)?;
    println!("in turns: {:?}", load::in_turns(&context)?);
    let (threads, rounds) = (8, 200);
    load::run(&context, threads, rounds)?;
    println!("{threads} threads, {rounds} rounds each: all results are right");
    Ok(ExitCode::SUCCESS)
}
