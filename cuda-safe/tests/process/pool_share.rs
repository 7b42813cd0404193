//! A pool that two processes share. If the machine does not let processes share pools, for example in
//! containers, the test reports that.
#![cfg(unix)]
#![expect(unsafe_code, reason = "opens memory of another process")]

use std::os::fd::AsFd;
use std::process::Stdio;

use cuda_safe::memory::{ImportedPool, MemoryPool, PoolPointer};
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, memcpy, memset};
use cuda_testing::child;
use cuda_testing::{alone, test_beside};

const LEN: usize = 1000;

#[test]
fn another_process_reads_and_writes_a_buffer_of_a_pool_that_it_was_given() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = match MemoryPool::builder().shareable().build() {
        Ok(pool) => pool,
        Err(error) => {
            eprintln!("cannot run: pools are not shared here: {error}");
            assert!(std::env::var_os("CUDA_TEST_REQUIRE_IPC").is_none());
            return;
        }
    };
    let mut buffer = DeviceBuffer::<u32>::alloc_from(&pool, LEN, &stream).unwrap();
    memcpy(&mut buffer, &[41; LEN]).unwrap();
    Device::current().unwrap().synchronize().unwrap();
    assert!(buffer.export_pool_pointer().is_err(), "the pool is exported first");
    let _ = cuda_safe::error::take_last();
    // The descriptor is the standard input of the other process.
    let given = pool.export().unwrap();
    let pointer = buffer.export_pool_pointer().unwrap();
    assert_eq!(buffer.export_pool_pointer().unwrap(), pointer);
    let other = child::command(test_beside!("the_other_process"), pointer.as_bytes())
        .stdin(Stdio::from(given))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = other.wait_with_output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stdout));
    assert_eq!(buffer.to_vec().unwrap(), [0x0202_0202; LEN]);
}

#[test]
#[ignore = "the other process of another_process_reads_and_writes_a_buffer_of_a_pool_that_it_was_given"]
fn the_other_process() {
    let device = Device::new(0).unwrap();
    let given = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    // SAFETY: the parent has exported the pool, which belongs to the first device.
    let pool = unsafe { ImportedPool::import(&given, device) }.unwrap();
    drop(given);
    let pointer = PoolPointer::from_bytes(child::gift().try_into().unwrap());
    // SAFETY: the parent's buffer has this many elements, and the parent waits for this process before it
    // uses them.
    let mut buffer = unsafe { pool.open::<u32>(&pointer, LEN) }.unwrap();
    drop(pool);
    assert_eq!(buffer.to_vec().unwrap(), [41; LEN]);
    memset(&mut buffer, 2).unwrap();
    drop(buffer);
    device.synchronize().unwrap();
}

#[test]
fn a_pool_that_was_not_made_for_it_is_not_shared() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    assert!(pool.export().is_err());
    let buffer = DeviceBuffer::<u8>::alloc_from(&pool, LEN, &stream).unwrap();
    assert!(buffer.export_pool_pointer().is_err());
    assert!(DeviceBuffer::<u8>::alloc(LEN).unwrap().export_pool_pointer().is_err());
    let _ = cuda_safe::error::take_last();
}
