//! A copy may be writing the memory: the host reaches it through guards.
fn main() -> cuda_safe::Result<()> {
    let pinned = cuda_safe::PinnedBuffer::<u32>::alloc(3)?;
    let _first = pinned[0];
    Ok(())
}
