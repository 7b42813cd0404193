//! Errors: the failed call, its call site, its code and the sizes involved.
//!
//! Every fallible function of the crate returns [`Error`], and [`check!`](crate::check) makes one from
//! any raw call. Nothing here blocks or accesses a device, and all of it may be used from any thread.
//!
//! # Examples
//! ```
//! use cuda_safe::{Device, Error, check, error};
//!
//! let error: Error = Device::new(1000).unwrap_err();
//! assert_eq!(error.name(), "cudaErrorInvalidDevice");
//! println!("{error}: {} in {}", error.meaning(), error.call_site());
//!
//! // After a raw call the runtime remembers the code, until somebody takes it.
//! // SAFETY: the runtime checks the ordinal.
//! assert!(unsafe { check!(cudaSetDevice(-1)) }.is_err());
//! assert!(error::peek_last().is_err() && error::take_last().is_err());
//! assert!(error::peek_last().is_ok());
//! ```
#![expect(unsafe_code, reason = "asks the runtime for the names of its codes and for its last error")]

mod detail;

use std::ffi::{CStr, c_char};
use std::fmt;
use std::panic::Location;
use std::sync::Mutex;

use cuda_hazard::Hazard;

use crate::lock::lock;
use crate::sys::cudaError_t;
use crate::thread_state::in_callback;
use crate::{check, sys};

pub(crate) use detail::BUILT;
pub use detail::{Detail, ErrorKind};

/// The result of a fallible function of this crate.
pub type Result<T> = core::result::Result<T, Error>;

/// A failed call: its name, its code, its call site in the caller's source and, if sizes are involved,
/// the sizes.
///
/// It is made from the runtime's code or, before any call, by a check of this crate. In the second case
/// [`detail`](Self::detail) says what was refused, and the code is the one that CUDA uses for the same
/// mistake.
#[derive(Clone, PartialEq, Eq)]
#[doc(alias = "cudaError_t")]
pub struct Error(Box<Contents>);

/// The contents of an [`Error`], boxed: a [`Result`] is small, and only a failure allocates.
#[derive(Clone, PartialEq, Eq)]
struct Contents {
    api: &'static str,
    call_site: &'static Location<'static>,
    code: cudaError_t,
    refused: bool,
    detail: Detail,
}

/// The first sticky failure of the process. Later calls repeat its code without its origin.
static FIRST_STICKY: Mutex<Option<Error>> = Mutex::new(None);

impl Error {
    /// Converts the code that a runtime call returned. `api` is the call's C name.
    ///
    /// [`check!`](crate::check) is shorter.
    ///
    /// # Errors
    /// Returns an error for any code except `cudaSuccess`.
    #[inline]
    #[track_caller]
    pub fn check(api: &'static str, code: cudaError_t) -> Result<()> {
        if code == sys::cudaSuccess { Ok(()) } else { Err(Self::from_code(api, code)) }
    }

    /// Returns the error for a code of the runtime, at the caller's location.
    #[cold]
    #[track_caller]
    #[must_use]
    pub(crate) fn from_code(api: &'static str, code: cudaError_t) -> Self {
        let call_site = Location::caller();
        let detail = match Class::of(code) {
            Class::Driver if code == sys::cudaErrorNoDevice => Detail::no_device(),
            Class::Driver => Detail::versions(),
            _ => Detail::NONE,
        };
        let error = Self(Box::new(Contents { api, call_site, code, refused: false, detail }));
        if error.is_sticky() {
            let mut first = lock(&FIRST_STICKY);
            first.get_or_insert_with(|| error.clone());
        }
        error
    }

    /// Returns the error for a refusal before any runtime call. `api` is the Rust function that refuses.
    #[cold]
    #[track_caller]
    #[must_use]
    pub fn refused(api: &'static str, detail: Detail) -> Self {
        let (call_site, code) = (Location::caller(), detail.code());
        Self(Box::new(Contents { api, call_site, code, refused: true, detail }))
    }

