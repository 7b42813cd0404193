//! Other owners of an `Arc` may be reading the elements that the host would write.
use std::sync::Arc;

use cuda_safe::Registered;

fn main() -> cuda_safe::Result<()> {
    let mut shared = Registered::new(Arc::<[u32]>::from([0; 3]))?;
    shared.host_mut()?.fill(1);
    Ok(())
}
