//! Linux.
#![expect(unsafe_code, reason = "has the C library call a function in children, and takes over descriptors")]

use std::ffi::{CString, c_int, c_void};
use std::os::fd::{AsRawFd as _, FromRawFd as _, IntoRawFd as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::ptr::without_provenance_mut;
use std::thread;

use memmap2::{Advice, MmapMut};

use crate::error::{Detail, OrRefused as _, Result};
use crate::sys;

/// What another process or interface shares memory by: an [`OwnedFd`](std::os::fd::OwnedFd).
pub(crate) use std::os::fd::{AsFd as AsShared, OwnedFd as OwnedShared};

unsafe extern "C" {
    /// POSIX: registers functions that are called around every `fork`: before it, then in the parent,
    /// and in the child.
    fn pthread_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
    ) -> c_int;
}

/// Has a function called in each child of a `fork`, before its only thread continues. Returns whether the C
/// library does that.
///
/// # Safety
/// The function does only what the child of a process with many threads may do.
pub(crate) unsafe fn at_fork(child: unsafe extern "C" fn()) -> bool {
    // SAFETY: the caller says so.
    unsafe { pthread_atfork(None, None, Some(child)) == 0 }
}

/// Returns a path for C.
#[track_caller]
pub(crate) fn c_path(api: &'static str, path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes()).ok().or_refused(api, || Detail::nul_byte("the path"))
}

/// The types of handles that [`OwnedShared`] is.
pub(crate) const SHARED_POOL: sys::cudaMemAllocationHandleType = sys::cudaMemHandleTypePosixFileDescriptor;
pub(crate) const SHARED_MEMORY: sys::cudaExternalMemoryHandleType = sys::cudaExternalMemoryHandleTypeOpaqueFd;
pub(crate) const SHARED_SEMAPHORE: sys::cudaExternalSemaphoreHandleType =
    sys::cudaExternalSemaphoreHandleTypeOpaqueFd;
pub(crate) const SHARED_TIMELINE: sys::cudaExternalSemaphoreHandleType =
    sys::cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd;

/// Returns what a call exports, given the address for it.
#[track_caller]
pub(crate) fn exported(call: impl FnOnce(*mut c_void) -> Result<()>) -> Result<OwnedShared> {
    let mut descriptor: c_int = -1;
    call((&raw mut descriptor).cast())?;
    // SAFETY: the call has just made the descriptor, and nobody else owns it.
    Ok(unsafe { OwnedShared::from_raw_fd(descriptor) })
}

/// Returns what a call imports a pool by.
pub(crate) fn shared_pool(descriptor: &impl AsShared) -> *mut c_void {
    without_provenance_mut(usize::try_from(descriptor.as_fd().as_raw_fd()).unwrap_or(usize::MAX))
}

/// Returns what a call imports memory by.
pub(crate) fn shared_memory(descriptor: &OwnedShared) -> sys::cudaExternalMemoryHandleDesc__bindgen_ty_1 {
    sys::cudaExternalMemoryHandleDesc__bindgen_ty_1 { fd: descriptor.as_raw_fd() }
}

/// Returns what a call imports a semaphore by.
pub(crate) fn shared_semaphore(
    descriptor: &OwnedShared,
) -> sys::cudaExternalSemaphoreHandleDesc__bindgen_ty_1 {
    sys::cudaExternalSemaphoreHandleDesc__bindgen_ty_1 { fd: descriptor.as_raw_fd() }
}

/// Ends what is left of an import of memory or a semaphore: the runtime has taken the descriptor over.
pub(crate) fn imported(descriptor: OwnedShared) {
    let _: c_int = descriptor.into_raw_fd();
}

/// The size of a large page.
const LARGE: usize = 2 << 20;

const MOST_THREADS: usize = 4;

/// Memory in large pages.
#[derive(Debug)]
pub(crate) struct LargePages {
    map: MmapMut,
    first: usize,
}

impl LargePages {
    /// Allocates so many bytes, whose pages a few threads get from the system. Returns `None` if there is no
    /// address space.
    pub(crate) fn allocate(bytes: usize) -> Option<Self> {
        let map = MmapMut::map_anon(bytes.checked_add(LARGE)?).ok()?;
        let first = map.as_ptr().align_offset(LARGE);
        // Without large or early pages, page-locking still provides them, only slower.
        let _ = map.advise_range(Advice::HugePage, first, bytes);
        populate(&map, first, bytes);
        Some(Self { map, first })
    }

    /// Returns the address of the bytes.
    pub(crate) fn start(&mut self) -> *mut u8 {
        self.map.as_mut_ptr().wrapping_add(self.first)
    }
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
