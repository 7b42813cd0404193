//! Passes on which functions the toolkit's headers have: `bench/overhead` calls some that CUDA 12 declares
//! otherwise.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cuda_sys_build::emit_version_cfgs() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::FAILURE
        }
    }
}
