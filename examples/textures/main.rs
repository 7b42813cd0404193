//! One kernel paints an image, and another rotates it.
//!
//! The first kernel writes through a surface, and the second reads a texture.
use anyhow::ensure;
use cuda_kernels::kernels::{paint_gradient, rotate_image};
use cuda_safe::memory::ArrayBuilder;
use cuda_safe::texture::{AddressMode, FilterMode, Surface, Texture, TextureDesc};
use cuda_safe::{DeviceBuffer, Stream, launch, memcpy};

fn main() -> anyhow::Result<()> {
    const N: u32 = 4;
    let half_a_turn = std::f32::consts::PI;
    let mut turned = [0.0_f32; (N * N) as usize];

    let image = ArrayBuilder::plane(N as usize, N as usize).surface().alloc::<f32>()?;
    let desc = TextureDesc {
        address_mode: [AddressMode::Border; 3],
        filter_mode: FilterMode::Linear,
        ..TextureDesc::default()
    };
    let mut surface = Surface::new(&image)?;
    let texture = Texture::new(&image, &desc)?;

    let mut d_turned = DeviceBuffer::<f32>::alloc(turned.len())?;
    let (block, stream) = ((16, 16), Stream::legacy()?);
    launch!(paint_gradient<<<1, block, 0, &stream>>>(&mut surface, N, N, 1.0, 10.0))?;
    launch!(rotate_image<<<1, block, 0, &stream>>>(&texture, &mut d_turned, N, N, half_a_turn))?;
    memcpy(&mut turned, &d_turned)?;
    for row in turned.chunks(N as usize) {
        let numbers: Vec<String> = row.iter().map(|number| format!("{number:.0}")).collect();
        println!("{}", numbers.join(" "));
    }
    ensure!(turned[0] == 33.0);
    Ok(())
}
