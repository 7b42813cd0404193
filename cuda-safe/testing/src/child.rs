//! The other process of a test: the test's own program again, with one of its tests.
//!
//! [`own_process!`](crate::own_process) is for a test that changes its process, or loses its device: it
//! shares the program with others, and the process with none.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The name by which the harness knows the test that this is in.
#[macro_export]
macro_rules! this_test {
    () => {
        $crate::child::test_name(std::any::type_name_of_val(&|| ()))
    };
}

/// The name by which the harness knows another test of this module.
#[macro_export]
macro_rules! test_beside {
    ($name:literal) => {
        $crate::child::test_name(concat!(module_path!(), "::", $name))
    };
}

/// The first statement of a test that must be alone in its process. It starts the program for this test
/// alone, and fails if the test fails there. `own_process!(Ok(()))` is for a test that returns a result.
///
/// `CUDA_TEST_PROCESS=NAME PROGRAM --exact NAME` runs such a test without another process: under a tool, or
/// in a debugger.
#[macro_export]
macro_rules! own_process {
    () => {
        $crate::own_process!(())
    };
    ($done:expr) => {
        if $crate::child::has_run_elsewhere($crate::this_test!()) {
            return $done;
        }
    };
}

/// Returns the path without the program's name, and without a closure in the test.
#[must_use]
pub fn test_name(path: &'static str) -> &'static str {
    let path = path.split("::{{closure}}").next().unwrap_or(path);
    path.split_once("::").map_or(path, |(_, name)| name)
}

/// This program again, for one test.
#[must_use]
pub fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test]);
    command
}

/// Cargo, without the variables of the package that is tested: build scripts would run again for them.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in std::env::vars_os() {
        let of_package = |name: &str| {
            name == "OUT_DIR" || name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")
        };
        if name.to_str().is_some_and(of_package) {
            cargo.env_remove(name);
        }
    }
    cargo
}

/// The variable with the name of the test that has this process for itself.
const OWN: &str = "CUDA_TEST_PROCESS";

/// Runs this test in a process of its own. Returns false in that process.
#[must_use]
pub fn has_run_elsewhere(test: &str) -> bool {
    if std::env::var(OWN).is_ok_and(|own| own == test) {
        return false;
    }
    // One at a time: some of these tests watch the memory of the whole device.
    let _alone = crate::alone();
    let output = again(test).arg("--show-output").env(OWN, test).output().unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    print!("{}", said(&told));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && told.contains("1 passed"), "{}: {told}", output.status);
    true
}

/// What the harness's report of one test shows of the test's own output.
fn said(told: &str) -> &str {
    let (_, shown) = told.split_once(" stdout ----\n").unwrap_or_default();
    shown.split("\n\nsuccesses:\n").next().unwrap_or_default()
}

/// The variable through which the other process receives its input.
const GIFT: &str = "CUDA_SAFE_TEST_GIFT";

/// Returns the bytes that the parent passed.
pub fn gift() -> Vec<u8> {
    let text = std::env::var(GIFT).unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Starts this program for one of its tests, which is otherwise ignored, and passes bytes to it.
pub fn command(test: &str, gift: &[u8]) -> Command {
    let text: String = gift.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = again(test);
    command.args(["--ignored", "--nocapture", "--test-threads=1"]).env(GIFT, text);
    command
}

/// A child that exchanges lines with its parent to agree on the next step.
pub struct Talk {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talk {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from) }
    }

    /// Waits until the child sends this line.
    pub fn hear(&mut self, word: &str) {
        self.hear_one_of(&[word]);
    }

    /// Waits until the child sends one of these lines, and returns it.
    pub fn hear_one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        loop {
            let mut line = String::new();
            let read = self.from.read_line(&mut line).unwrap();
            assert!(read > 0, "the other process ended before it said one of {words:?}");
            if let Some(word) = words.iter().find(|word| line.trim_end().ends_with(*word)) {
                return word;
            }
        }
    }

    /// Sends this line to the child.
    pub fn say(&mut self, word: &str) {
        writeln!(self.to, "{word}").unwrap();
        self.to.flush().unwrap();
    }

    /// Waits until the child ends successfully.
    pub fn end(mut self) {
        drop(self.to);
        std::io::copy(&mut self.from, &mut std::io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success(), "the other process failed");
    }
}

/// In the child: sends this line to the parent.
pub fn say(word: &str) {
    println!("{word}");
    std::io::stdout().flush().unwrap();
}

/// In the child: waits until the parent sends this line.
pub fn hear(word: &str) {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).unwrap();
    assert!(read > 0 && line.trim_end() == word, "expected {word:?}, heard {line:?}");
}
