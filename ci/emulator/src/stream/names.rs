//! The names of streams and operations, which everything that waits for something keeps.

/// The name of a stream, never used again.
pub(crate) type Key = u64;

/// The name of an operation; zero names no operation.
pub(crate) type Tick = u64;
