//! Kernels that read textures: the values at, between and beyond the elements, and the order.
#![expect(unsafe_code, reason = "launches kernels without their safe functions")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use approx::assert_relative_eq;
use cuda_kernels::{kernels, rotate};
use cuda_safe::graph::node;
use cuda_safe::launch::{Kernel, LaunchConfig, TextureObject};
use cuda_safe::memory::{Array, ArrayBuilder, ArrayElement, Plane, Volume};
use cuda_safe::texture::{AddressMode, FilterMode, ReadMode, ResourceView, Texture, TextureDesc};
use cuda_safe::{DeviceBuffer, Result, Stream, launch, memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d};
use cuda_safe::{PinnedBuffer, PitchedBuffer};
use cuda_testing::alone;

const NEAREST: TextureDesc = TextureDesc {
    address_mode: [AddressMode::Clamp; 3],
    filter_mode: FilterMode::Point,
    read_mode: ReadMode::ElementType,
    srgb: false,
    border_color: [0.0; 4],
    normalized_coords: false,
    max_anisotropy: 0,
    mipmap_filter_mode: FilterMode::Point,
    mipmap_level_bias: 0.0,
    min_mipmap_level_clamp: 0.0,
    max_mipmap_level_clamp: 0.0,
    disable_trilinear_optimization: false,
    seamless_cubemap: false,
};

fn mode(mode: AddressMode) -> TextureDesc {
    TextureDesc { address_mode: [mode; 3], ..NEAREST }
}

fn linear(desc: TextureDesc) -> TextureDesc {
    TextureDesc { filter_mode: FilterMode::Linear, ..desc }
}

fn normalized(desc: TextureDesc) -> TextureDesc {
    TextureDesc { normalized_coords: true, ..desc }
}

type Reads = Kernel<(TextureObject, *const f32, *mut f32, u32)>;

/// Returns the values that a kernel of one coordinate reads at these positions.
fn read<T: ArrayElement>(kernel: &Reads, texture: &Texture<T>, at: &[f32]) -> Result<Vec<f32>> {
    let stream = Stream::new()?;
    let (at, mut out) = (DeviceBuffer::from_slice(at)?, DeviceBuffer::alloc(at.len())?);
    let count = u32::try_from(at.len()).unwrap();
    // SAFETY: the kernel reads the texture, and as many elements as there are.
    unsafe { launch!(kernel<<<count.div_ceil(64), 64, 0, &stream>>>(texture, &at, &mut out, count)) }?;
    out.to_vec()
}

/// Makes a line of the numbers 0, 10, 20 and 30.
fn line() -> Result<Array<f32>> {
    let mut line = Array::alloc_1d(4)?;
    memcpy_2d(&mut line, &Plane::from_slice(&[0.0, 10.0, 20.0, 30.0], 4, 1)?)?;
    Ok(line)
}

/// Returns the elements `10 row + column`.
fn plane(width: usize, height: usize) -> Vec<f32> {
    let number = |at: usize| f32::from(u16::try_from(10 * (at / width) + at % width).unwrap());
    (0..width * height).map(number).collect()
}

#[test]
fn the_nearest_element_is_that_of_the_whole_number_below() -> Result<()> {
    let _alone = alone();
    let texture = Texture::new(&line()?, &NEAREST)?;
    let found = read(&kernels::probe_line, &texture, &[-7.0, 0.0, 0.9, 1.0, 2.5, 3.9, 4.0, 1e9])?;
    assert_eq!(found, [0.0, 0.0, 0.0, 10.0, 20.0, 30.0, 30.0, 30.0]);
    Ok(())
}

#[test]
fn outside_of_the_image_is_what_the_address_mode_says() -> Result<()> {
    let _alone = alone();
    let line = line()?;
    let border = TextureDesc { border_color: [-5.0, 0.0, 0.0, 0.0], ..mode(AddressMode::Border) };
    let texture = Texture::new(&line, &border)?;
    assert_eq!(read(&kernels::probe_line, &texture, &[-0.1, 0.0, 3.9, 4.0])?, [-5.0, 0.0, 30.0, -5.0]);

    let texture = Texture::new(&line, &normalized(mode(AddressMode::Wrap)))?;
    let at = [-0.125, 0.125, 0.875, 1.125, 2.625];
    assert_eq!(read(&kernels::probe_line, &texture, &at)?, [30.0, 0.0, 30.0, 0.0, 20.0]);

    let texture = Texture::new(&line, &normalized(mode(AddressMode::Mirror)))?;
    let at = [-0.125, -0.375, 0.875, 1.125, 1.875, 2.125];
    assert_eq!(read(&kernels::probe_line, &texture, &at)?, [0.0, 10.0, 30.0, 30.0, 0.0, 0.0]);

    let texture = Texture::new(&line, &normalized(NEAREST))?;
    assert_eq!(read(&kernels::probe_line, &texture, &[-1.0, 0.3, 1.0, 5.0])?, [0.0, 10.0, 30.0, 30.0]);
    Ok(())
}

