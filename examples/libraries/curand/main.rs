//! Draws numbers with cuRAND, on two streams.
//!
//! `recipe.rs` is the safe layer. Without cuRAND, the program is built and says so.
#![cfg_attr(curand, expect(unsafe_code, reason = "calls cuRAND"))]

#[path = "../shared.rs"]
mod shared;

/// The declarations of the header, by bindgen.
#[cfg(curand)]
mod raw {
    #![allow(missing_docs, non_camel_case_types, non_upper_case_globals, reason = "generated from C")]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    include!(concat!(env!("OUT_DIR"), "/curand.rs"));
}

#[cfg(curand)]
mod recipe;

#[cfg(not(curand))]
fn main() -> std::process::ExitCode {
    shared::not_run("no cuRAND")
}

#[cfg(curand)]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use cuda_safe::{DeviceBuffer, Stream};

    shared::on_gpu(|| {
        let n = 1 << 20;
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let mut numbers = DeviceBuffer::<f32>::alloc(n)?;
        let mut all = Vec::new();
        for _ in 0..2 {
            let mut generator = recipe::Generator::new(42)?;
            let (mut low, mut high) = numbers.slice_mut(..)?.split_at_mut(n / 2)?;
            generator.uniform(&mut low, &first)?;
            generator.uniform(&mut high, &second)?; // waits for the first, because the state is one
            drop(generator);
            all.push(numbers.to_vec()?);
        }
        anyhow::ensure!(all[0] == all[1], "the same seed gave other numbers");
        anyhow::ensure!(all[0].iter().all(|it| 0.0 < *it && *it <= 1.0), "a number is outside of 0 to 1");
        let sum: f64 = all[0].iter().map(|it| f64::from(*it)).sum();
        let mean = sum / f64::from(1 << 20);
        anyhow::ensure!((mean - 0.5).abs() < 0.005, "the mean is {mean}");
        println!("cuRAND: {n} numbers, their mean is {mean:.2}, and the same seed gives the same");
        Ok(())
    })
}
