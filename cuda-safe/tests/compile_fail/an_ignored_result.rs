//! A failed call is not ignored silently: its result must be used.
#![deny(unused_must_use)]
use cuda_safe::{DeviceBuffer, memcpy};

fn main() {
    let mut device = DeviceBuffer::<u32>::alloc(3).unwrap();
    memcpy(&mut device, &[1, 2, 3]);
}
