//! The owner of a texture object.
#![expect(unsafe_code, reason = "asks the runtime about the object")]

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::check::check;
use super::description::TextureDesc;
use super::object::{Object, Sort};
use super::source::TextureSource;
use super::view::ResourceView;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::launch::{KernelArg, Named, TextureObject};
use crate::memory::{ArrayElement, ArrayKind, relax, retained};
use crate::{check, sys};

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
/// assert!(texture.shares(&table.access()));
/// texture.destroy()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaTextureObject_t")]
pub struct Texture<T> {
    object: Arc<Object>,
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
        check(api, desc, T::descriptor(), resource.layout)?;
        let view = match view {
            Some(view) => Some(view.raw(api, &resource, T::descriptor())?),
            None => None,
        };
        let (device, memory) = (resource.device, &resource.memory);
        let object = Object::new(Sort::Texture, device, memory, &resource.raw, &desc.raw(), view.as_ref())?;
        let (kind, extent) = (resource.kind, resource.extent);
        Ok(Self { object: retained(object), desc: *desc, kind, extent, elements: PhantomData })
    }
}

impl<T> Texture<T> {
    /// Returns the device whose kernels can read the texture.
    #[must_use]
    pub fn device(&self) -> Device {
        self.object.device()
    }

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
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: `self` borrows the texture, which is therefore live. The pointer is to a live variable,
        // which the call fills.
        unsafe { check!(cudaGetTextureObjectResourceDesc(&raw mut found, self.object.raw())) }?;
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
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaTextureDesc::default();
        // SAFETY: as above.
        unsafe { check!(cudaGetTextureObjectTextureDesc(&raw mut found, self.object.raw())) }?;
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
        if !self.object.has_view() {
            // The runtime reports success here, but does not document that it writes the structure.
            return Ok(None);
        }
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceViewDesc::default();
        // SAFETY: as above.
        unsafe { check!(cudaGetTextureObjectResourceViewDesc(&raw mut found, self.object.raw())) }?;
        Ok(Some(found))
    }

    /// Returns whether the texture and `access` have bytes in common. A kernel must not write bytes that it
    /// reads by a texture in the same launch.
    ///
    /// Functions that wrap a kernel use this to check their arguments before the launch.
    #[must_use]
    pub fn shares(&self, access: &Access<'_>) -> bool {
        self.access().overlaps(access)
    }

    /// Returns a read of the memory, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_with`](crate::launch::Kernel::launch_with). Pass [`alive`](Self::alive) with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// Returns a read of the texture object, which delays its destruction. Work that receives the handle
    /// needs this access in addition to [`access`](Self::access).
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.object.alive()
    }

    /// Returns the handle. The tracker does not see uses of the handle: see [`access`](Self::access) and
    /// [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> TextureObject {
        TextureObject::from_raw(self.object.raw())
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
    pub fn destroy(mut self) -> Result<()> {
        Arc::get_mut(&mut self.object).map_or(Ok(()), Object::destroy)
    }
}

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

impl<T> fmt::Debug for Texture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Texture")
            .field("element", &std::any::type_name::<T>())
            .field("memory", &self.access())
            .field("device", &self.device().ordinal())
            .finish()
    }
}
