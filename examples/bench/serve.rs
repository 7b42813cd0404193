//! A measuring program that answers questions: the other side of [`program`](super::program). `serve.cuh`
//! is the same in C++.

use std::io::{Write as _, stdin, stdout};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use cuda_safe::device::{driver_version, runtime_version};
use cuda_safe::{Device, Result};

use super::interval::median;

/// The size of the measurement for one answer.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    device: Device,
    /// The calls of a batch.
    pub calls: u32,
    /// The batches that count. One more comes before them.
    pub batches: u32,
}

impl Plan {
    /// Returns the nanoseconds of one of many calls.
    ///
    /// # Errors
    /// Those of `call`.
    pub fn time(&self, mut call: impl FnMut() -> Result<()>) -> Result<f64> {
        self.time_batches(self.calls, || {
            let start = Instant::now();
            for _ in 0..self.calls {
                call()?;
            }
            Ok(start.elapsed())
        })
    }

    /// Returns the nanoseconds of one of the operations of a batch, which measures itself. The device is
    /// idle before each batch.
    ///
    /// # Errors
    /// Those of `batch`.
    pub fn time_batches(&self, operations: u32, mut batch: impl FnMut() -> Result<Duration>) -> Result<f64> {
        let mut times = Vec::new();
        for at in 0..=self.batches {
            self.device.synchronize()?;
            let spent = batch()?;
            if at > 0 {
                times.push(spent.as_secs_f64() * 1e9 / f64::from(operations));
            }
        }
        self.device.synchronize()?;
        Ok(median(&times))
    }
}

/// Prints a description of the machine. Then answers every line `OPERATION CALLS BATCHES` of standard input
/// with the nanoseconds that `measure` returns, or `None` if there is no such operation.
///
/// # Errors
/// Those of `measure`, and a line that is not a question.
pub fn serve(
    device: Device,
    mut measure: impl FnMut(&str, Plan) -> anyhow::Result<Option<f64>>,
) -> anyhow::Result<()> {
    let (runtime, driver) = (runtime_version()?, driver_version()?);
    println!("{}; runtime {runtime}, driver for {driver}", device.properties()?.name());
    for line in stdin().lines() {
        let line = line?;
        let words: Vec<&str> = line.split_whitespace().collect();
        let [operation, calls, batches] = words[..] else { bail!("not OPERATION CALLS BATCHES: {line}") };
        let plan = Plan { device, calls: calls.parse()?, batches: batches.parse()? };
        ensure!(plan.calls > 0 && plan.batches > 0, "nothing to measure: {line}");
        println!("{}", measure(operation, plan)?.with_context(|| format!("no operation {operation}"))?);
        stdout().flush()?;
    }
    Ok(())
}
