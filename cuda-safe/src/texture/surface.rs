//! The owner of a surface object.
#![expect(unsafe_code, reason = "asks the runtime about the object")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::check::ImageLayout;
use super::object::{Object, Sort};
use super::source::{Resource, TextureSource};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::launch::{KernelArg, Named, SurfaceObject};
use crate::memory::{ArrayElement, ArrayKind, relax, retained};
use crate::{check, sys};

/// An array of elements `T` that kernels read and write by coordinates. Dropping it destroys the surface
/// object.
///
/// A kernel takes `&mut surface` for a parameter of type `cudaSurfaceObject_t`, or
/// [`read_only`](Self::read_only) if it does not write. The surface retains its array: see [the
/// module](crate::texture).
///
/// In the kernel, the first coordinate is in bytes, not in elements.
///
/// # Ordering
/// A launch with a surface writes the surface's array. It is ordered with all other work on that array.
/// Dropping the surface blocks until the launches that use it are complete.
///
/// # Examples
/// ```
/// use cuda_safe::memory::ArrayBuilder;
/// use cuda_safe::texture::Surface;
///
/// # fn main() -> cuda_safe::Result<()> {
/// let image = ArrayBuilder::plane(64, 48).surface().alloc::<[u8; 4]>()?;
/// let mut surface = Surface::new(&image)?;
/// assert_eq!(surface.resource_desc()?.resType, cuda_safe::sys::cudaResourceTypeArray);
/// // unsafe { launch!(paint<<<grid, block, 0, &stream>>>(&mut surface, 64, 48)) }?;
/// let pixels = image.to_vec()?; // after the kernel
/// surface.destroy()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaSurfaceObject_t")]
pub struct Surface<T> {
    object: Arc<Object>,
    kind: ArrayKind,
    extent: [usize; 3],
    elements: PhantomData<fn() -> T>,
}

/// A surface that a kernel does not write. The tracker records the launch as a read.
///
/// [`Surface::read_only`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnlySurface<'a, T> {
    surface: &'a Surface<T>,
}

impl<T: ArrayElement> Surface<T> {
    /// Makes a surface of an array, or of a level of a mipmapped array, that was allocated for surfaces
    /// ([`ArrayBuilder::surface`](crate::memory::ArrayBuilder::surface)).
    ///
    /// Stands for [`cudaCreateSurfaceObject`](sys::cudaCreateSurfaceObject).
    ///
    /// # Errors
    /// Refuses memory that is not an array, and an array that was not allocated for surfaces, which the
    /// runtime itself accepts. Otherwise returns the runtime's error.
    #[doc(alias = "cudaCreateSurfaceObject")]
    #[track_caller]
    pub fn new(source: &impl TextureSource<Element = T>) -> Result<Self> {
        let api = "Surface::new";
        let resource = source.resource(api)?;
        let (asked, instead) = match (resource.layout, resource.kind) {
            (ImageLayout::Array, Some(kind)) if resource.writable => return Self::of(&resource, kind),
            (ImageLayout::Array, _) => (
                "surface of an array that was not made for surfaces",
                "make the array with ArrayBuilder::surface",
            ),
            (ImageLayout::Mipmapped, _) => {
                ("surface of all levels of a mipmapped array", "make one of each level()")
            }
            (ImageLayout::Linear | ImageLayout::Pitched, _) => (
                "surface of linear memory",
                "kernels write that by its address; a surface is made of an Array",
            ),
        };
        Err(Error::refused(api, Detail::Texture { asked, instead }))
    }

    /// Makes a surface of a resource that passed the checks of `new`.
    #[track_caller]
    fn of(resource: &Resource<'_>, kind: ArrayKind) -> Result<Self> {
        let (device, memory) = (resource.device, &resource.memory);
        let plain = sys::cudaTextureDesc::default();
        let object = Object::new(Sort::Surface, device, memory, &resource.raw, &plain, None)?;
        let extent = resource.extent;
        Ok(Self { object: retained(object), kind, extent, elements: PhantomData })
    }
}

impl<T> Surface<T> {
    /// Returns the device whose kernels can use the surface.
    #[must_use]
    pub fn device(&self) -> Device {
        self.object.device()
    }

    /// Returns the meaning of the image's dimensions.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Returns the elements per row, the rows, and the layers. A missing dimension is 1.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        self.extent
    }

    /// Returns the surface as an argument for a kernel that only reads it. The caller of the launch
    /// guarantees that the kernel does not write it.
    #[must_use]
    pub fn read_only(&self) -> ReadOnlySurface<'_, T> {
        ReadOnlySurface { surface: self }
    }

    /// Returns the runtime's description of the memory that the surface was made of.
    ///
    /// Stands for [`cudaGetSurfaceObjectResourceDesc`](sys::cudaGetSurfaceObjectResourceDesc).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaGetSurfaceObjectResourceDesc")]
    #[track_caller]
    pub fn resource_desc(&self) -> Result<sys::cudaResourceDesc> {
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: `self` borrows the surface, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetSurfaceObjectResourceDesc(&raw mut found, self.object.raw())) }?;
        Ok(found)
    }

    /// Returns whether the surface and `access` have bytes in common.
    #[must_use]
    pub fn shares(&self, access: &Access<'_>) -> bool {
        self.access().overlaps(access)
    }

    /// Returns a read of the array, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_with`](crate::launch::Kernel::launch_with). Pass [`alive`](Self::alive) with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// Returns a write of the array, for the same uses as [`access`](Self::access).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.written()
    }

    /// Returns a write of the array without a mutable borrow of the surface.
    pub(crate) fn written(&self) -> Access<'_> {
        self.object.access(Mode::Write)
    }

    /// Returns a read of the surface object, which delays its destruction. Work that receives the handle
    /// needs this access in addition to [`access`](Self::access) or [`access_mut`](Self::access_mut).
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.object.alive()
    }

    /// Returns the handle. The tracker does not see uses of the handle: see [`access`](Self::access) and
    /// [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> SurfaceObject {
        SurfaceObject::from_raw(self.object.raw())
    }

    /// Waits for the work that uses the surface, then destroys it. Dropping does the same but discards the
    /// error. If a graph retains the surface, this does nothing, and the graph destroys the surface later.
    ///
    /// Stands for [`cudaDestroySurfaceObject`](sys::cudaDestroySurfaceObject).
    ///
    /// # Errors
    /// Returns the failure of work that used the surface, or of the call. Refused inside a host function;
    /// the surface is then destroyed later.
    #[doc(alias = "cudaDestroySurfaceObject")]
    #[track_caller]
    pub fn destroy(mut self) -> Result<()> {
        Arc::get_mut(&mut self.object).map_or(Ok(()), Object::destroy)
    }
}

// SAFETY: the kernel receives the handle. The tracker records a write of the memory, which the surface
// retains, and a read of the object, which delays its destruction.
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
        Ok(self.surface.as_raw())
    }

    #[inline]
    fn access(&self) -> Option<Access<'_>> {
        Some(self.surface.access())
    }

    #[inline]
    fn object(&self) -> Option<Named<'_>> {
        Some((self.surface.alive(), self.surface.device()))
    }
}

impl<T> fmt::Debug for Surface<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surface")
            .field("element", &std::any::type_name::<T>())
            .field("memory", &self.access())
            .field("device", &self.device().ordinal())
            .finish()
    }
}
