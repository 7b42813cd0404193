//! Devices: enumeration, the current device, properties and limits, and access between devices.
//!
//! A [`Device`] is an ordinal that was checked once. No function here requires a device to be current.
//! Functions that C ties to the current device take a device, switch to it if it is not current already,
//! and switch back. The current device belongs to the calling thread, as in C. Only [`Device::synchronize`]
//! and [`Device::flush_gpudirect_rdma_writes`] block.
//!
//! # Examples
//! ```
//! use cuda_safe::Device;
//! use cuda_safe::device::{PeerAttribute, driver_version, runtime_version};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! println!("{} devices, runtime {}, driver {}", Device::count()?, runtime_version()?, driver_version()?);
//! for device in Device::all()? {
//!     let (properties, bus) = (device.properties()?, device.pci_bus_id()?);
//!     println!("{}: {} at {bus}, {} free", device.ordinal(), properties.name(), device.memory_info()?.free);
//!     assert_eq!(Device::by_pci_bus_id(&bus)?, device);
//!     for peer in Device::all()?.filter(|peer| *peer != device) {
//!         if device.can_access_peer(&peer)? {
//!             let rank = device.peer_attribute(&peer, PeerAttribute::PerformanceRank)?;
//!             println!("  reaches {} by a link of rank {rank}", peer.ordinal());
//!         }
//!     }
//! }
//! # Ok(())
//! # }
//! ```

#[cfg(cudart_13_0)]
mod atomic;
mod choose;
#[cfg(cudart_12_8)]
mod entry_point;
mod limit;
mod notification;
mod ordinal;
mod peer;
pub(crate) mod peer_access;
mod profiler;
pub(crate) mod properties;
mod settings;
mod version;

#[cfg(cudart_13_0)]
pub use atomic::{AtomicCapabilities, AtomicOperation};
#[cfg(cudart_12_8)]
pub use entry_point::{DefaultStream, DriverEntryPoint, driver_entry_point};
pub use limit::Limit;
pub use notification::{Notice, Notification};
pub(crate) use ordinal::Switched;
pub use ordinal::{Device, MemoryInfo, PriorityRange};
pub use peer::PeerAttribute;
pub use peer_access::{automatic_peer_access, set_automatic_peer_access};
pub use profiler::{profiler_start, profiler_stop};
pub use properties::DeviceProperties;
pub use settings::{CacheConfig, DeviceFlags, GraphMemory, RemoteWritesScope};
pub use version::{Version, driver_version, runtime_version};
