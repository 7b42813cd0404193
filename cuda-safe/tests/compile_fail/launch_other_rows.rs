use cuda_safe::launch::Kernel;
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::{Stream, launch};

fn main() {
    let kernel: Kernel<(*const i32, *mut i32)> = todo!();
    let stream = Stream::new().unwrap();
    let input = PitchedBuffer::<u8>::alloc(64, 64).unwrap();
    let mut output = PitchedBuffer::<u8>::alloc(64, 64).unwrap();
    unsafe { launch!(kernel<<<1, 64, 0, &stream>>>(&input, &mut output)) }.unwrap();
}
