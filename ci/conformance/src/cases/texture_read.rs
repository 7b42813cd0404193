//! Texture reads of kernels: weights, edges, and values outside. And a surface access outside of its bounds.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::*;

use super::texture::{FLOAT, array, of_array, of_row, plain};
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup, ask, need};
use crate::memory::{Block, Kind};

unsafe extern "C" {
    fn case_texture();
    fn case_fetch();
    fn case_surface();
}

const ONE: dim3 = dim3 { x: 1, y: 1, z: 1 };

fn bytes<T: Copy>(list: &[T]) -> Vec<u8> {
    // SAFETY: so many bytes of numbers.
    unsafe { std::slice::from_raw_parts(list.as_ptr().cast::<u8>(), size_of_val(list)) }.to_vec()
}

/// The values that a kernel reads from a texture at these coordinates or indices, which have four bytes each.
fn read<T: Copy>(
    log: &mut Log,
    kernel: unsafe extern "C" fn(),
    texture: u64,
    at: &[T],
) -> Result<Vec<f32>, Setup> {
    const { assert!(size_of::<T>() == 4) };
    let from = Block::with(log, Kind::Device, &bytes(at))?;
    let to = Block::new(log, Kind::Device, 4 * at.len())?;
    let (mut texture, mut from, mut out, mut count) = (texture, from.ptr(), to.ptr(), at.len() as u32);
    let mut arguments: [*mut c_void; 4] =
        [(&raw mut texture).cast(), (&raw mut from).cast(), (&raw mut out).cast(), (&raw mut count).cast()];
    let (block, on) = (dim3 { x: 128, ..ONE }, ptr::null_mut());
    need!(log, cudaLaunchKernel(kernel as *const c_void, ONE, block, arguments.as_mut_ptr(), 0, on));
    let mut found = vec![0.0_f32; at.len()];
    let (host, size) = (found.as_mut_ptr().cast(), 4 * at.len());
    need!(log, cudaMemcpy(host, out.cast_const(), size, cudaMemcpyDeviceToHost));
    Ok(found)
}

/// A texture of 4 numbers.
fn line(log: &mut Log, numbers: [f32; 4], like: cudaTextureDesc) -> Result<u64, Setup> {
    let line = array(log, FLOAT, [4, 0], 0)?;
    let (from, way) = (numbers.as_ptr().cast(), cudaMemcpyHostToDevice);
    need!(log, cudaMemcpy2DToArray(line, 0, 0, from, 16, 16, 1, way));
    let (image, mut made) = (of_array(line), 0);
    need!(log, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, ptr::null()));
    Ok(made)
}

fn note(log: &mut Log, name: &str, found: &[f32]) {
    log.fact(name, format_args!("{found:?}"));
}

fn lines(log: &mut Log) -> Outcome {
    let numbers = [0.0, 10.0, 20.0, 30.0];
    let linear = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..plain() };
    let edges: [f32; 12] = [-1e9, -1.0, -0.25, 0.0, 0.25, 0.999, 1.0, 3.75, 4.0, 4.25, 5.0, 1e9];
    let found = line(log, numbers, plain()).and_then(|it| read(log, case_texture, it, &edges))?;
    note(log, "nearest", &found);
    let found = line(log, numbers, linear).and_then(|it| read(log, case_texture, it, &edges))?;
    note(log, "linear", &found);
    let around: [f32; 10] = [-1.125, -0.625, -0.125, 0.0, 0.125, 0.9375, 1.0, 1.125, 1.625, 2.125];
    for (name, mode) in [
        ("wrap", cudaAddressModeWrap),
        ("mirror", cudaAddressModeMirror),
        ("border", cudaAddressModeBorder),
        ("clamp", cudaAddressModeClamp),
    ] {
        let like = cudaTextureDesc {
            addressMode: [mode; 3],
            normalizedCoords: 1,
            borderColor: [-8.0, 0.0, 0.0, 0.0],
            ..plain()
        };
        let found = line(log, numbers, like).and_then(|it| read(log, case_texture, it, &around))?;
        note(log, name, &found);
        let like = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..like };
        let found = line(log, numbers, like).and_then(|it| read(log, case_texture, it, &around))?;
        note(log, &format!("{name}, linear"), &found);
    }
    Ok(())
}

/// The weights of a linear filter: in 256ths, at coordinates between two elements that are 0 and 256.
fn weights(log: &mut Log) -> Outcome {
    let linear = cudaTextureDesc { filterMode: cudaFilterModeLinear, ..plain() };
    let steps =
        [0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0, 1.25, 1.5, 1.75, 2.0, 127.5, 255.5, 255.875];
    let at = steps.map(|step: f32| 1.5 + step / 256.0);
    let found =
        line(log, [0.0, 0.0, 256.0, 256.0], linear).and_then(|it| read(log, case_texture, it, &at))?;
    note(log, "weights", &found);
    Ok(())
}

fn numbers(log: &mut Log) -> Outcome {
    let row = Block::with(log, Kind::Device, &bytes(&[1.5_f32, 2.5, 3.5]))?;
    let (image, like, mut made) = (of_row(row.ptr(), 12), plain(), 0);
    need!(log, cudaCreateTextureObject(&raw mut made, &raw const image, &raw const like, ptr::null()));
    let found = read(log, case_fetch, made, &[0, 2, 3, -1, i32::MAX, i32::MIN])?;
    note(log, "found", &found);
    Ok(())
}

/// Reads a surface of four numbers at byte `x`, where kernels trap outside.
fn surface(log: &mut Log, x: i32) -> Outcome {
    let line = array(log, FLOAT, [4, 0], cudaArraySurfaceLoadStore)?;
    let (image, mut made) = (of_array(line), 0);
    need!(log, cudaCreateSurfaceObject(&raw mut made, &raw const image));
    let (mut x, mut out) = (x, Block::new(log, Kind::Device, 4)?.ptr());
    let mut arguments: [*mut c_void; 3] =
        [(&raw mut made).cast(), (&raw mut x).cast(), (&raw mut out).cast()];
    let (kernel, on) = (case_surface as *const c_void, ptr::null_mut());
    ask!(log, cudaLaunchKernel(kernel, ONE, ONE, arguments.as_mut_ptr(), 0, on));
    ask!(log, cudaDeviceSynchronize());
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cudaCreateTextureObject/what a kernel reads at edges and beyond", lines);
    cases.add("cudaCreateTextureObject/the weights of a linear filter", weights);
    cases.add("cudaCreateTextureObject/elements by number, and beyond", numbers);
    for (what, x) in
        [("inside", 12), ("behind the end", 16), ("before the start", -4), ("between elements", 2)]
    {
        let id = format!("cudaCreateSurfaceObject/a kernel that traps reads {what}");
        cases.add(id, move |log| surface(log, x)).alone();
    }
}
