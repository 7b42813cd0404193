//! Pools of device memory: which a stream-ordered allocation comes from, what they keep, and who reaches their memory.
//!
//! Every device has a pool of its own, its default one, and any number of others that the program makes
//! ([`MemoryPool::new`]). [`DeviceBuffer::alloc_async`](crate::DeviceBuffer::alloc_async) takes from the pool that is
//! current on the stream's device, [`DeviceBuffer::alloc_from`](crate::DeviceBuffer::alloc_from) from one that it is given.
//! Nothing here is stream-ordered but those two, and nothing blocks. Pools may be sent to and shared with other threads,
//! and do not care which device is current.
//!
//! # What a pool keeps
//! What is freed stays with its pool, up to the release threshold, and the rest goes back to the device whenever the host
//! synchronises. CUDA's own threshold is 0: a program that allocates and synchronises in turn then pays for fresh memory
//! every time. So the crate raises the threshold of a device's *default* pool as far as it goes: once for each device, at
//! the first `alloc_async`, and only where it is 0 and the program has not set it through this crate itself.
//! [`keep_pool_memory`]`(false)`, called before that, leaves it alone, and so does the environment variable
//! `CUDA_SAFE_KEEP_POOL_MEMORY=0`; [`MemoryPool::trim_to`] gives memory back at any time. Pools that the program makes are
//! left as CUDA makes them.
//!
//! # Why no buffer outlives its memory
//! A pool without owners is destroyed only after the host has waited for its device, when none of its memory is used: buffers
//! need not keep their pool, and dropping a pool never waits. Handles are another matter: a destroyed one must not be
//! used. A [`MemoryPool`] is counted, so that one which [`Device::memory_pool`](crate::Device::memory_pool) finds current
//! is the one that the program owns, and lives as long as either; a handle that the crate does not know is refused.
//!
//! # Who reaches the memory
//! Only the pool's own device, to begin with, whatever peer access was enabled:
//! [`enable_access`](MemoryPool::enable_access) is for others.
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
//! scratch.free_async(&stream)?; // the pool keeps it for the next one
//! stream.synchronize()?;
//! assert_eq!(pool.statistics()?.used, 0);
//! pool.trim_to(0)?;
//!
//! // From here on `alloc_async` takes from it.
//! let usual = device.memory_pool()?;
//! device.set_memory_pool(&pool)?;
//! let buffer = DeviceBuffer::<f32>::alloc_async(1000, &stream)?;
//! assert!(pool.statistics()?.used >= 4000);
//! assert!(usual.is_default() && device.default_memory_pool()?.is_default());
//! device.set_memory_pool(&usual)?;
//!
//! // Other devices are let in one by one.
//! for peer in Device::all()?.filter(|peer| *peer != device && peer.can_access_peer(&device) == Ok(true)) {
//!     pool.enable_access(peer)?;
//!     assert_eq!(pool.access(peer)?, PoolAccess::READ_WRITE);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! C functions: `cudaMemPoolCreate`, `cudaMemPoolDestroy`, `cudaDeviceGetDefaultMemPool`, `cudaDeviceGetMemPool`,
//! `cudaDeviceSetMemPool`, `cudaMemGetDefaultMemPool`, `cudaMemGetMemPool`, `cudaMemSetMemPool`, `cudaMemPoolTrimTo`,
//! `cudaMemPoolSetAttribute`, `cudaMemPoolGetAttribute`, `cudaMemPoolSetAccess`, `cudaMemPoolGetAccess`,
//! `cudaMallocFromPoolAsync`, and of `share` those that other processes need.

mod access;
mod attributes;
mod builder;
mod current;
pub(crate) mod gone;
mod kind;
mod owned;
mod retention;
#[cfg(unix)]
mod share;

pub use access::PoolAccess;
pub use attributes::{PoolReuse, PoolStatistics};
pub use builder::MemoryPoolBuilder;
pub use kind::PoolKind;
pub use owned::MemoryPool;
pub use retention::keep_pool_memory;
#[cfg(unix)]
pub use share::{ImportedPool, PoolPointer};

pub(super) use retention::{abandon, before_first_use};
