//! The streams that free memory of pools.

use std::sync::{Mutex, PoisonError};

use crate::device::Device;
use crate::error::Result;
use crate::stream::Stream;

/// Streams on which memory of pools is freed when its owner is dropped, one for each device that has had any.
static REAPERS: Mutex<Vec<&'static Stream>> = Mutex::new(Vec::new());

/// The stream on which memory of a device's pool is freed when its owner is dropped.
#[track_caller]
pub(super) fn reaper(device: Device) -> Result<&'static Stream> {
    let mut reapers = REAPERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(reaper) = reapers.iter().find(|stream| stream.device() == device) {
        return Ok(reaper);
    }
    // For as long as the process lives.
    let reaper: &'static Stream =
        Box::leak(Box::new(Stream::builder().device(device).non_blocking().build()?));
    reapers.push(reaper);
    Ok(reaper)
}

/// Forgets what a device that is reset has taken with it.
pub(super) fn abandon(device: Device) {
    REAPERS.lock().unwrap_or_else(PoisonError::into_inner).retain(|stream| stream.device() != device);
}
