//! What a launch needs of its arguments.

use std::ops::Range;

/// The bytes that a launch may access through one parameter, counted from where its pointer points. Both
/// ranges are empty for a parameter that is no pointer, and for a pointer that the launch does not use.
///
/// [`Checked::needs`](super::Checked::needs) returns one for each parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Need {
    /// The parameter's name in the source. Empty if it is not known.
    pub name: &'static str,
    /// The bytes that may be read.
    pub read: Range<usize>,
    /// The bytes that may be written.
    pub written: Range<usize>,
    /// The address is a multiple of this power of two.
    pub align: usize,
}

impl Need {
    /// Returns the bytes that the memory must have: up to the last one that may be accessed.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.read.end.max(self.written.end)
    }

    /// Returns the elements that a buffer of `T` must have, the last one perhaps in part.
    #[must_use]
    pub fn elements<T>(&self) -> usize {
        self.bytes().div_ceil(size_of::<T>().max(1))
    }
}
