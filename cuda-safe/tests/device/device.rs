//! Devices: their properties, the current one, and their refusals. Needs a device, real or emulated.
#![expect(unsafe_code, reason = "ends the access of one device to another")]

use cuda_safe::device::{self, CacheConfig, DeviceFlags, Limit, PeerAttribute, RemoteWritesScope};
use cuda_safe::{Device, Error, sys};
use cuda_testing::alone;

#[test]
fn every_ordinal_below_the_count_is_a_device_and_none_beyond() {
    let _alone = alone();
    let count = Device::count().unwrap();
    assert!(count >= 1 && Device::is_available());
    assert_eq!(Device::all().unwrap().len(), count);
    for ordinal in 0..count {
        assert_eq!(Device::new(ordinal).unwrap().ordinal(), ordinal);
    }
    for ordinal in [count, 1 << 31, usize::MAX] {
        let error = Device::new(ordinal).unwrap_err();
        assert_eq!(error.code(), sys::cudaErrorInvalidDevice);
        assert!(error.is_refused());
        let text = error.to_string();
        assert!(text.contains(&ordinal.to_string()) && text.contains(&format!("to {}", count - 1)), "{text}");
    }
}

#[test]
fn the_current_device_belongs_to_the_thread() {
    let _alone = alone();
    let last = Device::all().unwrap().next_back().unwrap();
    last.set_current().unwrap();
    assert_eq!(Device::current().unwrap(), last);
    let elsewhere = std::thread::spawn(|| Device::current().unwrap()).join().unwrap();
    assert_eq!(elsewhere.ordinal(), 0);
}

#[test]
fn with_current_restores_the_former_device_after_success_error_and_panic() {
    let _alone = alone();
    let first = Device::new(0).unwrap();
    first.set_current().unwrap();
    for device in Device::all().unwrap() {
        assert_eq!(device.with_current(Device::current).unwrap(), device);
        assert_eq!(Device::current().unwrap(), first);

        let error = Error::check("test", sys::cudaErrorInvalidValue).unwrap_err();
        assert_eq!(device.with_current(|| Err::<(), _>(error.clone())).unwrap_err(), error);
        assert_eq!(Device::current().unwrap(), first);

        let panicked = std::panic::catch_unwind(|| {
            device.with_current(|| -> cuda_safe::Result<()> { panic!("on purpose") })
        });
        assert!(panicked.is_err());
        assert_eq!(Device::current().unwrap(), first);
    }
}

#[test]
fn properties_and_attributes_agree() {
    let _alone = alone();
    for device in Device::all().unwrap() {
        let properties = device.properties().unwrap();
        assert!(!properties.name().is_empty());
        let raw = properties.as_raw();
        assert_eq!((raw.major, raw.minor), device.compute_capability().unwrap());
        assert_eq!(properties.warp_size(), 32);
        let attribute = |name| u32::try_from(device.attribute(name).unwrap()).unwrap();
        assert_eq!(properties.max_threads_per_block(), attribute(sys::cudaDevAttrMaxThreadsPerBlock));
        assert_eq!(properties.multi_processor_count(), attribute(sys::cudaDevAttrMultiProcessorCount));
        assert_eq!(properties.max_grid_size()[1], attribute(sys::cudaDevAttrMaxGridDimY));
        assert_eq!(properties.total_global_mem(), device.memory_info().unwrap().total);
        assert!(format!("{properties:?}").contains(properties.name()));
    }
}

#[test]
fn an_attribute_that_does_not_exist_is_an_error() {
    let _alone = alone();
    let error = Device::new(0).unwrap().attribute(sys::cudaDeviceAttr(99_999)).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    assert_eq!(error.api(), "cudaDeviceGetAttribute");
}

#[test]
fn free_memory_is_at_most_the_total() {
    let _alone = alone();
    let info = Device::current().unwrap().memory_info().unwrap();
    assert!(info.free > 0 && info.free <= info.total, "{info:?}");
}

#[test]
fn a_limit_that_was_set_is_the_limit() {
    let _alone = alone();
    let device = Device::new(0).unwrap();
    device.set_limit(Limit::StackSize, 8192).unwrap();
    assert!(device.limit(Limit::StackSize).unwrap() >= 8192);
    assert!(device.limit(Limit::PrintfFifoSize).unwrap() > 0);
    assert!(device.limit(Limit::MallocHeapSize).unwrap() > 0);
}

