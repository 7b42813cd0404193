//! What the compiler is told of the program's ways.

/// Says that this way is a rare one: its code is put elsewhere, and the usual one goes straight on. Behind the driver the processor has
/// forgotten where branches go, and takes each that goes elsewhere for one that does not, so it costs as much as a dozen instructions.
#[cold]
#[inline(never)]
pub(crate) fn rare() {}