#[test]
fn between_the_middles_of_elements_a_linear_filter_gives_a_mean() -> Result<()> {
    let _alone = alone();
    let line = line()?;
    let texture = Texture::new(&line, &linear(NEAREST))?;
    let found = read(&kernels::probe_line, &texture, &[0.5, 1.0, 1.75, 3.5, 0.0, 9.0])?;
    // The filter's weights have 8 bits.
    assert_relative_eq!(found[..], [0.0, 5.0, 12.5, 30.0, 0.0, 30.0][..], epsilon = 30.0 / 256.0);
    let border = TextureDesc { border_color: [100.0, 0.0, 0.0, 0.0], ..mode(AddressMode::Border) };
    let texture = Texture::new(&line, &linear(border))?;
    let found = read(&kernels::probe_line, &texture, &[0.0, 4.0, -1.0])?;
    // A read of a line is always half border: devices treat the line as the only row of a plane and read
    // at its edge, where the previous row counts as much. So 50 and 65, the means along the line, are
    // averaged with 100 again.
    assert_relative_eq!(found[..], [75.0, 82.5, 100.0][..], epsilon = 1.0);
    // A repeated image continues at its other end.
    let texture = Texture::new(&line, &linear(normalized(mode(AddressMode::Wrap))))?;
    let found = read(&kernels::probe_line, &texture, &[0.0, 1.0, 0.375])?;
    assert_relative_eq!(found[..], [15.0, 15.0, 10.0][..], epsilon = 0.25);
    Ok(())
}

#[test]
fn planes_are_filtered_in_both_directions_whether_of_an_array_or_of_rows_with_a_pitch() -> Result<()> {
    let _alone = alone();
    let numbers = plane(5, 4);
    let mut array = Array::alloc_2d(5, 4)?;
    let mut rows = PitchedBuffer::alloc(5, 4)?;
    memcpy_2d(&mut array, &Plane::from_slice(&numbers, 5, 4)?)?;
    memcpy_2d(&mut rows, &Plane::from_slice(&numbers, 5, 4)?)?;
    let desc = linear(NEAREST);
    for texture in [Texture::new(&array, &desc)?, Texture::new(&rows, &desc)?] {
        let stream = Stream::new()?;
        let x = DeviceBuffer::from_slice(&[0.5_f32, 1.5, 2.0, 4.5, 4.5])?;
        let y = DeviceBuffer::from_slice(&[0.5_f32, 2.5, 1.0, 3.5, 2.0])?;
        let mut out = DeviceBuffer::alloc(5)?;
        let kernel = &kernels::probe_plane;
        launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &x, &y, &mut out, 5))?;
        assert_relative_eq!(out.to_vec()?[..], [0.0, 21.0, 6.5, 34.0, 19.0][..], epsilon = 0.2);
    }
    Ok(())
}

#[test]
fn solids_are_filtered_in_all_directions_and_layers_stand_for_themselves() -> Result<()> {
    let _alone = alone();
    let numbers: Vec<f32> = (0_u8..27).map(f32::from).collect();
    let volume = Volume::from_slice(&numbers, 3, 3, 3)?;
    let mut solid = Array::alloc_3d(3, 3, 3)?;
    memcpy_3d(&mut solid, &volume)?;
    let texture = Texture::new(&solid, &linear(NEAREST))?;
    let found = read(&kernels::probe_solid, &texture, &[0.5, 1.5, 1.0, 2.5, -3.0])?;
    assert_relative_eq!(found[..], [0.0, 13.0, 6.5, 26.0, 0.0][..], epsilon = 0.2);

    let stream = Stream::new()?;
    let mut layers = ArrayBuilder::plane(3, 3).layers(3).alloc::<f32>()?;
    memcpy_3d(&mut layers, &volume)?;
    let texture = Texture::new(&layers, &NEAREST)?;
    let (at, layer) =
        (DeviceBuffer::from_slice(&[0.5_f32, 1.5, 2.5])?, DeviceBuffer::from_slice(&[0, 2, 1])?);
    let mut out = DeviceBuffer::alloc(3)?;
    let kernel = &kernels::probe_layers;
    launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &at, &layer, &mut out, 3))?;
    assert_eq!(out.to_vec()?, [0.0, 22.0, 17.0]);

    let mut lines = ArrayBuilder::line(3).layers(3).alloc::<f32>()?;
    memcpy_3d(&mut lines, &Volume::from_slice(&numbers[..9], 3, 1, 3)?)?;
    let texture = Texture::new(&lines, &NEAREST)?;
    let kernel = &kernels::probe_lines;
    launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &at, &layer, &mut out, 3))?;
    assert_eq!(out.to_vec()?, [0.0, 7.0, 5.0]);
    Ok(())
}

