//! NCCL's collectives over the memory and the streams of `cuda-safe`.
//!
//! NCCL is loaded at its first use. Without NCCL, a program that is built with this crate starts, and gets
//! [`ErrorKind::Missing`] when it creates a communicator. Work takes the one submission path of `cuda-safe`,
//! so it is ordered with all other work on the same memory. A communicator is destroyed after its work.
//!
//! | C | here |
//! |---|---|
//! | `ncclCommInitAll` | [`Communicator::init_all`] |
//! | `ncclGetUniqueId`, `ncclCommInitRank` | [`UniqueId::new`], [`Communicator::init_rank`] |
//! | the same, started by torchrun or `srun` | [`Communicator::from_env`] |
//! | `ncclAllReduce(x, y, n, type, op, comm, s)` | `comm.all_reduce(&x, &mut y, op)?.enqueue(&s)?` |
//! | `ncclGroupStart`, a loop, `ncclGroupEnd` | [`Group::add`] in the loop, then [`Group::enqueue`] |
//! | `ncclCommDestroy`, `ncclCommAbort` | the drop, [`Communicator::abort`], [`Communicator::abort_all`] |
//!
//! # Examples
//! One process with all devices of the machine:
//!
//! ```no_run
//! use cuda_nccl::{Communicator, Group, Reduction};
//! use cuda_safe::{Device, DeviceBuffer, Stream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let devices: Vec<Device> = Device::all()?.collect();
//! let comms = Communicator::init_all(&devices)?;
//! let mut streams = Vec::new();
//! let mut buffers = Vec::new();
//! for device in &devices {
//!     streams.push(Stream::builder().device(*device).non_blocking().build()?);
//!     buffers.push(device.with_current(|| DeviceBuffer::from_slice(&[1.0_f32; 1024]))?);
//! }
//! let mut views: Vec<_> = buffers.iter_mut().map(|buffer| buffer.as_slice_mut()).collect();
//! let mut group = Group::new();
//! for ((comm, view), stream) in comms.iter().zip(&mut views).zip(&streams) {
//!     group = group.add(comm.all_reduce_in_place(view, Reduction::Sum)?, stream)?;
//! }
//! group.enqueue()?;
//! # Ok(())
//! # }
//! ```
//!
//! You can try a program for several GPUs on one. With `NCCL_MULTI_RANK_GPU_ENABLE=1`, NCCL 2.32 accepts a
//! device twice. In older versions, two processes share a device if each has its own `NCCL_HOSTID`.

// The unit tests.
// Not under sanitizers: they use no GPU.

mod call;
mod clique;
mod communicator;
mod element;
mod error;
mod operation;
mod raw;
mod rendezvous;

pub use communicator::{Communicator, UniqueId};
pub use element::{Element, Reduction};
pub use error::{Error, ErrorKind, Result};
pub use operation::{Group, Operation};
pub use rendezvous::Place;
