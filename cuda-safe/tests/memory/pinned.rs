//! Pinned memory: the data that the host reads, and when it must wait.
#![expect(unsafe_code, reason = "takes buffers apart and puts them together again")]

use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, MappedFlag, PinnedBuffer, PinnedFlags, memcpy_async, memset_async, sys};
use cuda_testing::{Gate, alone};

#[test]
fn what_the_host_writes_the_host_reads() {
    let _alone = alone();
    let mut buffer = PinnedBuffer::<u32>::alloc(4).unwrap();
    buffer.host_mut().unwrap().copy_from_slice(&[1, 2, 3, 4]);
    buffer.host_mut().unwrap()[0] = 9;
    assert_eq!(*buffer.host().unwrap(), [9, 2, 3, 4]);
    assert_eq!(buffer.slice(1..3).unwrap().host().unwrap()[1], 3);
    assert_eq!(buffer.to_vec().unwrap(), [9, 2, 3, 4]);
    assert_eq!(format!("{:?}", buffer.host().unwrap()), "[9, 2, 3, 4]");
}

#[test]
fn a_buffer_without_elements_lends_an_empty_slice() {
    let _alone = alone();
    let mut none = PinnedBuffer::<u64>::alloc(0).unwrap();
    assert!(none.host().unwrap().is_empty() && none.host_mut().unwrap().is_empty());
    assert!(none.as_ptr().is_null() && none.device_ptr().unwrap().is_null());
    none.free().unwrap();
}

#[test]
fn every_kind_of_pinned_memory_works() {
    let _alone = alone();
    for flags in [PinnedFlags::PORTABLE, PinnedFlags::MAPPED, PinnedFlags::all()] {
        let mut buffer = PinnedBuffer::<u8>::with_flags(100, flags).unwrap();
        buffer.host_mut().unwrap().fill(7);
        assert_eq!(*buffer.host().unwrap(), [7; 100], "{flags:?}");
        assert!(!buffer.device_ptr().unwrap().is_null());
    }
    let error = PinnedBuffer::<u8>::with_flags(1, PinnedFlags::from_bits_retain(0x80)).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    let _ = cuda_safe::error::take_last();
}

#[test]
fn the_host_waits_for_a_copy_into_the_memory() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(*pinned.host().unwrap(), [7; 1000]);
    opener.join().unwrap();
}

#[test]
fn the_host_may_read_what_a_pending_copy_only_reads() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &pinned, &stream).unwrap();
    // Without the early return this would deadlock: the gate is closed.
    assert_eq!(pinned.host().unwrap()[999], 1);
    gate.open();
}

#[test]
fn the_host_waits_before_it_writes_what_a_pending_copy_reads() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &pinned, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    pinned.host_mut().unwrap().fill(2);
    opener.join().unwrap();
    assert_eq!(device.to_vec().unwrap(), [1; 1000]);
}

#[test]
fn the_host_may_use_one_half_while_a_stream_uses_the_other() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 500]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    let (mut left, mut right) = pinned.split_at_mut(500).unwrap();
    memcpy_async(&mut right, &device, &stream).unwrap();
    // Without the early return this would deadlock: the gate is closed.
    left.host_mut().unwrap().fill(3);
    gate.open();
    let numbers = pinned.host().unwrap();
    assert_eq!((numbers[499], numbers[500]), (3, 7));
}

#[test]
fn pinned_memory_read_after_its_stream_was_dropped_holds_what_the_stream_wrote() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    drop(stream);
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(*pinned.host().unwrap(), [7; 1000]);
    opener.join().unwrap();
}

#[test]
fn pinned_memory_dropped_while_a_copy_into_it_is_pending_waits_for_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    drop(pinned);
    opener.join().unwrap();
    assert!(stream.is_done().unwrap());
}

