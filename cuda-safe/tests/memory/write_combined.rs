//! Memory that the host only writes: the data arrives, and the host waits for pending reads.

use cuda_safe::error::Detail;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, WriteCombinedBuffer, memcpy, memcpy_async, memset};
use cuda_testing::{Gate, alone};

#[test]
fn what_the_host_writes_arrives_on_the_device() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(8).unwrap();
    let mut buffer = WriteCombinedBuffer::<u32>::alloc(8).unwrap();
    let mut writer = buffer.write().unwrap();
    writer.fill_with(|index| u32::try_from(index).unwrap() * 10);
    writer.set(7, 1).unwrap();
    writer.copy_from_slice(2, &[5, 6]).unwrap();
    drop(writer);
    buffer.slice_mut(5..6).unwrap().write().unwrap().fill(9);
    memcpy_async(&mut device, &buffer, &stream).unwrap();
    assert_eq!(device.to_vec().unwrap(), [0, 10, 5, 6, 40, 9, 60, 1]);
    assert!(!buffer.device_ptr().unwrap().is_null());
    buffer.free().unwrap();
}

#[test]
fn devices_and_copies_write_it_too() {
    let _alone = alone();
    let device = DeviceBuffer::from_slice(&[1_u16, 2, 3]).unwrap();
    let mut buffer = WriteCombinedBuffer::<u16>::alloc(3).unwrap();
    memcpy(&mut buffer, &device).unwrap();
    let mut back = [0; 3];
    memcpy(&mut back, &buffer).unwrap();
    assert_eq!(back, [1, 2, 3]);
    memset(&mut buffer, 1).unwrap();
    let mut pinned = PinnedBuffer::<u16>::alloc(3).unwrap();
    memcpy(&mut pinned, &buffer).unwrap();
    assert_eq!(*pinned.host().unwrap(), [0x0101; 3]);
}

#[test]
fn writing_waits_for_the_copy_that_still_reads() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(100).unwrap();
    let mut buffer = WriteCombinedBuffer::<u32>::alloc(100).unwrap();
    buffer.write().unwrap().fill(3);
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &buffer, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    buffer.write().unwrap().fill(4);
    opener.join().unwrap();
    assert_eq!(device.to_vec().unwrap(), [3; 100]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let _alone = alone();
    let mut buffer = WriteCombinedBuffer::<u32>::alloc(3).unwrap();
    let mut writer = buffer.write().unwrap();
    assert!(writer.len() == 3 && !writer.is_empty());
    let error = writer.copy_from_slice(2, &[1, 2]).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(2, 4, 3));
    assert!(writer.set(3, 1).is_err() && writer.copy_from_slice(usize::MAX, &[1]).is_err());
    writer.copy_from_slice(3, &[]).unwrap();
    drop(writer);
    let mut none = WriteCombinedBuffer::<u32>::alloc(0).unwrap();
    none.write().unwrap().fill(1);
    assert!(none.write().unwrap().is_empty());
}
