//! Page-locked memory in large pages, for allocations of many bytes.
//!
//! `cudaHostAlloc` locks pages of 4 KiB one after another: on a machine with an H200, 1 GiB takes 380 to
//! 460 ms, and 16 MiB 6 ms. A few threads get large pages from the system and `cudaHostRegister` locks them
//! in 65 to 125 ms and in 1.3 ms. Freeing takes a fifth of the time. Copies are as fast. With 8 or 16 threads
//! it takes longer, because they wait for each other in the system.
#![expect(unsafe_code, reason = "vouches for a mapping")]

use super::allocation::Allocation;
use crate::device::Device;
use crate::error::Result;
use crate::sys;
use crate::system::LargePages;

/// Smaller allocations gain less than starting the threads may cost.
const LEAST_BYTES: usize = 16 << 20;

/// Allocates page-locked memory in large pages for the current device, if there are enough bytes for it.
/// Returns `None` if there are not, or if the system gives none.
#[track_caller]
pub(super) fn allocate(bytes: usize) -> Option<Result<Allocation>> {
    if bytes < LEAST_BYTES {
        return None;
    }
    // First, because it refuses what may not allocate. No closure: it would hide the caller's location.
    let device = match Device::current() {
        Ok(device) => device,
        Err(error) => return Some(Err(error)),
    };
    let mut pages = LargePages::allocate(bytes)?;
    let pointer = pages.start();
    let flags = sys::cudaHostRegisterMapped;
    // SAFETY: the bytes are those of the pages, which nobody else has and which move no memory.
    let locked = unsafe { Allocation::registered(device, pointer, bytes, flags, Box::new(pages)) };
    Some(locked.map_err(|(error, _pages)| error))
}
