//! The release threshold of a default pool that the program wants unchanged.
//!
//! Alone: this is requested once, before the first use.

use cuda_safe::memory::keep_pool_memory;
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer};
use cuda_testing::own_process;

#[test]
fn a_program_can_keep_the_crate_from_raising_the_threshold() {
    own_process!();
    keep_pool_memory(false);
    let stream = Stream::new().unwrap();
    drop(DeviceBuffer::<u8>::alloc_async(100, &stream).unwrap());
    stream.synchronize().unwrap();
    let pool = Device::current().unwrap().default_memory_pool().unwrap();
    assert_eq!(pool.attributes().unwrap().release_threshold, 0);
}
