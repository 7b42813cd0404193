//! A measuring program that is started once and then answers questions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

/// A running program that answers each question with one line.
#[derive(Debug)]
pub struct Program {
    name: String,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    machine: String,
}

impl Program {
    /// Starts a program and waits for its first line, which describes the machine.
    ///
    /// # Errors
    /// The program does not start, or ends before it answers.
    pub fn start(path: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
        let name = format!("{} {}", path.display(), arguments.join(" "));
        let mut child = Command::new(path)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| name.clone())?;
        let questions = child.stdin.take().context("no standard input")?;
        let answers = BufReader::new(child.stdout.take().context("no standard output")?);
        let mut program = Self { name, child, questions, answers, machine: String::new() };
        program.machine = program.answer()?;
        Ok(program)
    }

    /// Returns the line that describes the machine.
    #[must_use]
    pub fn machine(&self) -> &str {
        &self.machine
    }

    /// Returns the median time of a call of an operation, in nanoseconds.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub fn measure(&mut self, operation: &str, calls: u32, batches: u32) -> anyhow::Result<f64> {
        self.ask(&format!("{operation} {calls} {batches}"))
    }

    /// Asks a question and returns the answer, a time.
    ///
    /// # Errors
    /// The program ends before it answers, or the answer is not one positive number.
    pub fn ask(&mut self, question: &str) -> anyhow::Result<f64> {
        match self.ask_for_all(question)?[..] {
            [time] => Ok(time),
            ref times => bail!("{}, asked for {question}: {} times", self.name, times.len()),
        }
    }

    /// Asks a question and returns the answer, several times.
    ///
    /// # Errors
    /// The program ends before it answers, or the answer has a word that is not a positive number.
    pub fn ask_for_all(&mut self, question: &str) -> anyhow::Result<Vec<f64>> {
        writeln!(self.questions, "{question}").with_context(|| self.name.clone())?;
        let answer = self.answer()?;
        let time = |word: &str| {
            let time: f64 =
                word.parse().with_context(|| format!("{}, asked for {question}: {word}", self.name))?;
            ensure!(time > 0.0, "{}, asked for {question}: {word}", self.name);
            Ok(time)
        };
        answer.split_whitespace().map(time).collect()
    }

    fn answer(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).with_context(|| self.name.clone())?;
        ensure!(read > 0, "{} ended before it answered", self.name);
        Ok(line.trim_end().to_owned())
    }

    /// Closes the program's input and waits for its end.
    ///
    /// # Errors
    /// The program ends with a failure.
    pub fn end(self) -> anyhow::Result<()> {
        let Self { name, mut child, questions, .. } = self;
        drop(questions);
        let status = child.wait()?;
        ensure!(status.success(), "{name} failed at its end: {status}");
        Ok(())
    }
}

/// Measures an operation with two programs in turns. Returns the answers of each.
///
/// # Errors
/// As [`Program::ask`].
pub fn in_turns(
    programs: &mut [Program; 2],
    turns: u32,
    operation: &str,
    calls: u32,
    batches: u32,
) -> anyhow::Result<[Vec<f64>; 2]> {
    let mut found = [Vec::new(), Vec::new()];
    for turn in 0..turns {
        let order = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
        for side in order {
            found[side].push(programs[side].measure(operation, calls, batches)?);
        }
    }
    Ok(found)
}
