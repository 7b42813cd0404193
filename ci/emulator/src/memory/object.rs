//! Texture and surface objects: their source, and the image that a kernel sees.
#![expect(unsafe_code, reason = "keeps what a program passed, pointers and all")]

use std::collections::BTreeMap;

use super::allocation::Kind as Memory;
use super::allocations::Allocations;
use super::array::{Array, is_cube, is_layered};
use super::format::Format;
use crate::error::Answer;
use crate::exec::geometry::Geometry;
use crate::exec::image::{Address, Channels, Image, LevelRule, NumberKind, Numbers, Texture};
use crate::exec::{Fault, Refused};
use crate::sys::{
    self, cudaArraySurfaceLoadStore, cudaChannelFormatDesc, cudaChannelFormatKindFloat,
    cudaErrorInvalidValue, cudaFilterModeLinear, cudaReadModeNormalizedFloat, cudaResourceDesc,
    cudaResourceViewDesc, cudaResourceViewFormat, cudaTextureAddressMode, cudaTextureDesc,
};

/// The source of an object.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// An array, by its handle.
    Array(u64),
    /// A mipmapped array, by its handle.
    Mipmap(u64),
    /// Rows of linear memory: start, width in elements, height, bytes from row to row, all bytes, serial of
    /// the allocation. `None` as height for elements that are read by index; `None` as serial if there was no
    /// allocation.
    Linear {
        start: u64,
        width: u64,
        height: Option<u64>,
        pitch: u64,
        bytes: u64,
        serial: Option<u64>,
        desc: cudaChannelFormatDesc,
    },
}

/// The resource that the program passed, to be returned to it.
#[derive(Clone, Copy)]
pub(crate) struct ResourceDesc(pub(crate) cudaResourceDesc);

// SAFETY: nobody follows the pointers in it.
unsafe impl Send for ResourceDesc {}

/// A live object.
#[derive(Clone, Copy)]
pub(crate) struct Object {
    pub(crate) device: usize,
    pub(crate) source: Source,
    pub(crate) resource: ResourceDesc,
    /// None for surfaces.
    pub(crate) texture: Option<cudaTextureDesc>,
    pub(crate) view: Option<cudaResourceViewDesc>,
}

impl std::fmt::Debug for Object {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "an object of {:?} on device {}", self.source, self.device)
    }
}

/// All objects, by handle.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    live: BTreeMap<u64, Object>,
    /// Objects that were destroyed while work was pending, which still reads by them, as on an H200.
    gone: BTreeMap<u64, Object>,
    last: u64,
}

impl Objects {
    /// Takes an object in and gives its handle.
    pub(crate) fn add(&mut self, object: Object) -> u64 {
        self.last += 1;
        self.live.insert(self.last, object);
        self.last
    }

    /// A live object.
    pub(crate) fn get(&self, handle: u64) -> Answer<&Object> {
        self.live.get(&handle).ok_or(cudaErrorInvalidValue)
    }

    /// Ends an object's life. Work that is `pending` keeps it.
    pub(crate) fn remove(&mut self, handle: u64, pending: bool) -> Answer {
        let object = self.live.remove(&handle).ok_or(cudaErrorInvalidValue)?;
        if !pending {
            self.gone.clear();
        } else {
            self.gone.insert(handle, object);
        }
        Ok(())
    }

    /// An object as work sees it, which may have been queued before the object was destroyed.
    fn seen(&self, handle: u64) -> Option<&Object> {
        self.live.get(&handle).or_else(|| self.gone.get(&handle))
    }
}

fn channels(desc: cudaChannelFormatDesc) -> Channels {
    let kind = match desc.f {
        sys::cudaChannelFormatKindFloat => NumberKind::Float,
        sys::cudaChannelFormatKindSigned => NumberKind::Signed,
        _ => NumberKind::Unsigned,
    };
    let count = match (desc.y, desc.w) {
        (0, _) => 1,
        (_, 0) => 2,
        _ => 4,
    };
    Channels { kind, bytes: u64::try_from(desc.x / 8).unwrap_or(0), count }
}

/// Whether elements are of one of the kinds whose numbers are known here.
pub(crate) fn is_plain(desc: cudaChannelFormatDesc) -> bool {
    let known = desc.f.0 <= cudaChannelFormatKindFloat.0;
    known && matches!(Format::of(desc), Ok(Format::Elements(_)))
}

