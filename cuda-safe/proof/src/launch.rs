//! The values of a launch.

use crate::ir::{Clusters, Kernel};

/// What a launch passes to a kernel, and how many threads run it.
#[derive(Clone, Copy, Debug)]
pub struct Launch<'a> {
    /// Blocks of the grid, or clusters if the kernel [counts these](Kernel::counts_clusters).
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Blocks of a cluster, if the launch names them. Those that the kernel declares are known from its PTX.
    pub cluster: Option<[u32; 3]>,
    /// Whether all blocks run at once, and the driver passes the workspace of the grid's barrier.
    pub is_cooperative: bool,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// The arguments, in the order of the parameters.
    pub arguments: &'a [Argument<'a>],
}

impl Launch<'_> {
    /// Returns the launch with grid, block and clusters as the kernel's threads see them, or why that is not
    /// known.
    ///
    /// An H200 takes the grid of a kernel that counts clusters as a number of clusters, runs blocks of
    /// `.reqntid` whether the launch has blocks of one thread or of these, and refuses other blocks.
    pub(crate) fn as_seen_by(&self, kernel: &Kernel) -> Result<Self, String> {
        let Some(Clusters { blocks, threads }) = kernel.clusters else { return Ok(*self) };
        let Some(threads) = threads else {
            return match self.cluster {
                Some(cluster) if cluster != blocks => Err(format!(
                    "the launch has clusters of {cluster:?} blocks, the kernel declares {blocks:?}"
                )),
                _ => Ok(Self { cluster: Some(blocks), ..*self }),
            };
        };
        if self.cluster.is_some() || self.is_cooperative {
            let what = if self.is_cooperative { "be cooperative" } else { "name clusters" };
            return Err(format!("its grid counts clusters (`.blocksareclusters`): a launch must not {what}"));
        }
        if self.block != [1, 1, 1] && self.block != threads {
            let own = self.block;
            return Err(format!(
                "its blocks have {threads:?} threads, the launch has {own:?}: launch 1 or those"
            ));
        }
        let mut grid = self.grid;
        for (count, blocks) in grid.iter_mut().zip(blocks) {
            let product = count.checked_mul(blocks).ok_or("its clusters are more blocks than a grid has");
            *count = product?;
        }
        Ok(Self { grid, block: threads, cluster: Some(blocks), ..*self })
    }
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
