//! Memory that frees itself: on the device, pinned on the host, and managed; its owners, views and guards.
//!
//! An owner ([`DeviceBuffer`], [`PinnedBuffer`], [`WriteCombinedBuffer`], [`ManagedBuffer`], [`Registered`], [`PitchedBuffer`], [`PitchedVolume`]) remembers its device and how it was allocated, so it is freed
//! rightly from any thread, whatever device is current. A view ([`DeviceSlice`], [`PinnedSlice`] and their `Mut`
//! forms) is a part of an owner, with a lifetime; two `Mut` views never overlap, and work on the one is not ordered
//! after work on the other. Owners and views are each one type for all places: [`Buffer`], [`Slice`] and [`SliceMut`] with
//! a [`Place`] as their last parameter, which says what the memory can do. A [`Plane`] or a [`Volume`] (and their `Mut` forms) views
//! rows, or layers of rows, of any memory, slices of the program's own included.
//!
//! A CUDA array ([`Array`], [`MipmappedArray`], [`Nv12Array`]) has a layout of the device's own and no address: an
//! [`ArrayBuilder`] makes it, an [`ArrayView`] is a part of it, and only copies of rows and layers reach it, and kernels by
//! [textures and surfaces](crate::texture).
//!
//! Allocating and freeing are not stream-ordered, but for [`DeviceBuffer::alloc_async`] and
//! [`DeviceBuffer::alloc_from`] ([`MemoryPool`] says what pools are). Freeing waits, on the host, for
//! the work that still uses the memory; so do the guards ([`HostRef`], [`HostMut`]) through which the host reaches pinned and managed memory. Nothing else here
//! blocks. Owners and views may be sent to and shared with other threads wherever their elements may.
//!
//! Variables of kernels' source files ([`Symbol`]) have no owner: they are there, on every device, for as long as the process.
//!
//! Forgetting an owner, a view or a guard leaks memory and is otherwise harmless.
//!
//! C functions: `cudaMalloc`, `cudaMallocPitch`, `cudaMalloc3D`, `cudaFree`, `cudaMallocManaged` and what belongs to it ([`managed`]), `cudaMallocHost`, `cudaHostAlloc`, `cudaFreeHost`,
//! `cudaHostRegister`, `cudaHostUnregister`, `cudaHostGetDevicePointer`, `cudaMallocAsync`, `cudaFreeAsync`, `cudaGetSymbolAddress`,
//! `cudaGetSymbolSize`, `cudaThreadExchangeStreamCaptureMode`;
//! of arrays `cudaMallocArray`, `cudaMalloc3DArray`, `cudaFreeArray`, `cudaArrayGetInfo`, `cudaGetChannelDesc`,
//! `cudaMallocMipmappedArray`, `cudaFreeMipmappedArray`, `cudaGetMipmappedArrayLevel`, `cudaArrayGetPlane`,
//! `cudaArrayGetMemoryRequirements`, `cudaMipmappedArrayGetMemoryRequirements`, `cudaArrayGetSparseProperties`,
//! `cudaMipmappedArrayGetSparseProperties`;
//! `cudaPointerGetAttributes`, `cudaHostGetFlags`, those for pools ([`MemoryPool`]), and `cudaIpcGetMemHandle`,
//! `cudaIpcOpenMemHandle`, `cudaIpcCloseMemHandle` ([`IpcMemHandle`]).

pub(crate) mod allocation;
pub(crate) mod array;
mod attributes;
mod buffer;
mod device;
mod device_ptr;
mod flag;
pub(crate) mod grid;
mod guard;
mod ipc;
mod location;
pub mod managed;
pub(crate) mod mapped;
mod pinned;
mod pitched;
pub(crate) mod place;
mod plane;
pub(crate) mod pool;
mod registered;
mod relaxed;
mod retain;
pub(crate) mod size;
mod slice;
pub(crate) mod span;
mod stable;
mod symbol;
mod volume;
mod write_combined;

#[cfg(feature = "staged")]
pub(crate) use allocation::on_free;
pub(crate) use relaxed::relax;
pub(crate) use retain::{Retained, retain, retained};

pub use array::{
    Array, ArrayBuilder, ArrayElement, ArrayFlags, ArrayInfo, ArrayKind, ArrayView, ArrayViewMut, Half,
    MemoryRequirements, MipmappedArray, Nv12Array, SparseProperties, UnmappedArray,
};
pub use attributes::{MemoryKind, PointerAttributes};
pub use buffer::Buffer;
pub use device::DeviceBuffer;
pub use device_ptr::DevicePtr;
pub use flag::MappedFlag;
pub use guard::{HostMut, HostRef};
pub use ipc::IpcMemHandle;
pub use location::MemoryLocation;
pub use managed::ManagedBuffer;
pub use pinned::{PinnedBuffer, PinnedFlags};
pub use pitched::{PitchedBuffer, PitchedVolume};
pub use place::{
    AnyPlace, HostPlace, Managed, MappedPlace, OnDevice, Pageable, Pinned, Place, SourceOf, WriteCombined,
};
pub use plane::{Plane, PlaneMut};
#[cfg(unix)]
pub use pool::{ImportedPool, PoolPointer};
pub use pool::{
    MemoryPool, MemoryPoolBuilder, PoolAccess, PoolKind, PoolReuse, PoolStatistics, keep_pool_memory,
};
pub use registered::{RegisterFlags, Registered};
pub use slice::{
    DeviceSlice, DeviceSliceMut, ManagedSlice, ManagedSliceMut, PinnedSlice, PinnedSliceMut, Slice, SliceMut,
};
pub use stable::{ReadOnly, Stable, StableMut};
pub use symbol::{Symbol, SymbolSlice};
pub use volume::{Volume, VolumeMut};
pub use write_combined::{HostWriter, WriteCombinedBuffer, WriteCombinedSlice, WriteCombinedSliceMut};

/// Forgets what the crate itself keeps of a device's memory: the device is reset, and all of it is gone.
pub(crate) fn abandon(device: crate::Device) {
    flag::abandon(device);
    allocation::abandon(device);
    pool::abandon(device);
}
