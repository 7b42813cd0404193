//! A program that measures: started once, then asked.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

pub(crate) struct Program {
    name: String,
    child: Child,
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    machine: String,
}

impl Program {
    /// Starts a program and waits for the line in which it says what it runs on.
    pub(crate) fn start(path: &Path, arguments: &[&str]) -> anyhow::Result<Self> {
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

    pub(crate) fn machine(&self) -> &str {
        &self.machine
    }

    /// The median time of a call of an operation, in nanoseconds.
    #[allow(dead_code, reason = "not every program that includes this file asks so")]
    pub(crate) fn measure(&mut self, operation: &str, calls: u32, batches: u32) -> anyhow::Result<f64> {
        self.ask(&format!("{operation} {calls} {batches}"))
    }

    /// The answer to a question, which is a time.
    pub(crate) fn ask(&mut self, question: &str) -> anyhow::Result<f64> {
        match self.ask_for_all(question)?[..] {
            [time] => Ok(time),
            ref times => bail!("{}, asked for {question}: {} times", self.name, times.len()),
        }
    }

    /// The answer to a question, which is times.
    pub(crate) fn ask_for_all(&mut self, question: &str) -> anyhow::Result<Vec<f64>> {
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

    /// Lets the program end, which must be in peace.
    pub(crate) fn end(self) -> anyhow::Result<()> {
        let Self { name, mut child, questions, .. } = self;
        drop(questions);
        let status = child.wait()?;
        ensure!(status.success(), "{name} failed at its end: {status}");
        Ok(())
    }
}
