//! Products of sparse matrices and vectors, by cuSPARSE.

use std::ptr;

use anyhow::ensure;
use cuda_safe::{AsStream, DeviceBuffer, DeviceSlice, DeviceSliceMut};

use crate::raw::*;
use crate::shared::checked;

/// A sparse matrix in CSR: where each row begins, and the columns and values of all rows.
pub(crate) struct Matrix {
    width: usize,
    starts: DeviceBuffer<i32>,
    columns: DeviceBuffer<i32>,
    values: DeviceBuffer<f32>,
}

impl Matrix {
    /// Uploads a matrix. cuSPARSE trusts it, so all indices are checked here.
    pub(crate) fn new(width: u16, starts: &[i32], columns: &[i32], values: &[f32]) -> anyhow::Result<Self> {
        let last = i32::try_from(values.len())?;
        ensure!(starts.first() == Some(&0) && starts.last() == Some(&last), "the rows are not all values");
        ensure!(starts.is_sorted() && columns.len() == values.len(), "the rows do not follow each other");
        ensure!(columns.iter().all(|at| (0..width.into()).contains(at)), "a column is beyond the width");
        let (starts, columns) = (DeviceBuffer::from_slice(starts)?, DeviceBuffer::from_slice(columns)?);
        Ok(Self { width: width.into(), starts, columns, values: DeviceBuffer::from_slice(values)? })
    }
}

pub(crate) struct Sparse(cusparseHandle_t);

/// What cuSPARSE knows of the operands: a matrix and two vectors.
struct Operands(cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, cusparseDnVecDescr_t);

/// The memory of a matrix, and of two vectors.
type Pointers = (*const i32, *const i32, *const f32, *const f32, *mut f32);

impl Sparse {
    pub(crate) fn new() -> anyhow::Result<Self> {
        let mut handle = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        checked("cusparseCreate", unsafe { cusparseCreate(&raw mut handle) })?;
        Ok(Self(handle))
    }

    /// `y = a x`.
    pub(crate) fn multiply(
        &mut self,
        a: &Matrix,
        x: &DeviceSlice<'_, f32>,
        y: &mut DeviceSliceMut<'_, f32>,
        stream: &impl AsStream,
    ) -> anyhow::Result<()> {
        let (handle, rows, stream) = (self.0, a.starts.len() - 1, stream.as_stream());
        assert!(x.len() == a.width && y.len() == rows, "the vectors have other sizes than the matrix");
        let (sizes, one, zero) = ([rows, a.width, a.values.len()], 1.0_f32, 0.0_f32);
        let (one, zero) = ((&raw const one).cast(), (&raw const zero).cast());
        let (plain, real, way) = (CUSPARSE_OPERATION_NON_TRANSPOSE, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT);
        let size = |_, operands| {
            let (it, mut bytes) = (Operands::new(sizes, operands)?, 0);
            // SAFETY: the handle and the descriptors are live. It submits nothing.
            let status = unsafe {
                cusparseSpMV_bufferSize(handle, plain, one, it.0, it.1, zero, it.2, real, way, &raw mut bytes)
            };
            checked("cusparseSpMV_bufferSize", status).map(|()| bytes)
        };
        // SAFETY: the call submits nothing.
        let bytes = unsafe { stream.call((&a.starts, &a.columns, &a.values, x, &mut *y), size) }?;
        let mut work = DeviceBuffer::<u8>::alloc(bytes.max(1))?;
        let call = |raw, (operands, work): (_, *mut u8)| {
            let it = Operands::new(sizes, operands)?;
            // SAFETY: the handle is live, and the exclusive borrow keeps other threads away.
            checked("cusparseSetStream", unsafe { cusparseSetStream(handle, raw) })?;
            let work = work.cast();
            // SAFETY: the same, and the descriptors state the sizes. The factors are read during the call.
            let status = unsafe { cusparseSpMV(handle, plain, one, it.0, it.1, zero, it.2, real, way, work) };
            checked("cusparseSpMV", status)
        };
        // SAFETY: the call reads the matrix and `x`, writes `y` and `work`, and uses this stream alone.
        unsafe { stream.call(((&a.starts, &a.columns, &a.values, x, y), &mut work), call) }
    }
}

impl Operands {
    fn new(
        [rows, width, count]: [usize; 3],
        (starts, columns, values, x, y): Pointers,
    ) -> anyhow::Result<Self> {
        let mut it = Self(ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let (index, zero, real) = (CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F);
        let [tall, wide, count] = [rows.try_into()?, width.try_into()?, count.try_into()?];
        // SAFETY: the pointers are to live variables. The memory is not read before the product.
        let status = unsafe {
            cusparseCreateConstCsr(
                &raw mut it.0,
                tall,
                wide,
                count,
                starts.cast(),
                columns.cast(),
                values.cast(),
                index,
                index,
                zero,
                real,
            )
        };
        checked("cusparseCreateConstCsr", status)?;
        // SAFETY: the same.
        let status = unsafe { cusparseCreateConstDnVec(&raw mut it.1, wide, x.cast(), real) };
        checked("cusparseCreateConstDnVec", status)?;
        // SAFETY: the same.
        checked("cusparseCreateDnVec", unsafe { cusparseCreateDnVec(&raw mut it.2, tall, y.cast(), real) })?;
        Ok(it)
    }
}

impl Drop for Operands {
    fn drop(&mut self) {
        // SAFETY: a live descriptor, or null, which cuSPARSE refuses.
        let _ = unsafe { cusparseDestroySpMat(self.0) };
        // SAFETY: the same.
        let _ = unsafe { cusparseDestroyDnVec(self.1) };
        // SAFETY: the same.
        let _ = unsafe { cusparseDestroyDnVec(self.2) };
    }
}

impl Drop for Sparse {
    fn drop(&mut self) {
        // SAFETY: the handle is live, and nobody uses it any more. It has no memory that work uses.
        let _ = unsafe { cusparseDestroy(self.0) };
    }
}
