//! Code that is loaded at run time: PTX (from NVRTC and others), cubins and fatbinaries, with their kernels
//! and variables.
//!
//! A [`Library`] is loaded for all devices. [`Library::kernel`] returns a [`Kernel`](crate::launch::Kernel)
//! that behaves like one that nvcc compiled into the program, in launches, attributes and graphs.
//!
//! # Why code is not unloaded while it runs
//! A library has several owners: the [`Library`], its kernels, the graphs that contain these kernels, and
//! buffers of its variables. The library is unloaded when the last owner is dropped. The tracker has an
//! access history of one byte for each library. Each launch reads this byte, and unloading waits for it, as
//! freeing waits for memory. A graph retains the byte, and therefore the library, while it can be launched.
//!
//! # Checks
//! Loading runs none of the code. PTX is text: the compiler checks it, and the error holds the compiler's
//! reasons. For cubins and fatbinaries the driver trusts their headers. Loading them is therefore `unsafe`,
//! although an image with fewer bytes than its headers claim is refused. Kernel parameters have sizes but
//! no types in any of these formats. The sizes are compared with those of the
//! [`Kernel`](crate::launch::Kernel)'s types; the caller guarantees the rest.
//!
//! Loading compiles, which may take long. Loading and unloading may wait for the device. Nothing here is
//! stream-ordered, and everything may be used from any thread.

mod builder;
mod image;
mod owned;

pub use builder::{CacheMode, Fallback, JitOption, LibraryBuilder};
pub use owned::Library;
