//! Devices: which there are, which is current, what they can do, and how they reach each other.
//!
//! A [`Device`] is an ordinal that was checked once. Nothing here needs a device to be current: functions that C
//! ties to the current device take one, switch to it only where it is not current already, and switch back. The
//! current device belongs to the calling thread, as in C. Only [`Device::synchronize`] blocks.
//!
//! C functions: `cudaGetDeviceCount`, `cudaGetDevice`, `cudaSetDevice`, `cudaInitDevice`, `cudaDeviceSynchronize`,
//! `cudaDeviceReset`, `cudaMemGetInfo`, `cudaGetDeviceProperties`, `cudaDeviceGetAttribute`, `cudaDeviceGetLimit`,
//! `cudaDeviceSetLimit`, `cudaGetDeviceFlags`, `cudaSetDeviceFlags`, `cudaDeviceGetPCIBusId`,
//! `cudaDeviceGetByPCIBusId`, `cudaDeviceGetStreamPriorityRange`, `cudaDeviceCanAccessPeer`,
//! `cudaDeviceEnablePeerAccess`, `cudaDeviceDisablePeerAccess`, `cudaDeviceGetP2PAttribute`,
//! `cudaDriverGetVersion`, `cudaRuntimeGetVersion`.

mod flags;
mod identity;
mod limit;
mod ordinal;
mod peer;
mod properties;
mod version;

pub use flags::DeviceFlags;
pub use limit::Limit;
pub(crate) use ordinal::Switched;
pub use ordinal::{Device, MemoryInfo, PriorityRange};
pub use peer::PeerAttribute;
pub use properties::DeviceProperties;
pub use version::{Version, driver_version, runtime_version};
