//! The host does not read write-combined memory while it writes it either.
fn main() -> cuda_safe::Result<()> {
    let mut buffer = cuda_safe::WriteCombinedBuffer::<u32>::alloc(4)?;
    let writer = buffer.write()?;
    let _first = writer[0];
    Ok(())
}
