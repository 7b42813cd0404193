//! Copies and fills: every direction, the refusals, and the data that later work reads.
#![expect(unsafe_code, reason = "makes a second owner of one memory, to overlap with")]

use cuda_safe::error::Detail;
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, memcpy, memcpy_async, memset, memset_async, sys};
use cuda_testing::{Gate, alone};

fn numbers(len: u32) -> Vec<u32> {
    (0..len).map(|n| n.wrapping_mul(2_654_435_761)).collect()
}

#[test]
fn blocking_copies_go_in_all_directions() {
    let _alone = alone();
    let host = numbers(1000);
    let mut a = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut b = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut pinned = PinnedBuffer::<u32>::alloc(1000).unwrap();
    let mut other = PinnedBuffer::<u32>::alloc(1000).unwrap();
    let mut back = vec![0; 1000];
    memcpy(&mut a, &host).unwrap(); // pageable to device
    memcpy(&mut b, &a).unwrap(); // device to device
    memcpy(&mut pinned, &b).unwrap(); // device to pinned
    memcpy(&mut other, &pinned).unwrap(); // pinned to pinned
    memset(&mut a, 0).unwrap();
    memcpy(&mut a, &other).unwrap(); // pinned to device
    memcpy(&mut back, &a).unwrap(); // device to pageable
    assert_eq!(back, host);
    back.fill(0);
    memcpy(&mut back, &pinned).unwrap(); // pinned to pageable
    assert_eq!(back, host);
    memcpy(&mut back[..500], &host[500..]).unwrap(); // pageable to pageable
    assert_eq!(back[..500], host[500..]);
    memcpy(&mut pinned, &[3; 1000]).unwrap(); // pageable to pinned
    assert_eq!(*pinned.host().unwrap(), [3; 1000]);
}

#[test]
fn asynchronous_copies_go_in_all_directions_and_in_the_order_of_the_stream() {
    let _alone = alone();
    for stream in [Stream::new().unwrap(), Stream::non_blocking().unwrap()] {
        let host = PinnedBuffer::from_slice(&numbers(1000)).unwrap();
        let mut a = DeviceBuffer::<u32>::alloc(1000).unwrap();
        let mut b = DeviceBuffer::<u32>::alloc(1000).unwrap();
        let mut back = PinnedBuffer::<u32>::alloc(1000).unwrap();
        let mut again = PinnedBuffer::<u32>::alloc(1000).unwrap();
        memset_async(&mut a, 0xff, &stream).unwrap();
        memcpy_async(&mut a, &host, &stream).unwrap();
        memcpy_async(&mut b, &a, &stream).unwrap();
        memcpy_async(&mut back, &b, &stream).unwrap();
        memcpy_async(&mut again, &back, &stream).unwrap();
        assert_eq!(*again.host().unwrap(), *host.host().unwrap());
    }
}

#[test]
fn parts_of_buffers_are_copied_to_where_they_belong() {
    let _alone = alone();
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(8).unwrap();
    let host: &[u8] = &[1, 2, 3];
    memcpy(&mut device.slice_mut(2..5).unwrap(), host).unwrap();
    memcpy(&mut device.slice_mut(6..8).unwrap(), &host[..2]).unwrap();
    let mut back = [9; 6];
    memcpy(&mut back[1..], &device.slice(1..6).unwrap()).unwrap();
    assert_eq!(back, [9, 0, 1, 2, 3, 0]);
    assert_eq!(device.to_vec().unwrap(), [0, 0, 1, 2, 3, 0, 1, 2]);
}

#[test]
fn lengths_that_differ_are_refused_with_both_before_any_call() {
    let _alone = alone();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(4).unwrap();
    let mut pinned = PinnedBuffer::<u32>::alloc(5).unwrap();
    let stream = Stream::new().unwrap();
    let error = memcpy(&mut device, &[1, 2, 3]).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(4, 3));
    assert_eq!((error.api(), error.code()), ("memcpy", sys::cudaErrorInvalidValue));
    assert_eq!(error.call_site().file(), file!());
    let error = memcpy_async(&mut pinned, &device, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(5, 4));
    assert!(memcpy(&mut vec![0; 3], &device).is_err());
    assert!(memcpy(&mut device, &[0; 0]).is_err());
    assert_eq!(device.to_vec().unwrap(), [0; 4]);
}

#[test]
fn memory_copied_onto_itself_is_refused() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::from_slice(&[1_u8, 2, 3, 4]).unwrap();
    // SAFETY: the second owner is given up below, and uses nothing that is pending for the first one.
    let alias = unsafe { DeviceBuffer::from_raw(buffer.device(), buffer.as_mut_ptr(), 4) }.unwrap();
    let error = memcpy(&mut buffer.slice_mut(0..3).unwrap(), &alias.slice(1..4).unwrap()).unwrap_err();
    let (destination, source) = (buffer.as_ptr().addr(), buffer.as_ptr().addr() + 1);
    assert_eq!(error.detail(), &Detail::overlapping(destination, source, 3), "{error}");
    memcpy(&mut buffer.slice_mut(0..2).unwrap(), &alias.slice(2..4).unwrap()).unwrap();
    let _ = alias.into_raw();
    assert_eq!(buffer.to_vec().unwrap(), [3, 4, 3, 4]);
}

