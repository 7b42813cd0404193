//! Images as kernels read and write them: textures by coordinates, with filter and bounds, and surfaces by
//! bytes.
//!
//! Texture fetches follow the CUDA programming guide: weights have 8 bits of fraction, and the element at
//! coordinate 0.5 is the first. An unknown form ends the kernel with a message, never with a wrong number.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "coordinates are rounded to elements, which is what they are for"
)]

use half::f16;

use super::bytes::{read8, read16, read32};
use super::fault::{Fault, Refused};
use super::program::{Boundary, Geometry, LevelBy, Read, Touch};

/// The type of an element's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberKind {
    /// Floating-point numbers.
    Float,
    /// Integers with a sign.
    Signed,
    /// Integers without.
    Unsigned,
}

/// The format of an element: so many numbers of so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Channels {
    /// The type of the numbers.
    pub kind: NumberKind,
    /// Bytes of each.
    pub bytes: u64,
    /// How many: 1, 2 or 4.
    pub count: u64,
}

/// An image in memory of this process.
#[derive(Clone, Copy, Debug)]
pub struct Image {
    /// Its first byte.
    pub host: *mut u8,
    /// The dimensions; `None` for elements in a row, which are read by index.
    pub geometry: Option<Geometry>,
    /// Elements of a row, rows, and layers of either kind; at least 1 each.
    pub size: [u64; 3],
    /// Bytes from row to row.
    pub pitch: u64,
    /// Bytes from layer to layer.
    pub slice: u64,
    /// The format of an element.
    pub channels: Channels,
}

/// The contents outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    /// The image, repeated.
    Wrap,
    /// The element at the edge.
    Clamp,
    /// The image, repeated and mirrored every second time.
    Mirror,
    /// The border's colour.
    Border,
}

/// How many words an access to an image has besides the handle: coordinates with the layer first, a level,
/// and derivatives in both directions of a warp's threads.
pub(super) const IMAGE_OPERANDS: usize = 11;
/// The position of the level among them.
pub(super) const LEVEL: u8 = 4;
/// The position of the first derivatives.
pub(super) const DX: u8 = 5;
/// The position of the second derivatives.
pub(super) const DY: u8 = 8;

/// The words of an access to an image.
pub(super) type ImageOperands = [u32; IMAGE_OPERANDS];

/// Three numbers of an access.
fn three(given: &ImageOperands, first: usize) -> [f32; 3] {
    [0, 1, 2].map(|n| f32::from_bits(given.get(first + n).copied().unwrap_or(0)))
}

/// How a texture with several levels chooses among them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelRule {
    /// Whether two levels are mixed.
    pub linear: bool,
    /// Added to the level.
    pub bias: f32,
    /// The lowest level that is read, and the highest.
    pub range: [f32; 2],
    /// The highest ratio of the derivatives that a read takes into account.
    pub anisotropy: u32,
}

/// An image and how it is read.
#[derive(Clone, Debug)]
pub struct Texture {
    /// The image, or its first level.
    pub image: Image,
    /// Its further levels.
    pub smaller: Vec<Image>,
    /// How a level is chosen.
    pub levels: LevelRule,
    /// The contents outside, in each dimension.
    pub address: [Address; 3],
    /// Whether neighbours are mixed.
    pub linear: bool,
    /// Whether integers are read as fractions of the largest one.
    pub normalized_read: bool,
    /// Whether such fractions of bytes are colours, of which the first three become linear values.
    pub srgb: bool,
    /// Whether coordinates are fractions of the size.
    pub normalized_coords: bool,
    /// The border's colour.
    pub border: [f32; 4],
    /// Whether a filter goes over the edges of a cube.
    pub seamless: bool,
}

impl Image {
    /// Bytes of an element.
    #[must_use]
    pub fn element(&self) -> u64 {
        self.channels.bytes * self.channels.count
    }

    /// The address of an element inside the image.
    fn at(&self, [x, y, z]: [u64; 3]) -> *mut u8 {
        let offset = z * self.slice + y * self.pitch + x * self.element();
        self.host.wrapping_add(usize::try_from(offset).unwrap_or(0))
    }

    /// Refuses a surface instruction for images of other dimensions.
    fn expect(&self, geometry: Geometry) -> Result<(), Refused> {
        match self.geometry {
            Some(found) if found == geometry => Ok(()),
            found => {
                Err((Fault::NOT_SUPPORTED, format!("an access of {geometry:?} to an image of {found:?}")))
            }
        }
    }

    /// Whether a texture instruction for such images reads this one. Lines and planes, with layers or
    /// without, read each other. All else that does not fit reads zeros, as on an H200.
    fn is_read_as(&self, geometry: Geometry) -> bool {
        let kind = |it: Geometry| (it == Geometry::Solid, it.is_cube());
        self.geometry.is_some_and(|found| kind(found) == kind(geometry))
    }
}

