//! Managed memory, with one address for host and device.
//!
//! The program gives advice for the memory and prefetches it.
use anyhow::ensure;
use cuda_kernels::kernels::vector_add;
use cuda_safe::memory::MemoryLocation;
use cuda_safe::memory::managed::Advice;
use cuda_safe::{Device, ManagedBuffer, Stream, launch};

fn main() -> anyhow::Result<()> {
    let n = 1 << 16;
    let numbers: Vec<f32> = (0_u16..=u16::MAX).map(f32::from).collect();
    let mut a = ManagedBuffer::<f32>::alloc(n)?;
    let mut b = ManagedBuffer::<f32>::alloc(n)?;
    let mut sum = ManagedBuffer::<f32>::alloc(n)?;
    a.host_mut()?.copy_from_slice(&numbers);
    for (b, number) in b.host_mut()?.iter_mut().zip(&numbers) {
        *b = 2.0 * number;
    }

    let stream = Stream::new()?;
    let device = MemoryLocation::Device(Device::current()?);
    a.as_slice().advise(Advice::SetReadMostly)?;
    a.as_slice().prefetch_async(device, &stream)?;
    b.as_slice().prefetch_async(device, &stream)?;
    launch!(vector_add<<<n / 256, 256, 0, &stream>>>(&a, &b, &mut sum, n))?;

    let seen = sum.host()?; // waits for the kernel
    ensure!(seen.iter().zip(&numbers).all(|(sum, number)| *sum == 3.0 * number));
    println!("sum[{}] = {:.0}", n - 1, seen[n - 1]);
    ensure!(a.as_slice().last_prefetch_location()? == Some(device));
    println!("a is mostly read: {}", if a.as_slice().range_attributes()?.read_mostly { "yes" } else { "no" });
    Ok(())
}
