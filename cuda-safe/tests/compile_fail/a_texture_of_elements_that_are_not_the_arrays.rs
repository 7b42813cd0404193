//! The element type of a texture is that of its memory.
use cuda_safe::memory::Array;
use cuda_safe::texture::{Texture, TextureDesc};

fn run(image: Array<u8>) -> cuda_safe::Result<Texture<f32>> {
    Texture::<f32>::new(&image, &TextureDesc::default())
}

fn main() {}
