//! Textures and surfaces, and the handle that both own. It retains the memory of the image until its last
//! user releases it.
#![expect(unsafe_code, reason = "makes, describes and destroys objects through the runtime")]

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use cuda_hazard::RetainedResource;

use super::description::{self, ResourceView, TextureDesc};
use super::source::{ImageLayout, Resource, TextureSource};
use crate::device::Device;
use crate::error::{Detail, Error, OrRefused, Result};
use crate::hazard::{Access, Mode};
use crate::launch::{CheckedArg, KernelArg, Named, SurfaceObject, TextureObject};
use crate::memory::{ArrayElement, ArrayKind, Destroy, UsedHandle, retain};
use crate::stream::relax;
use crate::{check, stream, sys};

/// An image of elements `T` that kernels read by coordinates. Dropping it destroys the texture object.
///
/// A kernel takes `&texture` for a parameter of type `cudaTextureObject_t`. The texture retains its memory,
/// so the owner of the memory may be dropped, or written between launches: see [the
/// module](crate::texture).
///
/// # Ordering
/// A launch with a texture reads the texture's memory. It is ordered after earlier writes of that memory
/// and before later ones. Dropping the texture blocks until the launches that use it are complete.
///
/// # Examples
/// ```
/// use cuda_safe::DeviceBuffer;
/// use cuda_safe::texture::{Texture, TextureDesc};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let table = DeviceBuffer::from_slice(&[1.0_f32, 4.0, 9.0])?;
/// let texture = Texture::new(&table, &TextureDesc::default())?; // for tex1Dfetch<float>
/// assert_eq!(texture.resource_desc()?.resType, cuda_safe::sys::cudaResourceTypeLinear);
/// texture.destroy()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaTextureObject_t")]
pub struct Texture<T> {
    object: Object,
    handle: Arc<UsedHandle<Object>>,
    desc: TextureDesc,
    kind: Option<ArrayKind>,
    extent: [usize; 3],
    elements: PhantomData<fn() -> T>,
}

impl<T: ArrayElement> Texture<T> {
    /// Makes a texture of memory that kernels read as `desc` describes.
    ///
    /// Stands for [`cudaCreateTextureObject`](sys::cudaCreateTextureObject) without a resource view.
    ///
    /// # Errors
    /// Refuses a description that the element type or the memory does not support, and names the
    /// alternative. Also refuses misaligned memory, an unsupported pitch, and more elements than the device
    /// supports; the error holds both numbers. Otherwise returns the runtime's error.
    #[doc(alias = "cudaCreateTextureObject")]
    #[track_caller]
    pub fn new(source: &impl TextureSource<Element = T>, desc: &TextureDesc) -> Result<Self> {
        Self::made(source, desc, None)
    }

    /// Makes a texture of some layers and levels of an array.
    ///
    /// Stands for [`cudaCreateTextureObject`](sys::cudaCreateTextureObject) with a resource view.
    ///
    /// # Errors
    /// As [`new`](Self::new). Also refuses layers or levels that the array does not have, and linear
    /// memory.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::memory::ArrayBuilder;
    /// use cuda_safe::texture::{ResourceView, Texture, TextureDesc};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let layers = ArrayBuilder::plane(16, 16).layers(5).alloc::<f32>()?;
    /// let view = ResourceView { first_layer: 1, last_layer: 3, ..ResourceView::default() };
    /// let texture = Texture::with_view(&layers, &TextureDesc::default(), &view)?;
    /// assert_eq!(texture.resource_view_desc()?.map(|desc| desc.lastLayer), Some(3));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaCreateTextureObject")]
    #[doc(alias = "cudaResourceViewDesc")]
    #[track_caller]
    pub fn with_view(
        source: &impl TextureSource<Element = T>,
        desc: &TextureDesc,
        view: &ResourceView,
    ) -> Result<Self> {
        Self::made(source, desc, Some(view))
    }

