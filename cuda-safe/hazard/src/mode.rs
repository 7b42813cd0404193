//! What an access does with its bytes.

/// Whether bytes are read or written. Bytes that are both read and written are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Only read: any number of reads may run at once.
    Read,
    /// Written, or read and written.
    Write,
}
