//! Textures and surfaces: images that kernels read by coordinates, with filtering and bounds handling, and
//! images that kernels write.
//!
//! A [`Texture`] is made from memory (a [`TextureSource`]) and a [`TextureDesc`], which describes how it is
//! read. A [`Surface`] is made from an array that was allocated for surfaces. A kernel takes them by value
//! as `cudaTextureObject_t` and `cudaSurfaceObject_t`: pass `&texture`, `&mut surface`, or, if the kernel
//! only reads the surface, `surface.read_only()`.
//!
//! Creation is not stream-ordered. Dropping an object blocks the host until the work that uses it is
//! complete. Nothing else here blocks. Both types are `Send` and `Sync`.
//!
//! # Soundness
//! A kernel that takes a texture reads the texture's memory, although that memory is no argument of the
//! launch. The texture object must also outlive the kernel. Therefore:
//!
//! - **The memory lives as long as the object.** The object retains the memory, as a graph does, so the
//!   array may be dropped first: the memory is freed when its last owner is dropped. The program may
//!   retain its own owner and write the memory by copies between launches.
//! - **The tracker records every launch** as a read of the memory that the texture was made from (as a
//!   write, for a surface). This access is not backed by a borrow. Work on any stream that writes the
//!   memory is ordered after earlier launches and before later ones.
//! - **The object lives as long as the work.** It has an access history of its own, in which every launch
//!   is a read. Destruction waits for these reads. A graph that captured a launch retains the object as it
//!   retains memory.
//! - **The kernel runs on the object's device.** Handles are numbers that each device assigns
//!   independently, so the same number may name any image on another device. A launch on another device is
//!   refused.
//! - **Unsupported textures are refused** before the runtime sees them. The runtime accepts several of them
//!   (linear filtering of integers, wrapping without normalized coordinates) and then reads a different
//!   image from the one requested.
//!
//! A launch that is proven refuses memory that the kernel may write and also reads by a texture, and takes no
//! surface that is [`read_only`](Surface::read_only). Leaving a surface with `cudaBoundaryModeTrap` is an
//! error. In a launch without proof, its `unsafe` covers the rest. The kernel must not write memory that it
//! reads by a texture, nor through a surface that is passed as read-only. Two things are harmless: a texture
//! read out of bounds returns the value that the address mode defines, and a texture read as another type
//! returns a different number.
//!
//! # Examples
//! ```
//! use cuda_safe::memcpy_2d;
//! use cuda_safe::memory::{Array, Plane};
//! use cuda_safe::texture::{AddressMode, FilterMode, Texture, TextureDesc};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let mut image = Array::<f32>::alloc_2d(4, 2)?;
//! memcpy_2d(&mut image, &Plane::from_slice(&[0.5; 8], 4, 2)?)?;
//! let desc = TextureDesc {
//!     address_mode: [AddressMode::Border; 3],
//!     filter_mode: FilterMode::Linear,
//!     ..TextureDesc::default()
//! };
//! let texture = Texture::new(&image, &desc)?;
//! assert_eq!(texture.texture_desc()?.filterMode, cuda_safe::sys::cudaFilterModeLinear);
//! // unsafe { launch!(rotate<<<grid, block, 0, &stream>>>(&texture, &mut out, 4, 2, angle)) }?;
//! drop(image); // the texture retains the memory
//! # Ok(())
//! # }
//! ```

mod description;
mod object;
mod source;

pub use description::{AddressMode, FilterMode, ReadMode, ResourceView, TextureDesc};
pub use object::{ReadOnlySurface, Surface, Texture};
pub use source::TextureSource;
