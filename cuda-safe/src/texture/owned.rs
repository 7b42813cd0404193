//! A texture, owned.
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
use crate::launch::TextureObject;
use crate::memory::{ArrayElement, ArrayKind, relax, retained};
use crate::{check, sys};

/// An image of elements `T` that kernels read by coordinates, destroyed when it is dropped.
///
/// A kernel takes `&texture` for a parameter of type `cudaTextureObject_t`. The texture has a share of its memory, so the owner of that
/// may be dropped, or written between launches: see [the module](crate::texture).
///
/// # Ordering
/// A launch with a texture reads its memory: it is ordered after what has written that, and before what writes it next. Dropping the
/// texture waits for the launches that use it.
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
    /// Makes a texture of memory, to be read as `desc` says.
    ///
    /// Stands for [`cudaCreateTextureObject`](sys::cudaCreateTextureObject) without a resource view.
    ///
    /// # Errors
    /// A refusal of what textures of such elements or such memory cannot do, with what to do instead; of memory that begins where
    /// textures cannot, of rows with such a pitch, and of more elements than the device takes, with both numbers. Otherwise what the
    /// runtime says.
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
    /// As [`new`](Self::new), and a refusal of layers and levels that the array has not, and of linear memory.
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
    /// The device whose kernels can read it.
    #[must_use]
    pub fn device(&self) -> Device {
        self.object.device()
    }

    /// What the dimensions of the image mean; none of linear memory, which is read by number.
    #[must_use]
    pub fn kind(&self) -> Option<ArrayKind> {
        self.kind
    }

    /// Elements of a row, rows, and layers; 1 where there is no such dimension. Of the first level, and of all layers, also where the
    /// texture is of some.
    #[must_use]
    pub fn extent(&self) -> [usize; 3] {
        self.extent
    }

    /// How the texture is read.
    #[must_use]
    pub fn desc(&self) -> &TextureDesc {
        &self.desc
    }

    /// What the texture was made of, as the runtime says it.
    ///
    /// Stands for [`cudaGetTextureObjectResourceDesc`](sys::cudaGetTextureObjectResourceDesc).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaGetTextureObjectResourceDesc")]
    #[track_caller]
    pub fn resource_desc(&self) -> Result<sys::cudaResourceDesc> {
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceDesc::default();
        // SAFETY: the texture lives while the borrow does; the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGetTextureObjectResourceDesc(&raw mut found, self.object.raw())) }?;
        Ok(found)
    }

    /// How the texture is read, as the runtime says it; but the border's colour as the texture was made with it, for that the runtime
    /// does not say.
    ///
    /// Stands for [`cudaGetTextureObjectTextureDesc`](sys::cudaGetTextureObjectTextureDesc).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaGetTextureObjectTextureDesc")]
    #[track_caller]
    pub fn texture_desc(&self) -> Result<sys::cudaTextureDesc> {
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaTextureDesc::default();
        // SAFETY: as above.
        unsafe { check!(cudaGetTextureObjectTextureDesc(&raw mut found, self.object.raw())) }?;
        // The runtime of CUDA 13.0 copies bytes there that it has not written itself, over those that it is given.
        found.borderColor = self.desc.border_color;
        Ok(found)
    }

    /// Of which layers and levels the texture is, as the runtime says it; none where it was made without a view.
    ///
    /// Stands for [`cudaGetTextureObjectResourceViewDesc`](sys::cudaGetTextureObjectResourceViewDesc).
    ///
    /// # Errors
    /// What the runtime fails with.
    #[doc(alias = "cudaGetTextureObjectResourceViewDesc")]
    #[track_caller]
    pub fn resource_view_desc(&self) -> Result<Option<sys::cudaResourceViewDesc>> {
        if !self.object.has_view() {
            // The runtime answers with no error, and nothing says that it writes anything.
            return Ok(None);
        }
        let _current = self.device().switch()?;
        relax()?;
        let mut found = sys::cudaResourceViewDesc::default();
        // SAFETY: as above.
        unsafe { check!(cudaGetTextureObjectResourceViewDesc(&raw mut found, self.object.raw())) }?;
        Ok(Some(found))
    }

    /// Whether the texture reads bytes that an access is of: what a kernel writes it must not read by a texture in the same launch.
    ///
    /// For functions around a kernel that check before they launch it.
    #[must_use]
    pub fn shares(&self, access: &Access<'_>) -> bool {
        self.access().overlaps(access)
    }

    /// A read of the memory, for [`enqueue`](crate::stream::StreamRef::enqueue) and
    /// [`launch_with`](crate::launch::Kernel::launch_with); [`alive`](Self::alive) goes with it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        self.object.access(Mode::Read)
    }

    /// A use of the object, which its destruction comes after: the other access of what is given its handle.
    #[must_use]
    pub fn alive(&self) -> Access<'_> {
        self.object.alive()
    }

    /// The handle. What is done with it is not on the books: see [`access`](Self::access) and [`alive`](Self::alive).
    #[must_use]
    pub fn as_raw(&self) -> TextureObject {
        TextureObject::from_raw(self.object.raw())
    }

    /// Waits for the work that still uses the texture and destroys it: what a drop does, with the error. Nothing where a graph has a
    /// share, which then destroys it.
    ///
    /// Stands for [`cudaDestroyTextureObject`](sys::cudaDestroyTextureObject).
    ///
    /// # Errors
    /// The failure of work that used the texture, or of the call; a refusal inside a host function, after which it is destroyed later.
    #[doc(alias = "cudaDestroyTextureObject")]
    #[track_caller]
    pub fn destroy(mut self) -> Result<()> {
        Arc::get_mut(&mut self.object).map_or(Ok(()), Object::destroy)
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
