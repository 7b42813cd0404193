//! Texture descriptions: how a kernel reads an image.

use crate::sys;

/// How a texture treats coordinates outside its image. Filtered reads near the edge also use it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureAddressMode")]
#[repr(u32)]
pub enum AddressMode {
    /// Repeats the image. Requires normalized coordinates.
    #[doc(alias = "cudaAddressModeWrap")]
    Wrap = sys::cudaAddressModeWrap.0,
    /// Returns the nearest element at the edge. In C++ a zero-initialized descriptor selects this mode if
    /// the coordinates are not normalized.
    #[default]
    #[doc(alias = "cudaAddressModeClamp")]
    Clamp = sys::cudaAddressModeClamp.0,
    /// Repeats the image and mirrors every second repetition. Requires normalized coordinates.
    #[doc(alias = "cudaAddressModeMirror")]
    Mirror = sys::cudaAddressModeMirror.0,
    /// Returns the border colour.
    ///
    /// With [`FilterMode::Linear`] and one dimension, the border colour makes up half of every read, inside
    /// the image too: devices treat the line as the only row of a plane and read it at its edge (measured
    /// on an H200). To avoid this, make a plane of one row and read it at 0.5.
    #[doc(alias = "cudaAddressModeBorder")]
    Border = sys::cudaAddressModeBorder.0,
}

/// How a texture reads between the centres of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureFilterMode")]
#[repr(u32)]
pub enum FilterMode {
    /// Returns the nearest element.
    #[default]
    #[doc(alias = "cudaFilterModePoint")]
    Point = sys::cudaFilterModePoint.0,
    /// Returns a weighted mean of the neighbours. The weights have 8 fractional bits. Requires elements
    /// that are read as floating-point numbers.
    #[doc(alias = "cudaFilterModeLinear")]
    Linear = sys::cudaFilterModeLinear.0,
}

/// How a texture converts an element for the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureReadMode")]
#[repr(u32)]
pub enum ReadMode {
    /// Returns the element unchanged.
    #[default]
    #[doc(alias = "cudaReadModeElementType")]
    ElementType = sys::cudaReadModeElementType.0,
    /// Converts an integer to a fraction of the largest value of its type: 0 to 1 for unsigned integers, -1
    /// to 1 for signed ones. Requires elements of 8 or 16 bits.
    #[doc(alias = "cudaReadModeNormalizedFloat")]
    NormalizedFloat = sys::cudaReadModeNormalizedFloat.0,
}

/// Describes how a kernel reads a texture. The fields are those of C's `cudaTextureDesc`, in C's order.
///
/// The default equals C's zero-initialized structure: it returns the nearest element unchanged, takes
/// coordinates in elements, and clamps to the edge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(alias = "cudaTextureDesc")]
pub struct TextureDesc {
    /// The address mode of each dimension.
    pub address_mode: [AddressMode; 3],
    /// How to read between elements.
    pub filter_mode: FilterMode,
    /// How to convert an element.
    pub read_mode: ReadMode,
    /// Whether bytes that are read as normalized numbers are sRGB colours, which the device converts to
    /// linear values. A fourth channel is not converted.
    pub srgb: bool,
    /// The colour that [`AddressMode::Border`] returns.
    pub border_color: [f32; 4],
    /// Whether coordinates run from 0 to 1 over the image. If not, they are in elements.
    pub normalized_coords: bool,
    /// The maximum anisotropy ratio of one read, up to 16: the largest length-to-width ratio of the image
    /// area that the read averages.
    pub max_anisotropy: u32,
    /// How to read between mipmap levels.
    pub mipmap_filter_mode: FilterMode,
    /// The offset added to the level that a kernel requests.
    pub mipmap_level_bias: f32,
    /// The lowest level that is read.
    pub min_mipmap_level_clamp: f32,
    /// The highest level that is read. The default, 0, restricts reads to the largest image.
    pub max_mipmap_level_clamp: f32,
    /// Whether the device must read all requested levels. If not, it may read fewer for speed.
    pub disable_trilinear_optimization: bool,
    /// Whether filtering crosses the edges between the faces of a cubemap.
    pub seamless_cubemap: bool,
}

impl TextureDesc {
    /// Returns the C structure.
    pub(super) fn raw(&self) -> sys::cudaTextureDesc {
        let filter = |mode: FilterMode| sys::cudaTextureFilterMode(mode as u32);
        sys::cudaTextureDesc {
            addressMode: self.address_mode.map(|mode| sys::cudaTextureAddressMode(mode as u32)),
            filterMode: filter(self.filter_mode),
            readMode: sys::cudaTextureReadMode(self.read_mode as u32),
            sRGB: self.srgb.into(),
            borderColor: self.border_color,
            normalizedCoords: self.normalized_coords.into(),
            maxAnisotropy: self.max_anisotropy,
            mipmapFilterMode: filter(self.mipmap_filter_mode),
            mipmapLevelBias: self.mipmap_level_bias,
            minMipmapLevelClamp: self.min_mipmap_level_clamp,
            maxMipmapLevelClamp: self.max_mipmap_level_clamp,
            disableTrilinearOptimization: self.disable_trilinear_optimization.into(),
            seamlessCubemap: self.seamless_cubemap.into(),
        }
    }
}