#[test]
fn a_texture_of_levels_reads_the_level_that_the_kernel_names_within_the_view() -> Result<()> {
    let _alone = alone();
    let mut image = ArrayBuilder::plane(8, 8).mipmapped::<f32>(3)?;
    for (level, size, number) in [(0, 8, 0.0), (1, 4, 256.0), (2, 2, 512.0)] {
        let numbers = vec![number; size * size];
        memcpy_2d(&mut image.level_mut(level)?, &Plane::from_slice(&numbers, size, size)?)?;
    }
    let desc = TextureDesc { max_mipmap_level_clamp: 2.0, ..normalized(NEAREST) };
    let texture = Texture::new(&image, &desc)?;
    assert_eq!(read(&kernels::probe_levels, &texture, &[0.0, 1.25, 2.0, 9.0])?, [0.0, 256.0, 512.0, 512.0]);
    let texture = Texture::new(&image, &TextureDesc { mipmap_filter_mode: FilterMode::Linear, ..desc })?;
    assert_eq!(read(&kernels::probe_levels, &texture, &[0.5, 1.0, 1.75])?, [128.0, 256.0, 448.0]);
    let view = ResourceView { first_mipmap_level: 1, last_mipmap_level: 1, ..ResourceView::default() };
    let texture = Texture::with_view(&image, &desc, &view)?;
    assert_eq!(read(&kernels::probe_levels, &texture, &[0.0, 2.0])?, [256.0, 256.0]);
    Ok(())
}

#[test]
fn linear_memory_is_read_by_the_number_of_the_element_and_is_zero_outside() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let numbers = DeviceBuffer::from_slice(&[1.5_f32, 2.5, 3.5])?;
    let texture = Texture::new(&numbers, &NEAREST)?;
    let (at, mut out) = (DeviceBuffer::from_slice(&[2, 0, 3, -1])?, DeviceBuffer::alloc(4)?);
    let kernel = &kernels::probe_numbered;
    launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &at, &mut out, 4))?;
    assert_eq!(out.to_vec()?, [3.5, 1.5, 0.0, 0.0]);
    Ok(())
}

#[test]
fn integers_come_as_they_are_or_as_fractions_of_the_largest() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (at, mut out) = (DeviceBuffer::from_slice(&[0.5_f32, 1.5])?, DeviceBuffer::<u32>::alloc(8)?);
    let mut pixels = Array::<[u8; 4]>::alloc_2d(2, 2)?;
    let colours = [[1, 2, 3, 4], [0; 4], [0; 4], [255, 128, 0, 7]];
    memcpy_2d(&mut pixels, &Plane::from_slice(&colours, 2, 2)?)?;
    let texture = Texture::new(&pixels, &NEAREST)?;
    let kernel = &kernels::probe_bytes;
    launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &at, &mut out, 2))?;
    assert_eq!(out.to_vec()?, [1, 2, 3, 4, 255, 128, 0, 7]);

    let mut signed = Array::<i16>::alloc_2d(2, 2)?;
    memcpy_2d(&mut signed, &Plane::from_slice(&[-300_i16, 0, 0, 32_767], 2, 2)?)?;
    let texture = Texture::new(&signed, &NEAREST)?;
    let mut out = DeviceBuffer::<i32>::alloc(2)?;
    let kernel = &kernels::probe_integers;
    launch!(kernel<<<1, 32, 0, &stream>>>(&texture, &at, &mut out, 2))?;
    assert_eq!(out.to_vec()?, [-300, 32_767]);

    let fractions = TextureDesc { read_mode: ReadMode::NormalizedFloat, ..NEAREST };
    let mut bytes = Array::<u8>::alloc_1d(4)?;
    memcpy_2d(&mut bytes, &Plane::from_slice(&[0_u8, 51, 255, 102], 4, 1)?)?;
    let texture = Texture::new(&bytes, &fractions)?;
    let found = read(&kernels::probe_line, &texture, &[0.5, 1.5, 2.5, 3.5])?;
    assert_relative_eq!(found[..], [0.0, 0.2, 1.0, 0.4][..], epsilon = 1e-6);
    let texture = Texture::new(&bytes, &linear(fractions))?;
    let found = read(&kernels::probe_line, &texture, &[1.0, 2.0])?;
    assert_relative_eq!(found[..], [0.1, 0.6][..], epsilon = 0.01);
    let mut signed = Array::<i16>::alloc_1d(2)?;
    memcpy_2d(&mut signed, &Plane::from_slice(&[-32_767_i16, 16_384], 2, 1)?)?;
    let texture = Texture::new(&signed, &fractions)?;
    let found = read(&kernels::probe_line, &texture, &[0.5, 1.5])?;
    assert_relative_eq!(found[..], [-1.0, 0.500_015][..], epsilon = 1e-5);
    Ok(())
}

