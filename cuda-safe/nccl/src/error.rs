//! Errors of NCCL, of CUDA, and of the rendezvous.

use std::ffi::c_int;
use std::fmt;

/// The result of all fallible functions of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of this crate.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
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
    /// Returns NCCL's name of the status, if the error is NCCL's.
    #[must_use]
    pub fn name(&self) -> Option<&'static str> {
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
        let Self::Nccl { status, .. } = self else { return None };
        Some(usize::try_from(*status).ok().and_then(|number| NAMES.get(number).copied()).unwrap_or("unknown"))
    }
}

impl From<cuda_safe::Error> for Error {
    fn from(error: cuda_safe::Error) -> Self {
        Self::Cuda(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nccl { api, status, message } => {
                write!(f, "{api}: {} ({status})", self.name().unwrap_or_default())?;
                if message.is_empty() { Ok(()) } else { write!(f, ": {message}") }
            }
            Self::Cuda(error) => error.fmt(f),
            Self::Missing(why) => {
                write!(f, "NCCL is not installed: {why}; set LD_LIBRARY_PATH or NCCL_PATH")
            }
            Self::Rendezvous(why) | Self::Refused(why) => f.write_str(why),
        }
    }
}

/// An error of this crate, before NCCL is called.
pub(crate) fn refused(why: &str) -> Error {
    Error::Refused(why.to_owned())
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        if let Self::Cuda(error) = self { Some(error) } else { None }
    }
}
