//! Device buffers and their views: allocation, parts, refusals, and that all memory is freed on its device.
#![expect(unsafe_code, reason = "takes buffers apart and puts them together again")]

use bytemuck::{Pod, Zeroable};
use cuda_safe::error::Detail;
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, memcpy, memcpy_async, memset, memset_async};
use cuda_testing::{Gate, alone};

#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
struct Point {
    x: f32,
    y: f32,
    z: f32,
}

#[test]
fn what_goes_in_comes_out() {
    let _alone = alone();
    let numbers: Vec<u32> = (0..1000).collect();
    assert_eq!(DeviceBuffer::from_slice(&numbers).unwrap().to_vec().unwrap(), numbers);
    let points = [Point { x: 1.0, y: 2.0, z: 3.0 }, Point { x: -1.0, y: f32::INFINITY, z: 0.0 }];
    let device = DeviceBuffer::from_slice(&points).unwrap();
    assert_eq!((device.len(), device.size_in_bytes()), (2, 24));
    assert_eq!(device.to_vec().unwrap(), points);
    assert_eq!(DeviceBuffer::<u64>::alloc_zeroed(7).unwrap().to_vec().unwrap(), [0; 7]);
}

#[test]
fn a_buffer_without_elements_has_no_memory_and_does_no_harm() {
    let _alone = alone();
    let mut none = DeviceBuffer::<u32>::alloc(0).unwrap();
    assert!(none.is_empty() && none.as_ptr().is_null());
    memset(&mut none, 7).unwrap();
    memcpy(&mut none, &[]).unwrap();
    assert!(none.to_vec().unwrap().is_empty());
    assert!(none.slice(..).unwrap().is_empty());
    assert_eq!(none.chunks(3).unwrap().len(), 0);
    none.free().unwrap();
}

#[test]
fn more_memory_than_there_is_is_refused_with_the_bytes_and_leaves_nothing() {
    let _alone = alone();
    let total = Device::current().unwrap().memory_info().unwrap().total;
    let error = DeviceBuffer::<u8>::alloc(total + 1).unwrap_err();
    assert!(error.is_out_of_memory());
    assert_eq!(error.api(), "cudaMalloc");
    let asked = format!("asked for {} bytes of device memory, of which ", total + 1);
    let rest = error.detail().as_str().strip_prefix(&asked).and_then(|text| text.strip_suffix(" are free"));
    let free: usize = rest.unwrap().parse().unwrap();
    assert!(free <= total && error.to_string().contains(&asked), "{error}");
    assert_eq!(error.call_site().file(), file!());
    // The device continues.
    assert_eq!(DeviceBuffer::from_slice(&[1_u8]).unwrap().to_vec().unwrap(), [1]);
    let _ = cuda_safe::error::take_last();
}

#[test]
fn a_size_that_overflows_is_refused_before_any_call() {
    let _alone = alone();
    let error = DeviceBuffer::<u64>::alloc(usize::MAX / 4).unwrap_err();
    assert!(error.is_refused());
    assert_eq!(error.detail(), &Detail::overflow("the size in bytes", usize::MAX / 4, 8));
}

#[test]
fn elements_without_bytes_are_refused() {
    let _alone = alone();
    let error = DeviceBuffer::<[u8; 0]>::alloc(3).unwrap_err();
    assert!(error.detail().as_str().contains(" have no bytes"), "{error}");
}

