//! Kernels that write and read surfaces: the contents of the array, accesses outside of it, and the
//! order.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_kernels::{kernels, paint_gradient};
use cuda_safe::memory::{ArrayBuilder, Plane};
use cuda_safe::texture::Surface;
use cuda_safe::{DeviceBuffer, Result, Stream, launch, memcpy_2d};
use cuda_testing::alone;
use cuda_testing::images::{gradient, image};

#[test]
fn what_a_kernel_paints_is_in_the_array() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let image = image(33, 18)?;
    let mut surface = Surface::new(&image)?;
    paint_gradient(&mut surface, [33, 18], [1.0, 10.0], &stream)?;
    assert_eq!(image.to_vec()?, gradient(33, 18));
    Ok(())
}

#[test]
fn a_part_of_an_image_may_be_painted_and_no_more_than_all_of_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut image = image(4, 2)?;
    memcpy_2d(&mut image, &Plane::from_slice(&[9.0_f32; 8], 4, 2)?)?;
    let mut surface = Surface::new(&image)?;
    paint_gradient(&mut surface, [2, 1], [1.0, 10.0], &stream)?;
    assert_eq!(image.to_vec()?, [0.0, 1.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]);
    let error = paint_gradient(&mut surface, [5, 1], [1.0, 10.0], &stream).unwrap_err();
    assert!(error.detail().as_str().contains("is 5, at most 4 is"), "{error}");
    let error = paint_gradient(&mut surface, [1, 3], [1.0, 10.0], &stream).unwrap_err();
    assert!(error.detail().as_str().contains("is 3, at most 2 is"), "{error}");
    let solid = ArrayBuilder::volume(4, 4, 4).surface().alloc::<f32>()?;
    let error = paint_gradient(&mut Surface::new(&solid)?, [1, 1], [1.0, 10.0], &stream).unwrap_err();
    assert!(error.detail().as_str().contains("there is no "), "{error}");
    Ok(())
}

#[test]
fn solids_layers_and_elements_of_several_numbers_are_written_as_well() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut expected = Vec::new();
    for (z, (y, x)) in
        (0_u8..2).flat_map(|z| (0_u8..3).flat_map(move |y| (0_u8..4).map(move |x| (z, (y, x)))))
    {
        expected.push(100.0 * f32::from(z) + 10.0 * f32::from(y) + f32::from(x));
    }
    let solid = ArrayBuilder::volume(4, 3, 2).surface().alloc::<f32>()?;
    let layers = ArrayBuilder::plane(4, 3).layers(2).surface().alloc::<f32>()?;
    let (mut first, mut second) = (Surface::new(&solid)?, Surface::new(&layers)?);
    let kernel = &kernels::probe_surface_solid;
    launch!(kernel<<<1, (8, 8), 0, &stream>>>(&mut first, 4, 3, 2))?;
    let kernel = &kernels::probe_surface_layers;
    launch!(kernel<<<1, (8, 8), 0, &stream>>>(&mut second, 4, 3, 2))?;
    assert_eq!(solid.to_vec()?, expected);
    assert_eq!(layers.to_vec()?, expected);

    let pixels = ArrayBuilder::plane(2, 2).surface().alloc::<[u8; 4]>()?;
    let kernel = &kernels::probe_surface_bytes;
    launch!(kernel<<<1, (8, 8), 0, &stream>>>(&mut Surface::new(&pixels)?, 2, 2))?;
    assert_eq!(pixels.to_vec()?, [[0, 0, 7, 255], [1, 0, 7, 255], [0, 1, 7, 255], [1, 1, 7, 255]]);
    Ok(())
}

#[test]
fn outside_of_the_image_nothing_is_written_and_zeros_or_the_edge_are_read() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut image = image(3, 2)?;
    memcpy_2d(&mut image, &Plane::from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0_f32], 3, 2)?)?;
    let mut surface = Surface::new(&image)?;
    let (x, y) = (DeviceBuffer::from_slice(&[-1, 3, 0, 1])?, DeviceBuffer::from_slice(&[0, 1, 2, 0])?);
    let mut out = DeviceBuffer::<f32>::alloc(8)?;
    let kernel = &kernels::probe_surface_outside;
    launch!(kernel<<<1, 32, 0, &stream>>>(&mut surface, &x, &y, &mut out, 4))?;
    assert_eq!(out.to_vec()?, [0.0, 0.0, 0.0, 2.0, 1.0, 6.0, 4.0, 2.0]);
    assert_eq!(image.to_vec()?, [1.0, -1.0, 3.0, 4.0, 5.0, 6.0]);
    Ok(())
}

#[test]
fn a_level_of_a_mipmapped_array_is_an_image_too() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut levels = ArrayBuilder::plane(8, 8).surface().mipmapped::<f32>(2)?;
    memcpy_2d(&mut levels.level_mut(0)?, &Plane::from_slice(&[5.0_f32; 64], 8, 8)?)?;
    let mut surface = Surface::new(&levels.level(1)?)?;
    assert_eq!(surface.extent(), [4, 4, 1]);
    paint_gradient(&mut surface, [4, 4], [1.0, 10.0], &stream)?;
    assert_eq!(levels.level(1)?.to_vec()?, gradient(4, 4));
    assert_eq!(levels.level(0)?.to_vec()?, [5.0; 64]);
    Ok(())
}

#[test]
fn a_graph_keeps_the_surfaces_that_its_kernels_write() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let image = image(8, 8)?;
    let mut surface = Surface::new(&image)?;
    let graph = stream.capture(|s| paint_gradient(&mut surface, [8, 8], [1.0, 10.0], s))?;
    surface.destroy()?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(image.to_vec()?, gradient(8, 8));
    Ok(())
}
