//! The handle of a library, until nobody uses it any more.
#![expect(unsafe_code, reason = "unloads through the runtime")]

use std::mem::ManuallyDrop;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::log::Log;
use crate::error::{Detail, Error, Result};
use crate::hazard::books::Keeper;
use crate::hazard::{Access, Ledger, Mode};
use crate::memory::{Retained, relax, retained};
use crate::{check, process, stream, sys};

/// What the driver was given the addresses of, and may look at or write to until the library is unloaded.
pub(super) struct LentToDriver {
    pub(super) errors: Log,
    pub(super) information: Option<Log>,
    /// The code, where the driver was told that it stays.
    pub(super) code: Vec<u8>,
    pub(super) options: Vec<sys::cudaJitOption>,
    pub(super) values: Vec<*mut std::ffi::c_void>,
}

/// A loaded library, unloaded when its last owner goes. Owners are the program's, kernels, variables and graphs.
pub(super) struct Loaded {
    /// Null once it is unloaded, or left to another.
    raw: sys::cudaLibrary_t,
    /// Which process loaded it: a child that inherited it leaves it alone.
    process: u32,
    /// The books about who runs the code: launches read its one byte.
    ledger: Ledger,
    /// Dropped only once the library is unloaded.
    lent: ManuallyDrop<Option<Box<LentToDriver>>>,
    /// Where the variables are that have an owner.
    taken: Mutex<Vec<Range<usize>>>,
}

// SAFETY: a library's handle is a name that the runtime takes from any thread; what was lent is only read here, logs by atomic loads.
unsafe impl Send for Loaded {}
// SAFETY: as above.
unsafe impl Sync for Loaded {}

impl Loaded {
    /// The owner of a library that was just loaded.
    pub(super) fn new(raw: sys::cudaLibrary_t, lent: Box<LentToDriver>) -> Arc<Self> {
        let (process, ledger) = (process::number(), Ledger::new(1));
        let lent = ManuallyDrop::new(Some(lent));
        retained(Self { raw, process, ledger, lent, taken: Mutex::default() })
    }

    pub(super) fn raw(&self) -> sys::cudaLibrary_t {
        self.raw
    }

    pub(super) fn lent(&self) -> Option<&LentToDriver> {
        self.lent.as_deref()
    }

    /// What a launch does with the code.
    pub(super) fn alive(&self) -> Access<'_> {
        Access::read(&self.ledger, 0..1)
    }

    /// Waits for all kernels of the library that were launched.
    #[track_caller]
    pub(super) fn wait(&self) -> Result<()> {
        stream::wait_host(&self.ledger, 0..1, Mode::Write)
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Range<usize>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Unloads the library, after all that was launched of it. Where the thread may not, that is done later.
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
                // Work may still be running the code: leaked, with what was lent.
                self.raw = std::ptr::null_mut();
            }
            return Err(error);
        }
        let raw = std::mem::replace(&mut self.raw, std::ptr::null_mut());
        relax()?;
        // SAFETY: the library was loaded and is unloaded only here (`raw` is null from now on), and no work runs its code.
        unsafe { check!(cudaLibraryUnload(raw)) }?;
        drop(self.lent.take());
        Ok(())
    }

    /// Leaves the library to the next thread that may unload it.
    fn defer(&mut self) {
        let mut ledger = std::mem::replace(&mut self.ledger, Ledger::new(1));
        // Its owners are gone.
        ledger.kept_by(None);
        let later = Self {
            raw: std::mem::replace(&mut self.raw, std::ptr::null_mut()),
            process: self.process,
            ledger,
            lent: ManuallyDrop::new(self.lent.take()),
            taken: Mutex::default(),
        };
        stream::defer(Box::new(move || drop(later)));
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // In the child of a fork the runtime is not usable and the library is the parent's.
        if process::is(self.process) {
            // Nobody could take the error; `Library::unload` is for who wants it.
            let _ = self.unload();
        }
    }
}

impl Keeper for Loaded {
    fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

impl Retained for Loaded {
    fn ledger_mut(&mut self) -> &mut Ledger {
        &mut self.ledger
    }
}

/// The bytes of a variable, which keep its library loaded, and of which there is one owner at a time.
pub(super) struct Taken {
    library: Arc<Loaded>,
    bytes: Range<usize>,
}

impl Taken {
    /// Takes these bytes, if nobody has any of them.
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
