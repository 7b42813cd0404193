//! What the systems do differently: one file a system, with the same names.
//!
//! | file | contents |
//! |---|---|
//! | `linux.rs` | forks, paths as bytes, file descriptors, large pages |
//! | `windows.rs` | no forks, paths as Unicode, handles of objects |

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;
