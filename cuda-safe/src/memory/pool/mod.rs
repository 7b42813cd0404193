//! Pools of device memory, from which stream-ordered allocations come: the memory that they retain, and the
//! devices that can access it.
//!
//! Every device has a default pool, and any number of further pools that the program makes
//! ([`MemoryPool::new`]). [`DeviceBuffer::alloc_async`](crate::DeviceBuffer::alloc_async) takes memory from
//! the current pool of the stream's device, [`DeviceBuffer::alloc_from`](crate::DeviceBuffer::alloc_from)
//! from a given pool. Only these two are stream-ordered, and nothing here blocks. Pools may be sent to
//! other threads and shared with them, and may be used with any current device.
//!
//! # The memory that a pool retains
//! Freed memory stays with its pool, up to the release threshold. The rest goes back to the device whenever
//! the host synchronises. CUDA's own threshold is 0: a program that allocates and synchronises alternately
//! then pays for fresh memory every time. Therefore the crate raises the threshold of a device's *default*
//! pool to the maximum: once for each device, at the first `alloc_async`, and only if it is 0 and the
//! program has not set it through this crate.
//!
//! [`keep_pool_memory`]`(false)`, called before that, prevents this, and so does the environment variable
//! `CUDA_SAFE_KEEP_POOL_MEMORY=0`. [`MemoryPool::trim_to`] gives memory back at any time. The crate does
//! not change the threshold of pools that the program makes.
//!
//! # Why no buffer outlives its memory
//! A pool without owners is kept for a later one, and destroyed if other code made it: both only after the
//! host has waited for its device, and when none of its memory is in use. Therefore buffers need not retain
//! their pool, and dropping a pool never blocks.
//!
//! A destroyed handle must not be used. Therefore a [`MemoryPool`] is reference-counted. If
//! [`Device::memory_pool`](crate::Device::memory_pool) finds a pool of the program current, it returns
//! another owner of it, and the pool lives as long as either owner. A handle that the crate does not know
//! is refused.
//!
//! # The devices that can access the memory
//! At first only the pool's own device can access the memory, even if peer access is enabled.
//! [`enable_access`](MemoryPool::enable_access) gives other devices access.
//!
//! # Examples
//! ```
//! use cuda_safe::memory::{MemoryPool, PoolAccess};
//! use cuda_safe::{Device, DeviceBuffer, Stream, memset_async};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let (device, stream) = (Device::current()?, Stream::new()?);
//! let pool = MemoryPool::new()?;
//! pool.set_release_threshold(64 << 20)?;
//! let mut scratch = DeviceBuffer::<f32>::alloc_from(&pool, 1000, &stream)?;
//! memset_async(&mut scratch, 0, &stream)?;
//! scratch.free_async(&stream)?; // the pool retains it for the next one
//! stream.synchronize()?;
//! assert_eq!(pool.attributes()?.used, 0);
//! pool.trim_to(0)?;
//!
//! // From here on `alloc_async` takes memory from it.
//! let usual = device.memory_pool()?;
//! device.set_memory_pool(&pool)?;
//! let buffer = DeviceBuffer::<f32>::alloc_async(1000, &stream)?;
//! assert!(pool.attributes()?.used >= 4000);
//! assert!(usual.is_default() && device.default_memory_pool()?.is_default());
//! device.set_memory_pool(&usual)?;
//!
//! // Other devices get access one by one.
//! for peer in Device::all()?.filter(|peer| *peer != device && peer.can_access_peer(&device) == Ok(true)) {
//!     pool.enable_access(peer)?;
//!     assert_eq!(pool.access(peer)?, PoolAccess::READ_WRITE);
//! }
//! # Ok(())
//! # }
//! ```

mod calls;
pub(crate) mod gone;
mod owned;
mod retention;
mod reuse;

pub use owned::{MemoryPool, MemoryPoolBuilder, PoolAccess, PoolAttributes, PoolKind};
pub use retention::keep_pool_memory;
pub use reuse::PoolReuse;

pub(super) use calls::PoolCall;
pub(super) use owned::{ensure_accessible, enter};
pub(super) use retention::{abandon, before_first_use};
