//! A log of the calls that a program makes, for tests that count them: `CUDA_EMULATOR_CALLS=FILE`.
//!
//! One line a call, in the order in which calls begin. Each line is written before the call does anything, so
//! that a program can read its own. Without the variable this costs one check.

use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;

use crate::thread;

static FILE: OnceLock<Option<File>> = OnceLock::new();

/// Writes a call down: the calling thread's number, a space, the function's name.
pub(crate) fn note(name: &str) {
    if let Some(mut file) = FILE.get_or_init(open).as_ref() {
        // One write, so that lines of several threads do not mix.
        let line = format!("{} {name}\n", thread::number());
        if let Err(error) = file.write_all(line.as_bytes()) {
            eprintln!("CUDA emulator: CUDA_EMULATOR_CALLS: {error}");
        }
    }
}

fn open() -> Option<File> {
    let path = std::env::var_os("CUDA_EMULATOR_CALLS")?;
    match File::options().create(true).append(true).open(&path) {
        Ok(file) => Some(file),
        Err(error) => {
            eprintln!("CUDA emulator: CUDA_EMULATOR_CALLS is {}: {error}", path.display());
            None
        }
    }
}
