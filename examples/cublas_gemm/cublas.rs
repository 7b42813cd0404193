//! cuBLAS behind a safe function.

use std::ffi::CStr;
use std::fmt;
use std::ptr;

use cuda_safe::{AsStream, DeviceBuffer, DeviceSlice, DeviceSliceMut};

/// The declarations of `cublas_v2.h`, by bindgen.
mod raw {
    #![allow(missing_docs, non_camel_case_types, non_upper_case_globals, reason = "generated from C")]
    #![allow(dead_code, unreachable_pub, unsafe_code, unused, clippy::all, reason = "generated from C")]
    include!(concat!(env!("OUT_DIR"), "/cublas.rs"));
}

/// An error of cuBLAS, or of CUDA.
#[derive(Debug)]
pub(super) enum Error {
    Cublas(raw::cublasStatus_t),
    Cuda(cuda_safe::Error),
}

impl From<cuda_safe::Error> for Error {
    fn from(error: cuda_safe::Error) -> Self {
        Self::Cuda(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cublas(status) => {
                // SAFETY: cuBLAS has a name for any status.
                let name = unsafe { raw::cublasGetStatusName(*status) };
                // SAFETY: the name is a constant C string.
                let name = unsafe { CStr::from_ptr(name) };
                write!(f, "{} ({})", name.to_string_lossy(), status.0)
            }
            Self::Cuda(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {}

fn checked(status: raw::cublasStatus_t) -> Result<(), Error> {
    if status == raw::CUBLAS_STATUS_SUCCESS { Ok(()) } else { Err(Error::Cublas(status)) }
}

/// A handle with a workspace. Every product writes the workspace, so that products of two streams do not run
/// at once.
pub(super) struct Cublas {
    handle: raw::cublasHandle_t,
    workspace: DeviceBuffer<u8>,
}

impl Cublas {
    /// Creates a handle on the current device.
    pub(super) fn new() -> Result<Self, Error> {
        let workspace = DeviceBuffer::alloc(32 << 20)?;
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        checked(unsafe { raw::cublasCreate_v2(&raw mut handle) })?;
        Ok(Self { handle, workspace })
    }

    /// c = a b, for square matrices of `n` rows, column by column.
    pub(super) fn multiply(
        &mut self,
        n: i32,
        a: &DeviceSlice<'_, f32>,
        b: &DeviceSlice<'_, f32>,
        c: &mut DeviceSliceMut<'_, f32>,
        stream: &impl AsStream,
    ) -> Result<(), Error> {
        let elements = usize::try_from(n).map_or(0, |n| n * n);
        assert!(a.len().min(b.len()).min(c.len()) >= elements, "the matrices have too few elements");
        let (handle, bytes, one, zero) = (self.handle, self.workspace.len(), 1.0, 0.0);
        let call = |stream, (a, b, c, workspace): (_, _, _, *mut u8)| {
            // SAFETY: the handle is live, and the exclusive borrow keeps other threads away.
            checked(unsafe { raw::cublasSetStream_v2(handle, stream) })?;
            // A change of the stream resets it.
            // SAFETY: the handle is live, and the exclusive borrow keeps other threads away. The workspace
            // has the bytes and lives as long as its work.
            checked(unsafe { raw::cublasSetWorkspace_v2(handle, workspace.cast(), bytes) })?;
            let none = raw::CUBLAS_OP_N;
            // SAFETY: the handle is live, and the exclusive borrow keeps other threads away. The matrices
            // have enough elements, and the factors are read during the call.
            checked(unsafe {
                raw::cublasSgemm_v2(
                    handle,
                    none,
                    none,
                    n,
                    n,
                    n,
                    &raw const one,
                    a,
                    n,
                    b,
                    n,
                    &raw const zero,
                    c,
                    n,
                )
            })
        };
        // SAFETY: the call reads `a` and `b`, writes `c` and the workspace, and uses this stream alone.
        unsafe { stream.as_stream().call((a, b, c, &mut self.workspace), call) }
    }
}

impl Drop for Cublas {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and nobody uses it any more. cuBLAS waits for its work.
        let _ = unsafe { raw::cublasDestroy_v2(self.handle) };
    }
}
