//! Reading write-combined memory on the host takes hundreds of times as long: there is no guard for it.
fn main() -> cuda_safe::Result<()> {
    let buffer = cuda_safe::WriteCombinedBuffer::<u32>::alloc(4)?;
    let _first = buffer.host()?[0];
    Ok(())
}
