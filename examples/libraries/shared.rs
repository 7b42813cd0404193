//! What the programs share.
#![allow(dead_code, reason = "a program without its library needs less")]

use std::process::ExitCode;

/// Runs a program, unless there is no GPU.
pub(crate) fn on_gpu(program: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<ExitCode> {
    if cuda_safe::Device::current()?.properties()?.name().starts_with("CUDA emulator") {
        return Ok(not_run("no GPU"));
    }
    program().map(|()| ExitCode::SUCCESS)
}

/// Returns the exit code of a program that has not run, and prints the reason.
pub(crate) fn not_run(why: &str) -> ExitCode {
    eprintln!("not run: {why}");
    ExitCode::from(77)
}

/// Returns the error of a library's call. 0 is success in all four.
pub(crate) fn checked(call: &str, status: u32) -> anyhow::Result<()> {
    anyhow::ensure!(status == 0, "{call}: status {status}");
    Ok(())
}
