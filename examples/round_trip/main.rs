//! Copies bytes in every direction, unchanged.
//!
//! From pageable and from pinned memory they go host to host, host to device, device to device, and
//! device to host. The result equals the input.
use anyhow::ensure;
use cuda_safe::{DeviceBuffer, PinnedBuffer, memcpy};

const N: usize = 100_000; // bytes; not a multiple of a page, a warp or a transaction

fn fill(source: &mut [u8]) {
    for (byte, value) in source.iter_mut().zip((0..251).cycle()) {
        *byte = value;
    }
}

fn check(kind: &str, source: &[u8], result: &[u8]) -> anyhow::Result<()> {
    ensure!(source == result);
    let sum: u32 = result.iter().map(|&byte| u32::from(byte)).sum();
    println!("{kind}: {N} bytes went round unchanged, their sum is {sum}");
    Ok(())
}

fn main() -> anyhow::Result<()> {
    let mut d_first = DeviceBuffer::<u8>::alloc(N)?;
    let mut d_second = DeviceBuffer::<u8>::alloc(N)?;

    let (mut source, mut copy, mut result) = (vec![0; N], vec![0; N], vec![0; N]);
    fill(&mut source);
    memcpy(&mut copy, &source)?;
    memcpy(&mut d_first, &copy)?;
    memcpy(&mut d_second, &d_first)?;
    memcpy(&mut result, &d_second)?;
    check("pageable", &source, &result)?;

    let mut h_source = PinnedBuffer::<u8>::alloc(N)?;
    let mut h_copy = PinnedBuffer::<u8>::alloc(N)?;
    let mut h_result = PinnedBuffer::<u8>::alloc(N)?;
    fill(&mut h_source.host_mut()?);
    memcpy(&mut h_copy, &h_source)?;
    memcpy(&mut d_first, &h_copy)?;
    memcpy(&mut d_second, &d_first)?;
    memcpy(&mut h_result, &d_second)?;
    check("pinned", &h_source.host()?, &h_result.host()?)
}