#[test]
fn a_device_is_found_again_by_its_place_on_the_bus() {
    let _alone = alone();
    for device in Device::all().unwrap() {
        let id = device.pci_bus_id().unwrap();
        assert_eq!(Device::by_pci_bus_id(&id).unwrap(), device, "{id}");
    }
    assert!(Device::by_pci_bus_id("nonsense").is_err());
    assert!(Device::by_pci_bus_id("0000:\0").unwrap_err().is_refused());
}

#[test]
fn a_device_is_not_its_own_peer() {
    let _alone = alone();
    let device = Device::new(0).unwrap();
    assert!(!device.can_access_peer(&device).unwrap());
    assert!(device.enable_peer_access(&device).is_err());
    let _ = cuda_safe::error::take_last();
}

#[test]
fn peer_access_can_be_enabled_twice_and_ended_once() {
    let _alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: nothing to enable");
        return;
    };
    if !first.can_access_peer(&second).unwrap() {
        println!("devices 0 and 1 have no direct access");
        return;
    }
    first.enable_peer_access(&second).unwrap();
    first.enable_peer_access(&second).unwrap();
    cuda_safe::error::take_last().unwrap();
    // SAFETY: this process has no kernels.
    unsafe { first.disable_peer_access(&second) }.unwrap();
    // SAFETY: this process has no kernels.
    let error = unsafe { first.disable_peer_access(&second) }.unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorPeerAccessNotEnabled, "{error}");
    let _ = cuda_safe::error::take_last();
    first.enable_peer_access(&second).unwrap();
}

#[test]
fn what_a_link_can_do_agrees_with_who_can_reach_whom() {
    let _alone = alone();
    let devices: Vec<_> = Device::all().unwrap().collect();
    for from in &devices {
        for to in &devices {
            let answer = from.peer_attribute(to, PeerAttribute::AccessSupported);
            if from == to {
                assert_eq!(answer.unwrap_err().code(), sys::cudaErrorInvalidDevice);
                let _ = cuda_safe::error::take_last();
            } else {
                assert_eq!(answer.unwrap() != 0, from.can_access_peer(to).unwrap());
            }
        }
    }
}

#[test]
fn the_highest_priority_is_not_above_the_lowest_number() {
    let _alone = alone();
    let range = Device::new(0).unwrap().stream_priority_range().unwrap();
    assert!(range.greatest <= range.least, "{range:?}");
}

#[test]
fn the_loaded_runtime_is_of_the_major_version_that_was_built_for() {
    let _alone = alone();
    let loaded = device::runtime_version().unwrap();
    assert_eq!(loaded.major, device::Version::from_headers().major);
    assert!(
        device::driver_version().unwrap() >= loaded
            || device::driver_version().unwrap().major >= loaded.major
    );
}

/// Flags are properties of the process: tests that set them run one at a time.
static FLAGS: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn the_flags_can_be_read_and_set() {
    let _alone = alone();
    let _flags = FLAGS.lock().unwrap();
    let device = Device::new(0).unwrap();
    device.set_flags(DeviceFlags::SCHEDULE_BLOCKING_SYNC).unwrap();
    assert!(device.flags().unwrap().contains(DeviceFlags::SCHEDULE_BLOCKING_SYNC));
    device.set_flags(DeviceFlags::empty()).unwrap();
}

#[test]
fn an_idle_device_synchronises() {
    let _alone = alone();
    for device in Device::all().unwrap() {
        device.synchronize().unwrap();
    }
}

#[test]
fn a_description_chooses_a_device_that_there_is() {
    let _alone = alone();
    let device = Device::new(0).unwrap();
    let chosen = Device::choose(&device.properties().unwrap()).unwrap();
    assert!((0..Device::count().unwrap()).contains(&chosen.ordinal()));
}

#[test]
fn a_device_is_set_up_without_becoming_current() {
    let _alone = alone();
    let _flags = FLAGS.lock().unwrap();
    let before = Device::current().unwrap();
    for device in Device::all().unwrap() {
        device.init(None).unwrap();
        device.init(Some(DeviceFlags::SCHEDULE_YIELD)).unwrap();
        assert!(device.flags().unwrap().contains(DeviceFlags::SCHEDULE_YIELD));
        device.init(Some(DeviceFlags::empty())).unwrap();
    }
    assert_eq!(Device::current().unwrap(), before);
    assert!(before.init(Some(DeviceFlags::SCHEDULE_YIELD | DeviceFlags::SCHEDULE_SPIN)).is_err());
    let _ = cuda_safe::error::take_last();
}

#[test]
fn valid_devices_are_those_that_there_are() {
    let _alone = alone();
    let all: Vec<_> = Device::all().unwrap().collect();
    Device::set_valid(&all).unwrap();
    let more: Vec<_> = all.iter().chain(&all).copied().collect();
    assert!(Device::set_valid(&more).is_err());
    let _ = cuda_safe::error::take_last();
    Device::set_valid(&[]).unwrap();
}

