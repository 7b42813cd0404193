//! Copies and fills, with C's names and C's order of arguments: destination, then source.
//!
//! The family has two axes. *Blocking* verbs ([`memcpy`], [`memset`]) are `cudaMemcpy` and `cudaMemset`: they run on
//! the legacy stream of the device concerned and take any memory, pageable slices and vectors included. When they
//! return, the host's side is done; what may still be in flight on the device is in the books, so later work on any
//! stream is ordered after it. *Asynchronous* verbs ([`memcpy_async`], [`memset_async`]) name a stream, return at once,
//! and take memory that the crate owns: device and pinned. [`Scope::memcpy_async`](crate::stream::Scope::memcpy_async)
//! takes borrowed slices too, for as long as its scope lasts. [`CopyBatch`] puts many copies on a stream in one call.
//!
//! The direction is never named: it follows from the types of the operands, and so does whether two devices are
//! involved. A direction that cannot be does not compile, nor does an asynchronous copy of a borrowed slice.
//!
//! Large blocking copies between pageable memory and a device are staged by the crate itself, which is faster: see [`staged`].
//!
//! Before any call: both sides must have the same length and share no byte. Lengths are in elements. No elements, no
//! call.
//!
//! C functions: `cudaMemcpy`, `cudaMemcpyAsync`, `cudaMemcpyPeer`, `cudaMemcpyPeerAsync`, `cudaMemset`,
//! `cudaMemsetAsync`, `cudaMemcpyBatchAsync`, `cudaMemcpyWithAttributesAsync`.

mod batch;
mod fill;
mod linear;
mod operand;
mod owned;
mod scoped;
mod shape;
pub mod staged;
mod transfer;

#[cfg(cudart_13_2)]
pub use batch::memcpy_with_attributes_async;
pub use batch::{CopyAttributes, CopyBatch, CopyHint, Overlap};
pub use fill::{memset, memset_async};
pub use linear::{memcpy, memcpy_async};
pub use operand::{AsyncDestination, AsyncSource, Destination, Source};
pub use scoped::{ScopedDestination, ScopedSource};
