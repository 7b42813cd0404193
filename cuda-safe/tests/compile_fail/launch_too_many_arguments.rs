//! A kernel takes as many arguments as it has parameters.
use cuda_safe::DeviceBuffer;
use cuda_safe::launch;
use cuda_safe::launch::Kernel;
use cuda_safe::stream::Stream;

fn run(k: Kernel<(*const f32, *mut f32, u32)>, s: Stream, a: DeviceBuffer<f32>, mut b: DeviceBuffer<f32>) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&a, &mut b, 32, 1)) };
}

fn main() {}