    #[track_caller]
    fn made(
        source: &impl TextureSource<Element = T>,
        desc: &TextureDesc,
        view: Option<&ResourceView>,
    ) -> Result<Self> {
        let api = "Texture::new";
        let resource = source.resource(api)?;
        description::check(api, desc, T::descriptor(), resource.layout)?;
        let view = match view {
            Some(view) => Some(view.raw(api, &resource, T::descriptor())?),
            None => None,
        };
        let object = Object::new(Sort::Texture, &resource, &desc.raw(), view.as_ref())?;
        let (kind, extent) = (resource.kind, resource.extent);
        let handle = UsedHandle::new(object.clone());
        Ok(Self { object, handle, desc: *desc, kind, extent, elements: PhantomData })
    }
}

impl<T> Texture<T> {
    /// Returns the meaning of the image's dimensions. Returns `None` for linear memory, which is read by
    /// element index.
    #[must_use]
    pub fn kind(&self) -> Option<ArrayKind> {
        self.kind
    }

    /// Returns the elements per row, the rows, and the layers. A missing dimension is 1. The extent is that
    /// of the first level and of all layers, even if the texture covers only some of them.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        self.extent
    }

    /// Returns how kernels read the texture.
    #[must_use]
    pub fn desc(&self) -> &TextureDesc {
        &self.desc
    }

    /// Returns the runtime's description of the memory that the texture was made of.
    ///
    /// Stands for [`cudaGetTextureObjectResourceDesc`](sys::cudaGetTextureObjectResourceDesc).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaGetTextureObjectResourceDesc")]
    #[track_caller]
    pub fn resource_desc(&self) -> Result<sys::cudaResourceDesc> {
        let _current = self.object.device.switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: `self` borrows the texture, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetTextureObjectResourceDesc(&raw mut found, self.object.raw)) }?;
        Ok(found)
    }

    /// Returns the runtime's description of how the texture is read. The border colour is the one that the
    /// texture was made with, because the runtime does not return it.
    ///
    /// Stands for [`cudaGetTextureObjectTextureDesc`](sys::cudaGetTextureObjectTextureDesc).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaGetTextureObjectTextureDesc")]
    #[track_caller]
    pub fn texture_desc(&self) -> Result<sys::cudaTextureDesc> {
        let _current = self.object.device.switch()?;
        relax()?;
        let mut found = sys::cudaTextureDesc::default();
        // SAFETY: `self` borrows the texture, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetTextureObjectTextureDesc(&raw mut found, self.object.raw)) }?;
        // The runtime of CUDA 13.0 overwrites the border colour with bytes that it never initialized.
        found.borderColor = self.desc.border_color;
        Ok(found)
    }

    /// Returns the runtime's description of the texture's layers and levels. Returns `None` if the texture
    /// was made without a view.
    ///
    /// Stands for [`cudaGetTextureObjectResourceViewDesc`](sys::cudaGetTextureObjectResourceViewDesc).
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[doc(alias = "cudaGetTextureObjectResourceViewDesc")]
    #[track_caller]
    pub fn resource_view_desc(&self) -> Result<Option<sys::cudaResourceViewDesc>> {
        if !self.object.viewed {
            // The runtime reports success here, but does not document that it writes the structure.
            return Ok(None);
        }
        let _current = self.object.device.switch()?;
        relax()?;
        let mut found = sys::cudaResourceViewDesc::default();
        // SAFETY: `self` borrows the texture, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetTextureObjectResourceViewDesc(&raw mut found, self.object.raw)) }?;
        Ok(Some(found))
    }

    /// Returns a read of the memory, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_raw`](crate::launch::Kernel::launch_raw). Pass [`alive`](Self::alive) with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// Returns a read of the texture object, which delays its destruction. Work that receives the handle
    /// needs this access in addition to [`access`](Self::access).
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.handle.alive()
    }

    /// Returns the handle. The tracker does not see uses of the handle: see [`access`](Self::access) and
    /// [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> TextureObject {
        TextureObject::from_raw(self.object.raw)
    }

    /// Waits for the work that uses the texture, then destroys it. Dropping does the same but discards the
    /// error. If a graph retains the texture, this does nothing, and the graph destroys the texture later.
    ///
    /// Stands for [`cudaDestroyTextureObject`](sys::cudaDestroyTextureObject).
    ///
    /// # Errors
    /// Returns the failure of work that used the texture, or of the call. Refused inside a host function;
    /// the texture is then destroyed later.
    #[doc(alias = "cudaDestroyTextureObject")]
    #[track_caller]
    pub fn destroy(self) -> Result<()> {
        UsedHandle::destroy_owned(self.handle)
    }
}

