//! Floating-point numbers are strict: no other number converts to one, and none to a whole number.
use cuda_safe::DeviceBuffer;
use cuda_safe::launch;
use cuda_safe::launch::Kernel;
use cuda_safe::stream::Stream;

fn run(k: Kernel<(*mut f32, u32, f32)>, s: Stream, mut b: DeviceBuffer<f32>, n: usize, x: f64) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&mut b, n, 2)) };
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&mut b, 2.0, 1.0)) };
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&mut b, n, x)) };
}

fn main() {}
