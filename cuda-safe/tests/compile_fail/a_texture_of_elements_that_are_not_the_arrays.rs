//! The texture's type says what the elements are, and so is the memory's.
use cuda_safe::memory::Array;
use cuda_safe::texture::{Texture, TextureDesc};

fn run(image: Array<u8>) -> cuda_safe::Result<Texture<f32>> {
    Texture::<f32>::new(&image, &TextureDesc::default())
}

fn main() {}
