//! Access between devices that copies enable automatically.
//!
//! Alone: it stays enabled for the process.
#![expect(
    unsafe_code,
    clippy::unwrap_used,
    reason = "a helper of a test asks and changes what the runtime has enabled"
)]

use cuda_safe::device::{automatic_peer_access, set_automatic_peer_access};
use cuda_safe::memory::{PitchedBuffer, Plane};
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, check, memcpy, memcpy_2d_async, memcpy_async, sys};
use cuda_testing::own_process;

/// Whether `device` reaches the memory of `peer`: tested by enabling access, which is then disabled again.
fn reaches(device: Device, peer: Device) -> bool {
    device
        .with_current(|| {
            // SAFETY: takes an ordinal and flags.
            match unsafe { check!(cudaDeviceEnablePeerAccess(peer.as_raw(), 0)) } {
                Err(error) if error.code() == sys::cudaErrorPeerAccessAlreadyEnabled => {
                    let _ = cuda_safe::error::take_last();
                    Ok(true)
                }
                Err(error) => Err(error),
                // SAFETY: takes an ordinal; no kernel of this program uses a peer's memory.
                Ok(()) => unsafe { check!(cudaDeviceDisablePeerAccess(peer.as_raw())) }.map(|()| false),
            }
        })
        .unwrap()
}

#[test]
fn the_first_copy_between_two_devices_enables_access_both_ways_and_later_ones_ask_nobody() {
    own_process!();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no second one to copy to");
        return;
    };
    let able = first.can_access_peer(&second).unwrap() && second.can_access_peer(&first).unwrap();
    let host: Vec<u32> = (0..1000).collect();
    let mut a = DeviceBuffer::<u32>::alloc_on(first, 1000).unwrap();
    let mut b = DeviceBuffer::<u32>::alloc_on(second, 1000).unwrap();
    memcpy(&mut a, &host).unwrap();

    // Switched off, a copy goes through the host and enables nothing.
    assert!(automatic_peer_access());
    set_automatic_peer_access(false);
    assert!(!automatic_peer_access());
    memcpy(&mut b, &a).unwrap();
    assert_eq!(b.to_vec().unwrap(), host);
    if !able {
        println!("the devices do not reach each other: nothing to enable");
        set_automatic_peer_access(true);
        memcpy(&mut a, &b).unwrap();
        assert_eq!(cuda_safe::error::take_last(), Ok(()));
        return;
    }
    assert!(!reaches(first, second) && !reaches(second, first));

    // Switched on, the next one enables both directions.
    set_automatic_peer_access(true);
    let stream = first.with_current(Stream::new).unwrap();
    memcpy_async(&mut b, &a, &stream).unwrap();
    assert!(reaches(first, second) && reaches(second, first));
    assert_eq!(b.to_vec().unwrap(), host);

    // Access that the program disables stays disabled: copies do not request it again.
    // SAFETY: no kernel of this program uses a peer's memory.
    unsafe { first.disable_peer_access(&second) }.unwrap();
    // SAFETY: no kernel of this program uses a peer's memory.
    unsafe { second.disable_peer_access(&first) }.unwrap();
    let mut plane = first.with_current(|| PitchedBuffer::<u32>::alloc(10, 100)).unwrap();
    memcpy_2d_async(&mut plane, &b.plane(10, 100).unwrap(), &stream).unwrap();
    memcpy(&mut a, &b).unwrap();
    assert!(!reaches(first, second) && !reaches(second, first));
    assert_eq!(plane.to_vec().unwrap(), host);
    let plain = Plane::from_slice(&host, 10, 100).unwrap();
    assert_eq!((plain.extent()[0], plain.pitch()), (10, 40));
}
