//! Safe, typed access to the CUDA Runtime API, with CUDA's own names.
//!
//! A CUDA C++ program carries over line for line: the same nouns, the same order of arguments, and for whatever
//! has no wrapper, [`check!`] around the raw call. What changes is what can go wrong: memory frees itself, lengths
//! are checked before the call, and work that conflicts is ordered by the crate where the program forgot to.
//!
//! # A first program
//! ```
//! use cuda_safe::{DeviceBuffer, Event, PinnedBuffer, Stream, memcpy_async, memset_async};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let stream = Stream::new()?;
//! let mut host = PinnedBuffer::from_slice(&[1.0_f32; 1024])?; // cudaMallocHost
//! let mut device = DeviceBuffer::<f32>::alloc(1024)?; // cudaMalloc: lengths are in elements
//! let (mut start, mut stop) = (Event::new()?, Event::new()?);
//! start.record(&stream)?;
//! memcpy_async(&mut device, &host, &stream)?;
//! memset_async(&mut device.slice_mut(..512)?, 0, &stream)?;
//! memcpy_async(&mut host, &device, &stream)?;
//! stop.record(&stream)?;
//! assert_eq!(host.host()?[510..514], [0.0, 0.0, 1.0, 1.0]); // waits for the copy
//! println!("{} ms", stop.elapsed_ms(&start)?);
//! # Ok(())
//! # }
//! ```
//!
//! Kernels stay CUDA C++: `cuda-kernels-build` compiles the `.cu` files of a crate and generates a typed handle for each kernel, to be
//! launched with [`launch!`]. Its documentation has the three things that this takes.
//!
//! # Map
//! | module | what it owns |
//! |---|---|
//! | [`error`] | [`Error`], [`check!`], the last-error slot of the runtime |
//! | [`device`] | devices: ordinal, current device, properties, limits, peer access |
//! | [`element`] | which types may cross to a device |
//! | [`memory`] | device, pinned, registered and pitched memory: owners, views, guards |
//! | [`copy`] | copies and fills |
//! | [`stream`] | streams, events, host functions, scopes, and the one way onto a stream |
//! | [`hazard`] | what orders conflicting work where the program did not |
//! | [`graph`] | graphs: captured or built, launched again and again |
//! | [`launch`](mod@launch) | kernels: typed handles, launch dimensions |
//! | [`library`] | code that is loaded at run time: PTX, cubins, fatbinaries, their kernels and variables |
//! | [`logs`] | what runtime and driver write down about calls that go wrong |
//! | [`texture`] | textures and surfaces: images that kernels read and write by coordinates |
//! | [`process`] | everything the crate does to the whole process, and how to switch it off |
//! | [`soundness`] | what safe code may try, what becomes of it, and the tests that show it |
//! | [`sys`] | the raw bindings, re-exported |
//!
//! Names follow C without the `cuda` prefix; searching this documentation for a C name finds its wrapper.
//!
//! # Errors
//! Every fallible function returns [`Result`]. An [`Error`] knows the call, its place in the caller's source, the
//! code and, where sizes were involved, both of them. Nothing in this crate panics on a CUDA failure.

mod callback;
pub mod copy;
pub mod device;
pub mod element;
pub mod error;
pub mod graph;
pub mod hazard;
mod hint;
pub mod launch;
#[cfg(cudart_12_8)]
pub mod library;
#[cfg(cudart_13_0)]
pub mod logs;
pub mod memory;
pub mod process;
pub mod soundness;
pub mod stream;
pub mod texture;
mod thread;

#[doc(hidden)]
pub use bytemuck;
pub use cuda_sys as sys;

pub use copy::{
    CopyBatch, fill, fill_async, memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async,
    memcpy_async, memcpy_from_symbol, memcpy_from_symbol_async, memcpy_to_symbol, memcpy_to_symbol_async,
    memset, memset_2d, memset_2d_async, memset_3d, memset_3d_async, memset_async,
};
pub use device::Device;
pub use error::{Error, Result};
pub use graph::{Graph, GraphExec};
#[cfg(cudart_12_8)]
pub use library::Library;
pub use memory::{
    Array, DeviceBuffer, DeviceSlice, DeviceSliceMut, HostMut, HostRef, ManagedBuffer, ManagedSlice,
    ManagedSliceMut, MappedFlag, MemoryPool, PinnedBuffer, PinnedFlags, PinnedSlice, PinnedSliceMut,
    PitchedBuffer, PitchedVolume, Plane, PlaneMut, RegisterFlags, Registered, Volume, VolumeMut,
    WriteCombinedBuffer,
};
pub use stream::{AsStream, Event, Stream};
pub use texture::{Surface, Texture};