/// The element that an index selects in a dimension of a size; `None` for the border.
fn index(address: Address, at: i64, size: u64) -> Option<u64> {
    let size = i64::try_from(size).unwrap_or(i64::MAX).max(1);
    let inside = match address {
        Address::Clamp => at.clamp(0, size - 1),
        Address::Border if (0..size).contains(&at) => at,
        Address::Border => return None,
        Address::Wrap => at.rem_euclid(size),
        Address::Mirror => {
            let there = at.rem_euclid(2 * size);
            if there < size { there } else { 2 * size - 1 - there }
        }
    };
    u64::try_from(inside).ok()
}

/// The axis of a direction that is longest decides the face of a cube: that face, the length, and the other
/// two numbers along the face's rows and columns. Of equal axes the last one decides.
fn face([x, y, z]: [f32; 3]) -> (u64, [f32; 3]) {
    let side = if z.abs() >= x.abs() && z.abs() >= y.abs() {
        4 + u64::from(z < 0.0)
    } else if y.abs() >= x.abs() {
        2 + u64::from(y < 0.0)
    } else {
        u64::from(x < 0.0)
    };
    (side, on_face(side, [x, y, z]))
}

/// The same numbers of another direction, such as a derivative.
fn on_face(face: u64, [x, y, z]: [f32; 3]) -> [f32; 3] {
    match face {
        0 => [x, -z, -y],
        1 => [-x, z, -y],
        2 => [y, x, z],
        3 => [-y, x, -z],
        4 => [z, x, -y],
        _ => [-z, -x, -y],
    }
}

/// The element of a cube at a row and a column that may lie beyond a face's edge; `None` beyond a corner.
fn over_edge(face_of: u64, [column, row]: [i64; 2], size: u64) -> Option<[u64; 3]> {
    let count = i64::try_from(size).ok()?;
    let inside = |at: i64| (0..count).contains(&at);
    if !inside(column) && !inside(row) {
        return None;
    }
    let middle = |at: i64| (2.0 * at as f32 + 1.0) / count as f32 - 1.0;
    let (s, t) = (middle(column), middle(row));
    let direction = match face_of {
        0 => [1.0, -t, -s],
        1 => [-1.0, -t, s],
        2 => [s, 1.0, t],
        3 => [s, -1.0, -t],
        4 => [s, -t, 1.0],
        _ => [-s, -t, -1.0],
    };
    let (there, [along, s, t]) = face(direction);
    let nearest =
        |at: f32| index(Address::Clamp, ((at / along + 1.0) / 2.0 * count as f32).floor() as i64, size);
    Some([nearest(s)?, nearest(t)?, there])
}

/// The bytes whose colours an H200 gives seven bits.
const COARSE: [u8; 14] = [32, 33, 65, 66, 68, 70, 97, 184, 186, 249, 250, 251, 252, 253];

/// The linear value of a colour's byte, by the sRGB curve, with the eight bits that an H200 gives it, and in
/// steps of at least 2^-14.
fn linear_colour(byte: u8) -> f32 {
    let fraction = f64::from(byte) / 255.0;
    let exact = if fraction <= 0.040_45 { fraction / 12.92 } else { ((fraction + 0.055) / 1.055).powf(2.4) };
    let bits = if COARSE.contains(&byte) { 6 } else { 7 };
    let step = (exact.log2().floor() - f64::from(bits)).max(-14.0).exp2();
    ((exact / step).round() * step) as f32
}

/// A number in 256ths, rounded, with its whole part and the rest.
fn in_256ths(number: f32) -> (i64, i64) {
    // Saturates.
    let whole = (f64::from(number) * 256.0 + 0.5).floor() as i64;
    (whole >> 8, whole & 255)
}

/// A share in 256ths, split between two neighbours by the weight of the second, which is rounded. Halves are
/// rounded up or down.
fn split(share: i64, weight: i64, up: bool) -> [i64; 2] {
    let far = (share * weight + 127 + i64::from(up)) >> 8;
    [share - far, far]
}

/// The shares of the corners between which a filter reads, whose numbers have a bit for each dimension: first
/// by columns, then by layers, then by rows.
fn shares(share: i64, [x, y, z]: [i64; 3]) -> [i64; 8] {
    let mut found = [0; 8];
    for (column, part) in split(share, x, true).into_iter().enumerate() {
        for (layer, part) in split(part, z, true).into_iter().enumerate() {
            let corner = column + 4 * layer;
            // Of two columns, one is rounded up and one is rounded down.
            [found[corner], found[corner + 2]] = split(part, y, column == 1);
        }
    }
    found
}

