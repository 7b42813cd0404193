//! Solves equations with cuSOLVER, and has it refuse a matrix.
//!
//! `recipe.rs` is the safe layer. Without cuSOLVER, the program is built and says so.
#![cfg_attr(cusolver, expect(unsafe_code, reason = "calls cuSOLVER"))]

#[path = "../shared.rs"]
mod shared;

/// The declarations of the header, by bindgen.
#[cfg(cusolver)]
mod raw {
    #![allow(missing_docs, non_camel_case_types, non_upper_case_globals, reason = "generated from C")]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    include!(concat!(env!("OUT_DIR"), "/cusolver.rs"));
}

#[cfg(cusolver)]
mod recipe;

#[cfg(not(cusolver))]
fn main() -> std::process::ExitCode {
    shared::not_run("no cuSOLVER")
}

#[cfg(cusolver)]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use cuda_safe::{DeviceBuffer, Stream};

    shared::on_gpu(|| {
        let n = 64;
        let stream = Stream::non_blocking()?;
        let mut solver = recipe::Solver::new()?;
        // 2 on the diagonal and -1 beside it. The sum of each row is 0, and 1 at both ends: x is all ones.
        let ends = |row: usize| row == 0 || row == usize::from(n) - 1;
        let element = |at: usize| match (at / usize::from(n)).abs_diff(at % usize::from(n)) {
            0 => 2.0_f32,
            1 => -1.0,
            _ => 0.0,
        };
        let a: Vec<f32> = (0..usize::from(n).pow(2)).map(element).collect();
        let b: Vec<f32> = (0..n.into()).map(|row| if ends(row) { 1.0 } else { 0.0 }).collect();
        let (mut d_a, mut d_b) = (DeviceBuffer::from_slice(&a)?, DeviceBuffer::from_slice(&b)?);
        solver.solve(n, &mut d_a.as_slice_mut(), &mut d_b.as_slice_mut(), &stream)?;
        let x = d_b.to_vec()?;
        anyhow::ensure!(x.iter().all(|it| (it - 1.0).abs() < 1e-3), "{x:?}");
        // A matrix that is not positive definite.
        let zeros = vec![0.0_f32; usize::from(n).pow(2)];
        let refused = solver.solve(
            n,
            &mut DeviceBuffer::from_slice(&zeros)?.as_slice_mut(),
            &mut d_b.as_slice_mut(),
            &stream,
        );
        let Err(error) = refused else { anyhow::bail!("a matrix of zeros was taken") };
        println!("cuSOLVER: {n} unknowns are all 1; zeros: {error}");
        Ok(())
    })
}
