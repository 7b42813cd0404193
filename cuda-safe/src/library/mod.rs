//! Code that is loaded at run time: PTX, as NVRTC and others write it, cubins and fatbinaries, with their kernels and variables.
//!
//! A [`Library`] is loaded for all devices. [`Library::kernel`] gives a [`Kernel`](crate::launch::Kernel) like those that nvcc compiled
//! into the program: its launches, its attributes and its place in graphs are the same.
//!
//! # Why code is not unloaded while it runs
//! A library has several owners: the [`Library`], its kernels, graphs that have these in them, and buffers of its variables.
//! The last one that goes unloads it. Each launch reads, in the tracker's books, the one byte that a library has there, and unloading
//! waits for that byte as freeing waits for memory. A graph holds on to the byte, and so to the library, for as long as it may be launched.
//!
//! # What is checked, and what is not
//! Loading runs none of the code. PTX is text that the compiler reads, and refuses with reasons, which the error tells.
//! Cubins and fatbinaries are read by the driver by what they say of themselves, so loading them is `unsafe`, though what has
//! fewer bytes than it says is refused. Parameters of kernels have no types in any of these formats, only sizes: these are compared with
//! those of the [`Kernel`](crate::launch::Kernel)'s types, and the rest is the caller's word.
//!
//! Loading compiles, which may take long, and like unloading may wait for the device. Nothing here is stream-ordered, and everything may
//! be used from any thread.
//!
//! C functions: `cudaLibraryLoadData`, `cudaLibraryLoadFromFile`, `cudaLibraryUnload`, `cudaLibraryGetKernel`,
//! `cudaLibraryGetKernelCount`, `cudaLibraryEnumerateKernels`, `cudaLibraryGetGlobal`, `cudaLibraryGetManaged`,
//! `cudaLibraryGetUnifiedFunction`. `cudaKernelSetAttributeForDevice` is [`Kernel::set_for`](crate::launch::Kernel::set_for).

mod builder;
mod image;
mod kernel;
mod loaded;
mod log;
mod names;
mod owned;
mod variable;

pub use builder::{CacheMode, Fallback, LibraryBuilder};
pub use owned::Library;

use names::{c_name, explained};
