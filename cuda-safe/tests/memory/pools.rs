//! Pools of device memory: the memory that they retain, the source of buffers, and the devices with access.
#![expect(unsafe_code, reason = "ends access, gives pools away and takes them over")]

use cuda_safe::memory::{ArrayBuilder, MemoryLocation, MemoryPool, PoolAccess, PoolKind, PoolReuse};
use cuda_safe::stream::Stream;
use cuda_safe::{
    Device, DeviceBuffer, PinnedBuffer, hazard, memcpy, memcpy_2d_async, memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

const MIB: usize = 1 << 20;

/// A second device, if the machine has one.
fn second() -> Option<Device> {
    let device = Device::new(1).ok();
    if device.is_none() {
        eprintln!("skipped: there is no second device");
    }
    device
}

#[test]
fn a_buffer_outlives_the_pool_that_it_is_from() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let pool = MemoryPool::new().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc_from(&pool, 1000, &stream).unwrap();
    let other = DeviceBuffer::<u8>::alloc_from(&pool, 1000, &stream).unwrap();
    drop(pool);
    memset_async(&mut buffer, 9, &stream).unwrap();
    other.free_async(&stream).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [9; 1000]);
    buffer.free().unwrap();
}

#[test]
fn a_pool_dropped_with_work_pending_on_its_memory_waits_for_nothing() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let pool = MemoryPool::new().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc_from(&pool, 1000, &stream).unwrap();
    stream.synchronize().unwrap();
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 5, &stream).unwrap();
    drop(pool);
    drop(buffer);
    assert!(!stream.is_done().unwrap(), "the gate was waited for");
    gate.open();
    stream.synchronize().unwrap();
}

#[test]
fn memory_of_a_pool_that_one_stream_alone_still_uses_is_freed_on_that_stream() {
    let alone = alone();
    let [stream, other] = [(); 2].map(|()| Stream::non_blocking().unwrap());
    let alloc = || DeviceBuffer::<u8>::alloc_async(1000, &stream).unwrap();
    let (mut first, mut whole, mut parts, mut shared) = (alloc(), alloc(), alloc(), alloc());
    stream.synchronize().unwrap();
    let gate = Gate::on(&alone, &stream);
    // The stream may have been another thread's before. Its handle then becomes shared with this drop.
    memset_async(&mut first, 0, &stream).unwrap();
    drop(first);
    memset_async(&mut whole, 1, &stream).unwrap();
    memset_async(&mut parts.slice_mut(..10).unwrap(), 2, &stream).unwrap();
    memset_async(&mut parts.slice_mut(500..).unwrap(), 3, &stream).unwrap();
    memset_async(&mut shared.slice_mut(..10).unwrap(), 4, &stream).unwrap();
    memset_async(&mut shared.slice_mut(10..).unwrap(), 5, &other).unwrap();
    let waits = hazard::added_waits();
    drop((whole, parts));
    assert_eq!(hazard::added_waits(), waits, "no other stream takes part: {:?}", hazard::recent_waits());
    drop(shared);
    let added = hazard::added_waits() - waits;
    assert!((1..=2).contains(&added), "{added} waits for two streams, one of which may be found idle");
    // The stream goes on as ever, and so does a new one with its handle.
    let mut next = alloc();
    memset_async(&mut next, 6, &stream).unwrap();
    gate.open();
    assert_eq!(next.to_vec().unwrap(), [6; 1000]);
    drop(stream);
    drop(next);
    let stream = Stream::non_blocking().unwrap();
    assert_eq!(DeviceBuffer::<u8>::from_slice(&[7; 9]).unwrap().to_vec().unwrap(), [7; 9]);
    stream.synchronize().unwrap();
}

#[test]
fn a_pool_dropped_in_a_host_function_is_no_longer_current() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    Device::current().unwrap().set_memory_pool(&pool).unwrap();
    let default = Device::current().unwrap().default_memory_pool().unwrap().as_raw().addr();
    stream.launch_host_fn(move || drop(pool)).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(Device::current().unwrap().memory_pool().unwrap().as_raw().addr(), default);
}

#[test]
fn a_pool_counts_what_is_used_and_its_watermarks_can_be_reset() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    assert_eq!(pool.attributes().unwrap().used, 0);
    let first = DeviceBuffer::<u8>::alloc_from(&pool, MIB, &stream).unwrap();
    let second = DeviceBuffer::<u8>::alloc_from(&pool, 2 * MIB, &stream).unwrap();
    let full = pool.attributes().unwrap();
    assert!(full.used >= 3 << 20 && full.reserved >= full.used, "{full:?}");
    second.free_async(&stream).unwrap();
    stream.synchronize().unwrap();
    let less = pool.attributes().unwrap();
    assert!(less.used >= 1 << 20 && less.used < full.used, "{less:?}");
    assert_eq!(less.used_high, full.used);
    pool.reset_watermarks().unwrap();
    let reset = pool.attributes().unwrap();
    assert_eq!((reset.used_high, reset.reserved_high), (reset.used, reset.reserved));
    first.free_async(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(pool.attributes().unwrap().used, 0);
}

