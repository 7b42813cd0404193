//! Small copies from a device to pageable memory: when they use the bounce buffer, and that the result is the
//! same.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use cuda_safe::copy::staged::{self, Settings, statistics};
use cuda_safe::{DeviceBuffer, Result, Stream, memcpy, memset_async};

use super::alone;

const MIB: usize = 1 << 20;

fn bytes(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

/// Copies 4 KiB to the host this many times.
fn copies(count: usize) -> Result<()> {
    let device = DeviceBuffer::from_slice(&bytes(4096))?;
    let mut host = vec![0_u8; 4096];
    for _ in 0..count {
        host.fill(0);
        memcpy(&mut host, &device)?;
        assert_eq!(host, bytes(4096));
    }
    Ok(())
}

#[test]
fn a_program_that_copies_little_pins_nothing_and_one_that_copies_often_one_mebibyte() -> Result<()> {
    let _alone = alone();
    copies(100)?;
    assert_eq!(statistics().pinned, 0);
    copies(400)?;
    assert_eq!(statistics().pinned, MIB);
    copies(1000)?;
    assert_eq!(statistics().pinned, MIB);
    Ok(())
}

#[test]
fn every_size_arrives_where_it_belongs_and_nowhere_else() -> Result<()> {
    let _alone = alone();
    copies(500)?;
    assert_eq!(statistics().pinned, MIB);
    let source = bytes(2 * MIB);
    let device = DeviceBuffer::from_slice(&source)?;
    for len in [0, 1, 3, 64, 4095, 4096, 65_537, MIB / 2, MIB / 2 + 1, MIB - 1, MIB, MIB + 1] {
        for at in [0, 1, 4096] {
            let mut host = vec![255_u8; len + 64];
            memcpy(&mut host[32..32 + len], &device.slice(at..at + len)?)?;
            assert_eq!(host[32..32 + len], source[at..at + len], "{len} bytes from {at} on");
            assert!(
                host[..32].iter().chain(&host[32 + len..]).all(|byte| *byte == 255),
                "{len} bytes from {at} on"
            );
            assert_eq!(device.slice(at..at + len)?.to_vec()?, source[at..at + len]);
        }
    }
    Ok(())
}

#[test]
fn a_copy_comes_after_the_work_of_blocking_streams_and_of_others_that_the_tracker_knows() -> Result<()> {
    let _alone = alone();
    copies(500)?;
    let mut device = DeviceBuffer::<u8>::alloc(300_000)?;
    for (turn, stream) in [Stream::new()?, Stream::non_blocking()?].iter().cycle().take(20).enumerate() {
        let value = u8::try_from(turn).unwrap();
        stream.launch_host_fn(|| sleep(Duration::from_millis(2)))?;
        memset_async(&mut device, value, stream)?;
        assert!(device.to_vec()?.iter().all(|byte| *byte == value), "turn {turn}");
    }
    Ok(())
}

#[test]
fn several_threads_at_once_get_what_is_theirs() -> Result<()> {
    let _alone = alone();
    copies(500)?;
    scope(|threads| {
        for thread in 0..4_u8 {
            threads.spawn(move || {
                let device = DeviceBuffer::from_slice(&vec![thread; 100_000]).unwrap();
                for _ in 0..50 {
                    assert!(device.to_vec().unwrap().iter().all(|byte| *byte == thread));
                }
            });
        }
    });
    assert_eq!(statistics().pinned, MIB);
    Ok(())
}

#[test]
fn it_is_released_on_request_and_allocated_once_it_is_earned_again() -> Result<()> {
    let _alone = alone();
    copies(500)?;
    staged::release()?;
    assert_eq!(statistics().pinned, 0);
    copies(100)?;
    assert_eq!(statistics().pinned, 0);
    copies(400)?;
    assert_eq!(statistics().pinned, MIB);
    Ok(())
}

#[test]
fn unused_for_a_second_it_is_freed_with_other_memory() -> Result<()> {
    let _alone = alone();
    copies(500)?;
    let buffers = [DeviceBuffer::<u8>::alloc(16)?, DeviceBuffer::alloc(16)?, DeviceBuffer::alloc(16)?];
    let mut pinned = Vec::new();
    for buffer in buffers {
        // The first call tests whether the bounce buffer was used.
        drop(buffer);
        pinned.push(statistics().pinned);
        sleep(Duration::from_millis(1100));
    }
    assert_eq!(pinned, [MIB, 0, 0]);
    Ok(())
}

#[test]
fn switched_off_with_a_threshold_or_too_little_memory_there_is_no_bounce_buffer() -> Result<()> {
    let _alone = alone();
    let settings = Settings::default();
    for without in [
        Settings { enabled: false, ..settings },
        Settings { threshold: Some(MIB), ..settings },
        Settings { pinned: MIB - 1, ..settings },
    ] {
        staged::configure(without);
        copies(1000)?;
        assert_eq!(statistics().pinned, 0, "{without:?}");
    }
    Ok(())
}

#[test]
fn in_a_host_function_where_copies_are_refused_nothing_is_pinned_nor_given_up() -> Result<()> {
    let _alone = alone();
    let (stream, device) = (Stream::new()?, DeviceBuffer::from_slice(&bytes(4096))?);
    let refused = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&refused);
    stream.launch_host_fn(move || {
        let mut host = vec![0_u8; 4096];
        for _ in 0..1000 {
            count.fetch_add(usize::from(memcpy(&mut host, &device).is_err()), Ordering::Relaxed);
        }
    })?;
    stream.synchronize()?;
    assert_eq!((refused.load(Ordering::Relaxed), statistics().pinned), (1000, 0));
    copies(1)?;
    assert_eq!(statistics().pinned, MIB);
    Ok(())
}
