//! Access between devices that batches enable automatically.
//!
//! Alone: the devices are reset between the cases.
#![expect(unsafe_code, reason = "asks and changes what the runtime has enabled, and resets devices")]

use cuda_safe::copy::{CopyBatch, CopyBatch3d};
use cuda_safe::device::automatic_peer_access;
use cuda_safe::memory::PitchedBuffer;
use cuda_safe::{Device, DeviceBuffer, Result, Stream, check, error, sys};
use cuda_testing::own_process;

/// Whether `device` reaches the memory of `peer`: tested by enabling access, which is then disabled again.
fn reaches(device: Device, peer: Device) -> Result<bool> {
    device.with_current(|| {
        // SAFETY: takes an ordinal and flags.
        match unsafe { check!(cudaDeviceEnablePeerAccess(peer.as_raw(), 0)) } {
            Err(error) if error.code() == sys::cudaErrorPeerAccessAlreadyEnabled => {
                let _ = error::take_last();
                Ok(true)
            }
            Err(error) => Err(error),
            // SAFETY: takes an ordinal; no kernel of this program uses a peer's memory.
            Ok(()) => unsafe { check!(cudaDeviceDisablePeerAccess(peer.as_raw())) }.map(|()| false),
        }
    })
}

/// Copies numbers from one device to the other, with the tested function.
type Verb = fn(&mut PitchedBuffer<u32>, &PitchedBuffer<u32>, &Stream) -> Result<()>;

fn batch(to: &mut PitchedBuffer<u32>, from: &PitchedBuffer<u32>, stream: &Stream) -> Result<()> {
    let (mut to, from) = (to.plane_mut(), from.plane());
    CopyBatch::new().copy(&mut to.row_mut(0)?, &from.row(0)?).enqueue(stream)
}

fn batch3d(to: &mut PitchedBuffer<u32>, from: &PitchedBuffer<u32>, stream: &Stream) -> Result<()> {
    CopyBatch3d::new().copy_2d(to, from).enqueue(stream)
}

#[cfg(cudart_13_2)]
fn with_attributes(to: &mut PitchedBuffer<u32>, from: &PitchedBuffer<u32>, stream: &Stream) -> Result<()> {
    use cuda_safe::copy::{CopyAttributes, memcpy_with_attributes_async};

    let (mut to, from) = (to.plane_mut(), from.plane());
    memcpy_with_attributes_async(&mut to.row_mut(0)?, &from.row(0)?, CopyAttributes::new(), stream)
}

#[cfg(cudart_13_2)]
fn with_attributes_2d(to: &mut PitchedBuffer<u32>, from: &PitchedBuffer<u32>, stream: &Stream) -> Result<()> {
    use cuda_safe::copy::{CopyAttributes, memcpy_2d_with_attributes_async};

    memcpy_2d_with_attributes_async(to, from, CopyAttributes::new(), stream)
}

fn verbs() -> Vec<(&'static str, Verb)> {
    vec![
        ("CopyBatch", batch),
        ("CopyBatch3d", batch3d),
        #[cfg(cudart_13_2)]
        ("memcpy_with_attributes_async", with_attributes),
        #[cfg(cudart_13_2)]
        ("memcpy_2d_with_attributes_async", with_attributes_2d),
    ]
}

#[test]
fn the_first_batch_between_two_devices_enables_access_both_ways() {
    own_process!();
    let devices: Vec<_> = Device::all().unwrap().collect();
    let [first, second, ..] = devices[..] else {
        println!("one device only: no second one to copy to");
        return;
    };
    let able = first.can_access_peer(&second).unwrap() && second.can_access_peer(&first).unwrap();
    let host: Vec<u32> = (0..1000).collect();
    assert!(automatic_peer_access());
    for (name, verb) in verbs() {
        {
            let stream = first.with_current(Stream::non_blocking).unwrap();
            let plane = || PitchedBuffer::<u32>::alloc(1000, 1);
            let (mut a, mut b) = (first.with_current(plane).unwrap(), second.with_current(plane).unwrap());
            cuda_safe::memcpy(&mut a.plane_mut().row_mut(0).unwrap(), &host).unwrap();
            // Proves that the numbers are from the batch. Also for sanitizers, which do not know that a
            // batch writes.
            cuda_safe::memset_2d(&mut b, 0xee).unwrap();
            if able {
                assert!(!reaches(first, second).unwrap() && !reaches(second, first).unwrap(), "{name}");
            }
            verb(&mut b, &a, &stream).unwrap();
            if able {
                assert!(reaches(first, second).unwrap() && reaches(second, first).unwrap(), "{name}");
            } else {
                println!("the devices do not reach each other: nothing to enable");
            }
            let mut back = DeviceBuffer::<u32>::alloc_on(second, 1000).unwrap();
            cuda_safe::memcpy(&mut back, &b.plane().row(0).unwrap()).unwrap();
            assert_eq!(back.to_vec().unwrap(), host, "{name}");
            assert_eq!(error::take_last(), Ok(()), "{name}");
        }
        for device in [first, second] {
            // SAFETY: everything on the device was dropped, and this test is alone in its process.
            unsafe { device.reset() }.unwrap();
        }
    }
}