/// Where a texture is read: coordinates, layer, and derivatives by the face of a cube.
struct Place {
    at: [f32; 3],
    layer: u64,
    slopes: [[f32; 3]; 2],
}

/// Adds a part of an element.
fn add(sum: &mut [f64; 4], values: [f32; 4], part: f64) {
    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += part * f64::from(value));
}

/// A fetched element: four numbers, as bits of floats or of integers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Texel {
    Floats([f32; 4]),
    Integers([u32; 4]),
}

impl Texture {
    /// Whether reads yield floating-point numbers.
    fn floats(&self) -> bool {
        self.normalized_read || self.image.channels.kind == NumberKind::Float
    }

    /// Reads one element. A number that the element lacks is 0, as on an H200.
    fn texel(&self, at: *mut u8) -> Texel {
        let Channels { kind, bytes, count } = self.image.channels;
        let channel = |n: u64| at.wrapping_add(usize::try_from(n * bytes).unwrap_or(0));
        let bits = |n: u64| match bytes {
            1 => u32::from(read8(channel(n))),
            2 => u32::from(read16(channel(n))),
            _ => read32(channel(n)),
        };
        let integer = |n: u64| match (kind, bytes) {
            (NumberKind::Signed, 1) => i32::from(read8(channel(n)).cast_signed()).cast_unsigned(),
            (NumberKind::Signed, 2) => i32::from(read16(channel(n)).cast_signed()).cast_unsigned(),
            _ => bits(n),
        };
        let float = |n: u64| match (kind, bytes) {
            (NumberKind::Float, 2) => f16::from_bits(read16(channel(n))).to_f32(),
            (NumberKind::Float, _) => f32::from_bits(bits(n)),
            (NumberKind::Unsigned, 1) => bits(n) as f32 / 255.0,
            (NumberKind::Unsigned, _) => bits(n) as f32 / 65_535.0,
            (NumberKind::Signed, 1) => (integer(n).cast_signed() as f32 / 127.0).max(-1.0),
            (NumberKind::Signed, _) => (integer(n).cast_signed() as f32 / 32_767.0).max(-1.0),
        };
        if self.floats() {
            let mut found = [0.0; 4];
            for (to, n) in found.iter_mut().zip(0..count) {
                // Of two channels, only the first is a colour.
                let colour = self.srgb && n < if count == 4 { 3 } else { 1 };
                *to = if colour { linear_colour(read8(channel(n))) } else { float(n) };
            }
            return Texel::Floats(found);
        }
        let mut found = [0; 4];
        found.iter_mut().zip(0..count).for_each(|(to, n)| *to = integer(n));
        Texel::Integers(found)
    }

    /// The border's colour in the format of an element: fractions are rounded to those that there are, and
    /// integers have the lowest bits of the numbers.
    fn outside(&self) -> Texel {
        let Channels { kind, bytes, count } = self.image.channels;
        let most = match (kind, bytes) {
            (NumberKind::Signed, 1) => 127.0,
            (NumberKind::Signed, _) => 32_767.0,
            (_, 1) => 255.0,
            _ => 65_535.0,
        };
        let least = if kind == NumberKind::Signed { -1.0 } else { 0.0 };
        let fraction = |it: f32| (it.clamp(least, 1.0) * most).round() / most;
        let integer = |it: f32| match (kind, bytes) {
            (NumberKind::Signed, 1) => i32::from(it.to_bits() as i8).cast_unsigned(),
            (NumberKind::Signed, 2) => i32::from(it.to_bits() as i16).cast_unsigned(),
            (_, 1) => it.to_bits() & 0xff,
            (_, 2) => it.to_bits() & 0xffff,
            _ => it.to_bits(),
        };
        let mut border = self.border;
        border.iter_mut().zip(0..).filter(|(_, n)| *n >= count).for_each(|(it, _)| *it = 0.0);
        match (self.floats(), kind) {
            (false, _) => Texel::Integers(border.map(integer)),
            (true, NumberKind::Float) => Texel::Floats(border),
            (true, _) => Texel::Floats(border.map(fraction)),
        }
    }

    /// Zeros.
    fn nothing(&self) -> Texel {
        if self.floats() { Texel::Floats([0.0; 4]) } else { Texel::Integers([0; 4]) }
    }

    /// Reads an element by index, as `tex1Dfetch` does: zeros outside.
    fn fetch(&self, at: i64, note: &mut dyn FnMut(*mut u8)) -> Texel {
        let [width, ..] = self.image.size;
        let row = self.image.geometry.is_none();
        match u64::try_from(at).ok().filter(|at| row && *at < width) {
            Some(at) => {
                let at = self.image.at([at, 0, 0]);
                note(at);
                self.texel(at)
            }
            None => self.nothing(),
        }
    }