    /// Returns the same refusal with another code, if CUDA has a specific one for the mistake.
    #[must_use]
    pub(crate) fn with_code(mut self, code: cudaError_t) -> Self {
        self.0.code = code;
        self
    }

    /// Returns the same error with the sizes of the failed call.
    #[must_use]
    pub(crate) fn with_detail(mut self, detail: Detail) -> Self {
        if self.0.detail == Detail::NONE {
            self.0.detail = detail;
        }
        self
    }

    /// Returns the same refusal as that of one argument of a kernel. Errors of calls stay as they are.
    #[cold]
    #[must_use]
    pub(crate) fn of_argument(mut self, kernel: &'static str, index: usize, name: &'static str) -> Self {
        if self.0.refused {
            let name = if name.is_empty() { String::new() } else { format!(", `{name}`") };
            self.0.api = kernel;
            self.0.detail.reword(|text| format!("argument {index} (0 is the first){name}: {text}"));
        }
        self
    }

    /// Returns the same refusal with this pair of operations.
    #[cold]
    pub(crate) fn of_hazard(mut self, Hazard { first, second }: Hazard) -> Self {
        self.0.detail = Detail::hazard(first, second);
        self
    }

    /// Returns the same refusal of a launch with a pointer parameter that causes it only if the kernel
    /// writes.
    #[cold]
    pub(crate) fn if_written(mut self, parameter: &'static str, name: &'static str) -> Self {
        let mark = if name.is_empty() {
            String::new()
        } else {
            format!(", or write `/// @reads {name}` above the kernel")
        };
        self.0.detail.reword(|hazard| {
            format!(
                "{hazard}; the kernel declares the parameter as `{parameter}`: if it only reads there, pass \
                 the memory's `read_only()`{mark}"
            )
        });
        self
    }

    /// Returns the same error with another call site, for wrappers that make their call in a closure,
    /// where the caller's location is not known.
    #[must_use]
    pub fn at(mut self, call_site: &'static Location<'static>) -> Self {
        if self.is_sticky()
            && let Some(first) = &mut *lock(&FIRST_STICKY)
            && first.is_report_of(&self)
        {
            first.0.call_site = call_site;
        }
        self.0.call_site = call_site;
        self
    }

    /// Returns whether both errors are of the same call at the same call site.
    fn is_report_of(&self, other: &Self) -> bool {
        (self.0.api, self.0.call_site) == (other.0.api, other.0.call_site)
    }

    /// Returns the name of the failed call: a C function, or the Rust function whose check refused.
    #[must_use]
    pub fn api(&self) -> &'static str {
        self.0.api
    }

    /// Returns the code, which can be compared with the constants of [`sys`].
    ///
    /// For an error of a check of this crate, this is the code that CUDA uses for the same mistake.
    #[must_use]
    pub fn code(&self) -> cudaError_t {
        self.0.code
    }

    /// Returns the code as a number. It may be newer than the toolkit's header.
    #[must_use]
    pub fn number(&self) -> u32 {
        number(self.0.code)
    }

    /// Returns the call site in the caller's source.
    #[must_use]
    pub fn call_site(&self) -> &'static Location<'static> {
        self.0.call_site
    }

    /// Returns the sizes of both sides and similar details, if the failure has any.
    #[must_use]
    pub fn detail(&self) -> &Detail {
        &self.0.detail
    }

    /// Returns whether a check of this crate refused, so that the runtime was never called.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.0.refused
    }

    /// Returns the code's C name, such as `cudaErrorInvalidValue`.
    #[doc(alias = "cudaGetErrorName")]
    #[must_use]
    pub fn name(&self) -> &'static str {
        // SAFETY: the call is a table lookup in the runtime. It takes any number, needs no device, and
        // accesses no memory of this crate.
        let name = unsafe { sys::cudaGetErrorName(self.0.code) };
        text(name)
    }

    /// Returns the runtime's description of the code.
    #[doc(alias = "cudaGetErrorString")]
    #[must_use]
    pub fn meaning(&self) -> &'static str {
        // SAFETY: the call is a table lookup in the runtime. It takes any number, needs no device, and
        // accesses no memory of this crate.
        let meaning = unsafe { sys::cudaGetErrorString(self.0.code) };
        text(meaning)
    }

    /// Returns whether the device's context is lost: every later call fails with the same code until the
    /// process ends.
    #[must_use]
    pub fn is_sticky(&self) -> bool {
        !self.0.refused && is_sticky(self.0.code)
    }

    /// Returns whether an *earlier* asynchronous operation failed, rather than the call that reported
    /// it.
    #[must_use]
    pub fn is_from_earlier_work(&self) -> bool {
        !self.0.refused && matches!(Class::of(self.0.code), Class::Sticky | Class::Earlier)
    }

    /// Returns whether the device or the host ran out of memory.
    #[must_use]
    pub fn is_out_of_memory(&self) -> bool {
        !self.0.refused && self.0.code == sys::cudaErrorMemoryAllocation
    }
}

