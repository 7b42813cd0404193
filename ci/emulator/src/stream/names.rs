//! The ids of streams and operations, which everything that waits for something keeps.

/// The id of a stream, never used again.
pub(crate) type StreamId = u64;

/// The id of an operation, never used again; zero is no operation's.
pub(crate) type OperationId = u64;
