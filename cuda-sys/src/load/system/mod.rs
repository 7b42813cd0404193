//! What the loader and the linker of each system do differently: one file a system, with the same names.
//!
//! | file | contents |
//! |---|---|
//! | `linux.rs` | `dlopen`, and symbols of ELF |
//! | `windows.rs` | `LoadLibraryW`, and symbols of COFF |

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(super) use linux::*;
#[cfg(windows)]
pub(super) use windows::*;
