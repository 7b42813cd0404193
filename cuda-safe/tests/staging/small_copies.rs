//! Small copies from a device to pageable memory, most of which are never staged: they arrive, and keep the
//! order of the streams.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::thread::{scope, sleep};
use std::time::Duration;

use cuda_safe::{DeviceBuffer, Result, Stream, memcpy, memset_async};

use super::alone;

const MIB: usize = 1 << 20;

fn bytes(len: usize) -> Vec<u8> {
    (0..=250).cycle().take(len).collect()
}

#[test]
fn every_size_arrives_where_it_belongs_and_nowhere_else() -> Result<()> {
    let _alone = alone();
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
    Ok(())
}
