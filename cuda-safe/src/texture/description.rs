//! Texture descriptions: how a kernel reads an image, and the layers and levels that a texture covers. Checks
//! that need no CUDA function precede the runtime's.

use super::source::{ImageLayout, Resource};
use crate::error::{Detail, Error, Result, ensure};
use crate::memory::size;
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

/// Some layers and levels of an image: C's `cudaResourceViewDesc` with the element's own format and the
/// image's own extent.
///
/// The default selects the first level and the first layer. It selects the whole of an image without levels
/// and layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[doc(alias = "cudaResourceViewDesc")]
pub struct ResourceView {
    /// The level that becomes level 0 of the texture.
    pub first_mipmap_level: u32,
    /// The last level, inclusive.
    pub last_mipmap_level: u32,
    /// The layer that becomes layer 0 of the texture.
    pub first_layer: u32,
    /// The last layer, inclusive.
    pub last_layer: u32,
}

impl ResourceView {
    /// Returns the C structure for an image.
    #[track_caller]
    pub(super) fn raw(
        &self,
        api: &'static str,
        resource: &Resource<'_>,
        descriptor: sys::cudaChannelFormatDesc,
    ) -> Result<sys::cudaResourceViewDesc> {
        let (Some(kind), false) =
            (resource.kind, matches!(resource.layout, ImageLayout::Linear | ImageLayout::Pitched))
        else {
            let asked = "a view of layers and levels of linear memory";
            let instead = "make the texture of a slice or of a plane of the rows";
            return Err(Error::refused(api, Detail::texture(asked, instead)));
        };
        // The array's full number of layers, whichever of them the view selects: the runtime accepts no other
        // number.
        let sys::cudaExtent { width, height, depth } = kind.extent(resource.extent);
        let layers = if kind.is_layered() { depth } else { 1 };
        within(api, [self.first_mipmap_level, self.last_mipmap_level], resource.levels)?;
        within(api, [self.first_layer, self.last_layer], layers)?;
        Ok(sys::cudaResourceViewDesc {
            format: format(descriptor),
            width,
            height,
            depth,
            firstMipmapLevel: self.first_mipmap_level,
            lastMipmapLevel: self.last_mipmap_level,
            firstLayer: self.first_layer,
            lastLayer: self.last_layer,
            ..Default::default()
        })
    }
}

/// Refuses a range of layers or levels that the image does not have.
#[track_caller]
fn within(api: &'static str, [first, last]: [u32; 2], len: usize) -> Result<()> {
    let number = |it: u32| usize::try_from(it).unwrap_or(usize::MAX);
    let (start, end) = (number(first), number(last).saturating_add(1));
    ensure(start < end && end <= len, api, || Detail::out_of_range(start, end, len))
}

/// Returns the view format of an element type.
fn format(descriptor: sys::cudaChannelFormatDesc) -> sys::cudaResourceViewFormat {
    let first = match (descriptor.f, descriptor.x) {
        (sys::cudaChannelFormatKindUnsigned, 8) => sys::cudaResViewFormatUnsignedChar1,
        (sys::cudaChannelFormatKindSigned, 8) => sys::cudaResViewFormatSignedChar1,
        (sys::cudaChannelFormatKindUnsigned, 16) => sys::cudaResViewFormatUnsignedShort1,
        (sys::cudaChannelFormatKindSigned, 16) => sys::cudaResViewFormatSignedShort1,
        (sys::cudaChannelFormatKindUnsigned, _) => sys::cudaResViewFormatUnsignedInt1,
        (sys::cudaChannelFormatKindSigned, _) => sys::cudaResViewFormatSignedInt1,
        (_, 16) => sys::cudaResViewFormatHalf1,
        _ => sys::cudaResViewFormatFloat1,
    };
    // The formats for one, two and four channels are consecutive.
    let more = u32::from(descriptor.y != 0) + u32::from(descriptor.w != 0);
    sys::cudaResourceViewFormat(first.0 + more)
}

/// The largest anisotropy ratio that devices support.
const MOST_ANISOTROPY: u64 = 16;

/// The number type of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Float,
    Integer { bits: i32, signed: bool },
}

impl Number {
    fn of(descriptor: sys::cudaChannelFormatDesc) -> Self {
        if descriptor.f == sys::cudaChannelFormatKindFloat {
            return Self::Float;
        }
        Self::Integer { bits: descriptor.x, signed: descriptor.f == sys::cudaChannelFormatKindSigned }
    }
}

/// Refuses a description that the element type or the memory layout does not support.
#[track_caller]
pub(super) fn check(
    api: &'static str,
    desc: &TextureDesc,
    descriptor: sys::cudaChannelFormatDesc,
    layout: ImageLayout,
) -> Result<()> {
    if let Some((asked, instead)) = problem(desc, Number::of(descriptor), layout) {
        return Err(Error::refused(api, Detail::texture(asked, instead)));
    }
    size::at_most(api, "the anisotropy", desc.max_anisotropy.into(), MOST_ANISOTROPY)
}

