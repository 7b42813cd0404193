//! CUDA arrays: memory in a layout chosen by the device, for textures and surfaces. The host reaches it
//! only through copies.
//!
//! - An [`Array`] has one, two or three dimensions, or layers of one or two dimensions, or is a cubemap. An
//!   [`ArrayBuilder`] makes each kind. Its elements are [`ArrayElement`]s: one, two or four numbers of 8,
//!   16 or 32 bits. The type determines CUDA's description of them.
//! - A [`MipmappedArray`] contains smaller versions of itself, each of which is an array.
//! - An [`Nv12Array`] has a plane of brightness and a plane of colour.
//! - A view ([`ArrayView`], [`ArrayViewMut`]) is a part of an array: some columns, rows and layers.
//! - An [`UnmappedArray`] has no memory. It reports how much it would need.
//!
//! Making and freeing are not stream-ordered. Freeing blocks the host until the work that still uses the
//! array is complete. Nothing else here blocks. Owners and views may be sent to other threads and shared
//! with them.
//!
//! # Soundness
//! An array has no address. Only the following reach its elements:
//! - Copies of this crate, which check their extents against those of the view.
//! - Kernels through [textures and surfaces](crate::texture), which themselves declare the array to the
//!   tracker.
//! - `unsafe` code with the raw handle.
//!
//! Every array has an access history. The tracker records an access to a part as the range from its first
//! element to its last, as if the elements were stored row after row. This range is larger than the part if
//! the part omits columns. Two parts side by side may therefore be ordered without need, but conflicting
//! work is never left unordered. Levels and planes follow each other in the access history of their array.
//!
//! # Examples
//! ```
//! use cuda_safe::memory::{Array, ArrayBuilder, ArrayKind, Plane};
//! use cuda_safe::{Stream, memcpy_2d, memcpy_2d_async};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let mut image = Array::<[u8; 4]>::alloc_2d(4, 2)?;
//! memcpy_2d(&mut image, &Plane::from_slice(&[[1, 2, 3, 4]; 8], 4, 2)?)?;
//! assert_eq!(image.to_vec()?, [[1, 2, 3, 4]; 8]);
//! assert_eq!(image.info()?.kind, ArrayKind::Plane);
//!
//! // The left half, into a layer of another array.
//! let mut layers = ArrayBuilder::plane(2, 2).layers(3).surface().alloc::<[u8; 4]>()?;
//! let stream = Stream::new()?;
//! memcpy_2d_async(&mut layers.view_mut().layers_mut(1..2)?, &image.view().columns(..2)?, &stream)?;
//! image.free()?; // waits for the copy
//! # Ok(())
//! # }
//! ```

mod builder;
pub(crate) mod info;
mod owned;
pub(crate) mod view;

pub use builder::ArrayBuilder;
pub use info::{ArrayElement, ArrayFlags, ArrayInfo, ArrayKind, Half};
pub use owned::{Array, MemoryRequirements, MipmappedArray, Nv12Array, SparseProperties, UnmappedArray};
pub use view::{ArrayView, ArrayViewMut};
