//! All memory that the machine knows: device memory, pinned and registered host memory, managed memory, CUDA
//! arrays, the device heap. Everything else is pageable memory, which the machine does not know.

mod advice;
mod allocation;
mod allocations;
mod array;
mod format;
mod object;
mod pool;
mod shared;
mod space;
mod written;

pub(crate) use advice::{Advice, HOST, Location, NOWHERE};
pub(crate) use allocation::{Allocation, Kind};
pub(crate) use allocations::{Allocations, Found, POISON};
pub(crate) use array::{Array, Wanted, has_layers};
pub(crate) use format::{Extent, Format};
pub(crate) use object::{Object, ResourceDesc, Source, is_plain, viewed};
pub(crate) use pool::{Pool, PoolKey, PoolPlace, Pools};
pub(crate) use shared::{IpcHandle, unnamed_file};
pub(crate) use written::Written;
