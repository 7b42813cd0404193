//! Memory of `cuda-safe` to and from [DLPack](https://dmlc.github.io/dlpack/latest/) tensors, without a copy.
//!
//! PyTorch, CuPy, JAX, TensorFlow and NumPy exchange tensors by a structure of C with a function that gives
//! the tensor back. In Python it is in a capsule named `dltensor_versioned`, which `__dlpack__` makes and
//! `from_dlpack` takes.
//!
//! | direction | memory | here |
//! |---|---|---|
//! | to them | device | [`Capsule::from_device`] with the consumer's stream, then [`Capsule::into_raw`] |
//! | to them | pinned | [`Capsule::from_pinned`], then [`Capsule::into_raw`] |
//! | from them | device | [`Capsule::from_raw`], then [`Tensor::from_capsule`] with the producer's stream |
//! | from them | host | [`Capsule::from_raw`], then [`Capsule::host`] |
//!
//! # Order
//! Neither side sees the other's work, so the two meet on one stream. It is the consumer's: the producer
//! makes it wait, and the consumer begins there. For PyTorch, that is
//! `torch.cuda.current_stream().cuda_stream`, which [`ForeignStream`](cuda_safe::stream::ForeignStream)
//! adopts.
//!
//! # Ownership
//! Each tensor has one owner at a time, which gives it back once. Memory of the other side is freed by the
//! other side, after all work here; memory of this side that is given back is freed after all work of the
//! consumer's stream.
//!
//! # Examples
//! A round trip within one program:
//!
//! ```
//! use cuda_dlpack::{Capsule, Tensor};
//! use cuda_safe::{DeviceBuffer, Stream, memset_async};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let stream = Stream::non_blocking()?;
//! let buffer = DeviceBuffer::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0])?;
//! // To another library, which gets 2 rows of 3 and works on the legacy stream.
//! let raw = Capsule::from_device(buffer, &[2, 3], Stream::legacy()?)?.into_raw();
//!
//! // From another library, which was given the same stream.
//! // SAFETY: the tensor is the one above, which nobody else gives back.
//! let capsule = unsafe { Capsule::from_raw(raw) }?;
//! // SAFETY: nobody else uses the memory.
//! let mut tensor = unsafe { Tensor::<f32>::from_capsule(capsule, &Stream::legacy()?) }?;
//! assert_eq!(tensor.shape(), [2, 3]);
//! // From here on, any stream may use it.
//! memset_async(&mut tensor.as_slice_mut()?.slice_mut(..3)?, 0, &stream)?;
//! assert_eq!(tensor.as_slice().to_vec()?, [0.0, 0.0, 0.0, 4.0, 5.0, 6.0]);
//! # Ok(())
//! # }
//! ```

mod capsule;
mod element;
mod error;
mod export;
mod meeting;
pub mod raw;
mod tensor;

pub use capsule::Capsule;
pub use element::Element;
pub use error::{Error, Result};
pub use tensor::Tensor;
