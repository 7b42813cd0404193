//! A surface is not a texture.
use cuda_safe::launch;
use cuda_safe::launch::{Kernel, TextureObject};
use cuda_safe::stream::Stream;
use cuda_safe::texture::Surface;

fn run(k: Kernel<(TextureObject, u32)>, s: Stream, mut image: Surface<f32>) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&mut image, 32)) };
}

fn main() {}
