//! Windows.
#![expect(unsafe_code, reason = "takes over handles")]

use std::ffi::{CString, c_void};
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _};
use std::path::Path;
use std::ptr::{null, null_mut};

use crate::error::{Detail, OrRefused as _, Result};
use crate::sys;

/// What another process or interface shares memory by: an [`OwnedHandle`](std::os::windows::io::OwnedHandle).
pub(crate) use std::os::windows::io::{AsHandle as AsShared, OwnedHandle as OwnedShared};

/// There are no forks.
///
/// # Safety
/// None: it is an `unsafe fn` because that of Linux is.
pub(crate) unsafe fn at_fork(_child: unsafe extern "C" fn()) -> bool {
    true
}

/// Returns a path for C.
#[track_caller]
pub(crate) fn c_path(api: &'static str, path: &Path) -> Result<CString> {
    let path = path.to_str().or_refused(api, || Detail::unsupported("a path that is not Unicode"))?;
    CString::new(path).ok().or_refused(api, || Detail::nul_byte("the path"))
}

/// The types of handles that [`OwnedShared`] is.
pub(crate) const SHARED_POOL: sys::cudaMemAllocationHandleType = sys::cudaMemHandleTypeWin32;
pub(crate) const SHARED_MEMORY: sys::cudaExternalMemoryHandleType =
    sys::cudaExternalMemoryHandleTypeOpaqueWin32;
pub(crate) const SHARED_SEMAPHORE: sys::cudaExternalSemaphoreHandleType =
    sys::cudaExternalSemaphoreHandleTypeOpaqueWin32;
pub(crate) const SHARED_TIMELINE: sys::cudaExternalSemaphoreHandleType =
    sys::cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32;

/// Returns what a call exports, given the address for it.
#[track_caller]
pub(crate) fn exported(call: impl FnOnce(*mut c_void) -> Result<()>) -> Result<OwnedShared> {
    let mut handle: *mut c_void = null_mut();
    call((&raw mut handle).cast())?;
    // SAFETY: the call has just made the handle, and nobody else owns it.
    Ok(unsafe { OwnedShared::from_raw_handle(handle) })
}

/// Returns what a call imports a pool by.
pub(crate) fn shared_pool(handle: &impl AsShared) -> *mut c_void {
    handle.as_handle().as_raw_handle()
}

/// Returns what a call imports memory by.
pub(crate) fn shared_memory(handle: &OwnedShared) -> sys::cudaExternalMemoryHandleDesc__bindgen_ty_1 {
    let win32 = sys::cudaExternalMemoryHandleDesc__bindgen_ty_1__bindgen_ty_1 {
        handle: handle.as_raw_handle(),
        name: null(),
    };
    sys::cudaExternalMemoryHandleDesc__bindgen_ty_1 { win32 }
}

/// Returns what a call imports a semaphore by.
pub(crate) fn shared_semaphore(handle: &OwnedShared) -> sys::cudaExternalSemaphoreHandleDesc__bindgen_ty_1 {
    let win32 = sys::cudaExternalSemaphoreHandleDesc__bindgen_ty_1__bindgen_ty_1 {
        handle: handle.as_raw_handle(),
        name: null(),
    };
    sys::cudaExternalSemaphoreHandleDesc__bindgen_ty_1 { win32 }
}

/// Ends what is left of an import of memory or a semaphore: the runtime has an object of its own, and this
/// closes the handle.
pub(crate) fn imported(handle: OwnedShared) {
    drop(handle);
}

/// Memory in large pages, which a process needs a privilege for: there is none.
#[derive(Debug)]
pub(crate) enum LargePages {}

impl LargePages {
    /// Returns `None`.
    pub(crate) fn allocate(_bytes: usize) -> Option<Self> {
        None
    }

    /// Returns the address of the bytes.
    pub(crate) fn start(&mut self) -> *mut u8 {
        match *self {}
    }
}
