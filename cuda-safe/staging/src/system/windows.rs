//! Pages of Windows, which takes no advice about them.

/// Does nothing: a process needs a privilege for large pages.
pub(crate) fn advise_large_pages(_start: *mut u8, _len: usize) {}

/// Does nothing: the pages come one by one.
pub(crate) fn populate(_start: *mut u8, _len: usize) {}
