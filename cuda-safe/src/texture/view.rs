//! Selects the layers and levels of an image that a texture covers.

use super::check::ImageLayout;
use super::source::Resource;
use crate::error::{Detail, Error, Result};
use crate::memory::ArrayKind;
use crate::sys;

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
            return Err(Error::refused(api, Detail::Texture { asked, instead }));
        };
        let [width, height, depth] = resource.extent;
        let layered = !matches!(kind, ArrayKind::Line | ArrayKind::Plane | ArrayKind::Volume);
        let layers = if layered { depth } else { 1 };
        within(api, [self.first_mipmap_level, self.last_mipmap_level], resource.levels)?;
        within(api, [self.first_layer, self.last_layer], layers)?;
        Ok(sys::cudaResourceViewDesc {
            format: format(descriptor),
            width,
            height: if matches!(kind, ArrayKind::Line | ArrayKind::LayeredLine) { 0 } else { height },
            // The array's full number of layers, whichever of them the view selects: the runtime accepts no
            // other number.
            depth: if layered || kind == ArrayKind::Volume { depth } else { 0 },
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
    if start < end && end <= len {
        return Ok(());
    }
    Err(Error::refused(api, Detail::OutOfRange { start, end, len }))
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
        assert!(matches!(error.detail(), Detail::OutOfRange { start: 1, end: 5, len: 4 }));
        assert!(within("test", [2, 1], 4).is_err());
    }
}
