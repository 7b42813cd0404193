//! A host read of write-combined memory is hundreds of times slower, so there is no guard for it.
fn main() -> cuda_safe::Result<()> {
    let buffer = cuda_safe::WriteCombinedBuffer::<u32>::alloc(4)?;
    let _first = buffer.host()?[0];
    Ok(())
}
