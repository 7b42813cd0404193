//! Attributes of a launch that name memory do not outlive it.
use cuda_safe::launch::LaunchConfig;
use cuda_safe::stream::{AccessPolicy, AccessProperty};

fn main() -> cuda_safe::Result<()> {
    let device = cuda_safe::DeviceBuffer::<u32>::alloc(4)?;
    let policy =
        AccessPolicy::new(&device.slice(..)?, 1.0, AccessProperty::Persisting, AccessProperty::Streaming);
    let config = LaunchConfig::new(1, 32).access_policy(policy);
    drop(device);
    assert_eq!(config.shared_bytes, 0);
    Ok(())
}
