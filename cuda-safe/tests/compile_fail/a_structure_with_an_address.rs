//! A copy of a structure copies the address in it, not the memory there. `DevicePtr` is for device addresses.
#[derive(Clone, Copy)]
#[repr(C)]
struct Image {
    pixels: *const f32,
    width: usize,
}

fn main() {
    let _ = |image: Image| (image.pixels, image.width);
    let _ = cuda_safe::DeviceBuffer::<Image>::alloc(1);
}