/// The format of a resource view.
pub(crate) fn viewed(format: cudaResourceViewFormat) -> Option<Channels> {
    use NumberKind::{Float, Signed, Unsigned};
    // In the order of the C type: one, two and four numbers of each kind.
    const KINDS: [(NumberKind, u64); 8] = [
        (Unsigned, 1),
        (Signed, 1),
        (Unsigned, 2),
        (Signed, 2),
        (Unsigned, 4),
        (Signed, 4),
        (Float, 2),
        (Float, 4),
    ];
    let n = usize::try_from(format.0).ok()?.checked_sub(1)?;
    let (kind, bytes) = *KINDS.get(n / 3)?;
    Some(Channels { kind, bytes, count: 1 << (n % 3) })
}

/// The images of an object: that of its only level or its first, and further ones.
type Images = (Image, Vec<Image>);

impl Allocations {
    /// The image of an array, for work of a device.
    fn array_image(&self, array: u64, device: usize) -> Result<Image, Refused> {
        let gone = || (Fault::ILLEGAL_ADDRESS, "the array was freed before".to_owned());
        let array = self.array(array).map_err(|_| gone())?;
        if array.device != device {
            return Err(unknown(&format!(
                "accesses to an array of device {} on device {device}",
                array.device
            )));
        }
        let host = self.at(array.start).ok_or_else(gone)?;
        let at = usize::try_from(array.start - host.start).unwrap_or(0);
        Ok(Image {
            host: host.host.wrapping_add(at),
            geometry: Some(geometry(array)),
            size: [array.extent.width, array.rows(), array.layers()],
            pitch: array.pitch(),
            slice: array.slice(),
            channels: channels(array.desc),
        })
    }

    /// The images of an object, for work of a device. `reached` checks access to an allocation.
    fn images(
        &self,
        handle: u64,
        object: &Object,
        device: usize,
        reached: impl Fn(&super::Allocation) -> bool,
    ) -> Result<Images, Refused> {
        if object.device != device {
            let why =
                format!("{handle:#x} is an object of device {}, used on device {device}", object.device);
            return Err((Fault::ILLEGAL_ADDRESS, why));
        }
        let gone = |what: &str| (Fault::ILLEGAL_ADDRESS, format!("{what} of {handle:#x} was freed before"));
        match object.source {
            Source::Array(array) => {
                self.array(array).map_err(|_| gone("the array"))?;
                Ok((self.array_image(array, device)?, Vec::new()))
            }
            Source::Mipmap(mipmap) => {
                let levels = self.mipmap(mipmap).map_err(|_| gone("the mipmapped array"))?.levels();
                // A view may name one level more than there are.
                let range = object.view.map_or(0..levels.len(), |view| {
                    let number = |level: u32| usize::try_from(level).map_or(0, |it| it.min(levels.len() - 1));
                    number(view.firstMipmapLevel)..number(view.lastMipmapLevel) + 1
                });
                let levels = levels.get(range).filter(|levels| !levels.is_empty());
                let levels = levels.ok_or_else(|| unknown("levels that there are not"))?;
                let mut images = levels.iter().map(|level| self.array_image(*level, device));
                let first = images.next().unwrap_or_else(|| Err(gone("the first level")))?;
                Ok((first, images.collect::<Result<_, _>>()?))
            }
            Source::Linear { start, width, height, pitch, bytes, serial, desc } => {
                // Such textures can be made, but their reads are unknown.
                let Some(serial) = serial else {
                    return Err(unknown("reads of memory that was no allocation"));
                };
                if height.is_some_and(|height| width == 0 || height == 0) {
                    return Err(unknown("reads of textures of no elements"));
                }
                let found = self.at(start).filter(|it| it.serial == serial && it.kind != Memory::Array);
                let found = found.ok_or_else(|| gone("the memory"))?;
                if !reached(found) {
                    return Err((Fault::ILLEGAL_ADDRESS, format!("device {device} does not reach {found}")));
                }
                if bytes > found.end() - start {
                    return Err(unknown("reads of textures of more memory than its allocation has"));
                }
                let at = usize::try_from(start - found.start).unwrap_or(0);
                let rows = height.unwrap_or(1);
                let image = Image {
                    host: found.host.wrapping_add(at),
                    geometry: height.map(|_| Geometry::Plane),
                    size: [width, rows, 1],
                    pitch,
                    slice: pitch.saturating_mul(rows),
                    channels: channels(desc),
                };
                Ok((image, Vec::new()))
            }
        }
    }

    /// What a view leaves of an image: its layers, with elements of its format.
    fn view(&self, image: Image, view: &cudaResourceViewDesc) -> Result<Image, Refused> {
        let mut image = image;
        let element = image.element();
        image.channels = viewed(view.format).ok_or_else(|| unknown("views of blocks of elements"))?;
        if image.element() != element {
            return Err(unknown("views of elements of another size"));
        }
        if image.geometry.is_some_and(Geometry::is_layered) {
            if u64::from(view.lastLayer) >= image.size[2] {
                return Err(unknown("reads by views of more layers than there are"));
            }
            let first = u64::from(view.firstLayer).min(image.size[2] - 1);
            let last = u64::from(view.lastLayer).clamp(first, image.size[2] - 1);
            image.host = image.host.wrapping_add(usize::try_from(first * image.slice).unwrap_or(0));
            image.size[2] = last - first + 1;
        }
        Ok(image)
    }