#[test]
fn a_fill_sets_bytes() {
    let _alone = alone();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(4).unwrap();
    memset(&mut device.slice_mut(1..3).unwrap(), 0xab).unwrap();
    assert_eq!(device.to_vec().unwrap(), [0, 0xabab_abab, 0xabab_abab, 0]);
    let mut pinned = PinnedBuffer::<u16>::alloc(3).unwrap();
    memset(&mut pinned, 1).unwrap();
    assert_eq!(*pinned.host().unwrap(), [0x0101; 3]);
    let stream = Stream::non_blocking().unwrap();
    memset_async(&mut pinned, 2, &stream).unwrap();
    assert_eq!(*pinned.host().unwrap(), [0x0202; 3]);
}

#[test]
fn a_stream_sees_what_a_blocking_copy_brought_though_the_copy_may_still_be_under_way() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(1 << 16).unwrap();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(1 << 16).unwrap();
    let mut middle = DeviceBuffer::<u32>::alloc_zeroed(1 << 16).unwrap();
    for round in 1..20 {
        memcpy(&mut device, &vec![round; 1 << 16]).unwrap();
        memcpy(&mut middle, &device).unwrap();
        memcpy_async(&mut back, &middle, &stream).unwrap();
        assert!(back.host().unwrap().iter().all(|&n| n == round), "round {round}");
    }
}

#[test]
fn a_blocking_copy_sees_what_streams_were_given_before() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = PinnedBuffer::from_slice(&numbers(1000)).unwrap();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(1000).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut device, &source, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    assert_eq!(device.to_vec().unwrap(), numbers(1000));
    opener.join().unwrap();
}

#[test]
fn two_streams_on_one_buffer_are_ordered_though_the_program_does_not_say_so() {
    let alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let source = PinnedBuffer::from_slice(&numbers(1000)).unwrap();
    let mut device = DeviceBuffer::<u32>::alloc_zeroed(1000).unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(1000).unwrap();
    let gate = Gate::on(&alone, &first);
    memcpy_async(&mut device, &source, &first).unwrap();
    memcpy_async(&mut back, &device, &second).unwrap();
    gate.open();
    assert_eq!(*back.host().unwrap(), *numbers(1000));
}

#[test]
fn halves_of_a_buffer_on_two_streams_do_not_wait_for_each_other() {
    let alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut device = DeviceBuffer::<u8>::alloc_zeroed(1000).unwrap();
    let gate = Gate::on(&alone, &first);
    let (mut left, mut right) = device.split_at_mut(500).unwrap();
    memset_async(&mut left, 1, &first).unwrap();
    memset_async(&mut right, 2, &second).unwrap();
    // Without the early return this would deadlock: the first stream's gate is closed.
    second.synchronize().unwrap();
    gate.open();
    let bytes = device.to_vec().unwrap();
    assert_eq!((bytes[499], bytes[500]), (1, 2));
}

#[test]
fn copies_between_devices_go_both_ways() {
    let _alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no second one to copy to");
        return;
    };
    let host = numbers(1000);
    let mut a = DeviceBuffer::<u32>::alloc_on(first, 1000).unwrap();
    let mut b = DeviceBuffer::<u32>::alloc_on(second, 1000).unwrap();
    memcpy(&mut a, &host).unwrap();
    memcpy(&mut b, &a).unwrap();
    assert_eq!(b.to_vec().unwrap(), host);
    memset(&mut a, 0).unwrap();
    let stream = second.with_current(Stream::new).unwrap();
    memcpy_async(&mut a, &b, &stream).unwrap();
    assert_eq!(a.to_vec().unwrap(), host);
}

#[test]
fn both_sides_of_a_copy_between_devices_are_protected() {
    let alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no second one to copy to");
        return;
    };
    let host = numbers(1000);
    let mut a = DeviceBuffer::<u32>::alloc_on(first, 1000).unwrap();
    let mut b = DeviceBuffer::<u32>::alloc_on(second, 1000).unwrap();
    memcpy(&mut a, &host).unwrap();
    let stream = first.with_current(Stream::non_blocking).unwrap();
    let other = first.with_current(Stream::non_blocking).unwrap();
    let gate = Gate::on(&alone, &stream);
    memcpy_async(&mut b, &a, &stream).unwrap();
    memset_async(&mut a, 0, &other).unwrap();
    gate.open();
    assert_eq!(b.to_vec().unwrap(), host);
    assert_eq!(a.to_vec().unwrap(), [0; 1000]);
}

#[test]
fn borrowed_slices_are_copied_within_a_scope() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let source = numbers(1000);
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut back = vec![0; 1000];
    let (mut head, mut tail) = ([0; 10], [0; 990]);
    let opener = stream
        .scope(|scope| {
            let gate = Gate::on(&alone, &stream);
            let opener = std::thread::spawn(move || gate.open());
            scope.memcpy_async(&mut device, &source)?;
            scope.memcpy_async(&mut back, &device)?;
            scope.memcpy_async(&mut head, &device.slice(..10)?)?;
            scope.memcpy_async(&mut tail[..], &device.slice(10..)?)?;
            cuda_safe::Result::Ok(opener)
        })
        .unwrap()
        .unwrap();
    opener.join().unwrap();
    assert_eq!(back, source);
    assert_eq!((&head[..], &tail[..]), source.split_at(10));
}

#[test]
fn a_scope_that_panics_has_still_finished_its_copies() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&numbers(1000)).unwrap();
    let mut back = vec![0; 1000];
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        stream.scope(|scope| {
            scope.memcpy_async(&mut back, &device).unwrap();
            panic!("on purpose");
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(back, numbers(1000));
}

#[test]
fn lengths_that_differ_are_refused_in_a_scope_too() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(4).unwrap();
    let host = [1_u32; 5];
    let error = stream.scope(|scope| scope.memcpy_async(&mut device, &host)).unwrap().unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(4, 5));
}
