//! Finds the toolkit, generates the bindings and links libcudart: see `cuda-sys-build`.

use std::process::ExitCode;

fn main() -> ExitCode {
    match cuda_sys_build::build() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::FAILURE
        }
    }
}
