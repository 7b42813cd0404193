//! [`Capsule`]: a tensor that belongs to this side until it is given away or given back.
#![expect(unsafe_code, reason = "reads the other side's tensor, and gives it back")]

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::slice;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::raw::{DLDevice, DLManagedTensorVersioned, DLTensor};

/// A tensor of DLPack, which one side owns: dropping it gives it back by its deleter.
///
/// In Python it is the content of a capsule named `dltensor_versioned`.
#[derive(Debug)]
pub struct Capsule(NonNull<DLManagedTensorVersioned>);

// SAFETY: whoever made the value from a pointer guarantees that it may be given back on any thread.
unsafe impl Send for Capsule {}

impl Capsule {
    /// Takes a tensor over.
    ///
    /// # Errors
    /// `Version` for a layout of another major version; the tensor is then given back unseen.
    ///
    /// # Safety
    /// - `raw` is to a tensor as the specification has it, which nobody else gives back. That may happen on
    ///   any thread.
    /// - The memory, `shape` and `strides` live and do not change until then, and the memory has the elements
    ///   that these tell of. Elements of the host are initialized, and nobody writes them.
    pub unsafe fn from_raw(raw: NonNull<DLManagedTensorVersioned>) -> Result<Self> {
        let capsule = Self(raw);
        // SAFETY: the version comes first in every layout.
        let version = unsafe { (*raw.as_ptr()).version };
        if version.major == 1 { Ok(capsule) } else { Err(Error::Version(version.major)) }
    }

    /// As [`from_raw`](Self::from_raw), for a tensor of this crate.
    ///
    /// # Safety
    /// That of `from_raw`; the version is 1.
    pub(crate) unsafe fn owned(raw: NonNull<DLManagedTensorVersioned>) -> Self {
        Self(raw)
    }

    /// Gives the tensor away: the other side calls the deleter.
    #[must_use = "who has the pointer must give the tensor back"]
    pub fn into_raw(self) -> NonNull<DLManagedTensorVersioned> {
        ManuallyDrop::new(self).0
    }

    /// Returns the tensor.
    fn tensor(&self) -> &DLTensor {
        // SAFETY: the tensor lives until it is given back, and has this layout.
        unsafe { &(*self.0.as_ptr()).dl_tensor }
    }

    /// Returns where the elements are.
    #[must_use]
    pub fn device(&self) -> DLDevice {
        self.tensor().device
    }

    /// Returns the lengths of the dimensions, the slowest first. There may be none.
    #[must_use]
    pub fn shape(&self) -> &[i64] {
        self.numbers(self.tensor().shape)
    }

    /// Returns whether the consumer must not write the elements.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        // SAFETY: the tensor lives until it is given back.
        let flags = unsafe { (*self.0.as_ptr()).flags };
        flags & DLManagedTensorVersioned::READ_ONLY != 0
    }

    /// Returns one number for each dimension, or none for a null pointer.
    fn numbers(&self, of_dimensions: *mut i64) -> &[i64] {
        let count = usize::try_from(self.tensor().ndim).unwrap_or(0);
        if of_dimensions.is_null() || count == 0 {
            return &[];
        }
        // SAFETY: the tensor has this many of them, which live as long as it and do not change.
        unsafe { slice::from_raw_parts(of_dimensions, count) }
    }

    /// Returns the elements of a tensor in host memory, pageable or pinned.
    ///
    /// # Errors
    /// `Device` for a tensor that is not on the host; `Dtype`, `Strides`, `Shape` and `Address` for elements
    /// of another type, not in compact rows, or at an impossible place.
    pub fn host<T: Element>(&self) -> Result<&[T]> {
        let device = self.device();
        if !matches!(device.device_type, DLDevice::CPU | DLDevice::CUDA_HOST) {
            return Err(Error::Device { found: device, expected: "host memory" });
        }
        let (pointer, len) = self.elements()?;
        if len == 0 {
            return Ok(&[]);
        }
        // SAFETY: there are `len` elements in host memory, initialized, which live as long as the tensor and
        // which nobody writes. The address is aligned, and all bytes are valid elements.
        Ok(unsafe { slice::from_raw_parts(pointer, len) })
    }

    /// Returns the address and the number of the elements, after all checks but that of the device.
    pub(crate) fn elements<T: Element>(&self) -> Result<(*mut T, usize)> {
        let tensor = self.tensor();
        if tensor.dtype != T::DTYPE {
            return Err(Error::Dtype { found: tensor.dtype, expected: T::DTYPE });
        }
        let (shape, strides) = (self.shape(), self.numbers(tensor.strides));
        let len = len_of(shape)?;
        if len > 0 && !strides.is_empty() && !is_compact(shape, strides) {
            return Err(Error::Strides { shape: shape.to_vec(), strides: strides.to_vec() });
        }
        let offset = usize::try_from(tensor.byte_offset).map_err(|_| Error::Address(tensor.data.addr()))?;
        let pointer = tensor.data.cast::<u8>().wrapping_add(offset).cast::<T>();
        if len > 0 && (tensor.data.is_null() || !pointer.addr().is_multiple_of(align_of::<T>())) {
            return Err(Error::Address(pointer.addr()));
        }
        Ok((pointer, len))
    }
}

impl Drop for Capsule {
    fn drop(&mut self) {
        // SAFETY: the deleter is at this place in every layout.
        let deleter = unsafe { (*self.0.as_ptr()).deleter };
        if let Some(deleter) = deleter {
            // SAFETY: this value owns the tensor, and gives it back once.
            unsafe { deleter(self.0.as_ptr()) };
        }
    }
}

/// Returns the number of elements, if it and the number of bytes are numbers of this machine.
pub(crate) fn len_of(shape: &[i64]) -> Result<usize> {
    let too_large = || Error::Shape { shape: shape.to_vec(), len: None };
    let lengths = shape.iter().map(|&length| usize::try_from(length));
    let lengths: std::result::Result<Vec<_>, _> = lengths.collect();
    let lengths = lengths.map_err(|_| too_large())?;
    if lengths.contains(&0) {
        return Ok(0);
    }
    let len = lengths.iter().try_fold(1_usize, |len, &length| len.checked_mul(length));
    // The largest element has 8 bytes.
    len.filter(|&len| len <= isize::MAX.unsigned_abs() / 8).ok_or_else(too_large)
}

/// Returns the strides of compact rows.
pub(crate) fn compact(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for at in (1..shape.len()).rev() {
        strides[at - 1] = shape[at].max(1).saturating_mul(strides[at]);
    }
    strides
}

/// Returns whether the strides are those of compact rows. That of a dimension with one element has no
/// meaning.
fn is_compact(shape: &[i64], strides: &[i64]) -> bool {
    let mut all = shape.iter().zip(strides).zip(compact(shape));
    all.all(|((&length, &stride), expected)| length == 1 || stride == expected)
}