    /// A level, or the last one.
    fn level(&self, level: usize) -> &Image {
        level
            .checked_sub(1)
            .map_or(&self.image, |n| self.smaller.get(n).or(self.smaller.last()).unwrap_or(&self.image))
    }

    /// The level that a read selects, and the part of the next one in the result, in 256ths. Levels, limits
    /// and what is added are cut to 256ths. A level of derivatives is the next 256th.
    fn choose(&self, read: Read, given: &ImageOperands, place: &Place) -> Result<(usize, i64), Refused> {
        if self.smaller.is_empty() {
            return Ok((0, 0));
        }
        let LevelRule { linear, bias, range: [least, most], anisotropy } = self.levels;
        // Saturates, and makes zero of what is no number.
        let cut = |level: f32| (level * 256.0) as i64;
        // Added is a lot if it is no number. Without a level, nothing is added.
        let bias = if bias.is_nan() { cut(f32::INFINITY) } else { cut(bias) };
        let level = match read.level {
            LevelBy::Nothing => 0,
            LevelBy::Number => cut(f32::from_bits(given[usize::from(LEVEL)])).saturating_add(bias),
            LevelBy::Derivatives => {
                let [a, b] = place.slopes.map(|slope| slope.iter().map(|it| it * it).sum::<f32>().sqrt());
                if anisotropy > 1 && self.linear && a != b {
                    let why = "anisotropic reads are not known to the emulator";
                    return Err((Fault::NOT_SUPPORTED, why.to_owned()));
                }
                cut((a.max(b).log2() * 256.0).ceil() / 256.0).saturating_add(bias)
            }
        };
        let last = i64::try_from(self.smaller.len()).unwrap_or(0) << 8;
        let level = level.min(cut(most)).max(cut(least)).clamp(0, last);
        let level = if linear { level } else { (level + 128) & !255 };
        Ok((usize::try_from(level >> 8).unwrap_or(0), level & 255))
    }

    /// The coordinates and the layer of a read.
    fn place(&self, read: Read, given: &ImageOperands) -> Place {
        let geometry = read.geometry;
        let first = usize::from(geometry.is_layered());
        let layer = if geometry.is_layered() { u64::from(given[0]) } else { 0 };
        let (at, slopes) = (three(given, first), [DX, DY].map(|first| three(given, usize::from(first))));
        let [width, height, depth] = self.image.size.map(|size| size as f32);
        let layers = self.image.size[2].saturating_sub(1);
        if geometry.is_cube() {
            let most = at.iter().fold(0.0_f32, |most, it| most.max(it.abs()));
            // The longest axis becomes 1. Parts that are no numbers then are 0.
            let unit = |it: f32| Some(it / most).filter(|it| !it.is_nan()).unwrap_or(0.0);
            let (side, [along, s, t]) = face(at.map(unit));
            let middle = |it: f32| if along == 0.0 { 0.5 } else { (it / along + 1.0) / 2.0 };
            let slopes = slopes.map(|slope| {
                let [d, ds, dt] = on_face(side, slope.map(|it| it / most));
                let part = |of: f32, to: f32| (to * along - of * d) / (along * along) / 2.0;
                [part(s, ds) * width, part(t, dt) * height, 0.0]
            });
            let layer = layer.min(layers / 6) * 6 + side;
            return Place { at: [middle(s), middle(t), 0.0], layer, slopes };
        }
        let size = if self.normalized_coords { [width, height, depth] } else { [1.0; 3] };
        let mut scaled = [[0.0; 3]; 2];
        for (to, from) in scaled.iter_mut().zip(slopes) {
            for d in 0..geometry.dimensions() {
                to[d] = from[d] * size[d];
            }
        }
        Place { at, layer: layer.min(layers), slopes: scaled }
    }

    /// Reads by coordinates.
    fn sample(
        &self,
        read: Read,
        given: &ImageOperands,
        note: &mut dyn FnMut(*mut u8),
    ) -> Result<Texel, Refused> {
        if !self.image.is_read_as(read.geometry) {
            return Ok(self.nothing());
        }
        let place = self.place(read, given);
        if let Some(channel) = read.gathers {
            return Ok(self.gather(channel, &place, note));
        }
        let (level, part) = self.choose(read, given, &place)?;
        if !self.linear && part == 0 {
            return Ok(self.nearest(self.level(level), read.geometry, &place, note));
        }
        let mut sum = [0.0; 4];
        for (level, share) in [(level, 256 - part), (level + 1, part)] {
            if share == 0 {
                continue;
            }
            if self.linear {
                self.filter(self.level(level), read.geometry, &place, share, &mut sum, note);
            } else if let Texel::Floats(values) = self.nearest(self.level(level), read.geometry, &place, note)
            {
                add(&mut sum, values, share as f64 / 256.0);
            } else {
                let why = "linearly filtered integers are not known to the emulator";
                return Err((Fault::NOT_SUPPORTED, why.to_owned()));
            }
        }
        Ok(Texel::Floats(sum.map(|value| value as f32)))
    }