#[test]
fn what_is_freed_stays_up_to_the_threshold_until_it_is_trimmed() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    assert_eq!(
        pool.attributes().unwrap().release_threshold,
        0,
        "a pool of the program's is left as CUDA makes it"
    );
    pool.set_release_threshold(u64::MAX).unwrap();
    assert_eq!(pool.attributes().unwrap().release_threshold, u64::MAX);
    let buffer = DeviceBuffer::<u8>::alloc_from(&pool, 8 * MIB, &stream).unwrap();
    buffer.free_async(&stream).unwrap();
    stream.synchronize().unwrap();
    let kept = pool.attributes().unwrap();
    assert!(kept.used == 0 && kept.reserved >= 8 << 20, "{kept:?}");
    pool.trim_to(0).unwrap();
    assert_eq!(pool.attributes().unwrap().reserved, 0);
}

#[test]
fn the_rules_of_reuse_are_all_on_and_can_be_set_each_by_itself() {
    let _alone = alone();
    let pool = MemoryPool::new().unwrap();
    assert_eq!(pool.attributes().unwrap().reuse, PoolReuse::all());
    for rule in [PoolReuse::FOLLOW_EVENT_DEPENDENCIES, PoolReuse::ALLOW_OPPORTUNISTIC, PoolReuse::empty()] {
        pool.set_reuse(rule).unwrap();
        assert_eq!(pool.attributes().unwrap().reuse, rule);
    }
}

#[test]
fn the_pool_that_is_chosen_serves_until_it_is_dropped() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let default = device.default_memory_pool().unwrap();
    assert!(default.is_default() && default.device().unwrap() == device);
    assert_eq!(device.memory_pool().unwrap().as_raw(), default.as_raw());
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    assert!(!pool.is_default());
    device.set_memory_pool(&pool).unwrap();
    let buffer = DeviceBuffer::<u8>::alloc_async(MIB, &stream).unwrap();
    assert!(pool.attributes().unwrap().used >= 1 << 20, "the buffer is of the chosen pool");
    let current = device.memory_pool().unwrap();
    assert_eq!(current.as_raw(), pool.as_raw());
    drop(pool);
    assert!(current.attributes().unwrap().used >= 1 << 20, "it lives while it is known to be current");
    drop(current);
    assert_eq!(device.memory_pool().unwrap().as_raw(), default.as_raw());
    buffer.free_async(&stream).unwrap();
    // Choosing the default pool restores it, too.
    let pool = MemoryPool::new().unwrap();
    device.set_memory_pool(&pool).unwrap();
    device.set_memory_pool(&default).unwrap();
    assert_eq!(device.memory_pool().unwrap().as_raw(), default.as_raw());
}

#[test]
fn a_pool_that_was_chosen_behind_the_crates_back_is_refused() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let pool = MemoryPool::new().unwrap();
    device.set_memory_pool(&pool).unwrap();
    let raw = pool.into_raw().unwrap();
    assert!(device.memory_pool().unwrap_err().is_refused());
    // SAFETY: the pool was just given up, and has no other owner.
    drop(unsafe { MemoryPool::from_raw(raw, device) });
    assert!(device.memory_pool().unwrap().is_default());
    assert!(
        device.default_memory_pool().unwrap().into_raw().is_none(),
        "a device's own is not the program's"
    );
}

#[test]
fn a_limit_is_a_limit() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::builder().device(Device::current().unwrap()).max_bytes(MIB).build().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc_from(&pool, MIB, &stream).unwrap();
    let error = DeviceBuffer::<u8>::alloc_from(&pool, 1 << 30, &stream).unwrap_err();
    assert!(error.is_out_of_memory(), "{error}");
    let _ = cuda_safe::error::take_last();
    drop(buffer);
}

#[test]
fn no_elements_of_a_pool_of_ones_own_make_no_call() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let pool = MemoryPool::new().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc_from(&pool, 0, &stream).unwrap();
    assert!(buffer.is_empty() && buffer.as_ptr().is_null());
    assert_eq!(pool.attributes().unwrap().used_high, 0);
}

#[test]
fn a_device_reaches_its_own_pool_and_another_one_once_it_is_let() {
    let _alone = alone();
    let first = Device::new(0).unwrap();
    let pool = MemoryPool::builder().device(first).build().unwrap();
    assert_eq!(pool.access(first).unwrap(), PoolAccess::READ_WRITE);
    // SAFETY: the device always has access to its own memory.
    assert!(unsafe { pool.disable_access(first) }.unwrap_err().is_refused());
    let Some(second) = second() else { return };
    assert_eq!(pool.access(second).unwrap(), PoolAccess::NONE);
    if !second.can_access_peer(&first).unwrap() {
        assert!(pool.enable_access(second).is_err());
        return;
    }
    pool.enable_access(second).unwrap();
    assert_eq!(pool.access(second).unwrap(), PoolAccess::READ_WRITE);
    assert_eq!(PoolAccess::READ_WRITE.as_raw(), sys::cudaMemAccessFlagsProtReadWrite);
    // SAFETY: no work was submitted to the second device.
    unsafe { pool.disable_access(second) }.unwrap();
    assert_eq!(pool.access(second).unwrap(), PoolAccess::NONE);
}