#[test]
fn a_host_function_gets_pinned_memory_only_where_nothing_can_be_pending() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let quiet = PinnedBuffer::from_slice(&[5_u8]).unwrap();
    let mut busy = PinnedBuffer::<u8>::alloc(1).unwrap();
    memset_async(&mut busy, 1, &stream).unwrap();
    let (tell, told) = channel();
    stream
        .launch_host_fn(move || {
            let quiet = quiet.host().map(|numbers| numbers[0]);
            // Complete, because this function comes after it. But the runtime was not queried since, and
            // must not be queried here.
            let busy = busy.host().map(|numbers| numbers[0]);
            tell.send((quiet, busy)).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    let (quiet, busy) = told.recv().unwrap();
    assert_eq!(quiet.unwrap(), 5);
    assert_eq!(busy.unwrap_err().detail(), &Detail::IN_CALLBACK);
}

#[test]
fn forgetting_a_guard_does_no_harm_to_reading() {
    let _alone = alone();
    let mut pinned = PinnedBuffer::from_slice(&[1_u8; 8]).unwrap();
    let forgotten = std::mem::ManuallyDrop::new(pinned.host().unwrap());
    assert_eq!(forgotten[0], 1);
    let forgotten = std::mem::ManuallyDrop::new(pinned.host_mut().unwrap());
    assert_eq!(forgotten[0], 1);
    assert_eq!(*pinned.host().unwrap(), [1; 8]);
}

#[test]
fn kernels_reach_a_part_as_far_from_the_start_as_the_host_does() {
    let _alone = alone();
    let mut memory = PinnedBuffer::<u32>::alloc(100).unwrap();
    let first = memory.device_ptr().unwrap();
    assert_eq!(memory.device_ptr().unwrap(), first);
    assert_eq!(memory.slice(7..9).unwrap().device_ptr().unwrap(), first.wrapping_add(7));
    let (_, right) = memory.split_at_mut(30).unwrap();
    assert_eq!(right.device_ptr().unwrap(), first.wrapping_add(30));
    // A part may be queried first.
    let other = PinnedBuffer::<u32>::alloc(100).unwrap();
    let part = other.slice(40..).unwrap().device_ptr().unwrap();
    assert_eq!(other.device_ptr().unwrap().wrapping_add(40), part);
    assert!(other.slice(50..50).unwrap().device_ptr().unwrap().is_null());
}

#[test]
fn sizes_that_cannot_be_are_refused() {
    let _alone = alone();
    assert!(PinnedBuffer::<u64>::alloc(usize::MAX).unwrap_err().detail().as_str().contains(" overflows: "));
    assert!(PinnedBuffer::<()>::alloc(1).unwrap_err().detail().as_str().contains(" have no bytes"));
    let error = PinnedBuffer::<u8>::alloc(isize::MAX as usize).unwrap_err();
    assert!(error.is_out_of_memory() && error.to_string().contains("pinned host"), "{error}");
    let _ = cuda_safe::error::take_last();
}

#[test]
fn a_buffer_taken_apart_can_be_put_together_again() {
    let _alone = alone();
    let buffer = PinnedBuffer::from_slice(&[1_u32, 2, 3]).unwrap();
    let device = buffer.device();
    let pointer = buffer.into_raw().unwrap();
    // SAFETY: pointer, length and device are those of the buffer that was just taken apart.
    let buffer = unsafe { PinnedBuffer::from_raw(device, pointer, 3) }.unwrap();
    assert_eq!(*buffer.host().unwrap(), [1, 2, 3]);
}

#[test]
fn a_mapped_flag_is_seen_by_all_threads_and_starts_at_zero() {
    let _alone = alone();
    let flag = std::sync::Arc::new(MappedFlag::new().unwrap());
    assert_eq!(flag.load(), 0);
    assert!(!flag.device_ptr().is_null());
    let other = flag.clone();
    std::thread::spawn(move || other.set(3)).join().unwrap();
    assert_eq!(flag.load(), 3);
}

#[test]
fn pinned_memory_says_how_it_was_set_up() {
    let _alone = alone();
    // Large enough for a separate block of the driver: small ones share a block, which has the flags of the
    // first one.
    let flags = PinnedFlags::PORTABLE | PinnedFlags::MAPPED;
    let buffer = PinnedBuffer::<u8>::with_flags(4 << 20, flags).unwrap();
    assert!(buffer.flags().unwrap().contains(flags));
    assert_eq!(buffer.flags().unwrap().bits() & cuda_safe::sys::cudaHostAllocWriteCombined, 0);
    assert_eq!(PinnedBuffer::<u8>::alloc(0).unwrap().flags().unwrap(), PinnedFlags::empty());
}

#[test]
fn a_large_buffer_in_large_pages_is_pinned_memory_like_any_other() {
    let alone = alone();
    let stream = Stream::new().unwrap();
    let len = (16 << 20) + 5;
    let mut from = PinnedBuffer::<u8>::alloc(len).unwrap();
    for (at, byte) in from.host_mut().unwrap().iter_mut().enumerate() {
        *byte = u8::try_from(at % 251).unwrap();
    }
    let mut to = PinnedBuffer::<u8>::alloc(len).unwrap();
    let mut device = DeviceBuffer::alloc(len).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &from, &stream).unwrap();
    memcpy_async(&mut to, &device, &stream).unwrap();
    assert!(!stream.is_done().unwrap(), "the copies are asynchronous");
    gate.open();
    assert_eq!(to.host().unwrap()[..], from.host().unwrap()[..]);
    assert_eq!(
        (to.flags().unwrap(), to.device_ptr().unwrap()),
        (PinnedFlags::MAPPED, to.as_ptr().cast_mut())
    );
    // Dropped while a copy into it is pending, it is freed after the copy.
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut to, &device, &stream).unwrap();
    std::thread::scope(|scope| {
        let dropped = scope.spawn(|| drop(to));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!dropped.is_finished());
        gate.open();
    });
}

#[test]
fn a_large_buffer_is_taken_apart_only_if_cuda_allocated_it() {
    let _alone = alone();
    let len = 16 << 20;
    let (error, buffer) = PinnedBuffer::<u8>::alloc(len).unwrap().into_raw().unwrap_err().into_parts();
    assert!(error.to_string().contains("PinnedBuffer::with_flags"), "{error}");
    assert_eq!(buffer.len(), len);
    let device = buffer.device();
    let pointer = PinnedBuffer::<u8>::with_flags(len, PinnedFlags::empty()).unwrap().into_raw().unwrap();
    // SAFETY: the memory is what a buffer of this size was just taken apart into.
    drop(unsafe { PinnedBuffer::from_raw(device, pointer, len) }.unwrap());
}
