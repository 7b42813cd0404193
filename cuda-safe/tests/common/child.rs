//! The other process of a test: the test's own program again, with one of its tests.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The variable through which the other process receives its input.
const GIFT: &str = "CUDA_SAFE_TEST_GIFT";

/// Returns the bytes that the parent passed.
pub(crate) fn gift() -> Vec<u8> {
    let text = std::env::var(GIFT).unwrap();
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// Starts this program for one of its tests, which is otherwise ignored, and passes bytes to it.
pub(crate) fn command(test: &str, gift: &[u8]) -> Command {
    let text: String = gift.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]).env(GIFT, text);
    command
}

/// A child that exchanges lines with its parent to agree on the next step.
pub(crate) struct Talk {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Talk {
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, to, from: BufReader::new(from) }
    }

    /// Waits until the child sends this line.
    pub(crate) fn hear(&mut self, word: &str) {
        self.hear_one_of(&[word]);
    }

    /// Waits until the child sends one of these lines, and returns it.
    pub(crate) fn hear_one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
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
    pub(crate) fn say(&mut self, word: &str) {
        writeln!(self.to, "{word}").unwrap();
        self.to.flush().unwrap();
    }

    /// Waits until the child ends successfully.
    pub(crate) fn end(mut self) {
        drop(self.to);
        std::io::copy(&mut self.from, &mut std::io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success(), "the other process failed");
    }
}

/// In the child: sends this line to the parent.
pub(crate) fn say(word: &str) {
    println!("{word}");
    std::io::stdout().flush().unwrap();
}

/// In the child: waits until the parent sends this line.
pub(crate) fn hear(word: &str) {
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line).unwrap();
    assert!(read > 0 && line.trim_end() == word, "expected {word:?}, heard {line:?}");
}