/// Moves an error to the caller's location, for calls that a closure makes: it would report its own line.
pub(crate) trait AtCaller {
    /// Returns the same result with the caller's location in an error.
    #[track_caller]
    fn at_caller(self) -> Self;
}

impl<T> AtCaller for Result<T> {
    #[inline]
    #[track_caller]
    fn at_caller(self) -> Self {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(error.at(Location::caller())),
        }
    }
}

/// Refuses a missing value at the caller's location. A closure of `ok_or_else` would report its own line.
pub(crate) trait OrRefused<T> {
    /// Returns the value, or the refusal with this detail.
    #[track_caller]
    fn or_refused(self, api: &'static str, detail: impl FnOnce() -> Detail) -> Result<T>;
}

impl<T> OrRefused<T> for Option<T> {
    #[inline]
    #[track_caller]
    fn or_refused(self, api: &'static str, detail: impl FnOnce() -> Detail) -> Result<T> {
        match self {
            Some(value) => Ok(value),
            None => Err(Error::refused(api, detail())),
        }
    }
}

/// Returns the refusal of an operation that is not supported, at the caller's location.
#[cold]
#[track_caller]
pub(crate) fn unsupported(api: &'static str, what: &'static str) -> Error {
    Error::refused(api, Detail::unsupported(what))
}

/// Refuses a call of `api` with this detail, unless the condition holds.
#[inline]
#[track_caller]
pub(crate) fn ensure(holds: bool, api: &'static str, detail: impl FnOnce() -> Detail) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::refused(api, detail())) }
}

/// Returns whether a code means that the device's context is lost.
pub(crate) fn is_sticky(code: cudaError_t) -> bool {
    Class::of(code) == Class::Sticky
}

/// The class of a code.
///
/// Codes are classified by number, not by the header's constants: older toolkits lack some names, and a
/// driver may return the code all the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Only the call itself failed.
    Call,
    /// Earlier asynchronous work failed, and the context is intact.
    Earlier,
    /// Earlier asynchronous work failed, and the context is lost.
    Sticky,
    /// Driver and runtime do not match, or there is no driver or device.
    Driver,
}

impl Class {
    /// Returns the class of a code.
    fn of(code: cudaError_t) -> Self {
        match number(code) {
            // A failed launch that is reported later.
            53 => Self::Earlier,
            // ECC, NVLink, contained error; illegal address, launch timeout, assert; stack, instruction,
            // alignment, address space, program counter, launch failure; tensor memory leak; external device.
            214 | 220 | 226 | 700 | 702 | 710 | 714..=719 | 721 | 911 => Self::Sticky,
            // Stub library, insufficient driver, call needs a newer driver, no device, driver mismatch,
            // compatibility.
            34 | 35 | 36 | 100 | 803 | 804 => Self::Driver,
            _ => Self::Call,
        }
    }
}

/// Returns the number of a code.
fn number(code: cudaError_t) -> u32 {
    let cuda_sys::cudaError(number) = code;
    number
}

