//! Copies and fills, with C's names and C's order of arguments: destination, then source.
//!
//! The family has three axes.
//! - *Blocking* verbs ([`memcpy`], [`memset`]) are `cudaMemcpy` and `cudaMemset`. They run on the legacy
//!   stream of the device concerned and take any memory, including pageable slices and vectors. On
//!   return, the host's side is complete. Work that is still in flight on the device is in the tracker,
//!   so later work on any stream is ordered after it.
//! - *Asynchronous* verbs ([`memcpy_async`], [`memset_async`]) name a stream, return at once, and take
//!   memory that the crate owns: device and pinned.
//!   [`Scope::memcpy_async`](crate::stream::Scope::memcpy_async) also takes slices that are borrowed for
//!   its scope. [`CopyBatch`] and [`CopyBatch3d`] submit many copies in one call.
//! - Verbs for *contiguous elements* have the plain names. Those for *rows* and *layers of rows*
//!   ([`memcpy_2d`], [`memset_3d`] and so on) take a [`Plane`](crate::memory::Plane) or a
//!   [`Volume`](crate::memory::Volume) of any memory, or pitched memory. The two sides have their own
//!   pitches, and either side may be an [`Array`](crate::memory::Array) or a view of one.
//!
//! The direction is never named. It follows from the types of the operands, and so does whether two
//! devices are involved. The first copy between two devices enables access to each other's memory
//! ([`set_automatic_peer_access`](crate::device::set_automatic_peer_access)). An impossible direction does
//! not compile, nor does an asynchronous copy of a borrowed slice.
//!
//! [`Pipeline`] streams host arrays that are larger than a device's memory through it in chunks, with
//! copies and kernels overlapped.
//!
//! The crate itself stages large blocking copies between pageable memory and a device, which is faster:
//! see [`staged`]. [`memcpy_to_symbol`], [`memcpy_from_symbol`] and their asynchronous forms copy to and
//! from variables of kernels' source files ([`Symbol`](crate::launch::Symbol)). Parts of variables are
//! also operands of the other verbs for contiguous elements.
//!
//! Every verb checks before the call that both sides have the same length, or the same width, height and
//! depth, and share no byte. Lengths and widths are in elements, pitches in bytes. A zero-length copy is
//! a no-op.
//!
//! Every verb takes the same path: it makes an `Operand` of each side, `checked` checks the two, and
//! `transfer` submits the call to the stream.
//!
//! | file | concept |
//! |---|---|
//! | `verbs`, `fill`, `scoped`, `symbol`, `owned` | the public verbs |
//! | `operand` | one side of a copy: the traits, its descriptor, and the types that stand there |
//! | `checked`, `overlap` | extent, direction and overlap, worked out once, and the C functions |
//! | `transfer` | the ways onto a stream |
//! | `batch` | many copies in one call |
//! | `staged`, `pipeline` | large pageable copies, large arrays in chunks |

mod batch;
mod checked;
mod fill;
mod operand;
mod overlap;
mod owned;
mod pipeline;
mod scoped;
pub mod staged;
mod symbol;
mod transfer;
mod verbs;

pub use batch::{CopyAttributes, CopyBatch, CopyBatch3d, Overlap};
#[cfg(cudart_13_2)]
pub use batch::{
    memcpy_2d_with_attributes_async, memcpy_3d_with_attributes_async, memcpy_with_attributes_async,
};
pub(crate) use checked::CheckedCopy;
pub use fill::{
    fill, fill_async, memset, memset_2d, memset_2d_async, memset_3d, memset_3d_async, memset_async,
};
pub(crate) use operand::Operand;
pub use operand::{
    AsyncDestination, AsyncSource, ByOwner, ByScope, Destination, FillDestination, InGraph, Linear, Planar,
    Source, Volumetric,
};
#[doc(hidden)]
pub use overlap::find_overlap;
pub use pipeline::{Pipeline, PipelineBuilder, PipelineInput, PipelineOutput};
pub use symbol::{
    SymbolPart, memcpy_from_symbol, memcpy_from_symbol_async, memcpy_to_symbol, memcpy_to_symbol_async,
};
pub use verbs::{memcpy, memcpy_2d, memcpy_2d_async, memcpy_3d, memcpy_3d_async, memcpy_async};
