//! The handles of textures and surfaces as kernel parameters.
#![expect(unsafe_code, reason = "declares which types have the same layout in C and in Rust")]

use crate::sys;

use super::ByValue;

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