    /// The texture that a handle names, for work of a device.
    pub(crate) fn texture(
        &self,
        handle: u64,
        device: usize,
        reached: impl Fn(&super::Allocation) -> bool,
    ) -> Result<Texture, Refused> {
        let none = || (Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no texture, or was destroyed before"));
        let object = self.objects.seen(handle).ok_or_else(none)?;
        let desc = object.texture.ok_or_else(none)?;
        let (mut image, mut smaller) = self.images(handle, object, device, reached)?;
        let small = |image: &Image| image.channels.bytes < 4 && image.channels.kind != NumberKind::Float;
        // A view of small integers gives fractions if the elements of the image are no such numbers.
        let fractions = desc.readMode == cudaReadModeNormalizedFloat || !small(&image);
        if let Some(view) = &object.view {
            if matches!(object.source, Source::Linear { .. }) {
                return Err(unknown("reads of linear memory by a resource view"));
            }
            image = self.view(image, view)?;
            smaller = smaller.into_iter().map(|it| self.view(it, view)).collect::<Result<_, _>>()?;
        }
        // Coordinates in several levels are normalized, whatever the program says, as on an H200.
        let normalized_coords = desc.normalizedCoords != 0 || !smaller.is_empty();
        // Without normalized coordinates the image is not repeated, whatever the mode.
        let address = |mode: cudaTextureAddressMode| match mode {
            sys::cudaAddressModeBorder => Address::Border,
            sys::cudaAddressModeWrap if normalized_coords => Address::Wrap,
            sys::cudaAddressModeMirror if normalized_coords => Address::Mirror,
            _ => Address::Clamp,
        };
        let levels = LevelRule {
            linear: desc.mipmapFilterMode == cudaFilterModeLinear,
            bias: desc.mipmapLevelBias,
            range: [desc.minMipmapLevelClamp, desc.maxMipmapLevelClamp],
            anisotropy: desc.maxAnisotropy,
        };
        let bytes = image.channels.bytes == 1 && image.channels.kind == NumberKind::Unsigned;
        let numbers = match fractions && small(&image) {
            true if desc.sRGB != 0 && bytes => Numbers::Colours,
            true => Numbers::Fractions,
            false => Numbers::Plain,
        };
        let texture = Texture {
            image,
            smaller,
            levels,
            address: desc.addressMode.map(address),
            linear: desc.filterMode == cudaFilterModeLinear && image.geometry.is_some(),
            numbers,
            normalized_coords,
            border: desc.borderColor,
            seamless: desc.seamlessCubemap != 0,
        };
        if texture.linear && numbers == Numbers::Plain && image.channels.kind != NumberKind::Float {
            return Err(unknown("linearly filtered integers"));
        }
        Ok(texture)
    }

    /// The surface that a handle names, for work of a device.
    pub(crate) fn surface(&self, handle: u64, device: usize) -> Result<Image, Refused> {
        let found = self.objects.seen(handle).filter(|object| object.texture.is_none());
        let object = found.ok_or_else(|| {
            (Fault::ILLEGAL_ADDRESS, format!("{handle:#x} is no surface, or was destroyed before"))
        })?;
        if let Source::Array(array) = object.source
            && self.array(array).is_ok_and(|array| array.flags & cudaArraySurfaceLoadStore == 0)
        {
            // Such a surface can be made, but its accesses are unknown.
            let why =
                "accesses by surfaces to arrays that were not made for them are not known to the emulator";
            return Err((Fault::NOT_SUPPORTED, why.to_owned()));
        }
        self.images(handle, object, device, |_| true).map(|(image, _)| image)
    }
}

/// The refusal of what hardware may do, and is not known here.
fn unknown(what: &str) -> Refused {
    (Fault::NOT_SUPPORTED, format!("{what} are not known to the emulator"))
}

/// The dimensions of an array.
fn geometry(array: &Array) -> Geometry {
    if is_cube(array.flags) {
        return if is_layered(array.flags) { Geometry::Cubes } else { Geometry::Cube };
    }
    match (is_layered(array.flags), array.extent.height, array.extent.depth) {
        (true, 0, _) => Geometry::Lines,
        (true, ..) => Geometry::Planes,
        (false, 0, 0) => Geometry::Line,
        (false, _, 0) => Geometry::Plane,
        (false, ..) => Geometry::Solid,
    }
}
