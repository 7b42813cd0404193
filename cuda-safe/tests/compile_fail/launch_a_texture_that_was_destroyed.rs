//! A texture is not used after its end.
use cuda_safe::launch;
use cuda_safe::launch::{Kernel, TextureObject};
use cuda_safe::stream::Stream;
use cuda_safe::texture::Texture;

fn run(k: Kernel<(TextureObject, u32)>, s: Stream, image: Texture<f32>) {
    let _ = image.destroy();
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&image, 32)) };
}

fn main() {}