/// Returns a string of the runtime's static tables.
fn text(raw: *const c_char) -> &'static str {
    if raw.is_null() {
        return "unrecognised code";
    }
    // SAFETY: the runtime returned a pointer, not null, into its tables of constant C strings, which are
    // never freed.
    let text = unsafe { CStr::from_ptr(raw) };
    text.to_str().unwrap_or("unreadable text")
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.refused {
            write!(f, "{}: {}", self.0.api, self.0.detail)?;
        } else {
            write!(f, "{}: {} ({}): {}", self.0.api, self.name(), self.number(), self.meaning())?;
            if self.0.detail != Detail::NONE {
                write!(f, "; {}", self.0.detail)?;
            }
        }
        write!(f, ", at {}", self.0.call_site)?;
        if self.is_from_earlier_work() {
            write!(f, "; the failure is that of earlier asynchronous work, reported by this call")?;
        }
        if self.is_sticky() {
            write!(f, "; the context is lost and every later call fails likewise until the process ends")?;
            if let Some(first) = first_sticky()
                && !first.is_report_of(self)
            {
                write!(
                    f,
                    "; first reported by {} as {} at {}",
                    first.0.api,
                    first.name(),
                    first.0.call_site
                )?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {}

/// An [`Error`] with the value that the failed call would have consumed: a container, or an owner of memory.
///
/// `?` converts it to an [`Error`], to a `Box<dyn std::error::Error>`, or to another type that takes any
/// error. The value is then dropped with the error, or right away.
///
/// # Examples
/// ```
/// use cuda_safe::Registered;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let registered = Registered::new(vec![1, 2, 3])?;
/// let numbers = match registered.into_inner() {
///     Ok(numbers) => numbers,
///     Err(failed) => {
///         println!("{failed}");
///         let (_, registered) = failed.into_parts();
///         registered.into_inner()? // once more
///     }
/// };
/// assert_eq!(numbers, [1, 2, 3]);
/// # Ok(())
/// # }
/// ```
pub struct ErrorWith<T> {
    error: Error,
    value: T,
}

impl<T> ErrorWith<T> {
    /// Makes the error of a call that gives the value back.
    pub(crate) fn new(error: Error, value: T) -> Self {
        Self { error, value }
    }

    /// Returns the error.
    #[must_use]
    pub fn error(&self) -> &Error {
        &self.error
    }

    /// Returns the error and the value.
    #[must_use]
    pub fn into_parts(self) -> (Error, T) {
        (self.error, self.value)
    }
}

impl<T> fmt::Display for ErrorWith<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<T> fmt::Debug for ErrorWith<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.error, f)
    }
}

impl<T> std::error::Error for ErrorWith<T> {}

impl<T> From<ErrorWith<T>> for Error {
    fn from(failed: ErrorWith<T>) -> Self {
        failed.error
    }
}

/// Returns the first sticky failure that any call of this process reported, if there was one.
///
/// Later calls only repeat the code. This error is closest to the cause.
#[must_use]
pub fn first_sticky() -> Option<Error> {
    lock(&FIRST_STICKY).clone()
}

/// Forgets the first sticky failure, because the device works again after a reset.
pub(crate) fn forget_sticky() {
    *lock(&FIRST_STICKY) = None;
}

/// Returns the result of a call that the program did not request, or `None` if it failed. The error is
/// removed from the thread's last-error slot, where the program could find it later.
pub(crate) fn quietly<T>(answer: Result<T>) -> Option<T> {
    if let Err(error) = &answer
        && !error.is_sticky()
    {
        let _ = take_last();
    }
    answer.ok()
}