#[test]
fn parts_are_parts() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::from_slice(&[0_u16, 1, 2, 3, 4, 5, 6, 7, 8, 9]).unwrap();
    assert_eq!(buffer.slice(2..5).unwrap().to_vec().unwrap(), [2, 3, 4]);
    assert_eq!(buffer.slice(2..).unwrap().slice(..=1).unwrap().to_vec().unwrap(), [2, 3]);
    let (left, right) = buffer.as_slice().split_at(4).unwrap();
    assert_eq!((left.to_vec().unwrap(), right.to_vec().unwrap()), (vec![0, 1, 2, 3], vec![4, 5, 6, 7, 8, 9]));
    let sums: Vec<u16> =
        buffer.chunks(4).unwrap().map(|chunk| chunk.to_vec().unwrap().iter().sum()).collect();
    assert_eq!(sums, [6, 22, 17]);
    for (n, mut chunk) in (0_u16..).zip(buffer.chunks_mut(5).unwrap()) {
        memcpy(&mut chunk, &[n; 5]).unwrap();
    }
    assert_eq!(buffer.to_vec().unwrap(), [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]);
    let (mut left, right) = buffer.split_at_mut(5).unwrap();
    memcpy(&mut left, &right).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1; 10]);
}

#[test]
fn parts_that_do_not_fit_are_refused_with_range_and_length() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::from_slice(&[1_u8, 2, 3]).unwrap();
    let error = buffer.slice(1..4).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(1, 4, 3));
    assert!(error.to_string().contains("1..4") && error.to_string().contains("3 elements"), "{error}");
    assert!(buffer.slice_mut(4..).is_err());
    assert!(buffer.as_slice().split_at(4).is_err());
    assert!(buffer.chunks(0).is_err());
    let error = buffer.slice_mut(2..9).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(2, 9, 3));
}

#[test]
fn the_same_bytes_are_elements_of_another_type_where_they_fit() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::from_slice(&[0x0403_0201_u32, 0x0807_0605]).unwrap();
    assert_eq!(buffer.as_slice().reinterpret::<u8>().unwrap().to_vec().unwrap(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(buffer.as_slice().reinterpret::<u64>().unwrap().to_vec().unwrap(), [0x0807_0605_0403_0201]);
    memcpy(&mut buffer.as_slice_mut().reinterpret_mut::<u8>().unwrap(), &[0; 8]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [0, 0]);
    let error = buffer.as_slice().reinterpret::<Point>().unwrap_err();
    assert_eq!(error.detail().as_str(), "8 bytes are not a whole number of elements of 12 bytes");
    let bytes = buffer.as_slice().reinterpret::<u8>().unwrap();
    assert!(
        bytes
            .slice(1..5)
            .unwrap()
            .reinterpret::<u32>()
            .unwrap_err()
            .detail()
            .as_str()
            .contains("is not aligned to 4 bytes")
    );
}

#[test]
fn a_buffer_taken_apart_can_be_put_together_again() {
    let _alone = alone();
    let buffer = DeviceBuffer::from_slice(&[1_u32, 2, 3]).unwrap();
    let device = buffer.device();
    let pointer = buffer.into_raw().unwrap();
    // SAFETY: pointer, length and device are those of the buffer that was just taken apart.
    let buffer = unsafe { DeviceBuffer::from_raw(device, pointer, 3) }.unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [1, 2, 3]);
}

#[test]
fn a_buffer_belongs_to_its_device_whatever_device_and_thread_it_is_used_from() {
    let _alone = alone();
    for device in Device::all().unwrap() {
        let buffer = device.with_current(|| DeviceBuffer::from_slice(&[device.ordinal(); 4])).unwrap();
        assert_eq!(buffer.device(), device);
        assert_eq!(Device::current().unwrap().ordinal(), 0);
        std::thread::spawn(move || {
            assert_eq!(Device::current().unwrap().ordinal(), 0);
            assert_eq!(buffer.to_vec().unwrap(), [device.ordinal(); 4]);
            drop(buffer);
            assert_eq!(Device::current().unwrap().ordinal(), 0);
        })
        .join()
        .unwrap();
        assert_eq!(DeviceBuffer::<u8>::alloc_on(device, 1).unwrap().device(), device);
    }
}

#[test]
fn a_buffer_dropped_while_a_copy_into_it_is_pending_waits_for_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let gate = Gate::on(&alone, &stream);
    let mut buffer = DeviceBuffer::<u8>::alloc(1 << 20).unwrap();
    memset_async(&mut buffer, 1, &stream).unwrap();
    let dropped = std::thread::spawn(move || drop(buffer));
    gate.open();
    dropped.join().unwrap();
    assert!(stream.is_done().unwrap());
}

