//! A structure is copied with the address in it, and not with what is there: `DevicePtr` is for addresses that a device knows.
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
