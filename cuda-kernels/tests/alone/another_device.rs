//! Memory of another device as an argument: accessible, or refused before the launch.
//!
//! Alone: access between devices stays enabled for the process.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use cuda_kernels::kernels::{add_one, copy_values};
use cuda_safe::device::set_automatic_peer_access;
use cuda_safe::error::ErrorKind;
use cuda_safe::memory::MemoryPool;
use cuda_safe::{Device, DeviceBuffer, PitchedBuffer, Result, Stream, check, launch};
use cuda_testing::own_process;

/// Two devices of which the first can access the second. Returns `None` if there are none.
fn two_devices() -> Option<(Device, Device)> {
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no memory of a second one");
        return None;
    };
    if !first.can_access_peer(&second).unwrap() {
        println!("the devices cannot access each other: nothing to enable");
        return None;
    }
    Some((first, second))
}

/// Disables access of the first device to the second one, and leaves it to the program.
fn disable(first: Device, second: Device) {
    set_automatic_peer_access(false);
    // SAFETY: no kernel of this program is running.
    unsafe { first.disable_peer_access(&second) }.unwrap();
}

#[test]
fn the_first_launch_enables_access_and_without_access_the_argument_is_refused_and_the_context_lives()
-> Result<()> {
    own_process!(Ok(()));
    let Some((first, second)) = two_devices() else { return Ok(()) };
    let stream = first.with_current(Stream::non_blocking)?;
    let mut own = first.with_current(|| DeviceBuffer::from_slice(&[0_u32; 4]))?;
    let theirs = second.with_current(|| DeviceBuffer::from_slice(&[1_u32, 2, 3, 4]))?;
    let mut plane = second.with_current(|| PitchedBuffer::<f32>::alloc(4, 1))?;
    second.with_current(|| cuda_safe::memset_2d(&mut plane, 0))?;
    let mut floats = first.with_current(|| DeviceBuffer::from_slice(&[0.0_f32; 4]))?;
    launch!(copy_values<<<1, 32, 0, &stream>>>(&plane, &mut floats, 4))?;
    stream.synchronize()?;

    disable(first, second);
    for _ in 0..2 {
        let refused = launch!(copy_values<<<1, 32, 0, &stream>>>(&plane, &mut floats, 4));
        let error = refused.unwrap_err();
        let (found, needed) = (second.ordinal(), first.ordinal());
        let detail = format!(
            "argument 0 (0 is the first), `from`: the memory belongs to device {found}, and kernels of \
             device {needed} cannot access it: copy it to device {needed}, \
             or use Device::enable_peer_access if the hardware allows it"
        );
        assert_eq!((error.detail().as_str(), error.detail().kind()), (&*detail, ErrorKind::Device));
        assert!(error.to_string().contains("Device::enable_peer_access"), "{error}");
    }
    let mut moved = theirs;
    let refused =
        launch!(add_one<<<1, 32, 0, &stream>>>(&mut moved.as_slice_mut().reinterpret_mut::<i32>()?, 4));
    assert!(refused.unwrap_err().to_string().contains("add_one: argument 0"));
    // The context is intact, and the refusals have not enabled access.
    launch!(add_one<<<1, 32, 0, &stream>>>(&mut own.as_slice_mut().reinterpret_mut::<i32>()?, 4))?;
    assert_eq!((own.to_vec()?, moved.to_vec()?), (vec![1; 4], vec![1, 2, 3, 4]));

    // Access that the program enables by a raw call is found, and so is the crate's own.
    // SAFETY: takes an ordinal and flags.
    first.with_current(|| unsafe { check!(cudaDeviceEnablePeerAccess(second.as_raw(), 0)) })?;
    launch!(copy_values<<<1, 32, 0, &stream>>>(&plane, &mut floats, 4))?;
    stream.synchronize()?;
    disable(first, second);
    first.enable_peer_access(&second)?;
    launch!(copy_values<<<1, 32, 0, &stream>>>(&plane, &mut floats, 4))?;
    stream.synchronize()
}

#[test]
fn memory_of_a_pool_needs_the_pools_permission() -> Result<()> {
    own_process!(Ok(()));
    let Some((first, second)) = two_devices() else { return Ok(()) };
    let stream = first.with_current(Stream::non_blocking)?;
    let mut own = first.with_current(|| DeviceBuffer::from_slice(&[0.0_f32; 4]))?;
    let (pool, theirs) = second.with_current(|| {
        let (pool, stream) = (MemoryPool::new()?, Stream::new()?);
        let mut theirs = DeviceBuffer::<f32>::alloc_from(&pool, 4, &stream)?;
        cuda_safe::memcpy(&mut theirs, &[1.0, 2.0, 3.0, 4.0])?;
        Ok((pool, theirs))
    })?;
    let refused = launch!(copy_values<<<1, 32, 0, &stream>>>(&theirs, &mut own, 4));
    assert!(refused.unwrap_err().to_string().contains("MemoryPool::enable_access"));
    pool.enable_access(first)?;
    launch!(copy_values<<<1, 32, 0, &stream>>>(&theirs, &mut own, 4))?;
    assert_eq!(own.to_vec()?, [1.0, 2.0, 3.0, 4.0]);
    Ok(())
}