    /// One number of each of the four neighbours, from the lower left one against the clock.
    fn gather(&self, channel: u8, place: &Place, note: &mut dyn FnMut(*mut u8)) -> Texel {
        let mut low = [0; 2];
        for (d, low) in low.iter_mut().enumerate() {
            (*low, _) = in_256ths(self.scaled(&self.image, Geometry::Plane, place, d) - 0.5);
        }
        let (mut floats, mut integers) = ([0.0; 4], [0; 4]);
        for (n, (right, below)) in [(0, 1), (1, 1), (1, 0), (0, 0)].into_iter().enumerate() {
            let place = [low[0].saturating_add(right), low[1].saturating_add(below)];
            let at = |d: usize| index(self.address[d], place[d], self.image.size[d]);
            match self.element(&self.image, [at(0), at(1), Some(0)], note) {
                Texel::Floats(values) => floats[n] = values[usize::from(channel)],
                Texel::Integers(values) => integers[n] = values[usize::from(channel)],
            }
        }
        if self.floats() { Texel::Floats(floats) } else { Texel::Integers(integers) }
    }

    /// The elements before a coordinate in a dimension of a level.
    fn scaled(&self, image: &Image, geometry: Geometry, place: &Place, d: usize) -> f32 {
        let at = place.at[d];
        // From here on coordinates are even numbers, at which a repeated image begins.
        let repeated = matches!(self.address[d], Address::Wrap | Address::Mirror);
        if at.is_nan() || repeated && at.abs() >= 16_777_216.0 {
            return 0.0;
        }
        if self.normalized_coords || geometry.is_cube() { at * image.size[d] as f32 } else { at }
    }

    /// The contents of a place in an image, or outside of it.
    fn element(&self, image: &Image, at: [Option<u64>; 3], note: &mut dyn FnMut(*mut u8)) -> Texel {
        let [Some(x), Some(y), Some(z)] = at else { return self.outside() };
        let at = image.at([x, y, z]);
        note(at);
        self.texel(at)
    }

    /// Reads the element at a place of one level.
    fn nearest(
        &self,
        image: &Image,
        geometry: Geometry,
        place: &Place,
        note: &mut dyn FnMut(*mut u8),
    ) -> Texel {
        let dimensions = if geometry.is_cube() { 2 } else { geometry.dimensions() };
        let mut at = [Some(0), Some(0), Some(place.layer)];
        for (d, at) in at.iter_mut().enumerate().take(dimensions) {
            let position = self.scaled(image, geometry, place, d).floor() as i64;
            // The face of a cube has no border here.
            let address = if geometry.is_cube() { Address::Clamp } else { self.address[d] };
            *at = index(address, position, image.size[d]);
        }
        self.element(image, at, note)
    }

    /// Adds so many 256ths of what a linear filter gives of one level.
    fn filter(
        &self,
        image: &Image,
        geometry: Geometry,
        place: &Place,
        share: i64,
        sum: &mut [f64; 4],
        note: &mut dyn FnMut(*mut u8),
    ) {
        let cube = geometry.is_cube();
        // A line is the only row of a plane, read at the edge of the row and not at its middle: half of what
        // the filter gives is the row before, or the border.
        let dimensions = match geometry {
            Geometry::Lines => 1,
            Geometry::Solid => 3,
            _ => 2,
        };
        let mut low = [0_i64; 3];
        let mut weight = [0_i64; 3];
        for d in 0..dimensions {
            let row = d == 1 && geometry == Geometry::Line;
            let at = if row { 0.0 } else { self.scaled(image, geometry, place, d) };
            (low[d], weight[d]) = in_256ths(at - 0.5);
        }
        let (mut found, mut lacking) = ([0.0; 4], 0);
        let parts = shares(share, weight);
        for (corner, share) in parts.into_iter().enumerate() {
            let mut there = low;
            for (d, there) in there.iter_mut().enumerate() {
                *there = there.saturating_add(i64::from(corner >> d & 1 == 1));
            }
            if share == 0 {
                continue;
            }
            let mut at = [Some(0), Some(0), Some(place.layer)];
            for d in 0..dimensions {
                let address = if cube && self.seamless { Address::Clamp } else { self.address[d] };
                at[d] = index(address, there[d], image.size[d]);
            }
            let outside = there.map(|it| u64::try_from(it).map_or(true, |it| it >= image.size[0]));
            if cube && self.seamless && outside[..2] != [false; 2] {
                let side = place.layer % 6;
                let Some([x, y, z]) = over_edge(side, [there[0], there[1]], image.size[0]) else {
                    // The part of elements beyond a cube's corner, which has no such element.
                    lacking += share;
                    continue;
                };
                at = [x, y, place.layer - side + z].map(Some);
            }
            if let Texel::Floats(values) = self.element(image, at, note) {
                add(&mut found, values, share as f64 / 256.0);
            }
        }
        let whole = share as f64 / (share - lacking).max(1) as f64;
        sum.iter_mut().zip(found).for_each(|(sum, found)| *sum += found * whole);
    }

