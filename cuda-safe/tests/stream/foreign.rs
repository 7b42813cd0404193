//! Adopted streams and memory of other libraries.
#![expect(unsafe_code, reason = "adopts what others have")]

use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use cuda_safe::memory::DevicePtr;
use cuda_safe::stream::{AsStream, ForeignStream, Stream};
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, check, memcpy_async, memset_async, sys};
use cuda_testing::{Gate, alone};

/// A stream as another library has it.
struct Theirs(sys::cudaStream_t);

// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl Send for Theirs {}
// SAFETY: the handle is a name that the runtime accepts on any thread.
unsafe impl Sync for Theirs {}

impl Theirs {
    fn new() -> cuda_safe::Result<Self> {
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        unsafe { check!(cudaStreamCreateWithFlags(&raw mut raw, sys::cudaStreamNonBlocking)) }?;
        Ok(Self(raw))
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        // SAFETY: this value is the only owner of the stream.
        let _ = unsafe { sys::cudaStreamDestroy(self.0) };
    }
}

/// Records that it was dropped.
struct Dropped(Sender<()>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

#[test]
fn work_on_an_adopted_stream_is_ordered_also_after_the_stream_is_gone() {
    let alone = alone();
    let device = Device::current().unwrap();
    let theirs = Arc::new(Theirs::new().unwrap());
    let held = Stream::non_blocking().unwrap();
    let ours = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(100).unwrap();
    let mut found = PinnedBuffer::<u8>::alloc(100).unwrap();
    // SAFETY: the stream lives as long as the counted owner, and receives no other work.
    let adopted = unsafe { ForeignStream::adopt(theirs.0, device, Arc::clone(&theirs)) }.unwrap();
    assert_eq!((adopted.device(), adopted.is_blocking()), (device, false));
    let gate = Gate::on(&alone, &held);
    memset_async(&mut buffer, 1, &held).unwrap();
    memset_async(&mut buffer, 2, &adopted).unwrap();
    drop(adopted);
    assert_eq!(Arc::strong_count(&theirs), 1, "nothing keeps the stream any more");
    drop(theirs);
    memcpy_async(&mut found, &buffer, &ours).unwrap();
    gate.open();
    assert_eq!(*found.host().unwrap(), [2; 100]);
}

#[test]
fn a_stream_adopted_twice_is_one_stream_for_the_tracker() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let theirs = Arc::new(Theirs::new().unwrap());
    let mut buffer = DeviceBuffer::<u8>::alloc(100).unwrap();
    // SAFETY: the stream lives as long as the counted owner, and receives no other work.
    let first = unsafe { ForeignStream::adopt(theirs.0, device, Arc::clone(&theirs)) }.unwrap();
    // SAFETY: the stream lives as long as the counted owner, and receives no other work.
    let second = unsafe { ForeignStream::adopt(theirs.0, device, Arc::clone(&theirs)) }.unwrap();
    assert_eq!(first.id().unwrap(), second.id().unwrap());
    let before = cuda_safe::hazard::added_waits();
    memset_async(&mut buffer, 1, &first).unwrap();
    memset_async(&mut buffer, 2, &second).unwrap();
    drop(first);
    memset_async(&mut buffer, 3, &second).unwrap();
    assert_eq!(cuda_safe::hazard::added_waits(), before, "a stream does not wait for itself");
    second.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [3; 100]);
}

#[test]
fn a_stream_that_is_lent_comes_back_also_after_a_panic() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let theirs = Theirs::new().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(100).unwrap();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        // SAFETY: the stream outlives the call, and receives no other work.
        unsafe {
            ForeignStream::lend(theirs.0, device, |stream| {
                memset_async(&mut buffer, 4, &stream.as_stream()).unwrap();
                panic!("in the middle");
            })
        }
    }));
    assert!(caught.is_err());
    drop(theirs);
    assert_eq!(buffer.to_vec().unwrap(), [4; 100]);
}

#[test]
fn default_streams_are_not_adopted() {
    let _alone = alone();
    let device = Device::current().unwrap();
    for number in 0..3 {
        let raw = std::ptr::without_provenance_mut(number);
        // SAFETY: refused before the handle is used.
        let refused = unsafe { ForeignStream::adopt(raw, device, ()) };
        assert!(refused.unwrap_err().is_refused());
    }
}

#[test]
fn adopted_memory_keeps_its_owner_until_the_work_on_it_is_done() {
    let alone = alone();
    let device = Device::current().unwrap();
    let stream = Stream::non_blocking().unwrap();
    let theirs = DeviceBuffer::<u8>::alloc(100).unwrap();
    let (pointer, len) = (theirs.as_ptr().cast_mut(), theirs.len());
    let (tell, told) = channel();
    let keeper = (theirs, Dropped(tell));
    // SAFETY: the memory is freed with its owner, which does nothing else with it.
    let mut buffer = unsafe { DeviceBuffer::adopt(device, pointer, len, keeper) }.unwrap();
    assert_eq!(DevicePtr::from(&buffer), DevicePtr::new(pointer));
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 7, &stream).unwrap();
    let waits = std::thread::spawn(move || drop(buffer));
    assert!(told.try_recv().is_err(), "the work is not done");
    gate.open();
    waits.join().unwrap();
    told.recv().unwrap();
}

#[test]
fn memory_that_does_not_fit_is_not_adopted_and_its_owner_goes() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let (tell, told) = channel();
    let odd = std::ptr::without_provenance_mut::<u32>(0x1001);
    // SAFETY: refused before the address is used. Its drop does not use the address.
    let refused = unsafe { DeviceBuffer::adopt(device, odd, 1, Dropped(tell)) };
    assert!(refused.unwrap_err().is_refused());
    told.recv().unwrap();
    let (tell, told) = channel();
    // SAFETY: a buffer without elements adopts nothing.
    let empty =
        unsafe { DeviceBuffer::<u32>::adopt(device, std::ptr::null_mut(), 0, Dropped(tell)) }.unwrap();
    assert!(empty.is_empty());
    drop(empty);
    told.recv().unwrap();
}

#[test]
fn addresses_travel_as_values() {
    let _alone = alone();
    let rows = [DeviceBuffer::<f32>::alloc(10).unwrap(), DeviceBuffer::<f32>::alloc(20).unwrap()];
    let addresses: Vec<DevicePtr<f32>> = rows.iter().map(DevicePtr::from).collect();
    let table = DeviceBuffer::from_slice(&addresses).unwrap();
    let back = table.to_vec().unwrap();
    assert_eq!(back, addresses);
    assert_eq!(back[1].address(), u64::try_from(rows[1].as_ptr().addr()).unwrap());
    assert!(DevicePtr::<f32>::NULL.address() == 0 && back[0] != DevicePtr::NULL);
    assert_eq!(DevicePtr::from(rows[0].slice(3..).unwrap()).address(), back[0].address() + 12);
}
