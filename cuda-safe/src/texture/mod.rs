//! Textures and surfaces: images that kernels read by coordinates, filtered and bounded, and images that they write.
//!
//! A [`Texture`] is made from memory, a [`TextureSource`], and a [`TextureDesc`], which says how it is read; a [`Surface`] from an
//! array that was made for surfaces. A kernel takes them by value as `cudaTextureObject_t` and `cudaSurfaceObject_t`: pass `&texture`,
//! `&mut surface`, or for a surface that the kernel only reads `surface.read_only()`.
//!
//! Making is not stream-ordered. Dropping waits, on the host, for the work that still uses the object; nothing else here blocks. Both
//! may be sent to and shared with other threads.
//!
//! # Soundness
//! A kernel that has a texture reads its memory without being given it as an argument, and the object must outlive the kernel, too. So:
//!
//! - **The memory lives as long as the object.** The object owns a share of it, as a graph does, so the array may be dropped first: it is
//!   freed when the last share goes. The program keeps its own owner meanwhile, and may write the memory by copies between launches.
//! - **Every launch is on the books**, with a read of the memory that the texture was made from (a write, for a surface), as an access
//!   that no borrow stands for. What writes the memory on whatever stream is ordered with it, before and after.
//! - **The object lives as long as the work.** It has a ledger of its own, in which every launch is a read. Destroying it waits for
//!   these, and a graph that captured a launch holds a share of the object as it does of memory.
//! - **The object is of the device that runs the kernel.** Handles are numbers that each device counts for itself, so that of another
//!   device might be any image there: a launch on another device is refused.
//! - **What a texture cannot be is refused** before the runtime sees it: it leaves much of that unsaid (linear filtering of integers,
//!   wrapping without normalized coordinates), and the image would be another one than was asked for.
//!
//! What is left to the `unsafe` of a launch: that the kernel does not write what it reads by a texture in the same launch
//! ([`Texture::shares`] says whether they have memory in common), that it writes through no surface passed as
//! [`read_only`](Surface::read_only), and that it stays within a surface where it asks for `cudaBoundaryModeTrap`. Reads of a texture
//! out of bounds give what the address mode says, and reads as another type another number: neither harms.
//!
//! # Examples
//! ```
//! use cuda_safe::memcpy_2d;
//! use cuda_safe::memory::{Array, Plane};
//! use cuda_safe::texture::{AddressMode, FilterMode, Texture, TextureDesc};
//!
//! # fn main() -> cuda_safe::Result<()> {
//! let mut image = Array::<f32>::alloc_2d(4, 2)?;
//! memcpy_2d(&mut image, &Plane::of_slice(&[0.5; 8], 4, 2)?)?;
//! let desc = TextureDesc {
//!     address_mode: [AddressMode::Border; 3],
//!     filter_mode: FilterMode::Linear,
//!     ..TextureDesc::default()
//! };
//! let texture = Texture::new(&image, &desc)?;
//! assert_eq!(texture.texture_desc()?.filterMode, cuda_safe::sys::cudaFilterModeLinear);
//! // unsafe { launch!(rotate<<<grid, block, 0, &stream>>>(&texture, &mut out, 4, 2, angle)) }?;
//! drop(image); // the texture still has it
//! # Ok(())
//! # }
//! ```
//!
//! C functions: `cudaCreateTextureObject`, `cudaDestroyTextureObject`, `cudaGetTextureObjectResourceDesc`,
//! `cudaGetTextureObjectTextureDesc`, `cudaGetTextureObjectResourceViewDesc`, `cudaCreateSurfaceObject`, `cudaDestroySurfaceObject`,
//! `cudaGetSurfaceObjectResourceDesc`.

mod check;
mod description;
mod object;
mod owned;
mod source;
mod surface;
mod view;

pub use description::{AddressMode, FilterMode, ReadMode, TextureDesc};
pub use owned::Texture;
pub use source::TextureSource;
pub use surface::{ReadOnlySurface, Surface};
pub use view::ResourceView;
