//! A device may leave a number that is not one of the variants.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Color {
    Red,
    Green,
}

fn main() {
    let _ = [Color::Red, Color::Green];
    let _ = cuda_safe::DeviceBuffer::<Color>::alloc(3);
}
