//! The built library and the toolkit, for the tests that look at them from outside.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use cuda_sys_build::{Env, Search, Toolkit};

/// The folder with `libcudart.so.13`, which `ci/emulate` keeps up to date.
pub(crate) fn folder() -> &'static PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let output = Command::new("../emulate").output().expect("ci/emulate starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim())
    })
}

/// The installed toolkit.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) fn toolkit() -> Toolkit {
    Search::new(&Env::from_process()).find().expect("a toolkit")
}
