//! Transforms an impulse with cuFFT, on two streams.
//!
//! `recipe.rs` is the safe layer. Without cuFFT, the program is built and says so.
#![cfg_attr(cufft, expect(unsafe_code, reason = "calls cuFFT"))]

#[path = "../shared.rs"]
mod shared;

/// The declarations of the header, by bindgen.
#[cfg(cufft)]
mod raw {
    #![allow(missing_docs, non_camel_case_types, non_upper_case_globals, reason = "generated from C")]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    include!(concat!(env!("OUT_DIR"), "/cufft.rs"));
}

#[cfg(cufft)]
mod recipe;

#[cfg(not(cufft))]
fn main() -> std::process::ExitCode {
    shared::not_run("no cuFFT")
}

#[cfg(cufft)]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use cuda_safe::{DeviceBuffer, Stream};

    shared::on_gpu(|| {
        let n = 1024;
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let mut plan = recipe::Plan::new(n)?;
        // An impulse has the same share of each frequency, and the transform of that is an impulse.
        let mut impulse = vec![[0.0_f32, 0.0]; n.into()];
        impulse[0] = [1.0, 0.0];
        let d_x = DeviceBuffer::from_slice(&impulse)?;
        let mut d_y = DeviceBuffer::<[f32; 2]>::alloc(n.into())?;
        let mut d_z = DeviceBuffer::<[f32; 2]>::alloc(n.into())?;
        plan.forward(&d_x.as_slice(), &mut d_y.as_slice_mut(), &first)?;
        plan.forward(&d_y.as_slice(), &mut d_z.as_slice_mut(), &second)?; // waits for the first
        anyhow::ensure!(d_y.to_vec()?.iter().all(|it| *it == [1.0, 0.0]), "the first transform is wrong");
        let z = d_z.to_vec()?;
        anyhow::ensure!(z[0] == [f32::from(n), 0.0] && z[1..].iter().all(|it| *it == [0.0; 2]), "{z:?}");
        println!("cuFFT: an impulse, {n} equal frequencies, an impulse of {}", z[0][0]);
        Ok(())
    })
}
