//! The faces of a cube: the one that a direction meets, and the elements beyond its edges.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "coordinates are rounded to elements, which is what they are for"
)]

use super::address::{Address, index};

/// The axis of a direction that is longest decides the face of a cube: that face, the length, and the other
/// two numbers along the face's rows and columns. Of equal axes the last one decides.
pub(super) fn face([x, y, z]: [f32; 3]) -> (u64, [f32; 3]) {
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
pub(super) fn on_face(face: u64, [x, y, z]: [f32; 3]) -> [f32; 3] {
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
pub(super) fn over_edge(face_of: u64, [column, row]: [i64; 2], size: u64) -> Option<[u64; 3]> {
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