#[test]
fn a_buffer_dropped_in_a_host_function_is_freed_later() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc(1 << 20).unwrap();
    stream.launch_host_fn(move || drop(buffer)).unwrap();
    stream.synchronize().unwrap();
    // The next allocation or wait frees the rest. This call does both.
    DeviceBuffer::<u8>::alloc_zeroed(1).unwrap().to_vec().unwrap();
}

#[test]
fn forgetting_buffers_and_views_does_no_harm() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let mut buffer = DeviceBuffer::<u32>::alloc(16).unwrap();
    memset_async(&mut buffer, 1, &stream).unwrap();
    let pending = std::mem::ManuallyDrop::new(buffer);
    stream.synchronize().unwrap();
    assert_eq!(pending.to_vec().unwrap(), [0x0101_0101; 16]);
}

#[test]
fn freeing_leaves_no_error_behind() {
    let _alone = alone();
    std::thread::spawn(|| {
        DeviceBuffer::from_slice(&[1.0_f64; 100]).unwrap().free().unwrap();
        DeviceBuffer::<f64>::alloc(0).unwrap().free().unwrap();
        cuda_safe::error::peek_last().unwrap();
    })
    .join()
    .unwrap();
}

#[test]
fn memory_of_a_pool_is_there_for_every_stream_once_its_own_has_come_to_it() {
    let alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let gate = Gate::on(&alone, &first);
    let mut buffer = DeviceBuffer::<u32>::alloc_async(1000, &first).unwrap();
    memset_async(&mut buffer, 5, &second).unwrap();
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [0x0505_0505; 1000]);
    buffer.free_async(&second).unwrap();
    second.synchronize().unwrap();
}

#[test]
fn memory_of_a_pool_is_freed_after_its_last_use_without_a_wait_on_the_host() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(1000).unwrap();
    let gate = Gate::on(&alone, &stream);
    for n in 1..=3 {
        let mut buffer = DeviceBuffer::<u32>::alloc_async(1000, &stream).unwrap();
        memset_async(&mut buffer, n, &stream).unwrap();
        memcpy_async(&mut back, &buffer, &stream).unwrap();
        // Without the early return this would deadlock: the gate is closed.
        drop(buffer);
    }
    gate.open();
    assert_eq!(*back.host().unwrap(), [0x0303_0303; 1000]);
}

#[test]
fn no_elements_of_a_pool_make_no_call() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let none = DeviceBuffer::<u64>::alloc_async(0, &stream).unwrap();
    assert!(none.as_ptr().is_null());
    none.free_async(&stream).unwrap();
    let ordinary = DeviceBuffer::<u64>::alloc(4).unwrap();
    ordinary.free_async(&stream).unwrap();
}

#[test]
fn a_host_function_may_not_allocate_copy_or_ask() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&[1_u8; 4]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u8; 4]).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    stream
        .launch_host_fn(move || {
            let refused = [
                Device::current().unwrap_err(),
                DeviceBuffer::<u8>::alloc(1).unwrap_err(),
                PinnedBuffer::<u8>::alloc(1).unwrap_err(),
                memcpy(&mut buffer, &[2; 4]).unwrap_err(),
                memset(&mut buffer, 3).unwrap_err(),
                // The host copies here, but at the request of the runtime.
                memcpy(&mut pinned, &[2; 4]).unwrap_err(),
                memcpy(&mut [0_u8; 4], &[2; 4]).unwrap_err(),
            ];
            tell.send((refused, buffer)).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    let (refused, buffer) = told.recv().unwrap();
    for error in refused {
        assert_eq!(error.detail(), &Detail::IN_CALLBACK, "{error}");
    }
    assert_eq!(buffer.to_vec().unwrap(), [1; 4]);
}
