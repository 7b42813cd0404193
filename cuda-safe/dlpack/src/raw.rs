//! The layout of DLPack 1.x, written from its specification: what two libraries of one process agree on.

use std::ffi::c_void;

/// The version of a tensor's layout. A change of `major` may change everything but the place of the deleter.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLPackVersion {
    /// The layout. This crate knows 1.
    pub major: u32,
    /// Additions that leave the layout as it is.
    pub minor: u32,
}

/// A device: a kind of memory, and the number of the device among those of its kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDevice {
    /// [`CPU`](Self::CPU), [`CUDA`](Self::CUDA), [`CUDA_HOST`](Self::CUDA_HOST), or another kind.
    pub device_type: i32,
    /// The ordinal of a CUDA device; 0 for the host.
    pub device_id: i32,
}

impl DLDevice {
    /// `kDLCPU`: pageable host memory.
    pub const CPU: i32 = 1;
    /// `kDLCUDA`: memory of a CUDA device.
    pub const CUDA: i32 = 2;
    /// `kDLCUDAHost`: pinned host memory.
    pub const CUDA_HOST: i32 = 3;
}

/// The type of a tensor's elements.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DLDataType {
    /// Signed is 0, unsigned 1, floating point 2, `bfloat` 4.
    pub code: u8,
    /// The bits of a number.
    pub bits: u8,
    /// The numbers of an element: 1, unless the elements are vectors.
    pub lanes: u16,
}

/// The elements of a tensor, and where they are.
#[repr(C)]
#[derive(Debug)]
pub struct DLTensor {
    /// The memory. The first element is `byte_offset` bytes behind it.
    pub data: *mut c_void,
    /// Where the memory is.
    pub device: DLDevice,
    /// The number of dimensions, which may be 0.
    pub ndim: i32,
    /// The type of the elements.
    pub dtype: DLDataType,
    /// `ndim` lengths, the slowest dimension first.
    pub shape: *mut i64,
    /// `ndim` distances in elements. Null for compact rows; from version 1.2 on it is not null.
    pub strides: *mut i64,
    /// The bytes from `data` to the first element.
    pub byte_offset: u64,
}

/// A tensor with the function that gives it back: what a Python capsule named `dltensor_versioned` holds.
#[repr(C)]
#[derive(Debug)]
pub struct DLManagedTensorVersioned {
    /// The version of this layout.
    pub version: DLPackVersion,
    /// The producer's own.
    pub manager_ctx: *mut c_void,
    /// Gives the tensor back, once, on any thread. May be null.
    pub deleter: Option<unsafe extern "C" fn(*mut Self)>,
    /// [`READ_ONLY`](Self::READ_ONLY) and others.
    pub flags: u64,
    /// The elements.
    pub dl_tensor: DLTensor,
}

impl DLManagedTensorVersioned {
    /// The consumer must not write the elements.
    pub const READ_ONLY: u64 = 1;
}
