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
use super::program::{Boundary, Geometry, Read, Touch};

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

/// An image and how it is read.
#[derive(Clone, Copy, Debug)]
pub struct Texture {
    /// The image.
    pub image: Image,
    /// The contents outside, in each dimension.
    pub address: [Address; 3],
    /// Whether neighbours are mixed.
    pub linear: bool,
    /// Whether integers are read as fractions of the largest one.
    pub normalized_read: bool,
    /// Whether coordinates are fractions of the size.
    pub normalized_coords: bool,
    /// The border's colour.
    pub border: [f32; 4],
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

    /// Refuses an instruction for images of other dimensions.
    fn expect(&self, geometry: Geometry) -> Result<(), Refused> {
        match self.geometry {
            Some(found) if found == geometry => Ok(()),
            Some(found) => {
                Err((Fault::NOT_SUPPORTED, format!("an access of {geometry:?} to an image of {found:?}")))
            }
            None => Err((Fault::NOT_SUPPORTED, "linear memory is only read by tex1Dfetch".to_owned())),
        }
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

/// The face of a cube that a direction meets, and where: fractions of the face's width and height.
fn face([x, y, z]: [f32; 3]) -> (u32, [f32; 3]) {
    let (face, along, s, t) = if x.abs() >= y.abs() && x.abs() >= z.abs() {
        if x >= 0.0 { (0, x, -z, -y) } else { (1, -x, z, -y) }
    } else if y.abs() >= z.abs() {
        if y >= 0.0 { (2, y, x, z) } else { (3, -y, x, -z) }
    } else if z >= 0.0 {
        (4, z, x, -y)
    } else {
        (5, -z, -x, -y)
    };
    (face, [(s / along + 1.0) / 2.0, (t / along + 1.0) / 2.0, 0.0])
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

    /// Reads one element. A number that the element lacks is 0, the fourth one is 1.
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
            Texel::Floats(
                [0, 1, 2, 3].map(|n| if n < count { float(n) } else { f32::from(u8::from(n == 3)) }),
            )
        } else {
            Texel::Integers([0, 1, 2, 3].map(|n| if n < count { integer(n) } else { u32::from(n == 3) }))
        }
    }

    fn outside(&self) -> Result<Texel, Refused> {
        if self.floats() {
            return Ok(Texel::Floats(self.border));
        }
        if self.border == [0.0; 4] {
            return Ok(Texel::Integers([0; 4]));
        }
        Err((Fault::NOT_SUPPORTED, "a border colour of integers is not known to the emulator".to_owned()))
    }

    /// Reads an element by index, as `tex1Dfetch` does: zeros outside.
    fn fetch(&self, at: i64, note: &mut dyn FnMut(*mut u8)) -> Result<Texel, Refused> {
        if self.image.geometry.is_some() {
            let why = "an access by an integer to an image that is no linear memory";
            return Err((Fault::NOT_SUPPORTED, why.to_owned()));
        }
        let [width, ..] = self.image.size;
        match u64::try_from(at).ok().filter(|at| *at < width) {
            Some(at) => {
                let at = self.image.at([at, 0, 0]);
                note(at);
                Ok(self.texel(at))
            }
            None if self.floats() => Ok(Texel::Floats([0.0; 4])),
            None => Ok(Texel::Integers([0; 4])),
        }
    }

    /// Reads by coordinates. The layer, if there are layers, is a separate index.
    fn sample(
        &self,
        geometry: Geometry,
        coordinates: [f32; 3],
        layer: u32,
        note: &mut dyn FnMut(*mut u8),
    ) -> Result<Texel, Refused> {
        self.image.expect(geometry)?;
        let cube = geometry == Geometry::Cube;
        let dimensions = if cube { 2 } else { geometry.dimensions() };
        let mut low = [0_i64; 3];
        let mut weight = [0.0_f64; 3];
        for (d, coordinate) in coordinates.into_iter().enumerate().take(dimensions) {
            let size = self.image.size[d];
            let at = if self.normalized_coords || cube { coordinate * size as f32 } else { coordinate };
            let at = if self.linear { at - 0.5 } else { at };
            low[d] = at.floor() as i64;
            let between = f64::from(at - at.floor());
            // 8 bits of fraction, so that 1 is a possible weight.
            weight[d] =
                if self.linear && between.is_finite() { (between * 256.0).round() / 256.0 } else { 0.0 };
        }
        let [_, _, layers] = self.image.size;
        let layer = u64::from(layer).min(layers.saturating_sub(1));
        let mut sum = [0.0_f64; 4];
        for corner in 0..1_usize << dimensions {
            let (mut share, mut at, mut over_edge) = (1.0, [Some(0), Some(0), Some(layer)], false);
            for d in 0..dimensions {
                let far = corner >> d & 1;
                share *= if far == 1 { weight[d] } else { 1.0 - weight[d] };
                let there = low[d].saturating_add(i64::from(far == 1));
                at[d] = index(if cube { Address::Clamp } else { self.address[d] }, there, self.image.size[d]);
                over_edge |= cube && self.linear && at[d].is_none_or(|it| i64::try_from(it) != Ok(there));
            }
            if share == 0.0 {
                continue;
            }
            if over_edge {
                let why = "a linear filter over the edge of a cube is not known to the emulator";
                return Err((Fault::NOT_SUPPORTED, why.to_owned()));
            }
            let texel = match at {
                [Some(x), Some(y), Some(z)] => {
                    let at = self.image.at([x, y, z]);
                    note(at);
                    self.texel(at)
                }
                _ => self.outside()?,
            };
            match texel {
                Texel::Floats(values) if self.linear => {
                    sum.iter_mut().zip(values).for_each(|(sum, value)| *sum += share * f64::from(value));
                }
                // The nearest element has the whole weight.
                texel => return Ok(texel),
            }
        }
        if self.mixed_with_border(geometry)? {
            sum.iter_mut().zip(self.border).for_each(|(sum, border)| *sum = (*sum + f64::from(border)) / 2.0);
        }
        Ok(Texel::Floats(sum.map(|value| value as f32)))
    }

