//! What the systems do differently with pages: one file a system, with the same functions.
//!
//! | file | contents |
//! |---|---|
//! | `linux.rs` | `madvise` |
//! | `windows.rs` | nothing |

#[cfg(not(windows))]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(not(windows))]
pub(crate) use linux::*;
#[cfg(windows)]
pub(crate) use windows::*;
