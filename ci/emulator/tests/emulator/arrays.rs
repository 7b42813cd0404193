//! A C++ program about CUDA arrays, compiled here against the installed headers, runs on the built library in
//! every schedule.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::built;

const SCHEDULES: [&str; 5] = ["late", "eager", "random:1", "random:2", "random:3"];

/// Compiles `array.cpp`, once.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let toolkit = built::toolkit();
        let compiler = std::env::var("CXX").unwrap_or_else(|_| "c++".to_owned());
        let mut command = Command::new(compiler);
        command
            .args(["-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-deprecated-declarations"])
            .arg("tests/programs/array.cpp")
            .args(toolkit.includes().iter().map(|folder| format!("-I{}", folder.display())))
            .arg(format!("-L{}", built::folder().display()))
            .args(["-lcudart", "-pthread"]);
        built::made("array", &mut command)
    })
}

fn passes(case: &str) {
    for schedule in SCHEDULES {
        let output = Command::new(program())
            .arg(case)
            .env("LD_LIBRARY_PATH", built::folder())
            .env("CUDA_EMULATOR_SCHEDULE", schedule)
            .stdin(Stdio::null())
            .output()
            .expect("the program starts");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{case} under {schedule}: {}\n{stderr}", output.status);
    }
}

macro_rules! everywhere {
    ($($case:ident)*) => {$(
        #[test]
        fn $case() {
            passes(stringify!($case));
        }
    )*};
}

everywhere! { planes streams freeing volumes devices_and_batches mipmaps queries misuse }
