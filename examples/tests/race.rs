//! Without the tracker's wait, two streams on one buffer give wrong numbers every time, so the wait makes
//! them right. A gate makes the order certain: the first stream cannot start before the second is done.
//!
//! Not under sanitizers: a kernel polls a flag while two streams are filled.
#![expect(unsafe_code, reason = "launches kernels, and switches the tracker off")]

use cuda_kernels::kernels::{add_one, double_values, gate};
use cuda_safe::hazard::{self, Policy};
use cuda_safe::{DeviceBuffer, MappedFlag, PinnedBuffer, Stream, launch, memcpy_async};

const N: u32 = 1000;
const LEN: usize = 1000;
const ROUNDS: usize = 20;

/// Does the work of `two_streams`, with the first stream held by a gate. Returns the results of both
/// copies.
fn doubled_and_plus_one(
    first: &Stream,
    second: &Stream,
    flag: &MappedFlag,
) -> cuda_safe::Result<(Vec<i32>, Vec<i32>)> {
    let mut data = DeviceBuffer::from_slice(&[5_i32; LEN])?;
    let mut doubled = PinnedBuffer::from_slice(&[0_i32; LEN])?;
    let mut plus_one = PinnedBuffer::from_slice(&[0_i32; LEN])?;
    // The legacy stream uploads buffers, and these streams do not wait for it.
    data.device().synchronize()?;

    // SAFETY: the flag is opened below in every case.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, first>>>(flag)) }?;
    launch!(double_values<<<4, 256, 0, first>>>(&mut data, N))?;
    memcpy_async(&mut doubled, &data, first)?;
    launch!(add_one<<<4, 256, 0, second>>>(&mut data, N))?;
    memcpy_async(&mut plus_one, &data, second)?;

    if hazard::policy() == Policy::Off {
        second.synchronize()?;
        flag.set(1);
    } else {
        // The second stream waits for the first, so it cannot be done before the gate is open.
        assert!(!second.is_done()?);
        flag.set(1);
        second.synchronize()?;
    }
    first.synchronize()?;
    flag.set(0);
    Ok((doubled.to_vec()?, plus_one.to_vec()?))
}

#[test]
fn without_the_trackers_wait_the_result_is_wrong_every_time() -> cuda_safe::Result<()> {
    let (first, second, flag) = (Stream::non_blocking()?, Stream::non_blocking()?, MappedFlag::new()?);
    // CUDA loads a kernel at its first launch, and loading may wait for the device. So it must not happen
    // while the gate is closed.
    let mut data = DeviceBuffer::from_slice(&[0_i32; LEN])?;
    flag.set(1);
    // SAFETY: the flag is open.
    unsafe { launch!(gate.unchecked()<<<1, 1, 0, &first>>>(&flag)) }?;
    launch!(double_values<<<4, 256, 0, &first>>>(&mut data, N))?;
    launch!(add_one<<<4, 256, 0, &first>>>(&mut data, N))?;
    first.synchronize()?;
    flag.set(0);

    for _ in 0..ROUNDS {
        let added = hazard::added_waits();
        let (doubled, plus_one) = doubled_and_plus_one(&first, &second, &flag)?;
        assert_eq!((doubled, plus_one), (vec![10; LEN], vec![11; LEN]));
        assert!(hazard::added_waits() > added, "the order came from elsewhere");
    }

    // SAFETY: the host synchronises before it reads or frees memory. On the device the order is wrong on
    // purpose.
    unsafe { hazard::set_policy_off() }?;
    for _ in 0..ROUNDS {
        let (doubled, plus_one) = doubled_and_plus_one(&first, &second, &flag)?;
        assert_eq!(
            (doubled, plus_one),
            (vec![12; LEN], vec![6; LEN]),
            "the second stream did not come first"
        );
    }
    hazard::set_policy(Policy::Order)
}