/// Not under initcheck: it fails with an error of its own, in C++ too.
#[test]
fn a_stream_allocates_from_a_pool_of_another_device() {
    let _alone = alone();
    let Some(second) = second() else { return };
    let stream = Stream::builder().device(second).build().unwrap();
    let pool = MemoryPool::builder().device(Device::new(0).unwrap()).build().unwrap();
    let error = second.set_memory_pool(&pool).unwrap_err();
    assert!(error.is_refused(), "{error}");
    let mut buffer = DeviceBuffer::<u32>::alloc_from(&pool, 100, &stream).unwrap();
    assert_eq!(buffer.device(), Device::new(0).unwrap());
    memcpy(&mut buffer, &[7; 100]).unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [7; 100]);
}

#[cfg(cudart_13_0)]
#[test]
fn a_place_has_the_pool_that_its_device_has() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let place = MemoryLocation::Device(device);
    let default = MemoryPool::default_at(place, PoolKind::Pinned).unwrap();
    assert_eq!(default.as_raw(), device.default_memory_pool().unwrap().as_raw());
    let pool = MemoryPool::new().unwrap();
    pool.set_current().unwrap();
    assert_eq!(MemoryPool::current_at(place, PoolKind::Pinned).unwrap().as_raw(), pool.as_raw());
    assert_eq!(device.memory_pool().unwrap().as_raw(), pool.as_raw());
    drop(pool);
    assert_eq!(MemoryPool::current_at(place, PoolKind::Pinned).unwrap().as_raw(), default.as_raw());
}

#[cfg(cudart_13_0)]
#[test]
fn buffers_do_not_come_from_a_pool_of_the_hosts_memory() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    match MemoryPool::default_at(MemoryLocation::Host, PoolKind::Pinned) {
        Ok(pool) => {
            assert!(DeviceBuffer::<u8>::alloc_from(&pool, 1, &stream).unwrap_err().is_refused());
        }
        // A device may lack such pools.
        Err(error) => assert!(!error.is_refused(), "{error}"),
    }
    let _ = cuda_safe::error::take_last();
}

#[test]
fn memory_of_a_pool_is_copied_whichever_device_is_current() {
    let _alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let current = Device::current().unwrap();
    for device in &devices {
        let pool = MemoryPool::builder().device(*device).build().unwrap();
        let stream = Stream::builder().device(*device).non_blocking().build().unwrap();
        let numbers: Vec<u32> = (0..60).collect();
        let pinned = PinnedBuffer::from_slice(&numbers).unwrap();
        let mut back = PinnedBuffer::<u32>::alloc(60).unwrap();
        let mut a = DeviceBuffer::<u32>::alloc_from(&pool, 60, &stream).unwrap();
        let mut b = DeviceBuffer::<u32>::alloc_from(&pool, 60, &stream).unwrap();
        let mut rows = DeviceBuffer::<u32>::alloc_on(*device, 60).unwrap();
        let mut elements = ArrayBuilder::plane(10, 6).device(*device).alloc::<u32>().unwrap();
        memset_async(&mut a, 0, &stream).unwrap();
        memcpy_async(&mut a, &pinned, &stream).unwrap();
        memcpy_async(&mut b, &a, &stream).unwrap();
        memcpy_2d_async(&mut rows.plane_mut(10, 6).unwrap(), &b.plane(10, 6).unwrap(), &stream).unwrap();
        memcpy_2d_async(&mut elements, &b.plane(10, 6).unwrap(), &stream).unwrap();
        memcpy_async(&mut back, &b, &stream).unwrap();
        assert_eq!(back.host().unwrap()[..], numbers);
        assert_eq!(rows.to_vec().unwrap(), numbers);
        assert_eq!(elements.to_vec().unwrap(), numbers);
        memcpy(&mut a, &[7; 60]).unwrap();
        memcpy(&mut b, &a).unwrap();
        assert_eq!(b.to_vec().unwrap(), [7; 60]);
        // Between devices without access to each other's pools.
        for other in &devices {
            let pool = MemoryPool::builder().device(*other).build().unwrap();
            let stream = Stream::builder().device(*other).non_blocking().build().unwrap();
            let mut c = DeviceBuffer::<u32>::alloc_from(&pool, 60, &stream).unwrap();
            memcpy_async(&mut c, &b, &stream).unwrap();
            assert_eq!(c.to_vec().unwrap(), [7; 60]);
        }
        assert_eq!(Device::current().unwrap(), current);
    }
}
