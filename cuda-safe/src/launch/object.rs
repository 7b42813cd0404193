//! Textures and surfaces as kernel arguments.
#![expect(unsafe_code, reason = "declares which objects may stand for which parameters")]

use crate::device::Device;
use crate::error::Result;
use crate::hazard::Access;
use crate::sys;
use crate::texture::{ReadOnlySurface, Surface, Texture};

use super::{ByValue, KernelArg};

/// The handle of a texture: what `cudaTextureObject_t` is among the parameters of a kernel.
///
/// A type of its own, where C has a number, so that surfaces and numbers do not stand for textures by mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaTextureObject_t")]
pub struct TextureObject(sys::cudaTextureObject_t);

/// The handle of a surface: what `cudaSurfaceObject_t` is among the parameters of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
#[doc(alias = "cudaSurfaceObject_t")]
pub struct SurfaceObject(sys::cudaSurfaceObject_t);

macro_rules! handle {
    ($handle:ident, $raw:ty) => {
        impl $handle {
            /// The handle that C has. A kernel that is given it is ordered by the program alone, and the object must outlive it.
            #[must_use]
            pub const fn from_raw(raw: $raw) -> Self {
                Self(raw)
            }

            /// The handle as C takes it.
            #[must_use]
            pub const fn as_raw(self) -> $raw {
                self.0
            }
        }

        // SAFETY: the number that C has, and nothing beside it; what it names is the launch's duty.
        unsafe impl ByValue for $handle {}
    };
}

handle!(TextureObject, sys::cudaTextureObject_t);
handle!(SurfaceObject, sys::cudaSurfaceObject_t);

/// What an argument is that names an object: the object's own access, and the device that has to run the kernel.
pub(super) type Named<'a> = (Access<'a>, Device);

// SAFETY: the kernel gets the handle, and the books a read of the memory, of which the texture has a share, and of the object, which
// its destruction comes after.
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

// SAFETY: as above, with a read of the memory: that the kernel writes nothing through it is a duty of its launch.
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
