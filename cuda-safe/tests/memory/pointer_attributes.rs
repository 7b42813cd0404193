//! The attributes of addresses, for each memory type.

use cuda_safe::memory::{MemoryKind, MemoryPool, PointerAttributes};
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Registered};
use cuda_testing::alone;

#[test]
fn memory_of_a_device_is_known_by_its_device_and_has_no_address_for_the_host() {
    let _alone = alone();
    for device in Device::all().unwrap() {
        let buffer = DeviceBuffer::<u32>::alloc_on(device, 100).unwrap();
        for pointer in [buffer.as_ptr(), buffer.slice(7..).unwrap().as_ptr()] {
            let found = PointerAttributes::from_ptr(pointer).unwrap();
            assert_eq!((found.kind(), found.device()), (MemoryKind::DEVICE, Some(device)));
            // The current device may be unable to reach the memory of another one.
            let reachable = device == Device::current().unwrap() || !found.device_ptr().is_null();
            assert_eq!(found.device_ptr().addr(), if reachable { pointer.addr() } else { 0 });
            assert!(found.host_ptr().is_null());
        }
    }
}

#[test]
fn memory_of_a_pool_is_memory_of_its_device() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc_from(&pool, 10, &stream).unwrap();
    let found = PointerAttributes::from_ptr(buffer.as_ptr()).unwrap();
    assert_eq!((found.kind(), found.device()), (MemoryKind::DEVICE, Some(pool.device().unwrap())));
}

#[test]
fn pinned_and_registered_memory_is_known_by_both() {
    let _alone = alone();
    let pinned = PinnedBuffer::<u8>::alloc(10).unwrap();
    let registered = Registered::new(vec![0_u8; 10]).unwrap();
    for pointer in [pinned.as_ptr(), registered.as_slice().as_ptr()] {
        let found = PointerAttributes::from_ptr(pointer).unwrap();
        assert_eq!((found.kind(), found.device()), (MemoryKind::HOST, Some(Device::current().unwrap())));
        assert_eq!(found.host_ptr().addr(), pointer.addr());
        assert!(!found.device_ptr().is_null());
    }
}

#[test]
fn any_other_address_is_known_by_nobody_and_may_be_asked_about() {
    let _alone = alone();
    let local = 0_u64;
    for pointer in [&raw const local, std::ptr::null(), std::ptr::without_provenance(0x1000)] {
        let found = PointerAttributes::from_ptr(pointer).unwrap();
        assert_eq!((found.kind(), found.device()), (MemoryKind::UNREGISTERED, None));
        assert!(found.device_ptr().is_null());
        assert_eq!(found.kind().as_raw(), cuda_safe::sys::cudaMemoryTypeUnregistered);
    }
}

#[test]
fn nobody_asks_in_a_host_function() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    stream
        .launch_host_fn(move || {
            let refused =
                PointerAttributes::from_ptr(std::ptr::null::<u8>()).is_err_and(|error| error.is_refused());
            tell.send(refused).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    assert!(told.recv().unwrap());
}
