//! Reads of textures, by coordinates with filter and bounds, or by index.
//!
//! They follow the CUDA programming guide: weights have 8 bits of fraction, and the element at coordinate 0.5
//! is the first. An unknown form ends the kernel with a message, never with a wrong number.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "coordinates are rounded to elements, which is what they are for"
)]

use super::address::{Address, index};
use super::cube::{face, on_face, over_edge};
use super::element::{ElementFormat, Image, Numbers, Texel, WeightedElement};
use super::filter::{in_256ths, shares};
use super::level::LevelRule;
use super::operands::{DX, DY, ImageOperands, LEVEL, three};
use crate::exec::fault::{Fault, Refused};
use crate::exec::geometry::{Geometry, LevelBy, Read};
use crate::fidelity::{self, Limit};

/// An image and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct Texture {
    /// The image, or its first level.
    pub(crate) image: Image,
    /// Its further levels.
    pub(crate) smaller: Vec<Image>,
    /// How a level is chosen.
    pub(crate) levels: LevelRule,
    /// The contents outside, in each dimension.
    pub(crate) address: [Address; 3],
    /// Whether neighbours are mixed.
    pub(crate) linear: bool,
    /// How the numbers of an element are read.
    pub(crate) numbers: Numbers,
    /// Whether coordinates are fractions of the size.
    pub(crate) normalized_coords: bool,
    /// The border's colour.
    pub(crate) border: [f32; 4],
    /// Whether a filter goes over the edges of a cube.
    pub(crate) seamless: bool,
}

/// Where a texture is read: coordinates, layer, and derivatives by the face of a cube.
struct Place {
    at: [f32; 3],
    layer: u64,
    slopes: [[f32; 3]; 2],
}

impl Texture {
    fn format(&self) -> ElementFormat {
        ElementFormat { channels: self.image.channels, numbers: self.numbers }
    }

    /// Reads an element by index, as `tex1Dfetch` does: zeros outside.
    fn fetch(&self, at: i64, note: &mut dyn FnMut(*mut u8)) -> Texel {
        let [width, ..] = self.image.size;
        let row = self.image.geometry.is_none();
        match u64::try_from(at).ok().filter(|at| row && *at < width) {
            Some(at) => {
                let at = self.image.at([at, 0, 0]);
                note(at);
                self.format().texel(at)
            }
            None => self.format().nothing(),
        }
    }

    /// A level, or the last one.
    fn level(&self, level: usize) -> &Image {
        level
            .checked_sub(1)
            .map_or(&self.image, |n| self.smaller.get(n).or(self.smaller.last()).unwrap_or(&self.image))
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
            return Ok(self.format().nothing());
        }
        let place = self.place(read, given);
        if let Some(channel) = read.gathers {
            return Ok(self.gather(channel, &place, note));
        }
        let level = match read.level {
            LevelBy::Nothing => 0,
            LevelBy::Number => self.levels.of_number(f32::from_bits(given[usize::from(LEVEL)])),
            LevelBy::Derivatives if self.levels.anisotropy > 1 => {
                let why = "anisotropic reads are not known to the emulator";
                return Err((Fault::NOT_SUPPORTED, why.to_owned()));
            }
            LevelBy::Derivatives => {
                fidelity::note(Limit::Derivatives);
                self.levels.of_slopes(place.slopes)
            }
        };
        let (level, part) = self.levels.within(level, self.smaller.len());
        if !self.linear && part == 0 {
            return Ok(self.nearest(self.level(level), read.geometry, &place, note));
        }
        fidelity::note(Limit::TextureWeights);
        let mut parts = Vec::new();
        for (level, share) in [(level, 256 - part), (level + 1, part)] {
            if share == 0 {
                continue;
            }
            if self.linear {
                self.filter(self.level(level), read.geometry, &place, share, &mut parts, note);
            } else if let Texel::Floats(values) = self.nearest(self.level(level), read.geometry, &place, note)
            {
                parts.push((values, share));
            } else {
                let why = "linearly filtered integers are not known to the emulator";
                return Err((Fault::NOT_SUPPORTED, why.to_owned()));
            }
        }
        Ok(Texel::Floats(self.format().mean(&parts)))
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
        if self.format().floats() { Texel::Floats(floats) } else { Texel::Integers(integers) }
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
        let [Some(x), Some(y), Some(z)] = at else { return self.format().outside(self.border) };
        let at = image.at([x, y, z]);
        note(at);
        self.format().texel(at)
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

    /// Adds the elements between which a linear filter reads one level, with their shares of so many 256ths.
    fn filter(
        &self,
        image: &Image,
        geometry: Geometry,
        place: &Place,
        share: i64,
        parts: &mut Vec<WeightedElement>,
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
        let edges = |d: usize| if cube && self.seamless { Address::Border } else { self.address[d] };
        let mut low = [0_i64; 3];
        let mut weight = [0_i64; 3];
        for d in 0..dimensions {
            let row = d == 1 && geometry == Geometry::Line;
            let at = if row { 0.0 } else { self.scaled(image, geometry, place, d) } - 0.5;
            // At the edge there is no neighbour whose weight could be rounded.
            let last = image.size[d].saturating_sub(1) as f32;
            let at = if edges(d) == Address::Clamp { at.clamp(0.0, last) } else { at };
            (low[d], weight[d]) = in_256ths(at);
        }
        let mut shares = shares(share, weight);
        let there = |corner: usize, d: usize| low[d].saturating_add(i64::from(corner >> d & 1 == 1));
        let inside = |at: i64| u64::try_from(at).is_ok_and(|at| at < image.size[0]);
        if cube && self.seamless {
            // No element lies beyond a cube's corner. The other three get a third each.
            if let Some(n) = (0..4).find(|n| !inside(there(*n, 0)) && !inside(there(*n, 1))) {
                let third = (shares[n] + 1) / 3;
                shares[n ^ 1] += third;
                shares[n ^ 2] += third;
                shares[n ^ 3] += std::mem::take(&mut shares[n]) - 2 * third;
            }
        }
        for (corner, share) in shares.into_iter().enumerate().filter(|(_, share)| *share != 0) {
            let mut at = [Some(0), Some(0), Some(place.layer)];
            for (d, at) in at.iter_mut().enumerate().take(dimensions) {
                *at = index(edges(d), there(corner, d), image.size[d]);
            }
            if cube && self.seamless && at.contains(&None) {
                let side = place.layer % 6;
                let beyond = over_edge(side, [there(corner, 0), there(corner, 1)], image.size[0]);
                at = beyond.map_or(at, |[x, y, z]| [x, y, place.layer - side + z].map(Some));
            }
            if let Texel::Floats(values) = self.element(image, at, note) {
                parts.push((values, share));
            }
        }
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
            Texel::Floats(values) => self.format().within(values).map(f32::to_bits),
            Texel::Integers(values) => values,
        })
    }
}