#[test]
fn a_turn_by_nothing_changes_nothing_and_half_a_turn_reverses_the_image() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let numbers = plane(33, 20);
    let mut image = Array::alloc_2d(33, 20)?;
    memcpy_2d(&mut image, &Plane::from_slice(&numbers, 33, 20)?)?;
    let texture = Texture::new(&image, &linear(mode(AddressMode::Border)))?;
    let mut out = DeviceBuffer::alloc(33 * 20)?;
    rotate(&texture, &mut out, [33, 20], 0.0, &stream)?;
    assert_relative_eq!(out.to_vec()?[..], numbers[..], epsilon = 0.2);
    rotate(&texture, &mut out, [33, 20], std::f32::consts::PI, &stream)?;
    let mut back = out.to_vec()?;
    back.reverse();
    assert_relative_eq!(back[..], numbers[..], epsilon = 0.2);
    Ok(())
}

#[test]
fn what_a_turn_cannot_do_is_refused_before_the_launch() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let line = Texture::new(&line()?, &NEAREST)?;
    let mut out = DeviceBuffer::<f32>::alloc(16)?;
    let error = rotate(&line, &mut out, [4, 4], 1.0, &stream).unwrap_err();
    assert!(error.detail().as_str().contains("there is no "), "{error}");
    let image = Array::<f32>::alloc_2d(4, 4)?;
    let texture = Texture::new(&image, &normalized(NEAREST))?;
    let error = rotate(&texture, &mut out, [4, 4], 1.0, &stream).unwrap_err();
    assert!(error.detail().as_str().contains("there is no "), "{error}");
    let texture = Texture::new(&image, &NEAREST)?;
    let error = rotate(&texture, &mut out, [4, 5], 1.0, &stream).unwrap_err();
    assert!(error.detail().as_str().contains("has 16 elements, 20 are needed"), "{error}");
    // A rotation of an image onto itself is refused.
    let mut rows = DeviceBuffer::from_slice(&[1.0_f32; 64])?;
    let texture = Texture::new(&rows.plane(8, 8)?, &NEAREST)?;
    let error = rotate(&texture, &mut rows, [8, 8], 1.0, &stream).unwrap_err();
    assert!(error.detail().as_str().contains("there is no "), "{error}");
    rotate(&texture, &mut DeviceBuffer::alloc(64)?, [8, 8], 1.0, &stream)?;
    Ok(())
}

#[test]
fn an_array_that_is_dropped_lives_on_in_its_texture() -> Result<()> {
    let _alone = alone();
    let texture = Texture::new(&line()?, &NEAREST)?;
    // New arrays do not reuse the memory.
    let others: Vec<_> = (0..8).map(|_| line()).collect::<Result<_>>()?;
    assert_eq!(read(&kernels::probe_line, &texture, &[2.5])?, [20.0]);
    drop(others);
    let mut buffer = DeviceBuffer::from_slice(&[1.0_f32; 64])?;
    let texture = Texture::new(&buffer.plane(8, 8)?, &NEAREST)?;
    let (stream, mut out) = (Stream::new()?, DeviceBuffer::alloc(64)?);
    // The owner may write the memory between launches, and may be dropped.
    memcpy(&mut buffer, &[2.0; 64])?;
    rotate(&texture, &mut out, [8, 8], 0.0, &stream)?;
    buffer.free()?;
    rotate(&texture, &mut out, [8, 8], 0.0, &stream)?;
    assert_eq!(out.to_vec()?, [2.0; 64]);
    Ok(())
}

