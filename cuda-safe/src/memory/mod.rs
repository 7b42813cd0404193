//! Memory that frees itself: device memory, pinned host memory and managed memory, with owners, views and
//! guards.
//!
//! - An owner ([`DeviceBuffer`], [`PinnedBuffer`], [`WriteCombinedBuffer`], [`ManagedBuffer`],
//!   [`Registered`], [`PitchedBuffer`], [`PitchedVolume`]) stores its device and how it was allocated. Any
//!   thread may therefore free it, whichever device is current.
//! - A view ([`DeviceSlice`], [`PinnedSlice`] and their `Mut` forms) is a part of an owner, with a
//!   lifetime. Two `Mut` views never overlap, and work on one is not ordered after work on the other.
//! - Owners and views have one type each for all memory: [`Buffer`], [`Slice`] and [`SliceMut`]. Their last
//!   parameter, a [`MemoryType`], is the type of the memory and decides its operations.
//! - A [`Plane`] or a [`Volume`] (and their `Mut` forms) views rows, or layers of rows, of any memory,
//!   including the program's own slices.
//! - A CUDA array ([`Array`], [`MipmappedArray`], [`Nv12Array`]) has a layout chosen by the device, and no
//!   address. An [`ArrayBuilder`] makes it, and an [`ArrayView`] is a part of it. Only copies of rows and
//!   layers reach it, and kernels through [textures and surfaces](crate::texture).
//! - Variables of the kernels' source files ([`Symbol`](crate::launch::Symbol)) have no owner. They exist on
//!   every device, as long as the process.
//!
//! Allocating and freeing are not stream-ordered, except [`DeviceBuffer::alloc_async`] and
//! [`DeviceBuffer::alloc_from`] ([`MemoryPool`] explains pools). Freeing blocks the host until the work
//! that still uses the memory is complete. The guards ([`HostRef`], [`HostMut`]) through which the host
//! reaches pinned and managed memory block too. Nothing else here blocks. Owners and views may be sent to
//! other threads and shared with them if their elements may.
//!
//! Forgetting an owner, a view or a guard leaks memory and is otherwise harmless.

pub(crate) mod allocation;
mod arena;
pub(crate) mod array;
mod buffer;
mod device;
pub(crate) mod external;
mod flag;
pub(crate) mod grid;
mod guard;
mod handle;
mod indexing;
mod ipc;
mod large_pages;
mod lent;
mod location;
pub mod managed;
pub(crate) mod memory_type;
mod pinned;
mod pitched;
pub(crate) mod place;
mod plane;
pub(crate) mod pool;
mod registered;
mod retain;
pub(crate) mod size;

#[cfg(feature = "staged")]
pub(crate) use allocation::on_free;
pub(crate) use handle::{Destroy, UsedHandle};
pub(crate) use ipc::sent_bytes;
pub(crate) use retain::{Retainable, retain, retainable, retained};

pub use arena::Arena;
pub use array::{
    Array, ArrayBuilder, ArrayElement, ArrayFlags, ArrayInfo, ArrayKind, ArrayView, ArrayViewMut, Half,
    MemoryRequirements, MipmappedArray, Nv12Array, SparseProperties, UnmappedArray,
};
pub use buffer::{
    Buffer, DeviceSlice, DeviceSliceMut, ManagedSlice, ManagedSliceMut, PinnedSlice, PinnedSliceMut, Slice,
    SliceMut,
};
pub use device::{DeviceBuffer, DevicePtr};
pub use external::{ExternalMemory, ExternalMemoryFlags, ExternalSemaphore};
pub use flag::MappedFlag;
pub use guard::{HostMut, HostRef};
pub use ipc::{ImportedPool, IpcMemHandle, PoolPointer};
pub use location::{MemoryKind, MemoryLocation, PointerAttributes};
pub use managed::ManagedBuffer;
pub use memory_type::{
    AnyMemoryType, HostMemoryType, Managed, MappedMemoryType, MemoryType, OnDevice, Pageable, Pinned,
    SourceOf, WriteCombined,
};
pub use pinned::{
    HostWriter, PinnedBuffer, PinnedFlags, WriteCombinedBuffer, WriteCombinedSlice, WriteCombinedSliceMut,
};
pub use pitched::{PitchedBuffer, PitchedVolume};
pub use plane::{Plane, PlaneMut, Volume, VolumeMut};
pub use pool::{
    MemoryPool, MemoryPoolBuilder, PoolAccess, PoolAttributes, PoolKind, PoolReuse, keep_pool_memory,
};
pub use registered::{ReadOnly, RegisterFlags, Registered, Stable, StableMut};

/// Forgets the memory that the crate itself retains on a device. The device is reset, which frees all its
/// memory.
pub(crate) fn abandon(device: crate::Device) {
    flag::abandon(device);
    allocation::abandon(device);
    pool::abandon(device);
}
