//! How the crate changes the release threshold of a device's default pool.
//!
//! Alone: the change happens once in a process.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_safe::memory::keep_pool_memory;
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer};
use cuda_testing::own_process;

fn alloc_async(device: Device) {
    let stream = Stream::builder().device(device).build().unwrap();
    drop(DeviceBuffer::<u8>::alloc_async(100, &stream).unwrap());
    stream.synchronize().unwrap();
}

#[test]
fn the_first_use_of_a_default_pool_raises_its_threshold_unless_the_program_has_set_it() {
    own_process!();
    let first = Device::new(0).unwrap();
    let pool = first.default_memory_pool().unwrap();
    assert_eq!(pool.attributes().unwrap().release_threshold, 0);
    alloc_async(first);
    assert_eq!(pool.attributes().unwrap().release_threshold, u64::MAX);
    // A value that the program sets afterwards stays.
    pool.set_release_threshold(0).unwrap();
    alloc_async(first);
    assert_eq!(pool.attributes().unwrap().release_threshold, 0);

    let Ok(second) = Device::new(1) else {
        eprintln!("skipped: there is no second device");
        return;
    };
    // A value that it sets before stays, too.
    let pool = second.default_memory_pool().unwrap();
    pool.set_release_threshold(0).unwrap();
    alloc_async(second);
    assert_eq!(pool.attributes().unwrap().release_threshold, 0);
    keep_pool_memory(true);
    alloc_async(second);
    assert_eq!(pool.attributes().unwrap().release_threshold, 0);
}
