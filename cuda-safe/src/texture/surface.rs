//! A surface, owned.
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
use crate::launch::SurfaceObject;
use crate::memory::{ArrayElement, ArrayKind, relax, retained};
use crate::{check, sys};

/// An array of elements `T` that kernels read and write by coordinates, destroyed when it is dropped.
///
/// A kernel takes `&mut surface` for a parameter of type `cudaSurfaceObject_t`, or [`read_only`](Self::read_only) where it writes
/// nothing. The surface has a share of its array: see [the module](crate::texture).
///
/// In the kernel the first coordinate counts bytes, not elements.
///
/// # Ordering
/// A launch with a surface writes its array: it is ordered with all other work on that. Dropping the surface waits for the launches
/// that use it.
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

/// A surface that a kernel does not write through: an argument that is on the books as a read.
///
/// [`Surface::read_only`] makes it.
#[derive(Clone, Copy, Debug)]
pub struct ReadOnlySurface<'a, T> {
    surface: &'a Surface<T>,
}

impl<T: ArrayElement> Surface<T> {
    /// Makes a surface of an array, or of a level of a mipmapped one, that was made for surfaces
    /// ([`ArrayBuilder::surface`](crate::memory::ArrayBuilder::surface)).
    ///
    /// Stands for [`cudaCreateSurfaceObject`](sys::cudaCreateSurfaceObject).
    ///
    /// # Errors
    /// A refusal of memory that is no array, and of one that was not made for surfaces, which the runtime would take. Otherwise what the
    /// runtime says.
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

    /// A surface of what can be one.
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
    /// The device whose kernels can use it.
    #[must_use]
    pub fn device(&self) -> Device {
        self.object.device()
    }

    /// What the dimensions of the image mean.
    #[must_use]
    pub fn kind(&self) -> ArrayKind {
        self.kind
    }

    /// Elements of a row, rows, and layers; 1 where there is no such dimension.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        self.extent
    }

    /// The surface as an argument for a kernel that only reads it. That it does so is a duty of the launch.
    #[must_use]
    pub fn read_only(&self) -> ReadOnlySurface<'_, T> {
        ReadOnlySurface { surface: self }
    }

    /// What the surface was made of, as the runtime says it.
    ///
    /// Stands for [`cudaGetSurfaceObjectResourceDesc`](sys::cudaGetSurfaceObjectResourceDesc).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaGetSurfaceObjectResourceDesc")]
    #[track_caller]
    pub fn resource_desc(&self) -> Result<sys::cudaResourceDesc> {
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: the surface lives while the borrow does; the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetSurfaceObjectResourceDesc(&raw mut found, self.object.raw())) }?;
        Ok(found)
    }

    /// Whether the surface is of bytes that an access is of.
    #[must_use]
    pub fn shares(&self, access: &Access<'_>) -> bool {
        self.access().overlaps(access)
    }

    /// A read of the array, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_with`](crate::launch::Kernel::launch_with); [`alive`](Self::alive) goes with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// A write of the array, as [`access`](Self::access).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.written()
    }

    /// A write of the array.
    pub(crate) fn written(&self) -> Access<'_> {
        self.object.access(Mode::Write)
    }

    /// A use of the object, which its destruction comes after: the other access of what is given its handle.
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.object.alive()
    }

    /// The handle. What is done with it is not on the books: see [`access`](Self::access) and [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> SurfaceObject {
        SurfaceObject::from_raw(self.object.raw())
    }

    /// Waits for the work that still uses the surface and destroys it: what a drop does, with the error. Nothing where a graph has a
    /// share, which then destroys it.
    ///
    /// Stands for [`cudaDestroySurfaceObject`](sys::cudaDestroySurfaceObject).
    ///
    /// # Errors
    /// The failure of work that used the surface, or of the call; a refusal inside a host function, after which it is destroyed later.
    #[doc(alias = "cudaDestroySurfaceObject")]
    #[track_caller]
    pub fn destroy(mut self) -> Result<()> {
        Arc::get_mut(&mut self.object).map_or(Ok(()), Object::destroy)
    }
}

impl<'a, T> ReadOnlySurface<'a, T> {
    /// The surface.
    pub(crate) fn surface(&self) -> &'a Surface<T> {
        self.surface
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
