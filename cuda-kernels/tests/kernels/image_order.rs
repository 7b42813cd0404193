//! Textures and surfaces of one image on several streams: the tracker orders conflicting accesses and
//! nothing else.
#![expect(unsafe_code, reason = "launches kernels without their safe functions")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_kernels::{kernels, paint_gradient, rotate};
use cuda_safe::memory::{Array, Plane};
use cuda_safe::texture::{Surface, Texture, TextureDesc};
use cuda_safe::{DeviceBuffer, Result, Stream, hazard, launch, memcpy_2d, memcpy_2d_async};
use cuda_testing::alone;
use cuda_testing::images::{gradient, image};

#[test]
fn a_write_of_the_array_and_a_read_by_the_texture_on_another_stream_are_ordered() -> Result<()> {
    let _alone = alone();
    let (writer, reader) = (Stream::new()?, Stream::new()?);
    let (width, height) = (64, 64);
    let mut image = Array::alloc_2d(width, height)?;
    memcpy_2d(&mut image, &Plane::from_slice(&vec![0.0_f32; width * height], width, height)?)?;
    let texture = Texture::new(&image, &TextureDesc::default())?;
    let ones = DeviceBuffer::from_slice(&vec![1.0_f32; width * height])?;
    let twos = DeviceBuffer::from_slice(&vec![2.0_f32; width * height])?;
    let mut outs = [DeviceBuffer::<f32>::alloc(width * height)?, DeviceBuffer::alloc(width * height)?];
    let before = hazard::added_waits();
    memcpy_2d_async(&mut image, &ones.plane(width, height)?, &writer)?;
    let [first, second] = &mut outs;
    rotate(&texture, &mut *first, [64, 64], 0.0, &reader)?;
    // In the other direction, this write waits for that read.
    memcpy_2d_async(&mut image, &twos.plane(width, height)?, &writer)?;
    assert_eq!(hazard::added_waits(), before + 2, "a write and a read, a read and a write");
    rotate(&texture, &mut *second, [64, 64], 0.0, &reader)?;
    assert_eq!(first.to_vec()?, vec![1.0; width * height]);
    assert_eq!(second.to_vec()?, vec![2.0; width * height]);
    Ok(())
}

#[test]
fn kernels_copies_and_textures_of_one_image_are_ordered_over_streams() -> Result<()> {
    let _alone = alone();
    let (painter, other) = (Stream::new()?, Stream::new()?);
    let mut image = image(16, 16)?;
    let mut surface = Surface::new(&image)?;
    let texture = Texture::new(&image, &TextureDesc::default())?;
    let zeros = DeviceBuffer::from_slice(&[0.0_f32; 256])?;
    let mut out = DeviceBuffer::<f32>::alloc(256)?;
    memcpy_2d_async(&mut image, &zeros.plane(16, 16)?, &other)?;
    let before = hazard::added_waits();
    paint_gradient(&mut surface, [16, 16], [1.0, 10.0], &painter)?;
    assert_eq!(hazard::added_waits(), before + 1, "the painter waits for the copy");
    rotate(&texture, &mut out, [16, 16], 0.0, &other)?;
    assert_eq!(hazard::added_waits(), before + 2, "the texture waits for the painter");
    let kernel = &kernels::probe_surface_increment;
    launch!(kernel<<<(2, 2), (8, 8), 0, &painter>>>(&mut surface, 16, 16))?;
    assert_eq!(hazard::added_waits(), before + 3, "the painter waits for the texture");
    assert_eq!(out.to_vec()?, gradient(16, 16));
    let more: Vec<f32> = gradient(16, 16).into_iter().map(|it| it + 1.0).collect();
    assert_eq!(image.to_vec()?, more);
    Ok(())
}

#[test]
fn kernels_that_only_read_a_surface_run_beside_each_other() -> Result<()> {
    let _alone = alone();
    let (first, second) = (Stream::new()?, Stream::new()?);
    let from = image(4, 4)?;
    let mut surface = Surface::new(&from)?;
    paint_gradient(&mut surface, [4, 4], [1.0, 10.0], &first)?;
    first.synchronize()?;
    let arrays = [image(4, 4)?, image(4, 4)?];
    let before = hazard::added_waits();
    for (array, stream) in arrays.iter().zip([&first, &second]) {
        let kernel = &kernels::probe_surface_copy;
        // SAFETY: the kernel reads one and writes the other, within images of this size.
        unsafe {
            launch!(kernel.unchecked()<<<1, (8, 8), 0, stream>>>(surface.read_only(), &mut Surface::new(array)?, 4, 4))
        }?;
    }
    assert_eq!(hazard::added_waits(), before);
    for array in &arrays {
        assert_eq!(array.to_vec()?, gradient(4, 4));
    }
    Ok(())
}
