//! The handle of a library. It stays loaded until its last user releases it.
#![expect(unsafe_code, reason = "unloads through the runtime")]

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::log::Log;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::{Retainable, relax, retained};
use crate::{check, process, stream, sys};
use cuda_hazard::RetainedResource;

/// Memory whose addresses the driver holds. The driver may read and write it until the library is unloaded.
pub(super) struct LentToDriver {
    pub(super) errors: Log,
    pub(super) information: Option<Log>,
    /// The code, if the driver was promised that it stays.
    pub(super) code: Vec<u8>,
    pub(super) options: Vec<sys::cudaJitOption>,
    pub(super) values: Vec<*mut std::ffi::c_void>,
}

/// A loaded library, which is unloaded when its last owner is dropped. The program, kernels, variables and
/// graphs are owners.
pub(super) struct Loaded {
    /// Null after unloading, and after the handle moves to a deferred unloading.
    raw: sys::cudaLibrary_t,
    /// The process that loaded the library. A forked child that inherits it does not touch it.
    process: u32,
    /// The access history of the code: each launch reads its one byte.
    history: AccessHistory,
    /// Dropped only after the library is unloaded.
    lent: ManuallyDrop<Option<Box<LentToDriver>>>,
    /// The address ranges of the variables that have an owner.
    taken: Mutex<Vec<Range<usize>>>,
}

// SAFETY: a library's handle is a name that the runtime accepts on any thread. This type only reads the
// lent memory, and reads the logs by atomic loads.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// Makes the owner of a library that was just loaded.
    pub(super) fn new(raw: sys::cudaLibrary_t, lent: Box<LentToDriver>) -> Arc<Self> {
        let (process, history) = (process::number(), AccessHistory::new(1));
        let lent = ManuallyDrop::new(Some(lent));
        retained(Self { raw, process, history, lent, taken: Mutex::default() })
    }

    pub(super) fn raw(&self) -> sys::cudaLibrary_t {
        self.raw
    }

    pub(super) fn lent(&self) -> Option<&LentToDriver> {
        self.lent.as_deref()
    }

    /// The access of a launch to the code.
    pub(super) fn alive(&self) -> Access<'_> {
        Access::read(&self.history, 0..1)
    }

    /// Waits for all launched kernels of the library.
    #[track_caller]
    pub(super) fn wait(&self) -> Result<()> {
        stream::wait_host(&self.history, 0..1, Mode::Write)
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unloads the library after all its launches are complete. If this thread must not wait, the unloading
    /// is deferred.
    #[track_caller]
    pub(super) fn unload(&mut self) -> Result<()> {
        const API: &str = "Library::unload";
        if self.raw.is_null() {
            return Ok(());
        }
        if stream::in_callback() {
            self.defer();
            return Err(Error::refused(API, Detail::InCallback));
        }
        if let Err(error) = self.wait() {
            if error.is_refused() {
                self.defer();
            } else {
                // Work may still run the code, so the library is leaked, with the lent memory.
                self.raw = std::ptr::null_mut();
            }
            return Err(error);
        }
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        relax()?;
        // SAFETY: the library is loaded. Only this function unloads it, and `raw` is null from now on. No
        // work runs its code.
        unsafe { check!(cudaLibraryUnload(raw)) }?;
        drop(self.lent.take());
        Ok(())
    }

    /// Leaves the library to the next thread that may unload it.
    fn defer(&mut self) {
        let mut history = std::mem::replace(&mut self.history, AccessHistory::new(1));
        // The owners no longer exist.
        history.clear_retain_fn();
        let later = Self {
            raw: std::mem::replace(&mut self.raw, std::ptr::null_mut()),
            process: self.process,
            history,
            lent: ManuallyDrop::new(self.lent.take()),
            taken: Mutex::default(),
        };
        stream::defer(Box::new(move || drop(later)));
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // In a forked child the runtime is not usable, and the library belongs to the parent.
        if process::is(self.process) {
            // A drop cannot return the error. Callers that need it use `Library::unload`.
            let _ = self.unload();
        }
    }
}

// SAFETY: the access history is a field, so it lives as long as the value and stays in it.
unsafe impl RetainedResource for Loaded {
    fn history(&self) -> &AccessHistory {
        &self.history
    }
}

impl Retainable for Loaded {
    fn history_mut(&mut self) -> &mut AccessHistory {
        &mut self.history
    }
}

/// The bytes of a variable, with exclusive ownership. They retain the library.
pub(super) struct Taken {
    library: Arc<Loaded>,
    bytes: Range<usize>,
}

impl Taken {
    /// Takes ownership of the bytes. Returns `None` if any of them has an owner.
    pub(super) fn new(library: &Arc<Loaded>, bytes: Range<usize>) -> Option<Self> {
        let mut taken = library.taken();
        if taken.iter().any(|other| other.start < bytes.end && bytes.start < other.end) {
            return None;
        }
        taken.push(bytes.clone());
        Some(Self { library: library.clone(), bytes })
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.library.taken().retain(|other| *other != self.bytes);
    }
}
