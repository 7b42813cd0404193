//! Boxes of elements, and their contents.

use std::fmt::Debug;

use cuda_safe::element::Pod;

/// The elements of a box, and their layout in linear memory: rows of `pitch` elements, layers of
/// `layer_rows` rows.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    pub size: [usize; 3],
    pub pitch: usize,
    pub layer_rows: usize,
}

impl Bounds {
    /// The number of elements of linear memory for the box and its guards, including those after the last
    /// row.
    pub fn len(&self) -> usize {
        self.pitch * self.layer_rows * self.size[2] + 5
    }

    /// The position of an element in linear memory.
    pub fn index(&self, [x, y, z]: [usize; 3]) -> usize {
        (z * self.layer_rows + y) * self.pitch + x
    }

    /// Rows and layers without gaps.
    pub fn packed(size: [usize; 3]) -> Self {
        Self { size, pitch: size[0], layer_rows: size[1] }
    }

    /// The elements of the box without the guards, in memory order.
    pub fn inside<T: Copy>(&self, all: &[T]) -> Vec<T> {
        let [width, height, depth] = self.size;
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| [0, y, z]));
        rows.flat_map(|row| all[self.index(row)..][..width].iter().copied()).collect()
    }

    /// The reverse: puts elements of the box between the guards.
    pub fn put_inside<T: Copy>(&self, all: &mut [T], inside: &[T]) {
        let [width, height, depth] = self.size;
        let rows = (0..depth).flat_map(|z| (0..height).map(move |y| [0, y, z]));
        for (row, elements) in rows.zip(inside.chunks(width)) {
            all[self.index(row)..][..width].copy_from_slice(elements);
        }
    }
}

/// The element types of boxes.
pub trait Element: Pod + Debug + PartialEq + Send + Sync + 'static {
    /// An element that differs from its neighbours, and between seeds.
    fn nth(seed: usize, index: usize) -> Self;

    /// The element that a box and its guards are filled with.
    fn pattern(seed: usize, bounds: Bounds) -> Vec<Self> {
        (0..bounds.len()).map(|index| Self::nth(seed, index)).collect()
    }
}

fn mixed(seed: usize, index: usize) -> [u8; 8] {
    let seed = u64::try_from(seed * 1_000_003 + index).unwrap();
    (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (seed << 7)).to_be_bytes()
}

impl Element for u8 {
    fn nth(seed: usize, index: usize) -> Self {
        mixed(seed, index)[0]
    }
}

impl Element for [u16; 3] {
    fn nth(seed: usize, index: usize) -> Self {
        let [a, b, c, d, e, f, ..] = mixed(seed, index);
        [u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]), u16::from_be_bytes([e, f])]
    }
}

impl Element for f32 {
    fn nth(seed: usize, index: usize) -> Self {
        let [a, b, ..] = mixed(seed, index);
        f32::from(u16::from_be_bytes([a, b]))
    }
}

impl Element for i32 {
    fn nth(seed: usize, index: usize) -> Self {
        let [a, b, c, d, ..] = mixed(seed, index);
        i32::from_be_bytes([a, b, c, d])
    }
}
