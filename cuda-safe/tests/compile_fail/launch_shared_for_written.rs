//! Memory that a kernel writes is borrowed mutably.
use cuda_safe::DeviceBuffer;
use cuda_safe::launch;
use cuda_safe::launch::Kernel;
use cuda_safe::stream::Stream;

fn run(k: Kernel<(*const f32, *mut f32, u32)>, s: Stream, a: DeviceBuffer<f32>, mut b: DeviceBuffer<f32>) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&a, &b, 32)) };
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&a, b, 32)) };
}

fn main() {}
