//! The memory that textures and surfaces are made of.
#![expect(unsafe_code, reason = "asks the runtime what arrays are like")]

use crate::device::Device;
use crate::error::{Detail, OrRefused, Result, ensure};
use crate::hazard::{Access, Mode};
use crate::memory::allocation::Span;
use crate::memory::array::info::ArrayInfo;
use crate::memory::array::view::Region;
use crate::memory::grid::Grid;
use crate::memory::size;
use crate::memory::{
    Array, ArrayElement, ArrayFlags, ArrayKind, ArrayView, DeviceBuffer, DeviceSlice, MipmappedArray,
    OnDevice, PitchedBuffer, Plane,
};
use crate::sys;

/// Memory that a texture can be made of.
///
/// | memory | what a kernel reads it with |
/// |---|---|
/// | [`Array`] | `tex1D`, `tex2D`, `tex3D`, `tex1DLayered`, `tex2DLayered`, `texCubemap`, as its kind is |
/// | [`ArrayView`] of a whole level or plane | the same |
/// | [`MipmappedArray`] | the same with `Lod` or `Grad` |
/// | [`DeviceBuffer`], [`DeviceSlice`] | `tex1Dfetch` |
/// | [`PitchedBuffer`], [`Plane`] of device memory | `tex2D` |
///
/// Linear memory must begin at a multiple of [`texture_alignment`](crate::device::DeviceProperties) bytes
/// (512 on today's devices); whole buffers do. The pitch of rows must be a multiple of 32 bytes;
/// [`PitchedBuffer`] ensures this. The trait is sealed.
pub trait TextureSource {
    /// The element type.
    type Element: ArrayElement;

    #[doc(hidden)]
    fn resource(&self, api: &'static str) -> Result<Resource<'_>>;
}

/// The memory layout of an image. It decides which texture features are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageLayout {
    /// Linear memory, read by element index.
    Linear,
    /// Pitched rows.
    Pitched,
    /// An array.
    Array,
    /// A mipmapped array.
    Mipmapped,
}

/// The memory as the runtime's resource descriptor, with the facts that the checks need.
#[derive(Clone, Copy)]
pub struct Resource<'a> {
    pub(super) raw: sys::cudaResourceDesc,
    pub(super) layout: ImageLayout,
    pub(super) device: Device,
    pub(super) memory: Access<'a>,
    /// The meaning of the dimensions. `None` for linear memory, which is read by element index.
    pub(super) kind: Option<ArrayKind>,
    /// Elements per row, rows, and layers.
    pub(super) extent: [usize; 3],
    /// Whether the array was allocated for surfaces.
    pub(super) writable: bool,
    /// The number of mipmap levels; 1 if the memory has none.
    pub(super) levels: usize,
}

impl std::fmt::Debug for Resource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resource")
            .field("layout", &self.layout)
            .field("memory", &self.memory)
            .finish_non_exhaustive()
    }
}

impl<'a> Resource<'a> {
    /// Describes an array. Kind, extent and flags come from the runtime.
    ///
    /// # Safety
    /// - `array` is live while `memory` is borrowed.
    /// - `array` belongs to `device`.
    #[track_caller]
    unsafe fn array(
        raw: sys::cudaResourceDesc,
        layout: ImageLayout,
        array: sys::cudaArray_t,
        device: Device,
        memory: Access<'a>,
    ) -> Result<Self> {
        // SAFETY: the caller guarantees that the array is live and belongs to the device.
        let info = unsafe { ArrayInfo::of(device, array) }?;
        let writable = info.flags.contains(ArrayFlags::SURFACE);
        let (kind, extent) = (Some(info.kind), [info.width, info.height, info.depth]);
        Ok(Self { raw, layout, device, memory, kind, extent, writable, levels: 1 })
    }

    /// Describes a whole array, level or plane.
    #[track_caller]
    fn of_region<T>(region: Region<'a, T>) -> Result<Self> {
        let mut raw = sys::cudaResourceDesc { resType: sys::cudaResourceTypeArray, ..Default::default() };
        let array = region.raw();
        raw.res.array = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_1 { array };
        let memory = region.access(Mode::Read);
        // SAFETY: the region borrows a live array for `'a`, and `region.device()` is the array's device.
        unsafe { Self::array(raw, ImageLayout::Array, array, region.device(), memory) }
    }
}

impl<T: ArrayElement> TextureSource for Array<T> {
    type Element = T;

    #[track_caller]
    fn resource(&self, _api: &'static str) -> Result<Resource<'_>> {
        Resource::of_region(self.region())
    }
}

impl<T: ArrayElement> TextureSource for ArrayView<'_, T> {
    type Element = T;

    #[track_caller]
    fn resource(&self, api: &'static str) -> Result<Resource<'_>> {
        let region = self.region();
        let asked = "texture or surface of a part of an array";
        let instead = "make it of the whole array or level, and read or write the part by its coordinates";
        ensure(region.is_whole(), api, || Detail::texture(asked, instead))?;
        Resource::of_region(region)
    }
}

impl<T: ArrayElement> TextureSource for MipmappedArray<T> {
    type Element = T;

