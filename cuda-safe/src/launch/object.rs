//! Textures and surfaces as kernel arguments.
#![expect(unsafe_code, reason = "declares which objects may stand for which parameters")]

use crate::device::Device;
use crate::error::Result;
use crate::hazard::Access;
use crate::sys;
use crate::texture::{ReadOnlySurface, Surface, Texture};

use super::{ByValue, KernelArg};

/// The handle of a texture: the Rust type of a kernel parameter `cudaTextureObject_t`.
///
/// In C it is a number. The separate type prevents passing a surface or a number for a texture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaTextureObject_t")]
pub struct TextureObject(sys::cudaTextureObject_t);

/// The handle of a surface: the Rust type of a kernel parameter `cudaSurfaceObject_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaSurfaceObject_t")]
pub struct SurfaceObject(sys::cudaSurfaceObject_t);

macro_rules! handle {
    ($handle:ident, $raw:ty) => {
        impl $handle {
            /// Wraps C's handle. The tracker does not order a kernel that receives it. The program must do
            /// so, and the object must outlive the kernel.
            #[must_use]
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw)
            }

            /// Returns C's handle.
            #[must_use]
            pub const fn as_raw(self) -> $raw {
                self.0
            }
        }

        // SAFETY: the type has the same layout as C's number. The caller of a launch is responsible for the
        // object behind it.
        unsafe impl ByValue for $handle {}
    };
}

handle!(TextureObject, sys::cudaTextureObject_t);
handle!(SurfaceObject, sys::cudaSurfaceObject_t);

/// An object argument: the access to the object itself, and the device that must run the kernel.
pub(super) type Named<'a> = (Access<'a>, Device);

// SAFETY: the kernel receives the handle. The tracker records a read of the memory, which the texture
// retains, and a read of the object, which delays its destruction.
unsafe impl<T> KernelArg<TextureObject> for &Texture<T> {
    const BY_OBJECT: bool = true;

    #[inline]
    fn value(&self) -> Result<TextureObject> {
        Ok(self.as_raw())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(Texture::access(self))
    }

    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        Some((self.alive(), self.device()))
    }
}

// SAFETY: as above, with a write of the memory.
unsafe impl<T> KernelArg<SurfaceObject> for &mut Surface<T> {
    const BY_OBJECT: bool = true;

    #[inline]
    fn value(&self) -> Result<SurfaceObject> {
        Ok(self.as_raw())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(self.written())
    }

    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        Some((self.alive(), self.device()))
    }
}

// SAFETY: as above, with a read of the memory. The caller of the launch guarantees that the kernel does not
// write through the handle.
unsafe impl<T> KernelArg<SurfaceObject> for ReadOnlySurface<'_, T> {
    const BY_OBJECT: bool = true;

    #[inline]
    fn value(&self) -> Result<SurfaceObject> {
        Ok(self.surface().as_raw())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(self.surface().access())
    }

    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        Some((self.surface().alive(), self.surface().device()))
    }
}
