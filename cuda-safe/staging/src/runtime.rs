//! The CUDA runtime around a copy: errors, the current device, the capture mode, and the hooks of the layer
//! above.
#![expect(unsafe_code, reason = "reads and sets the thread's device and its capture mode")]

use std::ffi::c_int;
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use cuda_sys as sys;

/// The result of a function of this crate.
pub type Result<T> = core::result::Result<T, Error>;

/// A call that failed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Error {
    api: &'static str,
    code: sys::cudaError_t,
}

impl Error {
    /// Makes the error of a call, given by its C name.
    pub(crate) fn new(api: &'static str, code: sys::cudaError_t) -> Self {
        Self { api, code }
    }

    pub(crate) fn check(api: &'static str, code: sys::cudaError_t) -> Result<()> {
        if code == sys::cudaSuccess { Ok(()) } else { Err(Self { api, code }) }
    }

    /// The C name of the call, or `staged copy` if the copy ended for a reason of this crate.
    #[must_use]
    pub fn api(&self) -> &'static str {
        self.api
    }

    /// Returns the code of the call.
    #[must_use]
    pub fn code(&self) -> sys::cudaError_t {
        self.code
    }

    /// Returns whether the context of the device is lost, so that every later call fails too.
    pub(crate) fn is_sticky(&self) -> bool {
        (hooks().is_sticky)(self.code)
    }

    /// Returns whether the runtime refused the call because of the calling thread or of a capture, and did
    /// nothing.
    pub(crate) fn is_refusal(&self) -> bool {
        let sys::cudaError(number) = self.code;
        // cudaErrorNotPermitted, and the errors of captures.
        number == 800 || (900..=908).contains(&number)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sys::cudaError(number) = self.code;
        write!(f, "{}: CUDA error {number}", self.api)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {}

/// Calls a runtime function and turns its code into a [`Result`].
macro_rules! check {
    ($name:ident($($argument:expr),* $(,)?)) => {
        $crate::runtime::Error::check(stringify!($name), cuda_sys::$name($($argument),*))
    };
}
pub(crate) use check;

/// The knowledge of the layer above that this crate needs.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "written once, by the layer above")]
pub struct Hooks {
    /// Returns whether the calling thread may call the runtime now. A host function may not, nor may the
    /// child of a `fork`.
    pub may_call: fn() -> bool,
    /// Returns whether a code means that the context of the device is lost.
    pub is_sticky: fn(sys::cudaError_t) -> bool,
}

/// Without a layer above, every thread of the process that used the crate first may call, and no error is
/// sticky: the process is aborted if a copy cannot be brought to an end.
static DEFAULT: Hooks = Hooks { may_call: is_own_process, is_sticky: |_| false };

static HOOKS: OnceLock<Hooks> = OnceLock::new();

/// Installs the hooks of the layer above. Later calls have no effect.
///
/// # Safety
/// - `may_call` returns true only on a thread that may call the runtime.
/// - `is_sticky` returns true only for codes after which the device accesses no memory any more: a copy that
///   ended with one counts as over, and its page-locked memory is used again.
pub unsafe fn install(hooks: Hooks) {
    HOOKS.get_or_init(|| hooks);
}

fn hooks() -> &'static Hooks {
    HOOKS.get().unwrap_or(&DEFAULT)
}

/// Returns whether the calling thread may call the runtime now.
pub(crate) fn may_call() -> bool {
    (hooks().may_call)()
}

/// Returns whether this is the process that called first, and not the child of a `fork` of it.
pub(crate) fn is_own_process() -> bool {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    let now = std::process::id();
    *PROCESS.get_or_init(|| now) == now
}

/// Locks a mutex, also after a panic under it: every value behind one is valid between any two statements.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a device current until the guard is dropped, which restores the previous device.
#[derive(Debug)]
pub(crate) struct CurrentDevice(Option<c_int>);

impl CurrentDevice {
    pub(crate) fn new(device: c_int) -> Result<Self> {
        let mut former = 0;
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetDevice(&raw mut former)) }?;
        if former == device {
            return Ok(Self(None));
        }
        set_device(device)?;
        Ok(Self(Some(former)))
    }
}

impl Drop for CurrentDevice {
    fn drop(&mut self) {
        if let Some(former) = self.0.take() {
            // The next call that needs a device reports a failure.
            let _ = set_device(former);
        }
    }
}

/// Makes a device current for the calling thread.
pub(crate) fn set_device(device: c_int) -> Result<()> {
    // SAFETY: the call takes a number, which the runtime checks.
    unsafe { check!(cudaSetDevice(device)) }
}

/// Keeps the capture mode of the calling thread relaxed until it is dropped.
///
/// A capture in global mode forbids some calls, such as `cudaEventQuery` and `cudaHostAlloc`, to every
/// thread whose own mode is not relaxed. The refused call ends the capture: a call is therefore never tried
/// first and repeated in relaxed mode. The guard covers calls of this crate only: code of others that sets
/// the mode does not run meanwhile.
#[derive(Debug)]
pub(crate) struct RelaxedCapture(sys::cudaStreamCaptureMode);

impl RelaxedCapture {
    pub(crate) fn new() -> Result<Self> {
        exchange(sys::cudaStreamCaptureModeRelaxed).map(Self)
    }
}

impl Drop for RelaxedCapture {
    fn drop(&mut self) {
        // It succeeded before; if it fails now, the thread stays relaxed.
        let _ = exchange(self.0);
    }
}

/// Makes the capture mode of the calling thread relaxed for the rest of the thread's life.
pub(crate) fn relax_for_life() -> Result<()> {
    exchange(sys::cudaStreamCaptureModeRelaxed).map(|_| ())
}

/// Sets the capture mode of the calling thread, and returns the former one.
fn exchange(mut mode: sys::cudaStreamCaptureMode) -> Result<sys::cudaStreamCaptureMode> {
    // SAFETY: the pointer is to a live variable, which the call reads and then fills with the former mode.
    unsafe { check!(cudaThreadExchangeStreamCaptureMode(&raw mut mode)) }?;
    Ok(mode)
}

/// Points at which a test makes the crate fail. Other builds have no such points.
pub(crate) mod fail_point {
    use super::Result;

    /// A step that can fail.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum Point {
        /// Page-locked memory is about to be allocated.
        Allocate,
        /// Page-locked memory is about to be freed.
        Free,
        /// A piece is about to be moved.
        Move,
        /// A chunk is about to be submitted.
        Submit,
        /// The stream of a ring was synchronised after a failure.
        Drained,
    }

    #[cfg(not(test))]
    #[inline]
    #[expect(clippy::unnecessary_wraps, reason = "fails in tests only")]
    pub(crate) fn at(_: Point) -> Result<()> {
        Ok(())
    }

    #[cfg(test)]
    pub(crate) use armed::{arm, at};

    #[cfg(test)]
    mod armed {
        use std::sync::{Arc, Mutex, PoisonError};

        use super::{Point, Result};

        type Action = Arc<dyn Fn(Point) -> Result<()> + Send + Sync>;

        static ACTION: Mutex<Option<Action>> = Mutex::new(None);

        /// Sets the action at the points from now on. The action may wait, and may panic.
        pub(crate) fn arm(action: Option<Action>) {
            *ACTION.lock().unwrap_or_else(PoisonError::into_inner) = action;
        }

        pub(crate) fn at(point: Point) -> Result<()> {
            let action = ACTION.lock().unwrap_or_else(PoisonError::into_inner).clone();
            action.map_or(Ok(()), |action| action(point))
        }
    }
}
