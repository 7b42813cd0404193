//! What lets a thread allocate and free while some thread captures.
#![expect(unsafe_code, reason = "exchanges the thread's capture mode")]

use crate::error::Result;
use crate::{check, sys};

/// Lets calls through that a capture elsewhere in the process would otherwise forbid, until it goes out of scope.
///
/// Allocating and freeing are never part of a graph here, so a capture has nothing to fear from them.
pub(super) struct Relaxed(sys::cudaStreamCaptureMode);

impl Relaxed {
    #[track_caller]
    pub(super) fn enter() -> Result<Self> {
        let mut mode = sys::cudaStreamCaptureModeRelaxed;
        // SAFETY: the pointer is to a live variable, which the call reads and then fills with the thread's former mode.
        unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut mode)) }?;
        Ok(Self(mode))
    }
}

impl Drop for Relaxed {
    fn drop(&mut self) {
        // SAFETY: the pointer is to a live variable that holds the mode which the thread had before.
        let _ = unsafe { sys::cudaThreadExchangeStreamCaptureMode(&raw mut self.0) };
    }
}
