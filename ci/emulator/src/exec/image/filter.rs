//! The weights of a linear filter, as an H200 rounds them.
#![expect(clippy::cast_possible_truncation, reason = "coordinates are rounded to 256ths")]

/// A number in 256ths, rounded, with its whole part and the rest.
pub(super) fn in_256ths(number: f32) -> (i64, i64) {
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
pub(super) fn shares(share: i64, [x, y, z]: [i64; 3]) -> [i64; 8] {
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
