//! A surface that a kernel may write is borrowed mutably, or passed as read-only.
use cuda_safe::launch;
use cuda_safe::launch::{Kernel, SurfaceObject};
use cuda_safe::stream::Stream;
use cuda_safe::texture::Surface;

fn run(k: Kernel<(SurfaceObject, u32)>, s: Stream, image: Surface<f32>) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(image.read_only(), 32)) };
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&image, 32)) };
}

fn main() {}
