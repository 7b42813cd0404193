//! A call that failed is not passed over in silence: its answer must be looked at.
#![deny(unused_must_use)]
use cuda_safe::{DeviceBuffer, memcpy};

fn main() {
    let mut device = DeviceBuffer::<u32>::alloc(3).unwrap();
    memcpy(&mut device, &[1, 2, 3]);
}
