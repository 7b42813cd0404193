//! Sets cfgs for the functions of the toolkit's headers: CUDA 12 declares some functions that
//! `overhead` calls differently.

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
