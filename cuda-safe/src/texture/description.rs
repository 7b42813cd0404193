//! How a texture is read.

use crate::sys;

/// What a texture gives outside of its image, and so beside the outermost elements where it filters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureAddressMode")]
pub enum AddressMode {
    /// The image again and again. With normalized coordinates only.
    #[doc(alias = "cudaAddressModeWrap")]
    Wrap,
    /// The element at the edge. What C++ gets from zeros, where the coordinates are not normalized.
    #[default]
    #[doc(alias = "cudaAddressModeClamp")]
    Clamp,
    /// The image again and again, every second time mirrored. With normalized coordinates only.
    #[doc(alias = "cudaAddressModeMirror")]
    Mirror,
    /// The border colour.
    ///
    /// With [`FilterMode::Linear`] and one dimension it is half of everything that is read, within the image too: devices take the line for
    /// the only row of a plane and read it at its edge (measured on an H200). Make a plane of one row and read it at 0.5 where that is
    /// not wanted.
    #[doc(alias = "cudaAddressModeBorder")]
    Border,
}

/// What a texture gives between the centres of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureFilterMode")]
pub enum FilterMode {
    /// The nearest element.
    #[default]
    #[doc(alias = "cudaFilterModePoint")]
    Point,
    /// A mean of the neighbours, of which the weights have 8 bits after the point. Of what is read as numbers with a fraction only.
    #[doc(alias = "cudaFilterModeLinear")]
    Linear,
}

/// What a kernel gets of an element.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaTextureReadMode")]
pub enum ReadMode {
    /// The element as it is.
    #[default]
    #[doc(alias = "cudaReadModeElementType")]
    ElementType,
    /// An integer as a fraction of the largest one: 0 to 1, or -1 to 1 where it has a sign. Of elements of 8 and 16 bits only.
    #[doc(alias = "cudaReadModeNormalizedFloat")]
    NormalizedFloat,
}

/// How a texture is read: C's `cudaTextureDesc`, whose fields these are, in its order.
///
/// The default is C's structure of zeros: the nearest element as it is, by coordinates that count elements, and the one at the edge
/// beyond it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[doc(alias = "cudaTextureDesc")]
pub struct TextureDesc {
    /// What is outside of the image, for each dimension.
    pub address_mode: [AddressMode; 3],
    /// What is between elements.
    pub filter_mode: FilterMode,
    /// What a kernel gets of an element.
    pub read_mode: ReadMode,
    /// Whether bytes that are read as normalized numbers are colours in sRGB, to be made linear. A fourth channel is taken as it is.
    pub srgb: bool,
    /// What [`AddressMode::Border`] gives.
    pub border_color: [f32; 4],
    /// Whether coordinates go from 0 to 1 over the image, and do not count elements.
    pub normalized_coords: bool,
    /// How much longer than wide the part of the image may be that one read is a mean of, up to 16.
    pub max_anisotropy: u32,
    /// What is between mipmap levels.
    pub mipmap_filter_mode: FilterMode,
    /// Added to the level that a kernel asks for.
    pub mipmap_level_bias: f32,
    /// The first level that is read.
    pub min_mipmap_level_clamp: f32,
    /// The last level that is read: zero, the default, is the largest image only.
    pub max_mipmap_level_clamp: f32,
    /// Whether the device must not read fewer levels than it was told, for speed.
    pub disable_trilinear_optimization: bool,
    /// Whether filtering goes on over the edges of a cubemap's faces.
    pub seamless_cubemap: bool,
}

impl TextureDesc {
    /// The structure that C takes.
    pub(super) fn raw(&self) -> sys::cudaTextureDesc {
        let address = |mode: AddressMode| match mode {
            AddressMode::Wrap => sys::cudaAddressModeWrap,
            AddressMode::Clamp => sys::cudaAddressModeClamp,
            AddressMode::Mirror => sys::cudaAddressModeMirror,
            AddressMode::Border => sys::cudaAddressModeBorder,
        };
        let filter = |mode: FilterMode| match mode {
            FilterMode::Point => sys::cudaFilterModePoint,
            FilterMode::Linear => sys::cudaFilterModeLinear,
        };
        sys::cudaTextureDesc {
            addressMode: self.address_mode.map(address),
            filterMode: filter(self.filter_mode),
            readMode: match self.read_mode {
                ReadMode::ElementType => sys::cudaReadModeElementType,
                ReadMode::NormalizedFloat => sys::cudaReadModeNormalizedFloat,
            },
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
