//! All memory that the machine knows: device memory, pinned and registered host memory, managed memory, CUDA
//! arrays, the device heap. Everything else is pageable memory, which the machine does not know.

mod advice;
mod allocation;
mod array;
mod book;
mod format;
mod object;
mod pool;
mod shared;
mod space;
mod written;

pub(crate) use advice::{Advice, HOST, Location, NOWHERE};
pub(crate) use allocation::{Allocation, Kind};
pub(crate) use array::{Array, Wanted, bytes, is_layered};
pub(crate) use book::{Book, Found, POISON};
pub(crate) use format::{Extent, Format};
pub(crate) use object::{Object, ResourceDesc, Source, is_plain};
pub(crate) use pool::{Pool, PoolKey, PoolPlace, Pools};
pub(crate) use shared::{Ticket, unnamed_file};
pub(crate) use written::Written;
