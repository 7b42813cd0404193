//! Two devices exchange results, and the host gathers them.
//!
//! Each has its own stream and buffers. On a machine with one device the program prints that and ends
//! with success.
#![expect(unsafe_code, reason = "launches kernels")]
use anyhow::ensure;
use cuda_kernels::kernels::fill_f32;
use cuda_kernels::kernels::vector_add;
use cuda_safe::launch;
use cuda_safe::{Device, DeviceBuffer, Stream, memcpy};

/// The stream and buffers of a device.
struct Work {
    stream: Stream,
    own: DeviceBuffer<f32>,
    other: DeviceBuffer<f32>,
    sum: DeviceBuffer<f32>,
}

fn main() -> anyhow::Result<()> {
    let count = Device::count()?;
    if count < 2 {
        println!("this machine has one device: nothing to exchange");
        return Ok(());
    }

    let (n, threads) = (1_u32 << 14, 256);
    let (len, blocks) = (n as usize, n / threads);
    let mut work = Vec::new();
    for (device, value) in [(Device::new(0)?, 10.0), (Device::new(1)?, 11.0)] {
        device.set_current()?;
        let stream = Stream::new()?;
        let mut own = DeviceBuffer::<f32>::alloc(len)?;
        let other = DeviceBuffer::<f32>::alloc(len)?;
        let sum = DeviceBuffer::<f32>::alloc(len)?;
        // SAFETY: the buffer holds the `n` floats of the kernel's count.
        unsafe { launch!(fill_f32<<<blocks, threads, 0, &stream>>>(&mut own, value, n)) }?;
        work.push(Work { stream, own, other, sum });
    }

    let [zero, one] = &mut work[..] else { unreachable!() };
    memcpy(&mut zero.other, &one.own)?;
    memcpy(&mut one.other, &zero.own)?;
    for Work { stream, own, other, sum } in [&mut *zero, &mut *one] {
        stream.device().set_current()?;
        // SAFETY: all three buffers hold the `n` floats of the kernel's count.
        unsafe { launch!(vector_add<<<blocks, threads, 0, stream>>>(&*own, &*other, &mut *sum, n)) }?;
    }

    for (device, expected, Work { other, sum, .. }) in [(0, 11.0, &*zero), (1, 10.0, &*one)] {
        let (other, sum) = (other.to_vec()?, sum.to_vec()?);
        ensure!(other.iter().all(|&x| x == expected) && sum.iter().all(|&x| x == 21.0));
        println!("device {device}: received {:.0} from the other, {n} sums are {:.0}", other[0], sum[0]);
    }
    Ok(())
}
