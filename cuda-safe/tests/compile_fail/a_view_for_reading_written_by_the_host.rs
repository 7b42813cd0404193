//! A view for reading lends nothing for writing.
use cuda_safe::PinnedBuffer;

fn main() -> cuda_safe::Result<()> {
    let pinned = PinnedBuffer::<u32>::alloc(3)?;
    pinned.slice(..)?.host_mut()?[0] = 1;
    Ok(())
}
