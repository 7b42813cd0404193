//! The contents of a texture outside of its image.

/// The contents outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// The image, repeated.
    Wrap,
    /// The element at the edge.
    Clamp,
    /// The image, repeated and mirrored every second time.
    Mirror,
    /// The border's colour.
    Border,
}

/// The element that an index selects in a dimension of a size; `None` for the border.
pub(super) fn index(address: Address, at: i64, size: u64) -> Option<u64> {
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
