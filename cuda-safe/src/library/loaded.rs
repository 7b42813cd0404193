//! The handle of a library, which stays loaded until its last user releases it, with the memory that the
//! driver was given: the code and the compiler's log.
#![expect(unsafe_code, reason = "unloads through the runtime")]

use std::ffi::{CString, c_void};
use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, AccessHistory, Mode};
use crate::memory::{relax, retainable, retained};
use crate::{check, process, stream, sys};

/// Memory whose addresses the driver holds. The driver may read and write it until the library is unloaded.
pub(super) struct LentToDriver {
    pub(super) errors: Log,
    pub(super) information: Option<Log>,
    /// The code, if the driver was promised that it stays.
    pub(super) code: Vec<u8>,
    pub(super) options: Vec<sys::cudaJitOption>,
    pub(super) values: Vec<*mut c_void>,
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

retainable!(Loaded, history);

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

/// The size of a log in bytes.
const BYTES: u32 = 16 << 10;

/// A buffer for text that the driver writes, possibly long after it received the address.
pub(super) struct Log(Box<[AtomicU8]>);

impl Log {
    pub(super) fn new() -> Self {
        Self((0..BYTES).map(|_| AtomicU8::new(0)).collect())
    }

    /// The address for the driver.
    pub(super) fn pointer(&self) -> *mut c_void {
        self.0.as_ptr().cast_mut().cast()
    }

    /// Returns how many bytes the driver may write.
    pub(super) fn bytes() -> u32 {
        BYTES
    }

    /// Returns the text up to the zero byte, or `None` if it is empty.
    pub(super) fn text(&self) -> Option<String> {
        let written = self.0.iter().map(|byte| byte.load(Ordering::Relaxed)).take_while(|byte| *byte != 0);
        let bytes: Vec<u8> = written.collect();
        let text = String::from_utf8_lossy(&bytes);
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    }
}

/// Returns the name as a C string.
#[track_caller]
pub(super) fn c_name(api: &'static str, name: &str) -> Result<CString> {
    match CString::new(name) {
        Ok(name) => Ok(name),
        Err(_) => Err(Error::refused(api, Detail::NulByte { what: "the name" })),
    }
}

/// Adds the compiler's message to the error, if the compiler wrote one.
pub(super) fn explained(error: Error, log: Option<String>) -> Error {
    match log {
        Some(log) => error.with_detail(Detail::Compiler { log }),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::Log;
    use std::sync::atomic::Ordering;

    #[test]
    fn a_log_ends_with_its_zero_byte_or_where_it_is_full() {
        let log = Log::new();
        assert_eq!(log.text(), None);
        log.0
            .iter()
            .zip(b"ptxas error \xFF\n\0more")
            .for_each(|(to, from)| to.store(*from, Ordering::Relaxed));
        assert_eq!(log.text().unwrap(), "ptxas error \u{FFFD}");
        log.0.iter().for_each(|byte| byte.store(b'x', Ordering::Relaxed));
        assert_eq!(log.text().unwrap().len(), log.0.len());
    }
}