impl<T> fmt::Debug for Texture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.describe::<T>(f, "Texture")
    }
}

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
    object: Object,
    handle: Arc<UsedHandle<Object>>,
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
        if let (ImageLayout::Array, Some(kind), true) = (resource.layout, resource.kind, resource.writable) {
            let object = Object::new(Sort::Surface, &resource, &sys::cudaTextureDesc::default(), None)?;
            let (handle, extent) = (UsedHandle::new(object.clone()), resource.extent);
            return Ok(Self { object, handle, kind, extent, elements: PhantomData });
        }
        let (asked, instead) = match resource.layout {
            ImageLayout::Array => (
                "surface of an array that was not made for surfaces",
                "make the array with ArrayBuilder::surface",
            ),
            ImageLayout::Mipmapped => {
                ("surface of all levels of a mipmapped array", "make one of each level()")
            }
            ImageLayout::Linear | ImageLayout::Pitched => (
                "surface of linear memory",
                "kernels write that by its address; a surface is made of an Array",
            ),
        };
        Err(Error::refused(api, Detail::texture(asked, instead)))
    }
}

impl<T> Surface<T> {
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
        let _current = self.object.device.switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: `self` borrows the surface, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetSurfaceObjectResourceDesc(&raw mut found, self.object.raw)) }?;
        Ok(found)
    }

    /// Returns a read of the array, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_raw`](crate::launch::Kernel::launch_raw). Pass [`alive`](Self::alive) with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// Returns a write of the array, for the same uses as [`access`](Self::access).
    #[must_use]
    pub fn access_mut(&mut self) -> Access<'_> {
        self.object.access(Mode::Write)
    }

    /// Returns a read of the surface object, which delays its destruction. Work that receives the handle
    /// needs this access in addition to [`access`](Self::access) or [`access_mut`](Self::access_mut).
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.handle.alive()
    }

    /// Returns the handle. The tracker does not see uses of the handle: see [`access`](Self::access) and
    /// [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> SurfaceObject {
        SurfaceObject::from_raw(self.object.raw)
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
    pub fn destroy(self) -> Result<()> {
        UsedHandle::destroy_owned(self.handle)
    }
}

/// Implements [`KernelArg`] for a texture or surface, with the kernel's mode of access.
macro_rules! object_argument {
    ($argument:ty as $parameter:ident, |$it:ident| $owner:expr, $mode:ident) => {
        // SAFETY: the kernel receives the handle. The tracker records the access of the memory, which the
        // owner retains, and a read of the object, which delays its destruction. If a surface is read, the
        // caller of the launch guarantees that the kernel does not write through the handle.
        unsafe impl<T> KernelArg<$parameter> for $argument {
            const BY_OBJECT: bool = true;

            #[inline]
            fn value(&self) -> Result<$parameter> {
                let $it = self;
                Ok($owner.as_raw())
            }

            #[inline]
            fn access(&self) -> Option<Access<'_>> {
                let $it = self;
                Some($owner.object.access(Mode::$mode))
            }

            #[inline]
            fn object(&self) -> Option<Named<'_>> {
                let $it = self;
                Some(($owner.alive(), $owner.object.device))
            }
        }
    };
}