/// Returns the first unsupported feature and the remedy, or `None` if the description is supported.
fn problem(desc: &TextureDesc, number: Number, layout: ImageLayout) -> Option<(&'static str, &'static str)> {
    let (in_a_row, mipmapped) = (layout == ImageLayout::Linear, layout == ImageLayout::Mipmapped);
    let linear = desc.filter_mode == FilterMode::Linear;
    let normalized = desc.read_mode == ReadMode::NormalizedFloat;
    let small = matches!(number, Number::Integer { bits: 8 | 16, .. });
    let bytes = number == Number::Integer { bits: 8, signed: false };
    let fractions = normalized || number == Number::Float;
    let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    let (bias, min, max) = (desc.mipmap_level_bias, desc.min_mipmap_level_clamp, desc.max_mipmap_level_clamp);
    let is_range = [bias, min, max].iter().all(|level| level.is_finite()) && 0.0 <= min && min <= max;
    let plain = TextureDesc::default();
    let one_level = desc.mipmap_filter_mode == plain.mipmap_filter_mode
        && [bias, min, max].iter().all(|level| level.to_bits() == 0.0_f32.to_bits());
    // Linear memory is read by element index: only the read mode and sRGB apply.
    let only_read = TextureDesc { read_mode: desc.read_mode, srgb: desc.srgb, ..plain };
    let problems = [
        (
            normalized && !small,
            "reading elements as normalized numbers that are no integers of 8 or 16 bits",
            "read them with ReadMode::ElementType",
        ),
        (
            linear && !fractions,
            "linear filtering of elements that are read as integers",
            "read integers of 8 or 16 bits with ReadMode::NormalizedFloat, or filter with FilterMode::Point",
        ),
        (
            desc.srgb && !(normalized && bytes),
            "sRGB of elements other than bytes that are read as normalized numbers",
            "use elements of u8 and ReadMode::NormalizedFloat",
        ),
        (
            in_a_row && *desc != only_read,
            "filtering, address modes, normalized coordinates or levels of linear memory, \
             which is read by the number of the element",
            "leave all but read_mode and srgb as they are by default, or use an Array or a PitchedBuffer",
        ),
        (
            !in_a_row && !desc.normalized_coords && desc.address_mode.iter().any(repeats),
            "wrapping or mirroring by coordinates that count elements",
            "set normalized_coords and divide the coordinates by the size, \
             or use AddressMode::Clamp or Border",
        ),
        (
            mipmapped && !desc.normalized_coords,
            "levels by coordinates that count elements",
            "set normalized_coords",
        ),
        (
            mipmapped && desc.mipmap_filter_mode == FilterMode::Linear && !fractions,
            "linear filtering between levels of elements that are read as integers",
            "set mipmap_filter_mode to FilterMode::Point",
        ),
        (
            mipmapped && !is_range,
            "levels from min_mipmap_level_clamp to max_mipmap_level_clamp that are no range",
            "use numbers that are finite, the first at least 0 and at most the second",
        ),
        (
            !in_a_row && !mipmapped && !one_level,
            "choosing between levels of an image that has one",
            "leave the mipmap fields as they are by default, or make a MipmappedArray",
        ),
    ];
    problems.into_iter().find_map(|(found, asked, instead)| found.then_some((asked, instead)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{ArrayElement, Half};

    #[test]
    fn every_element_has_the_format_of_its_name() {
        assert_eq!(format(u8::descriptor()), sys::cudaResViewFormatUnsignedChar1);
        assert_eq!(format(<[i8; 2]>::descriptor()), sys::cudaResViewFormatSignedChar2);
        assert_eq!(format(<[u16; 4]>::descriptor()), sys::cudaResViewFormatUnsignedShort4);
        assert_eq!(format(i16::descriptor()), sys::cudaResViewFormatSignedShort1);
        assert_eq!(format(<[u32; 2]>::descriptor()), sys::cudaResViewFormatUnsignedInt2);
        assert_eq!(format(<[i32; 4]>::descriptor()), sys::cudaResViewFormatSignedInt4);
        assert_eq!(format(<[Half; 2]>::descriptor()), sys::cudaResViewFormatHalf2);
        assert_eq!(format(<[f32; 4]>::descriptor()), sys::cudaResViewFormatFloat4);
    }

    #[test]
    fn a_range_is_within_what_there_is() {
        assert!(within("test", [0, 0], 1).is_ok());
        assert!(within("test", [1, 3], 4).is_ok());
        let error = within("test", [1, 4], 4).unwrap_err();
        assert!(error.detail().as_str().contains("range 1..5 does not fit in 4"));
        assert!(within("test", [2, 1], 4).is_err());
    }

    fn refused<T: ArrayElement>(layout: ImageLayout, desc: TextureDesc) -> bool {
        let checked = check("test", &desc, T::descriptor(), layout);
        assert!(checked.as_ref().err().is_none_or(Error::is_refused));
        checked.is_err()
    }

    fn linear() -> TextureDesc {
        TextureDesc { filter_mode: FilterMode::Linear, ..TextureDesc::default() }
    }

    fn normalized() -> TextureDesc {
        TextureDesc { read_mode: ReadMode::NormalizedFloat, ..TextureDesc::default() }
    }

    #[test]
    fn only_fractions_are_filtered() {
        let array = ImageLayout::Array;
        assert!(!refused::<f32>(array, linear()));
        assert!(!refused::<[Half; 4]>(array, linear()));
        assert!(refused::<u8>(array, linear()));
        assert!(refused::<[i32; 2]>(array, linear()));
        let both = TextureDesc { filter_mode: FilterMode::Linear, ..normalized() };
        assert!(!refused::<u8>(array, both));
        assert!(!refused::<i16>(ImageLayout::Pitched, both));
    }

    #[test]
    fn only_small_integers_are_normalized_and_only_bytes_are_srgb() {
        assert!(!refused::<[u16; 2]>(ImageLayout::Linear, normalized()));
        assert!(refused::<u32>(ImageLayout::Array, normalized()));
        assert!(refused::<f32>(ImageLayout::Array, normalized()));
        let srgb = TextureDesc { srgb: true, ..normalized() };
        assert!(!refused::<[u8; 4]>(ImageLayout::Array, srgb));
        assert!(refused::<[i8; 4]>(ImageLayout::Array, srgb));
        assert!(refused::<[u16; 4]>(ImageLayout::Array, srgb));
        assert!(refused::<[u8; 4]>(ImageLayout::Array, TextureDesc { srgb: true, ..TextureDesc::default() }));
    }

    #[test]
    fn images_repeat_only_by_normalized_coordinates() {
        for mode in [AddressMode::Wrap, AddressMode::Mirror] {
            let address_mode = [AddressMode::Clamp, mode, AddressMode::Clamp];
            let plain = TextureDesc { address_mode, ..TextureDesc::default() };
            assert!(refused::<f32>(ImageLayout::Array, plain));
            let normalized_coords = TextureDesc { normalized_coords: true, ..plain };
            assert!(!refused::<f32>(ImageLayout::Array, normalized_coords));
        }
        let border = TextureDesc { address_mode: [AddressMode::Border; 3], ..TextureDesc::default() };
        assert!(!refused::<f32>(ImageLayout::Pitched, border));
    }

    #[test]
    fn elements_in_a_row_are_read_by_number_and_nothing_else() {
        assert!(!refused::<f32>(ImageLayout::Linear, TextureDesc::default()));
        assert!(refused::<f32>(ImageLayout::Linear, linear()));
        let border = TextureDesc { address_mode: [AddressMode::Border; 3], ..TextureDesc::default() };
        assert!(refused::<f32>(ImageLayout::Linear, border));
        assert!(refused::<f32>(
            ImageLayout::Linear,
            TextureDesc { normalized_coords: true, ..TextureDesc::default() }
        ));
    }

    #[test]
    fn levels_need_an_image_that_has_some_and_a_range() {
        let levels = TextureDesc { max_mipmap_level_clamp: 2.0, ..TextureDesc::default() };
        assert!(refused::<f32>(ImageLayout::Array, levels));
        assert!(refused::<f32>(ImageLayout::Mipmapped, levels));
        let levels = TextureDesc { normalized_coords: true, ..levels };
        assert!(!refused::<f32>(ImageLayout::Mipmapped, levels));
        let backwards = TextureDesc { min_mipmap_level_clamp: 3.0, ..levels };
        assert!(refused::<f32>(ImageLayout::Mipmapped, backwards));
        assert!(refused::<f32>(
            ImageLayout::Mipmapped,
            TextureDesc { mipmap_level_bias: f32::NAN, ..levels }
        ));
        let between = TextureDesc { mipmap_filter_mode: FilterMode::Linear, ..levels };
        assert!(refused::<u8>(ImageLayout::Mipmapped, between));
        assert!(!refused::<f32>(ImageLayout::Mipmapped, between));
    }

    #[test]
    fn too_much_anisotropy_is_refused_with_both_numbers() {
        let desc = TextureDesc { max_anisotropy: 17, ..TextureDesc::default() };
        let error = check("test", &desc, f32::descriptor(), ImageLayout::Array).unwrap_err();
        assert!(error.detail().as_str().contains("is 17, at most 16 is"));
    }
}