#[test]
fn a_cache_configuration_can_be_read_and_set() {
    let _alone = alone();
    let device = Device::new(0).unwrap();
    let before = device.cache_config().unwrap();
    device.set_cache_config(CacheConfig::PREFER_L1).unwrap();
    let after = device.cache_config().unwrap();
    // A device that has no choice reports no preference.
    assert!([CacheConfig::PREFER_L1, CacheConfig::PREFER_NONE].contains(&after));
    device.set_cache_config(before).unwrap();
}

#[test]
fn remote_writes_are_flushed_where_the_host_can() {
    let _alone = alone();
    let device = Device::new(0).unwrap();
    let can = device.attribute(sys::cudaDevAttrGPUDirectRDMAFlushWritesOptions).unwrap() & 1 != 0;
    let flushed = [RemoteWritesScope::Owner, RemoteWritesScope::AllDevices]
        .map(|scope| device.flush_gpudirect_rdma_writes(scope).is_ok());
    assert!(!can || flushed == [true; 2], "{flushed:?}");
    let _ = cuda_safe::error::take_last();
}

#[test]
fn a_texture_over_linear_memory_may_have_many_elements() {
    let _alone = alone();
    let format = sys::cudaChannelFormatDesc { x: 32, y: 0, z: 0, w: 0, f: sys::cudaChannelFormatKindFloat };
    assert!(Device::new(0).unwrap().texture_1d_linear_max_width(&format).unwrap() >= 1 << 27);
}

#[cfg(cudart_13_0)]
#[test]
fn a_link_says_which_atomic_operations_it_has() {
    let _alone = alone();
    use cuda_safe::device::AtomicOperation;
    let device = Device::new(0).unwrap();
    let asked = [AtomicOperation::IntegerAdd, AtomicOperation::CompareAndSwap, AtomicOperation::FloatAdd];
    assert_eq!(device.host_atomic_capabilities(&asked).unwrap().len(), asked.len());
    assert!(device.host_atomic_capabilities(&[]).unwrap().is_empty());
    assert!(device.peer_atomic_capabilities(&device, &asked).is_err());
    let _ = cuda_safe::error::take_last();
    if let Ok(second) = Device::new(1) {
        assert_eq!(device.peer_atomic_capabilities(&second, &asked).unwrap().len(), asked.len());
    }
}

#[test]
fn a_profiler_is_told_where_to_look_whether_there_is_one_or_not() -> cuda_safe::Result<()> {
    let _alone = alone();
    use cuda_safe::device::{profiler_start, profiler_stop};
    profiler_start()?;
    profiler_stop()?;
    profiler_stop()
}

#[test]
fn memory_of_graphs_is_counted_given_back_and_counted_anew() -> cuda_safe::Result<()> {
    let _alone = alone();
    let device = Device::current()?;
    device.trim_graph_memory()?;
    device.reset_graph_memory_peaks()?;
    let memory = device.graph_memory()?;
    // No graph of this program allocates.
    assert_eq!((memory.used, memory.used_high), (0, 0));
    assert!(memory.reserved <= memory.reserved_high);
    Ok(())
}

#[cfg(cudart_12_8)]
#[test]
fn a_function_of_the_driver_is_found_or_is_not() -> cuda_safe::Result<()> {
    let _alone = alone();
    use cuda_safe::device::{DefaultStream, DriverEntryPoint, Version, driver_entry_point, driver_version};

    let version = driver_version()?;
    for default_stream in [DefaultStream::Legacy, DefaultStream::PerThread] {
        let unknown = driver_entry_point("cuTeaMake", version, default_stream)?;
        assert_eq!(unknown, DriverEntryPoint::NotFound);
        let found = driver_entry_point("cuMemcpyAsync", version, default_stream)?;
        let emulated = std::env::var("CUDA_RUNNER").as_deref() == Ok("emulator");
        assert_eq!(matches!(found, DriverEntryPoint::Found(_)), !emulated, "{found:?}");
    }
    let newer = Version { major: version.major + 1, ..version };
    let error = driver_entry_point("cuMemcpyAsync", newer, DefaultStream::Legacy).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue);
    let error = driver_entry_point("cu\0", version, DefaultStream::Legacy).unwrap_err();
    assert_eq!(error.detail().as_str(), "the name has a zero byte, which would be its end");
    let _ = cuda_safe::error::take_last();
    Ok(())
}
