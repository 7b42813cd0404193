//! Multiplies a sparse matrix with cuSPARSE, on two streams.
//!
//! `recipe.rs` is the safe layer. Without cuSPARSE, the program is built and says so.
#![cfg_attr(cusparse, expect(unsafe_code, reason = "calls cuSPARSE"))]

#[path = "../shared.rs"]
mod shared;

/// The declarations of the header, by bindgen.
#[cfg(cusparse)]
mod raw {
    #![allow(missing_docs, non_camel_case_types, non_upper_case_globals, reason = "generated from C")]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    include!(concat!(env!("OUT_DIR"), "/cusparse.rs"));
}

#[cfg(cusparse)]
mod recipe;

#[cfg(not(cusparse))]
fn main() -> std::process::ExitCode {
    shared::not_run("no cuSPARSE")
}

#[cfg(cusparse)]
fn main() -> anyhow::Result<std::process::ExitCode> {
    use cuda_safe::{DeviceBuffer, Stream};

    shared::on_gpu(|| {
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let mut sparse = recipe::Sparse::new()?;
        // [1 0 2]
        // [0 3 0]
        // [0 0 0]
        let matrix = recipe::Matrix::new(3, &[0, 2, 3, 3], &[0, 2, 1], &[1.0, 2.0, 3.0])?;
        let d_x = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0])?;
        let (mut d_y, mut d_z) = (DeviceBuffer::<f32>::alloc(3)?, DeviceBuffer::<f32>::alloc(3)?);
        sparse.multiply(&matrix, &d_x.as_slice(), &mut d_y.as_slice_mut(), &first)?;
        sparse.multiply(&matrix, &d_y.as_slice(), &mut d_z.as_slice_mut(), &second)?; // waits for the first
        let (y, z) = (d_y.to_vec()?, d_z.to_vec()?);
        anyhow::ensure!(y == [7.0, 6.0, 0.0] && z == [7.0, 18.0, 0.0], "{y:?}, {z:?}");
        let refused = recipe::Matrix::new(3, &[0, 1], &[3], &[1.0]).err();
        println!("cuSPARSE: {y:?}, {z:?}; column 3: {}", refused.map_or(String::new(), |it| it.to_string()));
        Ok(())
    })
}
