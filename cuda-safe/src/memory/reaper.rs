//! The streams that free memory from pools.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

/// The streams that free memory from pools when its owner is dropped: one for each device that has had such
/// memory.
static REAPERS: Mutex<Vec<&'static Stream>> = Mutex::new(Vec::new());

/// Returns the stream that frees memory of a device's pool when its owner is dropped.
#[track_caller]
pub(super) fn reaper(device: Device) -> Result<&'static Stream> {
    let mut reapers = REAPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(reaper) = reapers.iter().find(|stream| stream.device() == device) {
        return Ok(reaper);
    }
    // Leaked, because it lives as long as the process.
    let reaper: &'static Stream =
        Box::leak(Box::new(Stream::builder().device(device).non_blocking().build()?));
    reapers.push(reaper);
    Ok(reaper)
}

/// Forgets the stream of a device that is reset, which destroys the stream.
pub(super) fn abandon(device: Device) {
    REAPERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|stream| stream.device() != device);
}
