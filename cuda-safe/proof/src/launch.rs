//! The values of a launch.

/// What a launch passes to a kernel, and how many threads run it.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, `[1, 1, 1]` without clusters. Those that the kernel itself declares count, too.
    pub cluster: [u32; 3],
    /// Whether all blocks run at once, and the driver passes the workspace of the grid's barrier.
    pub is_cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments, in the order of the parameters.
    pub arguments: &'a [Argument<'a>],
}

/// The bytes of an argument.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    /// The bytes of the value. Those of pointers do not count.
    pub bytes: &'a [u8],
    /// The offsets of pointers among the bytes, each to memory of its own that the launch states a length of.
    pub pointers: &'a [u64],
}

impl<'a> Argument<'a> {
    /// A value that has no pointer in it.
    #[must_use]
    pub fn value(bytes: &'a [u8]) -> Self {
        Self { bytes, pointers: &[] }
    }

    /// A pointer.
    #[must_use]
    pub fn pointer() -> Self {
        Self { bytes: &[0; 8], pointers: &[0] }
    }
}
