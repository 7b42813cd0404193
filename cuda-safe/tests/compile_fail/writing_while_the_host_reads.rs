//! While a guard lends the memory for reading, nothing may write it.
fn main() -> cuda_safe::Result<()> {
    let mut pinned = cuda_safe::PinnedBuffer::<u32>::alloc(3)?;
    let reading = pinned.host()?;
    pinned.host_mut()?[0] = 1;
    assert_eq!(reading[0], 0);
    Ok(())
}