    /// Reads for an instruction, and returns the bits of four registers. `note` gets the address of every
    /// element read.
    pub(super) fn read(
        &self,
        read: Read,
        given: &ImageOperands,
        note: &mut dyn FnMut(*mut u8),
    ) -> Result<[u32; 4], Refused> {
        let texel = if read.by_number {
            self.fetch(i64::from(given[0].cast_signed()), note)
        } else {
            self.sample(read, given, note)?
        };
        // An instruction for another kind of number gets the bits.
        Ok(match texel {
            Texel::Floats(values) => values.map(f32::to_bits),
            Texel::Integers(values) => values,
        })
    }
}

impl Image {
    /// The address of a surface access, which begins at byte `x` of a row. `None` if nothing is read or
    /// written.
    pub(super) fn place(&self, touch: Touch, given: &ImageOperands) -> Result<Option<*mut u8>, Refused> {
        // Surfaces of cubes are read and written by face.
        if touch.geometry != Geometry::Planes || !self.geometry.is_some_and(Geometry::is_cube) {
            self.expect(touch.geometry)?;
        }
        let (bytes, element) = (touch.bytes(), self.element());
        if bytes != element {
            let why = format!("a surface access of {bytes} bytes to elements of {element}");
            return Err((Fault::NOT_SUPPORTED, why));
        }
        let [a, b, c] = [given[0], given[1], given[2]].map(|it| i64::from(it.cast_signed()));
        let [x, y, z] = match touch.geometry {
            Geometry::Line => [a, 0, 0],
            Geometry::Plane => [a, b, 0],
            Geometry::Solid | Geometry::Cube | Geometry::Cubes => [a, b, c],
            // The layer comes first.
            Geometry::Lines => [b, 0, a],
            Geometry::Planes => [b, c, a],
        };
        let wide = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        if x.rem_euclid(wide(element)) != 0 {
            let why = format!("a surface access at byte {x} of a row of elements of {element} bytes");
            return Err((Fault::MISALIGNED_ADDRESS, why));
        }
        let [width, height, depth] = self.size;
        let asked = [x.div_euclid(wide(element)), y, z];
        let mut at = [0; 3];
        for ((to, from), size) in at.iter_mut().zip(asked).zip([width, height, depth]) {
            let inside = (0..wide(size)).contains(&from);
            *to = match touch.boundary {
                _ if inside => u64::try_from(from).unwrap_or(0),
                Boundary::Clamp => index(Address::Clamp, from, size).unwrap_or(0),
                Boundary::Zero => return Ok(None),
                Boundary::Trap => {
                    let why = format!(
                        "a surface access to element {asked:?} of an image of {width} x {height} x {depth}"
                    );
                    return Err((Fault::ILLEGAL_ADDRESS, why));
                }
            };
        }
        Ok(Some(self.at(at)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A texture of 4 numbers, 0, 10, 20 and 30.
    fn line(numbers: &mut [f32; 4], address: Address, linear: bool, normalized: bool) -> Texture {
        *numbers = [0.0, 10.0, 20.0, 30.0];
        Texture {
            image: Image {
                host: numbers.as_mut_ptr().cast(),
                geometry: Some(Geometry::Line),
                size: [4, 1, 1],
                pitch: 16,
                slice: 16,
                channels: Channels { kind: NumberKind::Float, bytes: 4, count: 1 },
            },
            smaller: Vec::new(),
            levels: LevelRule { linear: false, bias: 0.0, range: [0.0, 99.0], anisotropy: 0 },
            address: [address; 3],
            linear,
            normalized_read: false,
            srgb: false,
            normalized_coords: normalized,
            border: [-1.0, 0.0, 0.0, 0.0],
            seamless: false,
        }
    }

    /// A read of floating-point numbers without a level.
    fn floats(geometry: Geometry) -> Read {
        Read { geometry, by_number: false, floats: true, level: LevelBy::Nothing, gathers: None }
    }

    fn operands(words: &[f32]) -> ImageOperands {
        let mut given = [0; IMAGE_OPERANDS];
        given.iter_mut().zip(words).for_each(|(to, from)| *to = from.to_bits());
        given
    }

    fn at(texture: &Texture, x: f32) -> f32 {
        let read = floats(Geometry::Line);
        f32::from_bits(texture.read(read, &operands(&[x]), &mut |_| ()).unwrap()[0])
    }

    #[test]
    fn the_nearest_element_is_that_of_the_whole_number_below() {
        let mut numbers = [0.0; 4];
        let texture = line(&mut numbers, Address::Clamp, false, false);
        assert_eq!(
            [-5.0, 0.0, 0.99, 1.0, 3.5, 4.0, f32::NAN].map(|x| at(&texture, x)),
            [0.0, 0.0, 0.0, 10.0, 30.0, 30.0, 0.0]
        );
    }

    #[test]
    fn weights_have_eight_bits_of_fraction() {
        let mut numbers = [0.0; 4];
        let texture = line(&mut numbers, Address::Clamp, true, false);
        assert_eq!([0.5, 1.0, 1.5, 0.0, 9.0].map(|x| at(&texture, x)), [0.0, 5.0, 10.0, 0.0, 30.0]);
        // A third is 85 of 256.
        assert_eq!(at(&texture, 0.5 + 1.0 / 3.0), 10.0 * 85.0 / 256.0);
    }

    #[test]
    fn outside_is_what_the_mode_says() {
        let mut numbers = [0.0; 4];
        let wrap = line(&mut numbers, Address::Wrap, false, true);
        assert_eq!([-0.25, 1.0, 1.25, 2.75].map(|x| at(&wrap, x)), [30.0, 0.0, 10.0, 30.0]);
        let mirror = line(&mut numbers, Address::Mirror, false, true);
        assert_eq!([-0.1, 1.0, 1.3, 2.0].map(|x| at(&mirror, x)), [0.0, 30.0, 20.0, 0.0]);
        let border = line(&mut numbers, Address::Border, true, false);
        // Half of all that a filter gives is border.
        assert_eq!([-1.0, 0.0, 0.5, 4.0].map(|x| at(&border, x)), [-1.0, -0.75, -0.5, 6.75]);
        let nearest = line(&mut numbers, Address::Border, false, false);
        assert_eq!([-0.5, 0.5, 3.5, 4.0].map(|x| at(&nearest, x)), [-1.0, 0.0, 30.0, -1.0]);
    }

    #[test]
    fn a_direction_meets_the_middle_of_its_face_and_a_filter_stays_on_it() {
        let mut numbers: Vec<f32> = (0..24_u8).map(f32::from).collect();
        let image = Image {
            host: numbers.as_mut_ptr().cast(),
            geometry: Some(Geometry::Cube),
            size: [2, 2, 6],
            pitch: 8,
            slice: 16,
            channels: Channels { kind: NumberKind::Float, bytes: 4, count: 1 },
        };
        let mut texture = Texture { image, linear: true, ..line(&mut [0.0; 4], Address::Clamp, true, true) };
        let read = floats(Geometry::Cube);
        let at = |texture: &Texture, direction: [f32; 3]| {
            texture.read(read, &operands(&direction), &mut |_| ()).map(|it| f32::from_bits(it[0]))
        };
        for (axis, sign, middle) in
            [(0, 1.0, 1.5), (0, -1.0, 5.5), (1, 1.0, 9.5), (1, -1.0, 13.5), (2, 1.0, 17.5), (2, -1.0, 21.5)]
        {
            let mut direction = [0.0; 3];
            direction[axis] = sign;
            assert_eq!(at(&texture, direction), Ok(middle));
        }
        // The lower left element of the face in front: s grows with x, and t falls with y.
        assert_eq!(at(&texture, [-0.5, -0.5, 1.0]), Ok(18.0));
        // Beyond the edge is the element at the edge, or one of the next face: of 16 and 18, and of 5 and 7.
        assert_eq!(at(&texture, [-0.9999, 0.0, 1.0]), Ok(17.0));
        texture.seamless = true;
        assert_eq!(at(&texture, [-0.9999, 0.0, 1.0]), Ok((17.0 + 6.0) / 2.0));
        // At a corner the three faces that meet there are mixed.
        assert_eq!(at(&texture, [-0.9999, -0.9999, 1.0]), Ok((18.0 + 7.0 + 12.0) / 3.0));
        texture.linear = false;
        assert_eq!(at(&texture, [-0.9, 0.1, 1.0]), Ok(16.0));
    }

    #[test]
    fn a_level_is_the_nearest_or_a_mixture_of_two_within_the_limits() {
        let mut numbers = [0.0; 4];
        let mut texture = line(&mut numbers, Address::Clamp, false, true);
        let mut levels = [[256.0_f32; 4], [512.0; 4]];
        for (level, size) in levels.iter_mut().zip([2, 1]) {
            let host = level.as_mut_ptr().cast();
            texture.smaller.push(Image { host, size: [size, 1, 1], ..texture.image });
        }
        let read = Read { level: LevelBy::Number, ..floats(Geometry::Line) };
        let at = |texture: &Texture, level: f32| {
            let given = operands(&[0.0, 0.0, 0.0, 0.0, level]);
            f32::from_bits(texture.read(read, &given, &mut |_| ()).unwrap()[0])
        };
        assert_eq!(
            [-1.0, 0.4, 0.5, 1.4, 1.5, 9.0].map(|it| at(&texture, it)),
            [0.0, 0.0, 256.0, 256.0, 512.0, 512.0]
        );
        texture.levels.linear = true;
        assert_eq!([-1.0, 0.25, 1.0, 1.5, 9.0].map(|it| at(&texture, it)), [0.0, 64.0, 256.0, 384.0, 512.0]);
        texture.levels = LevelRule { bias: 0.5, range: [0.75, 1.25], ..texture.levels };
        assert_eq!([-1.0, 0.5, 9.0].map(|it| at(&texture, it)), [192.0, 256.0, 320.0]);
    }

    #[test]
    fn derivatives_of_two_elements_select_the_second_level() {
        let mut numbers = [0.0; 4];
        let mut texture = line(&mut numbers, Address::Clamp, false, true);
        let mut level = [256.0_f32; 2];
        texture.smaller.push(Image { host: level.as_mut_ptr().cast(), size: [2, 1, 1], ..texture.image });
        texture.levels.linear = true;
        let read = Read { level: LevelBy::Derivatives, ..floats(Geometry::Line) };
        for (dx, dy, found) in [(0.0, 0.0, 0.0), (0.25, 0.1, 0.0), (0.5, 0.0, 256.0), (0.1, -0.5, 256.0)] {
            let given = operands(&[0.0, 0.0, 0.0, 0.0, 0.0, dx, 0.0, 0.0, dy]);
            let texel = texture.read(read, &given, &mut |_| ()).unwrap();
            assert_eq!(f32::from_bits(texel[0]), found, "{dx} {dy}");
        }
    }

    #[test]
    fn a_gather_begins_at_the_lower_left() {
        let mut numbers = [0.0; 4];
        let mut texture = line(&mut numbers, Address::Clamp, false, false);
        texture.image = Image { geometry: Some(Geometry::Plane), size: [2, 2, 1], pitch: 8, ..texture.image };
        let read = Read { gathers: Some(0), ..floats(Geometry::Plane) };
        let at = |texture: &Texture, x, y| {
            texture.read(read, &operands(&[x, y]), &mut |_| ()).unwrap().map(f32::from_bits)
        };
        assert_eq!(at(&texture, 1.0, 1.0), [20.0, 30.0, 10.0, 0.0]);
        assert_eq!(at(&texture, 0.2, 0.2), [0.0, 0.0, 0.0, 0.0]);
        texture.address = [Address::Border; 3];
        assert_eq!(at(&texture, 2.0, 1.0), [30.0, -1.0, -1.0, 10.0]);
    }

    #[test]
    fn colours_are_made_linear_and_the_fourth_channel_is_not() {
        let mut bytes = [128_u8, 10, 255, 128];
        let texture = line(&mut [0.0; 4], Address::Clamp, false, false);
        let channels = Channels { kind: NumberKind::Unsigned, bytes: 1, count: 4 };
        let image = Image { host: bytes.as_mut_ptr(), channels, size: [1, 1, 1], ..texture.image };
        let texture = Texture { image, normalized_read: true, srgb: true, ..texture };
        let found = texture.read(floats(Geometry::Line), &operands(&[]), &mut |_| ()).unwrap();
        let [r, g, b, a] = found.map(f32::from_bits);
        // 221 of 1024, and 50 of 2^14.
        assert_eq!((r, g), (0.215_820_31, 0.003_051_757_8));
        assert_eq!((b, a), (1.0, 128.0 / 255.0));
    }

    #[test]
    fn a_read_of_another_kind_of_number_gives_bits_and_one_of_a_solid_nothing() {
        let mut numbers = [0.0; 4];
        let texture = line(&mut numbers, Address::Clamp, false, false);
        let read = Read { floats: false, ..floats(Geometry::Line) };
        let at = |read| texture.read(read, &operands(&[1.5]), &mut |_| ()).unwrap().map(f32::from_bits);
        assert_eq!(at(read), [10.0, 0.0, 0.0, 0.0]);
        assert_eq!(at(floats(Geometry::Plane)), [10.0, 0.0, 0.0, 0.0]);
        assert_eq!(at(floats(Geometry::Solid)), [0.0; 4]);
    }
}
