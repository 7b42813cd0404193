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

/// The C++ side, and its functions.
pub(crate) struct Twin {
    raw: NonNull<c_void>,
    measure: Measure,
    end: End,
}

impl Twin {
    /// Loads the library, which is never unloaded: the runtime refers to its kernels until the process
    /// ends. The objects behind the handles outlive this value.
    pub(crate) fn load(path: &Path, handles: &Handles) -> anyhow::Result<Self> {
        let path = path.canonicalize().with_context(|| format!("no library {}", path.display()))?;
        // SAFETY: the library is made from `library.cu`. At its start it only registers its kernels with
        // the runtime.
        let library = unsafe { Library::new(&path) }.with_context(|| format!("{}", path.display()))?;
        let library: &'static Library = Box::leak(Box::new(library));
        // SAFETY: `library.cu` defines it with this type.
        let new = unsafe { library.get::<New>(b"twin_new\0") }?;
        // SAFETY: `library.cu` defines it with this type.
        let measure = *unsafe { library.get::<Measure>(b"twin_measure\0") }?;
        // SAFETY: `library.cu` defines it with this type.
        let end = *unsafe { library.get::<End>(b"twin_end\0") }?;
        // SAFETY: it copies the handles, which have the same declaration on both sides.
        let raw = NonNull::new(unsafe { new(handles) }).context("twin_new made nothing")?;
        Ok(Self { raw, measure, end })
    }

    /// Returns the nanoseconds of a call in a batch of `calls` calls. Returns `None` if there is no
    /// operation of that name.
    pub(crate) fn measure(&mut self, operation: &str, calls: u32) -> Option<f64> {
        let operation = CString::new(operation).ok()?;
        // SAFETY: the pointer is from `twin_new` and has not been ended, and the string lives during the
        // call.
        let time = unsafe { (self.measure)(self.raw.as_ptr(), operation.as_ptr(), calls) };
        (time >= 0.0).then_some(time)
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        // SAFETY: the pointer is from `twin_new`, and nothing uses it after this.
        unsafe { (self.end)(self.raw.as_ptr()) };
    }
}
