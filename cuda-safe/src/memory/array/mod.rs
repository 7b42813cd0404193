//! CUDA arrays: memory in a layout of the device's own, for textures and surfaces, that only copies reach from the host.
//!
//! An [`Array`] has one, two or three dimensions, or layers of one or two, or is a cubemap; an [`ArrayBuilder`] says which.
//! Its elements are [`ArrayElement`]s: one, two or four numbers of 8, 16 or 32 bits; how CUDA describes them follows from the
//! type. A [`MipmappedArray`] holds smaller versions of itself, each one an array; an [`Nv12Array`] has a plane of brightness
//! and one of colour. A view ([`ArrayView`], [`ArrayViewMut`]) is a part: some columns, rows and layers. An
//! [`UnmappedArray`] has no memory at all: it says how much it would need.
//!
//! Making and freeing are not stream-ordered. Freeing waits, on the host, for the work that still uses the array; nothing
//! else here blocks. Owners and views may be sent to and shared with other threads.
//!
//! # Soundness
//! An array has no address: nothing reaches its elements but copies of this crate, which check their extents against those
//! of the view, kernels by [textures and surfaces](crate::texture), which enter the array in the books by themselves, and whoever asks
//! for the raw handle and is `unsafe` about it. Every array has a ledger; a part is entered
//! there as the bytes from its first element to its last, as if the elements lay row after row. That is more than the part
//! where it leaves columns out, so two parts side by side may be ordered for nothing, and never the other way round.
//! Levels and planes lie behind each other in the ledger of the array that they are of.
//!
//! # Examples
//! ```
//! use cuda_safe::memory::{Array, ArrayBuilder, ArrayKind, Plane};
//! use cuda_safe::{Stream, memcpy_2d, memcpy_2d_async};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let mut image = Array::<[u8; 4]>::alloc_2d(4, 2)?;
//! memcpy_2d(&mut image, &Plane::of_slice(&[[1, 2, 3, 4]; 8], 4, 2)?)?;
//! assert_eq!(image.to_vec()?, [[1, 2, 3, 4]; 8]);
//! assert_eq!(image.info()?.kind, ArrayKind::Plane);
//!
//! // The left half, into a layer of another one.
//! let mut layers = ArrayBuilder::plane(2, 2).layers(3).surface().alloc::<[u8; 4]>()?;
//! let stream = Stream::new()?;
//! memcpy_2d_async(&mut layers.layers_mut(1..2)?, &image.view().columns(..2)?, &stream)?;
//! image.free()?; // waits for the copy
//! # Ok(())
//! # }
//! ```
//!
//! C functions: `cudaMallocArray`, `cudaMalloc3DArray`, `cudaFreeArray`, `cudaArrayGetInfo`, `cudaGetChannelDesc`,
//! `cudaMallocMipmappedArray`, `cudaFreeMipmappedArray`, `cudaGetMipmappedArrayLevel`, `cudaArrayGetPlane`,
//! `cudaArrayGetMemoryRequirements`, `cudaMipmappedArrayGetMemoryRequirements`, `cudaArrayGetSparseProperties`,
//! `cudaMipmappedArrayGetSparseProperties`.

mod builder;
mod element;
pub(crate) mod info;
mod mipmapped;
mod nv12;
mod owned;
pub(crate) mod region;
mod unmapped;
mod view;

pub use builder::ArrayBuilder;
pub use element::{ArrayElement, Half};
pub use info::{ArrayFlags, ArrayInfo, ArrayKind};
pub use mipmapped::MipmappedArray;
pub use nv12::Nv12Array;
pub use owned::Array;
pub use unmapped::{MemoryRequirements, SparseProperties, UnmappedArray};
pub use view::{ArrayView, ArrayViewMut};
