//! A program for machines that may have no GPU: it copies by a device if there is one, else on the host.
//!
//! With the feature `load` or `static` it starts on a machine without CUDA: `cargo run -p cuda-safe
//! --features load --example without_driver`.

use cuda_safe::{Device, DeviceBuffer};

fn main() -> cuda_safe::Result<()> {
    let numbers = [1, 2, 3];
    if Device::is_available() {
        println!(
            "{:?} came back from {}",
            DeviceBuffer::from_slice(&numbers)?.to_vec()?,
            Device::new(0)?.properties()?.name()
        );
        return Ok(());
    }
    if let Err(error) = Device::count() {
        println!("no device: {error}");
        println!("code {}", error.code().0);
    }
    println!("{numbers:?} stayed on the host");
    Ok(())
}
