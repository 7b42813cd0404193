//! Memory is not freed while a guard lends it to the host.
use cuda_safe::PinnedBuffer;

fn main() -> cuda_safe::Result<()> {
    let pinned = PinnedBuffer::<u32>::alloc(3)?;
    let reading = pinned.host()?;
    pinned.free()?;
    assert_eq!(reading[0], 0);
    Ok(())
}