#[test]
fn a_graph_keeps_the_textures_that_its_kernels_read() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut image = Array::alloc_2d(8, 8)?;
    let mut numbers = PinnedBuffer::from_slice(&[3.0_f32; 64])?;
    let mut out = DeviceBuffer::<f32>::alloc(64)?;
    memcpy_2d(&mut image, &Plane::from_slice(&[1.0_f32; 64], 8, 8)?)?;
    let texture = Texture::new(&image, &NEAREST)?;
    let graph = stream.capture(|s| rotate(&texture, &mut out, [8, 8], 0.0, s))?;
    texture.destroy()?;
    let mut exec = graph.instantiate()?;
    drop(graph);
    exec.launch(&stream)?;
    assert_eq!(out.to_vec()?, [1.0; 64]);
    // A launch reads the latest contents, on any stream.
    let other = Stream::new()?;
    memcpy_2d_async(&mut image, &numbers.plane(8, 8)?, &other)?;
    drop(image);
    exec.launch(&stream)?;
    assert_eq!(out.to_vec()?, [3.0; 64]);
    numbers.host_mut()?.fill(0.0);
    drop(exec);
    Ok(())
}

#[test]
fn a_built_graph_keeps_them_as_well() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::<f32>::alloc(2)?;
    let at = DeviceBuffer::from_slice(&[0.5_f32, 3.5])?;
    let texture = Texture::new(&line()?, &NEAREST)?;
    let mut graph = cuda_safe::Graph::new()?;
    let config = LaunchConfig::new(1, 32);
    // SAFETY: the kernel reads the texture, and as many elements as there are.
    unsafe { graph.add(&[], node::kernel(&kernels::probe_line, config, (&texture, &at, &mut out, 2))) }?;
    drop((texture, at));
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    let mut found = [0.0; 2];
    memcpy(&mut found, &out)?;
    assert_eq!(found, [0.0, 30.0]);
    Ok(())
}

#[test]
fn a_node_that_is_set_to_another_texture_keeps_that_and_lets_the_former_go() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::<f32>::alloc(2)?;
    let at = DeviceBuffer::from_slice(&[0.5_f32, 3.5])?;
    let mut other = Array::alloc_1d(4)?;
    let former = Texture::new(&line()?, &NEAREST)?;
    let texture = Texture::new(&other, &NEAREST)?;
    let mut graph = cuda_safe::Graph::new()?;
    let config = LaunchConfig::new(1, 32);
    // SAFETY: here and below, the kernel reads the texture, and as many elements as there are.
    let node =
        unsafe { graph.add(&[], node::kernel(&kernels::probe_line, config, (&former, &at, &mut out, 2))) }?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    // SAFETY: as above.
    unsafe {
        exec.set(&graph, node, node::kernel(&kernels::probe_line, config, (&texture, &at, &mut out, 2)))
    }?;
    // The graph, which also uses the former texture, is not launched any more. The drop waits for the
    // launch in flight.
    drop((graph, former, texture));
    let mut found = [0.0; 2];
    for round in [1.0_f32, 5.0] {
        let numbers = [round, 0.0, 0.0, round + 1.0];
        memcpy_2d(&mut other, &Plane::from_slice(&numbers, 4, 1)?)?;
        exec.launch(&stream)?;
        memcpy(&mut found, &out)?;
        assert_eq!(found, [round, round + 1.0], "what is written to the array meanwhile is read");
    }
    drop(other);
    exec.launch(&stream)?;
    memcpy(&mut found, &out)?;
    assert_eq!(found, [5.0, 6.0], "the executable graph has a share of the array");
    Ok(())
}

#[test]
fn a_texture_that_is_dropped_waits_for_its_launches() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (at, mut out) = (DeviceBuffer::from_slice(&[1.5_f32; 64])?, DeviceBuffer::alloc(64)?);
    for _ in 0..20 {
        let texture = Texture::new(&line()?, &NEAREST)?;
        let kernel = &kernels::probe_line;
        launch!(kernel<<<1, 64, 0, &stream>>>(&texture, &at, &mut out, 64))?;
        drop(texture);
    }
    assert_eq!(out.to_vec()?, [10.0; 64]);
    Ok(())
}

#[test]
fn a_launch_on_another_device_than_the_textures_is_refused() -> Result<()> {
    let _alone = alone();
    use cuda_safe::Device;
    if Device::count()? < 2 {
        println!("one device only: no other one to launch on");
        return Ok(());
    }
    let texture = Texture::new(&line()?, &NEAREST)?;
    let there = Device::new(1)?;
    let stream = Stream::builder().device(there).build()?;
    let (at, mut out) = (DeviceBuffer::<f32>::alloc_on(there, 1)?, DeviceBuffer::alloc_on(there, 1)?);
    let kernel = &kernels::probe_line;
    let error = launch!(kernel<<<1, 1, 0, &stream>>>(&texture, &at, &mut out, 1)).unwrap_err();
    assert!(error.detail().as_str().contains("belongs to device 0, device 1 is needed"), "{error}");
    Ok(())
}
