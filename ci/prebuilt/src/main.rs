//! Runs the kernels of the library, if there is a device.

fn main() -> cuda_safe::Result<()> {
    if cuda_safe::Device::is_available() { prebuilt_test::run() } else { Ok(println!("no device")) }
}
