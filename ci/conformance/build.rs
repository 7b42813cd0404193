//! Compiles the kernels and symbols that the cases use, and passes on which functions the toolkit's headers have.

use std::process::ExitCode;

fn main() -> ExitCode {
    cuda_kernels_build::Build::new().file("src/device.cu").compile("conformance_device");
    match cuda_sys_build::emit_version_cfgs() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::FAILURE
        }
    }
}
