//! Systems of equations, solved by cuSOLVER.

use std::ptr;

use cuda_safe::{AsStream, DeviceBuffer, DeviceSliceMut};

use crate::raw::*;
use crate::shared::checked;

pub(crate) struct Solver(cusolverDnHandle_t);

impl Solver {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        checked("cusolverDnCreate", unsafe { cusolverDnCreate(&raw mut handle) })?;
        Ok(Self(handle))
    }

    /// Solves `a x = b` for a symmetric, positive definite `a` of `n` rows. `a` becomes its Cholesky factor,
    /// `b` becomes `x`. Waits for the result, because only the device knows whether `a` was such a matrix.
    pub(crate) fn solve(
        &mut self,
        n: u16,
        a: &mut DeviceSliceMut<'_, f32>,
        b: &mut DeviceSliceMut<'_, f32>,
        stream: &impl AsStream,
    ) -> anyhow::Result<()> {
        assert!(a.len() == usize::from(n).pow(2) && b.len() == usize::from(n), "sizes");
        let (handle, n, side, mut elements) = (self.0, i32::from(n), CUBLAS_FILL_MODE_LOWER, 0);
        // SAFETY: the handle is live. The matrix is not read for the size.
        let status =
            unsafe { cusolverDnSpotrf_bufferSize(handle, side, n, ptr::null_mut(), n, &raw mut elements) };
        checked("cusolverDnSpotrf_bufferSize", status)?;
        let mut work = DeviceBuffer::<f32>::alloc(usize::try_from(elements)?.max(1))?;
        // Each of the two calls writes one.
        let mut info = DeviceBuffer::<i32>::alloc(2)?;
        let call = |raw, (a, b, work, info): (*mut f32, *mut f32, *mut f32, *mut i32)| {
            // SAFETY: the handle is live, and the exclusive borrow keeps other threads away.
            checked("cusolverDnSetStream", unsafe { cusolverDnSetStream(handle, raw) })?;
            // SAFETY: `a` has n rows and columns, `work` the elements that cuSOLVER asked for, `info` two.
            let status = unsafe { cusolverDnSpotrf(handle, side, n, a, n, work, elements, info) };
            checked("cusolverDnSpotrf", status)?;
            // SAFETY: the same, and `b` has n elements.
            let status = unsafe { cusolverDnSpotrs(handle, side, n, 1, a, n, b, n, info.wrapping_add(1)) };
            checked("cusolverDnSpotrs", status)
        };
        // SAFETY: the call reads and writes the four, and uses this stream alone.
        unsafe { stream.as_stream().call((a, b, &mut work, &mut info), call) }?;
        let info = info.to_vec()?[0];
        anyhow::ensure!(info == 0, "the leading minor of order {info} is not positive");
        Ok(())
    }
}

impl Drop for Solver {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and nobody uses it any more. `solve` has waited for its work.
        let _ = unsafe { cusolverDnDestroy(self.0) };
    }
}