object_argument!(&Texture<T> as TextureObject, |it| it, Read);
object_argument!(&mut Surface<T> as SurfaceObject, |it| it, Write);
object_argument!(ReadOnlySurface<'_, T> as SurfaceObject, |it| it.surface, Read);

// SAFETY: the handle is that of a live object, and the access that of its memory.
unsafe impl<T> CheckedArg<TextureObject> for &Texture<T> {
    #[inline]
    fn own(&self) -> Option<Access<'_>> {
        KernelArg::access(self)
    }
}

// SAFETY: the handle is that of a live object, and the access that of its memory. A surface that is only
// read is not here: a proof does not tell whether a kernel writes it.
unsafe impl<T> CheckedArg<SurfaceObject> for &mut Surface<T> {
    #[inline]
    fn own(&self) -> Option<Access<'_>> {
        KernelArg::access(self)
    }
}

impl<T> fmt::Debug for Surface<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object.describe::<T>(f, "Surface")
    }
}

/// The kind of the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    Texture,
    Surface,
}

/// An object of the runtime. A leaked object does not keep the memory.
#[derive(Clone)]
struct Object {
    sort: Sort,
    raw: sys::cudaTextureObject_t,
    device: Device,
    /// The retained memory, and the range of its bytes that the object reaches.
    memory: Arc<dyn RetainedResource>,
    range: Range<usize>,
    viewed: bool,
}

impl Object {
    /// Makes an object from the memory that `memory` accesses.
    #[track_caller]
    fn new(
        sort: Sort,
        resource: &Resource<'_>,
        texture: &sys::cudaTextureDesc,
        view: Option<&sys::cudaResourceViewDesc>,
    ) -> Result<Self> {
        let api = match sort {
            Sort::Texture => "Texture::new",
            Sort::Surface => "Surface::new",
        };
        stream::ensure_idle(api)?;
        let (device, range) = (resource.device, resource.memory.range());
        // The memory is retained before the object exists.
        let memory = retain(&resource.memory).or_refused(api, || Detail::NOT_RETAINED)?;
        let _current = device.switch()?;
        // Without this, a capture in progress refuses the creation, and the attempt invalidates the
        // capture.
        relax()?;
        let mut raw = 0;
        match sort {
            Sort::Texture => {
                let view_desc = view.map_or(std::ptr::null(), std::ptr::from_ref);
                // SAFETY: the pointers are to live structures, or null. The first structure names memory
                // that is live and belongs to the current device; `memory` above retains it for the
                // object's lifetime.
                unsafe {
                    check!(cudaCreateTextureObject(&raw mut raw, &raw const resource.raw, texture, view_desc))
                }?;
            }
            Sort::Surface => {
                // SAFETY: the pointers are to live structures, or null. The first structure names memory that
                // is live and belongs to the current device; `memory` above retains it for the object's
                // lifetime.
                unsafe { check!(cudaCreateSurfaceObject(&raw mut raw, &raw const resource.raw)) }?;
            }
        }
        Ok(Self { sort, raw, device, memory, range, viewed: view.is_some() })
    }

    /// The access of a launch to the memory.
    fn access(&self, mode: Mode) -> Access<'_> {
        Access::new(self.memory.history(), self.range.clone(), mode).unborrowed()
    }

    fn describe<T>(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        f.debug_struct(name)
            .field("element", &std::any::type_name::<T>())
            .field("memory", &self.access(Mode::Read))
            .field("device", &self.device.ordinal())
            .finish()
    }
}

impl Destroy for Object {
    fn api(&self) -> &'static str {
        match self.sort {
            Sort::Texture => "Texture::destroy",
            Sort::Surface => "Surface::destroy",
        }
    }

    #[track_caller]
    fn destroy(self) -> Result<()> {
        let _current = self.device.switch()?;
        relax()?;
        match self.sort {
            // SAFETY: `new` made the object. Only this function destroys it, once. No work uses it.
            Sort::Texture => unsafe { check!(cudaDestroyTextureObject(self.raw)) },
            // SAFETY: `new` made the object. Only this function destroys it, once. No work uses it.
            Sort::Surface => unsafe { check!(cudaDestroySurfaceObject(self.raw)) },
        }
    }
}
