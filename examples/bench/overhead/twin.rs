//! The C++ side: a library that is loaded into this process.
#![expect(unsafe_code, reason = "loads a library and calls its functions")]

use std::ffi::{CString, c_char, c_double, c_uint, c_void};
use std::path::Path;
use std::ptr::NonNull;

use anyhow::Context as _;
use libloading::Library;

use crate::things::Handles;

type New = unsafe extern "C" fn(*const Handles) -> *mut c_void;
type Measure = unsafe extern "C" fn(*mut c_void, *const c_char, c_uint) -> c_double;
type End = unsafe extern "C" fn(*mut c_void);

/// The C++ side, and the functions that it is asked by.
pub(crate) struct Twin {
    raw: NonNull<c_void>,
    measure: Measure,
    end: End,
}

impl Twin {
    /// Loads the library, which stays: the runtime knows its kernels until the process ends. What it is to
    /// work on outlives this.
    pub(crate) fn load(path: &Path, handles: &Handles) -> anyhow::Result<Self> {
        let path = path.canonicalize().with_context(|| format!("no library {}", path.display()))?;
        // SAFETY: the library is made from `library.cu`, which at its start only tells the runtime its
        // kernels.
        let library = unsafe { Library::new(&path) }.with_context(|| format!("{}", path.display()))?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: `library.cu` defines it so.
        let new = unsafe { library.get::<New>(b"twin_new\0") }?;
        // SAFETY: as above.
        let measure = *unsafe { library.get::<Measure>(b"twin_measure\0") }?;
        // SAFETY: as above.
        let end = *unsafe { library.get::<End>(b"twin_end\0") }?;
        // SAFETY: it copies the handles, which are declared there as here.
        let raw = NonNull::new(unsafe { new(handles) }).context("twin_new made nothing")?;
        Ok(Self { raw, measure, end })
    }

    /// Nanoseconds that a call takes in a batch of so many; nothing where there is no operation of that name.
    pub(crate) fn measure(&mut self, operation: &str, calls: u32) -> Option<f64> {
        let operation = CString::new(operation).ok()?;
        // SAFETY: what `twin_new` made and nobody has ended, and a string that lives during the call.
        let time = unsafe { (self.measure)(self.raw.as_ptr(), operation.as_ptr(), calls) };
        (time >= 0.0).then_some(time)
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // SAFETY: what `twin_new` made; it is used no more.
        unsafe { (self.end)(self.raw.as_ptr()) };
    }
}
