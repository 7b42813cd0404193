//! Writes the signature-only bindings for documentation builds without a toolkit.
//!
//! Run it with CUDA 13.0 as the toolkit, as `ci/snapshot` does: `cargo run -p cudart-sys-build --example
//! snapshot -- FILE`.

use std::path::Path;
use std::process::ExitCode;

use cuda_sys_build::{Bindings, Env, Error, Search, Version};

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1) else {
        eprintln!("usage: snapshot FILE");
        return ExitCode::FAILURE;
    };
    match write(Path::new(&file)) {
        Ok(version) => {
            eprintln!("signatures of CUDA {version}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(file: &Path) -> Result<Version, Error> {
    let env = Env::from_process();
    let toolkit = Search::new(&env).find()?;
    Bindings::new().signatures_only().generate(&env, &toolkit, file)?;
    Ok(toolkit.version())
}
