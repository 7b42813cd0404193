//! What does not fit.

use std::fmt;

use crate::raw::{DLDataType, DLDevice};

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

/// The reason why a tensor cannot be taken or given.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Error {
    /// The layout has another major version than 1. The tensor was given back unseen.
    Version(u32),
    /// The elements have another type.
    Dtype {
        /// The type of the tensor.
        found: DLDataType,
        /// The type that the program asked for.
        expected: DLDataType,
    },
    /// The memory is of another kind or on another device.
    Device {
        /// Where the tensor is.
        found: DLDevice,
        /// What the call takes.
        expected: &'static str,
    },
    /// The elements are not in compact rows: make a contiguous copy on the other side.
    Strides {
        /// The lengths of the dimensions.
        shape: Vec<i64>,
        /// The distances in elements.
        strides: Vec<i64>,
    },
    /// The lengths are negative or overflow, or their product is not the number of elements.
    Shape {
        /// The lengths of the dimensions.
        shape: Vec<i64>,
        /// The number of elements of the memory that was to have this shape, if there is one.
        len: Option<usize>,
    },
    /// The first element is at no multiple of its alignment, or there are elements without an address.
    Address(usize),
    /// A graph or a texture of this side retains the memory: its launches would not be ordered with the work
    /// of the other side.
    Retained,
    /// The tensor must not be written.
    ReadOnly,
    /// An error of `cuda-safe`.
    Cuda(cuda_safe::Error),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(major) => write!(f, "a tensor of DLPack {major}; this crate knows DLPack 1"),
            Self::Dtype { found, expected } => {
                write!(f, "a tensor of {}, where {} is expected", Named(found), Named(expected))
            }
            Self::Device { found: DLDevice { device_type, device_id }, expected } => {
                write!(
                    f,
                    "a tensor on device {device_id} of DLPack's kind {device_type}, \
                     where {expected} is expected"
                )
            }
            Self::Strides { shape, strides } => {
                write!(f, "a tensor of shape {shape:?} with strides {strides:?}: only compact rows are taken")
            }
            Self::Shape { shape, len: Some(len) } => write!(f, "the shape {shape:?} for {len} elements"),
            Self::Shape { shape, len: None } => write!(f, "the shape {shape:?} is negative or too large"),
            Self::Address(address) => {
                write!(f, "the address {address:#x} is not one of elements of this type")
            }
            Self::Retained => write!(f, "a graph or a texture retains the memory, too: drop it first"),
            Self::ReadOnly => write!(f, "the tensor must not be written"),
            Self::Cuda(error) => error.fmt(f),
        }
    }
}

/// The words for a type.
struct Named<'a>(&'a DLDataType);

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DLDataType { code, bits, lanes } = self.0;
        match code {
            0 => write!(f, "i{bits}")?,
            1 => write!(f, "u{bits}")?,
            2 => write!(f, "f{bits}")?,
            4 => write!(f, "bf{bits}")?,
            5 => write!(f, "complex{bits}")?,
            6 => write!(f, "bool{bits}")?,
            _ => write!(f, "DLPack's type {code} of {bits} bits")?,
        }
        if *lanes == 1 { Ok(()) } else { write!(f, " x {lanes}") }
    }
}

impl std::error::Error for Error {}

impl From<cuda_safe::Error> for Error {
    fn from(error: cuda_safe::Error) -> Self {
        Self::Cuda(error)
    }
}
