//! Which part of a box is copied to which part of another one.

/// A copy of `extent` elements from the corner `from` of one box to the corner `to` of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) dimensions: usize,
    pub(crate) to: [usize; 3],
    pub(crate) from: [usize; 3],
    pub(crate) extent: [usize; 3],
    /// Whether both parts are within their boxes.
    pub(crate) fits: bool,
}

impl Case {
    pub(crate) fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// All elements, counted from the corner.
    pub(crate) fn offsets(&self) -> impl Iterator<Item = [usize; 3]> {
        let [width, height, depth] = self.extent;
        (0..depth).flat_map(move |z| (0..height).flat_map(move |y| (0..width).map(move |x| [x, y, z])))
    }
}

/// The size of the boxes.
pub(crate) fn size(dimensions: usize) -> [usize; 3] {
    match dimensions {
        1 => [37, 1, 1],
        2 => [13, 7, 1],
        _ => [11, 5, 4],
    }
}

/// All cases with this many dimensions.
pub(crate) fn cases(dimensions: usize) -> Vec<Case> {
    let size = size(dimensions);
    let of = |to, from, extent: [usize; 3], fits| Case { dimensions, to, from, extent, fits };
    let used = |wanted: [usize; 3]| {
        let mut used = [1; 3];
        used[..dimensions].copy_from_slice(&wanted[..dimensions]);
        used
    };
    let corner = |wanted: [usize; 3]| used(wanted).map(|n| n - 1);
    let origin = [0; 3];
    let last = size.map(|n| n - 1);
    let mut all = vec![
        of(origin, origin, size, true),
        of(corner([4, 2, 2]), corner([2, 3, 1]), used([6, 3, 2]), true),
        of(corner([2, 2, 2]), corner([6, 1, 1]), used([5, 4, 3]), true),
        of(last, origin, [1; 3], true),
        of(corner([3, 2, 1]), last, [1; 3], true),
    ];
    for axis in 0..dimensions {
        // Nothing along one axis and everything along the others; a line; and one past the end, on either
        // side.
        let mut none = size;
        none[axis] = 0;
        all.push(of(origin, origin, none, true));
        let mut line = [1; 3];
        line[axis] = size[axis];
        all.push(of(origin, origin, line, true));
        let mut one = origin;
        one[axis] = 1;
        all.push(of(one, origin, size, false));
        all.push(of(origin, one, size, false));
        let mut more = size;
        more[axis] += 1;
        all.push(of(origin, origin, more, false));
    }
    all
}
