//! Errors of NCCL, of CUDA, and of the rendezvous.

use std::ffi::c_int;
use std::fmt;
use std::panic::Location;

/// The result of all fallible functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate, and the place in the program where the failing function was called.
#[derive(Clone, Debug)]
pub struct Error {
    kind: ErrorKind,
    call_site: &'static Location<'static>,
}

/// What failed. It displays without the call site.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// NCCL returned a status other than success.
    Nccl {
        /// The C function.
        api: &'static str,
        /// The status.
        status: c_int,
        /// The text of `ncclGetLastError`, which may be empty.
        message: String,
    },
    /// CUDA failed, or `cuda-safe` refused the operation.
    Cuda(cuda_safe::Error),
    /// NCCL is not installed. The text is the loader's.
    Missing(String),
    /// The ranks have not found each other.
    Rendezvous(String),
    /// This crate refused the call before NCCL was called.
    Refused(String),
}

impl Error {
    /// Returns an error of this kind at the caller's location.
    #[track_caller]
    pub(crate) fn new(kind: ErrorKind) -> Self {
        Self { kind, call_site: Location::caller() }
    }

    /// Returns a refusal for this reason at the caller's location, for the closure of
    /// [`Place::exchange`](crate::Place::exchange).
    #[must_use]
    #[track_caller]
    pub fn refused(why: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused(why.into()))
    }

    /// Returns what failed.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.kind
    }

    /// Returns the place in the program where the failing function was called.
    #[must_use]
    pub fn call_site(&self) -> &'static Location<'static> {
        self.call_site
    }

    /// Returns NCCL's name of the status, if the error is NCCL's.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
        if let ErrorKind::Nccl { status, .. } = self.kind { Some(name(status)) } else { None }
    }

    /// Moves the error to another call site.
    fn at(mut self, call_site: &'static Location<'static>) -> Self {
        self.call_site = call_site;
        if let ErrorKind::Cuda(error) = self.kind {
            self.kind = ErrorKind::Cuda(error.at(call_site));
        }
        self
    }
}

/// Returns NCCL's name of a status.
fn name(status: c_int) -> &'static str {
    const NAMES: [&str; 9] = [
        "ncclSuccess",
        "ncclUnhandledCudaError",
        "ncclSystemError",
        "ncclInternalError",
        "ncclInvalidArgument",
        "ncclInvalidUsage",
        "ncclRemoteError",
        "ncclInProgress",
        "ncclTimeout",
    ];
    usize::try_from(status).ok().and_then(|number| NAMES.get(number).copied()).unwrap_or("unknown")
}

impl From<cuda_safe::Error> for Error {
    fn from(error: cuda_safe::Error) -> Self {
        Self { call_site: error.call_site(), kind: ErrorKind::Cuda(error) }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nccl { api, status, message } => {
                write!(f, "{api}: {} ({status})", name(*status))?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            // It has its call site.
            Self::Cuda(error) => error.fmt(f),
            Self::Missing(why) => {
                write!(f, "NCCL is not installed: {why}; set LD_LIBRARY_PATH or NCCL_PATH")
            }
            Self::Rendezvous(why) | Self::Refused(why) => f.write_str(why),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)?;
        if let ErrorKind::Cuda(_) = self.kind { Ok(()) } else { write!(f, ", at {}", self.call_site) }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let ErrorKind::Cuda(error) = &self.kind { Some(error) } else { None }
    }
}

/// Moves an error to the caller's location: a closure would report its own line.
pub(crate) trait AtCaller {
    /// Returns the same result with the caller's location in an error.
    #[track_caller]
    fn at_caller(self) -> Self;
}

impl<T> AtCaller for Result<T> {
    #[track_caller]
    fn at_caller(self) -> Self {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(error.at(Location::caller())),
        }
    }
}
