//! Page-locked memory in large pages, for allocations of many bytes.
//!
//! `cudaHostAlloc` locks pages of 4 KiB one after another: on a machine with an H200, 1 GiB takes 380 to
//! 460 ms, and 16 MiB 6 ms. A few threads get large pages from the system and `cudaHostRegister` locks them
//! in 65 to 125 ms and in 1.3 ms. Freeing takes a fifth of the time. Copies are as fast. With 8 or 16 threads
//! it takes longer, because they wait for each other in the system.
#![expect(unsafe_code, reason = "vouches for a mapping")]

use std::thread;

use memmap2::{Advice, MmapMut};

use super::allocation::Allocation;
use crate::device::Device;
use crate::error::Result;
use crate::sys;

/// The size of a large page.
const LARGE: usize = 2 << 20;

/// Smaller allocations gain less than starting the threads may cost.
const LEAST_BYTES: usize = 16 << 20;

const MOST_THREADS: usize = 4;

/// Allocates page-locked memory in large pages for the current device, if there are enough bytes for it.
/// Returns `None` if there are not, or if the system gives no address space.
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
    let mut map = MmapMut::map_anon(bytes.checked_add(LARGE)?).ok()?;
    let first = map.as_ptr().align_offset(LARGE);
    // Without large or early pages, page-locking still provides them, only slower.
    let _ = map.advise_range(Advice::HugePage, first, bytes);
    populate(&map, first, bytes);
    let pointer = map.as_mut_ptr().wrapping_add(first);
    // SAFETY: the bytes are within the mapping, which nobody else has and which moves no memory.
    let locked =
        unsafe { Allocation::registered(device, pointer, bytes, sys::cudaHostRegisterMapped, Box::new(map)) };
    Some(locked.map_err(|(error, _map)| error))
}

/// Makes the system provide all pages now, on a few threads.
fn populate(map: &MmapMut, first: usize, bytes: usize) {
    let threads = thread::available_parallelism().map_or(1, |processors| processors.get().min(MOST_THREADS));
    let part = bytes.div_ceil(threads).next_multiple_of(LARGE);
    thread::scope(|scope| {
        for start in (0..bytes).step_by(part) {
            let len = part.min(bytes - start);
            let populate = move || drop(map.advise_range(Advice::PopulateWrite, first + start, len));
            // If the system has no thread, page-locking provides these pages.
            let _ = thread::Builder::new().name("cuda-safe pages".to_owned()).spawn_scoped(scope, populate);
        }
    });
}
