//! Passes the cfgs on that say which functions the toolkit's headers have: `cudart_12_4` and so on.

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