/// Returns the calling thread's last runtime error and clears it, except for sticky errors.
///
/// Stands for [`cudaGetLastError`](sys::cudaGetLastError). Only raw calls need it, because this crate's
/// calls report their own errors. Calls that are checked with [`check!`](crate::check) leave their code
/// in the slot, as in C.
///
/// # Errors
/// Returns the error that was in the slot. Refused inside a host function.
#[doc(alias = "cudaGetLastError")]
#[track_caller]
pub fn take_last() -> Result<()> {
    // SAFETY: the call takes no arguments, and only reads and clears the calling thread's slot.
    unsafe { check!(cudaGetLastError()) }
}

/// Returns the calling thread's last runtime error and leaves it in the slot.
///
/// Stands for [`cudaPeekAtLastError`](sys::cudaPeekAtLastError).
///
/// # Errors
/// Returns the error that is in the slot. Refused inside a host function.
#[doc(alias = "cudaPeekAtLastError")]
#[track_caller]
pub fn peek_last() -> Result<()> {
    // SAFETY: the call takes no arguments, and only reads the calling thread's slot.
    unsafe { check!(cudaPeekAtLastError()) }
}

/// Calls a runtime function and converts its code to a [`Result`](crate::Result): the `CHECK(...)` of
/// CUDA C++ programs.
///
/// A bare name is looked up in [`sys`](crate::sys) and needs no import. A path is used as written, so
/// functions of other libraries that return `cudaError_t` work too. In a host function or a listener of
/// `logs`, where CUDA forbids calls, a bare name is not called, and the result is the refusal
/// `InCallback`. The call is as unsafe as without the macro. The error's call site is that of the macro
/// or, in a `#[track_caller]` function, that of its caller.
///
/// # Examples
/// ```
/// use cuda_safe::check;
///
/// let mut count = 0;
/// // SAFETY: the pointer is valid for the one integer that the call writes.
/// let counted = unsafe { check!(cudaGetDeviceCount(&raw mut count)) };
/// match counted {
///     Ok(()) => println!("{count} devices"),
///     Err(error) => println!("{error}"),
/// }
/// ```
#[macro_export]
macro_rules! check {
    ($name:ident($($argument:expr),* $(,)?)) => {
        match $crate::error::ensure_callable(stringify!($name)) {
            Ok(()) => $crate::Error::check(stringify!($name), $crate::sys::$name($($argument),*)),
            refused => refused,
        }
    };
    ($($segment:ident)::+ ($($argument:expr),* $(,)?)) => {
        $crate::Error::check(
            $crate::error::last_segment(stringify!($($segment)::+)),
            $($segment)::+ ($($argument),*),
        )
    };
    (:: $($segment:ident)::+ ($($argument:expr),* $(,)?)) => {
        $crate::Error::check(
            $crate::error::last_segment(stringify!($($segment)::+)),
            :: $($segment)::+ ($($argument),*),
        )
    };
}

/// Refuses a call where the thread must not call CUDA, also for [`check!`](crate::check).
#[doc(hidden)]
#[allow(clippy::missing_errors_doc, reason = "hidden")]
#[inline]
#[track_caller]
pub fn ensure_callable(api: &'static str) -> Result<()> {
    ensure(!in_callback(), api, || Detail::IN_CALLBACK)
}

/// Returns the last segment of a path, for [`check!`](crate::check).
#[doc(hidden)]
#[must_use]
pub fn last_segment(path: &'static str) -> &'static str {
    path.rsplit("::").next().map_or(path, str::trim)
}

#[cfg(test)]
mod tests {
    use super::Class;
    use cuda_sys::cudaError;

    #[test]
    fn a_failed_kernel_loses_the_context() {
        for number in [700, 710, 715, 719] {
            assert_eq!(Class::of(cudaError(number)), Class::Sticky, "{number}");
        }
    }

    #[test]
    fn a_bad_argument_is_the_calls_own_failure() {
        for number in [1, 2, 21, 101, 400, 600, 701, 704, 720] {
            assert_eq!(Class::of(cudaError(number)), Class::Call, "{number}");
        }
    }

    #[test]
    fn a_code_newer_than_the_header_is_the_calls_own_failure() {
        assert_eq!(Class::of(cudaError(123_456)), Class::Call);
    }
}
