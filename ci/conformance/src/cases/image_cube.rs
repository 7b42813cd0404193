//! Cubemaps as kernels read them: the face that a direction meets, and filters over the edges of faces.

use cuda_sys::*;

use super::image::{ImageRead, Way, filled, floats, linear, normalized, read, texture};
use super::texture::{of_array, plain};
use crate::case::Cases;
use crate::log::{Log, Outcome, Setup};

/// A cube of faces of so many rows, whose elements are 100 times the face, 10 times the row, and the column.
fn cube(log: &mut Log, size: usize, cubes: usize) -> Result<cudaArray_t, Setup> {
    let element = |n: usize| 100 * (n / size / size) + 10 * (n / size % size) + n % size;
    let list: Vec<f32> = (0..size * size * 6 * cubes).map(|n| element(n) as f32).collect();
    let flags = cudaArrayCubemap | if cubes > 1 { cudaArrayLayered } else { 0 };
    filled(log, floats(), [size, size, 6 * cubes], flags, &list)
}

fn at(directions: &[[f32; 3]], layer: f32) -> Vec<ImageRead> {
    directions.iter().map(|at| ImageRead { at: *at, layer, ..Default::default() }).collect()
}

const AXES: [[f32; 3]; 6] =
    [[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, -1.0]];

/// Directions that two or three faces have in common, and some that are none.
fn ties() -> Vec<[f32; 3]> {
    let mut list = Vec::new();
    for x in [-1.0, 0.0, 1.0] {
        for y in [-1.0, 0.0, 1.0] {
            list.extend([-1.0, 0.0, 1.0].map(|z| [x, y, z]));
        }
    }
    list.extend([[f32::NAN, 1.0, 0.0], [f32::INFINITY, 1.0, 0.0], [1e-30, 1e-31, 0.0], [1e30, -1e30, 1e29]]);
    list
}

/// Directions near the edges and corners of all faces, and within.
fn around() -> Vec<[f32; 3]> {
    let mut list = Vec::new();
    for (axis, of) in AXES.iter().enumerate() {
        for (s, t) in
            [(0.0, 0.0), (0.3, -0.2), (0.9, 0.1), (-0.9, 0.3), (0.2, 0.95), (-0.4, -0.99), (0.8, 0.85)]
        {
            let mut direction = *of;
            let free: Vec<usize> = (0..3).filter(|n| *n != axis / 2).collect();
            (direction[free[0]], direction[free[1]]) = (s, t);
            list.push(direction);
        }
    }
    list
}

fn faces(log: &mut Log) -> Outcome {
    let image = of_array(cube(log, 4, 1)?);
    for (name, like) in [("by elements", plain()), ("normalized", normalized())] {
        let it = texture(log, image, like, None)?;
        read(log, &format!("{name}, axes"), it, Way::Cube, 1, &at(&AXES, 0.0))?;
        read(log, &format!("{name}, ties"), it, Way::Cube, 1, &at(&ties(), 0.0))?;
        read(log, &format!("{name}, around"), it, Way::Cube, 1, &at(&around(), 0.0))?;
    }
    let border =
        cudaTextureDesc { addressMode: [cudaAddressModeBorder; 3], borderColor: [-8.0; 4], ..normalized() };
    let it = texture(log, image, border, None)?;
    read(log, "border", it, Way::Cube, 1, &at(&around(), 0.0))
}

fn filtered(log: &mut Log, seamless: i32) -> Outcome {
    for size in [4, 2, 1] {
        let image = of_array(cube(log, size, 1)?);
        for (name, mode) in [
            ("clamp", cudaAddressModeClamp),
            ("wrap", cudaAddressModeWrap),
            ("border", cudaAddressModeBorder),
        ] {
            let like = cudaTextureDesc {
                addressMode: [mode; 3],
                borderColor: [-8.0; 4],
                seamlessCubemap: seamless,
                ..linear(normalized())
            };
            let it = texture(log, image, like, None)?;
            let mut steps = around();
            steps.extend(ties());
            read(log, &format!("{size} rows, {name}"), it, Way::Cube, 1, &at(&steps, 0.0))?;
        }
    }
    Ok(())
}

fn layers(log: &mut Log) -> Outcome {
    let image = of_array(cube(log, 2, 3)?);
    for (name, like) in [("nearest", normalized()), ("linear", linear(normalized()))] {
        let it = texture(log, image, like, None)?;
        for layer in [0.0, 1.0, 2.0, 3.0, 17.0, -1.0] {
            read(log, &format!("{name}, layer {layer}"), it, Way::Cubes, 1, &at(&AXES, layer))?;
        }
    }
    Ok(())
}

pub(super) fn add(cases: &mut Cases) {
    cases.add("cubemaps/the face of a direction", faces);
    cases.add("cubemaps/a filter over edges", |log| filtered(log, 0));
    cases.add("cubemaps/a filter over edges, seamless", |log| filtered(log, 1));
    cases.add("cubemaps/layers", layers);
}
