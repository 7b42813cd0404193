//! The error for a malformed launch shows how to write one.
use cuda_safe::DeviceBuffer;
use cuda_safe::launch;
use cuda_safe::launch::Kernel;
use cuda_safe::stream::Stream;

fn run(k: Kernel<(*const f32, *mut f32, u32)>, s: Stream, a: DeviceBuffer<f32>, mut b: DeviceBuffer<f32>) {
    let _ = unsafe { launch!(k(&a, &mut b, 32)) };
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>) };
}

fn main() {}
