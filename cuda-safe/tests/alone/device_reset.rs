//! A device works like a new one after a reset.
//!
//! Alone: the reset destroys everything on the device.
#![expect(unsafe_code, reason = "resets the device")]

use cuda_safe::stream::{Event, Stream};
use cuda_safe::{Device, DeviceBuffer, MappedFlag, PinnedBuffer, memcpy_async, memset_async};
use cuda_testing::own_process;

/// Uses each resource that the crate caches: streams, events, added waits, pool memory, flags.
fn use_everything() -> cuda_safe::Result<()> {
    let (first, second) = (Stream::non_blocking()?, Stream::new()?);
    let event = Event::new()?;
    let mut device = DeviceBuffer::<u32>::alloc(1000)?;
    let mut pinned = PinnedBuffer::<u32>::alloc(1000)?;
    let mut scratch = DeviceBuffer::<u32>::alloc_async(1000, &first)?;
    memset_async(&mut scratch, 3, &first)?;
    memcpy_async(&mut device, &scratch, &second)?;
    event.record(&second)?;
    first.wait(&event)?;
    memcpy_async(&mut pinned, &device, &first)?;
    assert_eq!(*pinned.host()?, [0x0303_0303; 1000]);
    MappedFlag::new()?.set(1);
    Ok(())
}

#[test]
fn a_device_that_was_reset_works_like_a_new_one() {
    own_process!();
    for _ in 0..3 {
        use_everything().unwrap();
        // SAFETY: everything on the device was dropped, and this test is alone in its process.
        unsafe { Device::new(0).unwrap().reset() }.unwrap();
    }
    use_everything().unwrap();
}
