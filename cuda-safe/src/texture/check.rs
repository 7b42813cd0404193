//! Checks texture descriptions before the runtime sees them. Works on numbers only and calls no C function.

use super::description::{AddressMode, FilterMode, ReadMode, TextureDesc};
use crate::error::{Detail, Error, Result};
use crate::sys;

/// The largest anisotropy ratio that devices support.
const MOST_ANISOTROPY: u32 = 16;

/// The memory layout of an image. It decides which texture features are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
/// Linear memory, read by element index.
pub(super) enum ImageLayout {
    Linear,
    /// Pitched rows.
    Pitched,
    /// An array.
    Array,
    /// A mipmapped array.
    Mipmapped,
}

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
    match problem(desc, Number::of(descriptor), layout) {
        Some((asked, instead)) => Err(Error::refused(api, Detail::Texture { asked, instead })),
        None if desc.max_anisotropy > MOST_ANISOTROPY => {
            let (asked, limit) = (desc.max_anisotropy.into(), MOST_ANISOTROPY.into());
            Err(Error::refused(api, Detail::Limit { what: "the anisotropy", asked, limit }))
        }
        None => Ok(()),
    }
}

/// Returns the unsupported feature and the remedy, or `None` if the description is supported.
fn problem(desc: &TextureDesc, number: Number, layout: ImageLayout) -> Option<(&'static str, &'static str)> {
    let linear = desc.filter_mode == FilterMode::Linear;
    let normalized = desc.read_mode == ReadMode::NormalizedFloat;
    let small = matches!(number, Number::Integer { bits: 8 | 16, .. });
    if normalized && !small {
        return Some((
            "reading elements as normalized numbers that are no integers of 8 or 16 bits",
            "read them with ReadMode::ElementType",
        ));
    }
    let fractions = normalized || number == Number::Float;
    if linear && !fractions {
        return Some((
            "linear filtering of elements that are read as integers",
            "read integers of 8 or 16 bits with ReadMode::NormalizedFloat, or filter with FilterMode::Point",
        ));
    }
    if desc.srgb && !(normalized && number == Number::Integer { bits: 8, signed: false }) {
        return Some((
            "sRGB of elements other than bytes that are read as normalized numbers",
            "use elements of u8 and ReadMode::NormalizedFloat",
        ));
    }
    if layout == ImageLayout::Linear {
        return unused_in_a_row(desc);
    }
    let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
    if !desc.normalized_coords && desc.address_mode.iter().any(repeats) {
        return Some((
            "wrapping or mirroring by coordinates that count elements",
            "set normalized_coords and divide the coordinates by the size, \
             or use AddressMode::Clamp or Border",
        ));
    }
    if layout == ImageLayout::Mipmapped {
        return wrong_levels(desc, fractions);
    }
    let plain = TextureDesc::default();
    let levels = |desc: &TextureDesc| {
        let TextureDesc { mipmap_level_bias: bias, min_mipmap_level_clamp: min, .. } = *desc;
        (desc.mipmap_filter_mode, bias.to_bits(), min.to_bits(), desc.max_mipmap_level_clamp.to_bits())
    };
    (levels(desc) != levels(&plain)).then_some((
        "choosing between levels of an image that has one",
        "leave the mipmap fields as they are by default, or make a MipmappedArray",
    ))
}

/// Linear memory is read by element index only.
fn unused_in_a_row(desc: &TextureDesc) -> Option<(&'static str, &'static str)> {
    // Only the read mode and sRGB apply to linear memory.
    let plain = TextureDesc { read_mode: desc.read_mode, srgb: desc.srgb, ..TextureDesc::default() };
    (*desc != plain).then_some((
        "filtering, address modes, normalized coordinates or levels of linear memory, \
         which is read by the number of the element",
        "leave all but read_mode and srgb as they are by default, or use an Array or a PitchedBuffer",
    ))
}

fn wrong_levels(desc: &TextureDesc, fractions: bool) -> Option<(&'static str, &'static str)> {
    if !desc.normalized_coords {
        return Some(("levels by coordinates that count elements", "set normalized_coords"));
    }
    if desc.mipmap_filter_mode == FilterMode::Linear && !fractions {
        return Some((
            "linear filtering between levels of elements that are read as integers",
            "set mipmap_filter_mode to FilterMode::Point",
        ));
    }
    let (min, max) = (desc.min_mipmap_level_clamp, desc.max_mipmap_level_clamp);
    if !desc.mipmap_level_bias.is_finite() || !min.is_finite() || !max.is_finite() || min < 0.0 || min > max {
        return Some((
            "levels from min_mipmap_level_clamp to max_mipmap_level_clamp that are no range",
            "use numbers that are finite, the first at least 0 and at most the second",
        ));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{ArrayElement, Half};

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
        assert!(matches!(error.detail(), Detail::Limit { asked: 17, limit: 16, .. }));
    }
}
