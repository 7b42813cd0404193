//! The handle of a texture is not a number that a program may make up by mistake.
use cuda_safe::launch;
use cuda_safe::launch::{Kernel, TextureObject};
use cuda_safe::stream::Stream;

fn run(k: Kernel<(TextureObject, u32)>, s: Stream) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(7_u64, 32)) };
}

fn main() {}
