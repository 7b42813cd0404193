//! Memory that frees itself: on the device, and pinned on the host; its owners, views and guards.
//!
//! An owner ([`DeviceBuffer`], [`PinnedBuffer`], [`Registered`]) remembers its device and how it was allocated, so it is freed
//! rightly from any thread, whatever device is current. A view ([`DeviceSlice`], [`PinnedSlice`] and their `Mut`
//! forms) is a part of an owner, with a lifetime; two `Mut` views never overlap, and work on the one is not ordered
//! after work on the other.
//!
//! Allocating and freeing are not stream-ordered, but for [`DeviceBuffer::alloc_async`]. Freeing waits, on the host, for
//! the work that still uses the memory; so do the guards ([`HostRef`], [`HostMut`]) through which the host reaches pinned memory. Nothing else here
//! blocks. Owners and views may be sent to and shared with other threads wherever their elements may.
//!
//! Forgetting an owner, a view or a guard leaks memory and is otherwise harmless.
//!
//! C functions: `cudaMalloc`, `cudaFree`, `cudaMallocHost`, `cudaHostAlloc`, `cudaFreeHost`,
//! `cudaHostRegister`, `cudaHostUnregister`, `cudaHostGetDevicePointer`, `cudaMallocAsync`, `cudaFreeAsync`, `cudaThreadExchangeStreamCaptureMode`.

mod allocation;
mod device;
mod device_view;
mod flag;
mod guard;
mod mapped;
mod pinned;
mod pinned_view;
mod reaper;
mod registered;
mod relaxed;
pub(crate) mod size;
pub(crate) mod span;
mod stable;

pub use device::DeviceBuffer;
pub use device_view::{DeviceSlice, DeviceSliceMut};
pub use flag::MappedFlag;
pub use guard::{HostMut, HostRef};
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pinned_view::{PinnedSlice, PinnedSliceMut};
pub use registered::{RegisterFlags, Registered};
pub use stable::{Stable, StableMut};

/// Forgets what the crate itself keeps of a device's memory: the device is reset, and all of it is gone.
pub(crate) fn abandon(device: crate::Device) {
    flag::abandon(device);
    reaper::abandon(device);
}
