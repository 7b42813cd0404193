//! Safe, typed access to the CUDA Runtime API, with CUDA's own names.
//!
//! CUDA C++ ports line by line: the nouns and the order of arguments are the same. [`check!`] surrounds the
//! raw call of a function without a wrapper. The [`guide`] begins with a first program in a crate of your
//! own, and ends with a table of all names.
//!
//! # A first program
//! ```
//! use cuda_safe::{DeviceBuffer, Event, PinnedBuffer, Stream, memcpy_async, memset_async};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let stream = Stream::new()?;
//! let mut host = PinnedBuffer::from_slice(&[1.0_f32; 1024])?; // cudaMallocHost
//! let mut device = DeviceBuffer::<f32>::alloc(1024)?; // cudaMalloc: lengths are in elements
//! let (start, stop) = (Event::new()?, Event::new()?);
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
//! # Safety model
//! 1. Every operation declares the bytes that it reads and the bytes that it writes.
//! 2. Its arguments do this: `&d` is read, and `&mut d` is written.
//! 3. The borrow ends with the call, but the operation runs later, so the tracker records its accesses.
//! 4. Two operations conflict if they access the same bytes and one of them writes.
//! 5. If nothing orders an operation after one that it conflicts with, its stream waits for the other stream.
//!    Under [`Policy::Error`](hazard::Policy) the operation is refused instead, with an error that names both
//!    lines.
//! 6. The host gets a slice of memory only through a guard, which waits for the work on these bytes.
//! 7. Memory is freed only after the work that uses it, and a graph retains what its nodes use.
//! 8. Lengths and devices are checked before the call, so a refused operation changes nothing.
//! 9. A launch by a [`Checked`](launch::Checked) handle is proven to stay within its arguments, or refused.
//!    Other launches are `unsafe`: the caller promises it.
//! 10. All other safe functions cannot cause undefined behaviour, in any order and on any thread.
//!
//! [`soundness`] has the proof, and the programs that try to break it.
//!
//! # Map
//! | module | what it owns |
//! |---|---|
//! | [`guide`] | nine short chapters, and every name of C with its counterpart |
//! | [`error`] | [`Error`], [`check!`], the last-error slot of the runtime |
//! | [`device`] | devices: ordinal, current device, properties, limits, peer access |
//! | [`element`] | the types that may be copied to a device |
//! | [`memory`] | device, pinned, registered and pitched memory: owners, views, guards |
//! | [`copy`] | copies and fills |
//! | [`stream`] | streams, events, host functions, scopes, and the submission of work |
//! | [`hazard`] | the tracker, which orders conflicting work that the program does not order |
//! | [`graph`] | graphs: captured or built, and launched many times |
//! | [`launch`](mod@launch) | kernels: typed handles, launch dimensions |
//! | [`library`] | code that is loaded at run time: PTX, cubins, fatbinaries, their kernels and variables |
//! | [`logs`] | the log messages of runtime and driver about failing calls |
//! | [`texture`] | textures and surfaces: images that kernels read and write by coordinates |
//! | [`process`] | the effects on the whole process and their switches; environment variables |
//! | [`soundness`] | the proof, and programs that try to break safe code, each with its test |
//! | [`sys`] | the raw bindings, re-exported |
//!
//! Names follow C without the `cuda` prefix. A search of this documentation for a C name finds its wrapper.
//!
#![doc = include_str!("../docs/ways.md")]
//!
//! # Errors
//! Every fallible function returns [`Result`]. An [`Error`] holds the C function, the call site in the
//! caller's source, the code and, if sizes are involved, the sizes of both sides. A CUDA failure never
//! causes a panic in this crate.

mod busy;
mod callback;
pub mod copy;
pub mod device;
pub mod element;
pub mod error;
pub mod graph;
pub mod guide;
pub mod hazard;
pub mod launch;
#[cfg(cudart_12_8)]
pub mod library;
mod lock;
#[cfg(cudart_13_0)]
pub mod logs;
pub mod memory;
pub mod process;
mod reset;
pub mod soundness;
pub mod stream;
mod system;
pub mod texture;
mod thread_state;

#[doc(hidden)]
pub use bytemuck;
pub use cuda_sys as sys;

pub use copy::{
    CopyBatch, fill, fill_async, memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async,
    memcpy_async, memset, memset_2d, memset_2d_async, memset_3d, memset_3d_async, memset_async,
};
pub use device::Device;
pub use error::{Error, Result};
pub use graph::{Graph, GraphExec};
#[cfg(cudart_12_8)]
pub use library::Library;
pub use memory::{
    Array, DeviceBuffer, DeviceSlice, DeviceSliceMut, ManagedBuffer, MappedFlag, MemoryPool, PinnedBuffer,
    PinnedFlags, PitchedBuffer, PitchedVolume, Registered, WriteCombinedBuffer,
};
pub use stream::{AsStream, Event, EventFlags, Stream};
pub use texture::{Surface, Texture};