    #[track_caller]
    fn resource(&self, _api: &'static str) -> Result<Resource<'_>> {
        let mut raw =
            sys::cudaResourceDesc { resType: sys::cudaResourceTypeMipmappedArray, ..Default::default() };
        raw.res.mipmap = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_2 { mipmap: self.as_raw() };
        let (array, memory) = (self.level(0)?.as_raw(), self.access());
        // SAFETY: the level lives as long as the mipmapped array, which is borrowed, and belongs to its
        // device.
        let first = unsafe { Resource::array(raw, ImageLayout::Mipmapped, array, self.device(), memory) }?;
        Ok(Resource { levels: self.levels(), ..first })
    }
}

macro_rules! of_memory {
    ($($type:ty, $it:ident, $api:ident => $resource:expr;)*) => {$(
        impl<T: ArrayElement> TextureSource for $type {
            type Element = T;

            #[track_caller]
            fn resource(&self, $api: &'static str) -> Result<Resource<'_>> {
                let $it = self;
                $resource
            }
        }
    )*};
}

of_memory! {
    DeviceBuffer<T>, it, api => linear(api, it.span());
    DeviceSlice<'_, T>, it, api => linear(api, it.span());
    PitchedBuffer<T>, it, api => rows(api, it.grid());
    Plane<'_, T, OnDevice>, it, api => rows(api, it.grid());
}

/// Returns a limit of a device, or `usize::MAX` if the device reports none.
fn limit(device: Device, attribute: sys::cudaDeviceAttr) -> Result<usize> {
    Ok(usize::try_from(device.attribute(attribute)?).ok().filter(|limit| *limit > 0).unwrap_or(usize::MAX))
}

/// Refuses zero and anything above the limit.
#[track_caller]
fn at_most(api: &'static str, what: &'static str, asked: usize, limit: usize) -> Result<()> {
    ensure(asked > 0, api, || Detail::zero(what))?;
    size::at_most(api, what, size::wide(asked), size::wide(limit))
}

#[track_caller]
fn aligned(api: &'static str, device: Device, address: usize) -> Result<()> {
    let align = limit(device, sys::cudaDevAttrTextureAlignment)?;
    ensure(address.is_multiple_of(align), api, || Detail::misaligned(address, align))
}

/// Describes linear memory.
#[track_caller]
fn linear<'a, T: ArrayElement>(api: &'static str, span: Span<'a, T>) -> Result<Resource<'a>> {
    let (device, desc, len) = (span.device(), T::descriptor(), span.len());
    at_most(api, "the number of elements of the texture", len, device.texture_1d_linear_max_width(&desc)?)?;
    aligned(api, device, span.pointer().addr())?;
    let mut raw = sys::cudaResourceDesc { resType: sys::cudaResourceTypeLinear, ..Default::default() };
    raw.res.linear = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_3 {
        devPtr: span.pointer().cast(),
        desc,
        sizeInBytes: span.bytes(),
    };
    let (layout, memory, kind, extent) = (ImageLayout::Linear, span.access(Mode::Read), None, [len, 1, 1]);
    Ok(Resource { raw, layout, device, memory, kind, extent, writable: false, levels: 1 })
}

/// Describes rows of device memory.
#[track_caller]
fn rows<'a, T: ArrayElement>(api: &'static str, grid: Grid<'a, T>) -> Result<Resource<'a>> {
    let bytes = grid.bytes().or_refused(api, || Detail::NOT_RETAINED)?;
    let (device, memory) = (bytes.device(), bytes.access(Mode::Read));
    let ([width, height, _], pitch) = (grid.extent(), grid.layout().pitch);
    for (what, asked, attribute) in [
        ("the width of the texture", width, sys::cudaDevAttrMaxTexture2DLinearWidth),
        ("the height of the texture", height, sys::cudaDevAttrMaxTexture2DLinearHeight),
        ("the pitch of the texture", pitch, sys::cudaDevAttrMaxTexture2DLinearPitch),
    ] {
        at_most(api, what, asked, limit(device, attribute)?)?;
    }
    aligned(api, device, grid.pointer().addr())?;
    let align = limit(device, sys::cudaDevAttrTexturePitchAlignment)?;
    let row = grid.layout().row;
    ensure(pitch.is_multiple_of(align), api, || Detail::pitch(pitch, row, align))?;
    let mut raw = sys::cudaResourceDesc { resType: sys::cudaResourceTypePitch2D, ..Default::default() };
    raw.res.pitch2D = sys::cudaResourceDesc__bindgen_ty_1__bindgen_ty_4 {
        devPtr: grid.pointer().cast(),
        desc: T::descriptor(),
        width,
        height,
        pitchInBytes: pitch,
    };
    let (layout, kind, extent) = (ImageLayout::Pitched, Some(ArrayKind::Plane), [width, height, 1]);
    Ok(Resource { raw, layout, device, memory, kind, extent, writable: false, levels: 1 })
}
