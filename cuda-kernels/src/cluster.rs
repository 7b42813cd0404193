//! Clusters: blocks that access each other's shared memory. They need compute capability 9.0 or newer.
#![expect(unsafe_code, reason = "launches kernels after checking the conditions that they rely on")]

use cuda_safe::error::Detail;
use cuda_safe::launch::{KernelInput, KernelOutput, LaunchConfig};
use cuda_safe::stream::AsStream;
use cuda_safe::{Error, Result};

use crate::{check, kernels};

/// The maximum number of blocks of a grid. Each block counts many values, so few blocks contend for the
/// bins in global memory.
const BLOCKS: u32 = 256;

/// Counts in each bin how often the bin's number occurs among the values, and adds the count to the bin.
///
/// The bins are spread over the shared memory of clusters of `cluster` blocks, so there may be more bins
/// than one block has room for. Values that are not the number of a bin are ignored.
///
/// # Errors
/// - `cluster` is zero.
/// - The memory is on another device than the stream's.
/// - `ClusterSize`: a cluster cannot have so many blocks.
/// - `DynamicShared`: a cluster has no room for so many bins. [`kernels::clusters::cluster_histogram`]
///   can be allowed more blocks and more shared memory.
/// - The launch fails.
#[track_caller]
pub fn cluster_histogram(
    values: impl KernelInput<u32>,
    bins: impl KernelOutput<u32>,
    cluster: u32,
    stream: &impl AsStream,
) -> Result<()> {
    const API: &str = "cluster_histogram";
    check::input(API, "values", &values, values.elements(), stream)?;
    check::output(API, "bins", &bins, bins.elements(), stream)?;
    if cluster == 0 {
        return Err(Error::refused(API, Detail::zero("the number of blocks of a cluster")));
    }
    let Some((bin_count, _)) = check::grid(API, bins.elements())? else { return Ok(()) };
    let Some((count, config)) = check::grid(API, values.elements())? else { return Ok(()) };
    let clusters = config.grid.x.min(BLOCKS).div_ceil(cluster);
    let shared =
        usize::try_from(bin_count.div_ceil(cluster)).unwrap_or(usize::MAX).saturating_mul(size_of::<u32>());
    let config = LaunchConfig::new(clusters.saturating_mul(cluster), check::THREADS)
        .with_shared_bytes(shared)
        .cluster(cluster);
    // SAFETY: the kernel reads the first `count` values and adds to the first `bin_count` bins. The
    // memory has as many, on the stream's device. Each block has room for its part of the bins.
    unsafe {
        kernels::clusters::cluster_histogram.unchecked().launch(
            config,
            stream,
            (values, count, bins, bin_count),
        )
    }
}