    /// Whether a linear filter always mixes in half of the border's colour.
    ///
    /// An H200 reads a line as the only row of a plane, at coordinate 0 of the second dimension. That is the
    /// edge of the row and not its middle. The filter takes half of the row, and half of the row before it.
    /// With border addressing the row before is all border: of numbers 0 to 30 and a border of -8 the filter
    /// gives -4 for the middle of the first element. With other addressing modes the row before is the row
    /// itself.
    fn mixed_with_border(&self, geometry: Geometry) -> Result<bool, Refused> {
        let bordered = self.address[..2].contains(&Address::Border);
        if !self.linear || geometry.dimensions() > 1 || !bordered {
            return Ok(false);
        }
        if geometry == Geometry::Line && self.address[0] == self.address[1] {
            return Ok(true);
        }
        let why = "a linear filter over the border of layered lines, or of lines with other bounds in the \
                       second dimension, is not \
                   known to the emulator";
        Err((Fault::NOT_SUPPORTED, why.to_owned()))
    }

    /// Reads for an instruction, and returns the bits of four registers. `note` gets the address of every
    /// element read.
    pub(super) fn read(
        &self,
        read: Read,
        given: [u32; 3],
        note: &mut dyn FnMut(*mut u8),
    ) -> Result<[u32; 4], Refused> {
        let texel = if read.by_number {
            self.fetch(i64::from(given[0].cast_signed()), note)?
        } else {
            let (layer, first) = if read.geometry.is_layered() { (given[0], 1) } else { (0, 0) };
            let mut coordinates = [0.0; 3];
            for (to, from) in coordinates.iter_mut().zip(given.iter().skip(first)) {
                *to = f32::from_bits(*from);
            }
            if read.geometry == Geometry::Cube {
                let (face, coordinates) = face(coordinates);
                self.sample(read.geometry, coordinates, face, note)?
            } else {
                self.sample(read.geometry, coordinates, layer, note)?
            }
        };
        match texel {
            Texel::Floats(values) if read.floats => Ok(values.map(f32::to_bits)),
            Texel::Integers(values) if !read.floats => Ok(values),
            Texel::Floats(_) => {
                let why = "a read of integers from a texture that gives floating-point numbers";
                Err((Fault::NOT_SUPPORTED, why.to_owned()))
            }
            Texel::Integers(_) => {
                let why = "a read of floating-point numbers from a texture that gives integers";
                Err((Fault::NOT_SUPPORTED, why.to_owned()))
            }
        }
    }
}

impl Image {
    /// The address of a surface access, which begins at byte `x` of a row. `None` if nothing is read or
    /// written.
    pub(super) fn place(&self, touch: Touch, given: [u32; 3]) -> Result<Option<*mut u8>, Refused> {
        self.expect(touch.geometry)?;
        let (bytes, element) = (touch.bytes(), self.element());
        if bytes != element {
            let why = format!("a surface access of {bytes} bytes to elements of {element}");
            return Err((Fault::NOT_SUPPORTED, why));
        }
        let [a, b, c] = given.map(|it| i64::from(it.cast_signed()));
        let [x, y, z] = match touch.geometry {
            Geometry::Line => [a, 0, 0],
            Geometry::Plane => [a, b, 0],
            Geometry::Solid | Geometry::Cube => [a, b, c],
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
            address: [address; 3],
            linear,
            normalized_read: false,
            normalized_coords: normalized,
            border: [-1.0, 0.0, 0.0, 0.0],
        }
    }

    fn at(texture: &Texture, x: f32) -> f32 {
        let read = Read { geometry: Geometry::Line, by_number: false, floats: true };
        f32::from_bits(texture.read(read, [x.to_bits(), 0, 0], &mut |_| ()).unwrap()[0])
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
        let read = Read { geometry: Geometry::Cube, by_number: false, floats: true };
        let at = |texture: &Texture, direction: [f32; 3]| {
            texture.read(read, direction.map(f32::to_bits), &mut |_| ()).map(|it| f32::from_bits(it[0]))
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
        assert!(at(&texture, [-0.9, 0.0, 1.0]).is_err_and(|why| why.1.contains("edge of a cube")));
        texture.linear = false;
        assert_eq!(at(&texture, [-0.9, 0.1, 1.0]), Ok(16.0));
    }

    #[test]
    fn a_read_of_another_kind_of_number_is_refused() {
        let mut numbers = [0.0; 4];
        let texture = line(&mut numbers, Address::Clamp, false, false);
        let read = Read { geometry: Geometry::Line, by_number: false, floats: false };
        assert!(texture.read(read, [0; 3], &mut |_| ()).is_err());
        let plane = Read { geometry: Geometry::Plane, by_number: false, floats: true };
        assert!(texture.read(plane, [0; 3], &mut |_| ()).is_err());
    }
}
