//! One buffer is not read and written by two arguments of one launch.
use cuda_safe::DeviceBuffer;
use cuda_safe::launch;
use cuda_safe::launch::Kernel;
use cuda_safe::stream::Stream;

type Both = Kernel<(*mut f32, *mut f32)>;

fn run(k: Kernel<(*const f32, *mut f32, u32)>, both: Both, s: Stream, mut b: DeviceBuffer<f32>) {
    let _ = unsafe { launch!(k<<<1, 32, 0, &s>>>(&b, &mut b, 32)) };
    let borrow = &mut b;
    let _ = unsafe { launch!(both<<<1, 32, 0, &s>>>(borrow, borrow)) };
}

fn main() {}
