//! Clusters: blocks that share their shared memory. For devices of compute capability 9.0 and newer.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use cuda_safe::error::Detail;
use cuda_safe::launch::{KernelInput, KernelOutput, LaunchAttributes, LaunchConfig};
use cuda_safe::stream::AsStream;
use cuda_safe::{Error, Result};

use crate::{check, kernels};

/// Blocks of a grid, at most: each counts many values, so that few of them meet at the bins in global memory.
const BLOCKS: u32 = 256;

/// Adds to each of the bins how often its number is among the values, with the bins spread over the shared
/// memory of clusters of so many blocks: more of them than one block has room for. Values that are no bin's
/// number count nowhere.
///
/// # Errors
/// No blocks; memory of another device than the stream's; `ClusterSize` and `DynamicShared` for more blocks
/// than a cluster can have, and more bins than that has room for ([`kernels::clusters::cluster_histogram`]
/// can be allowed more of both); what the launch reports.
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
        return Err(Error::refused(API, Detail::Zero { what: "the number of blocks of a cluster" }));
    }
    let Some((bin_count, _)) = check::grid(API, bins.elements())? else { return Ok(()) };
    let Some((count, config)) = check::grid(API, values.elements())? else { return Ok(()) };
    let clusters = config.grid.x.min(BLOCKS).div_ceil(cluster);
    let shared =
        usize::try_from(bin_count.div_ceil(cluster)).unwrap_or(usize::MAX).saturating_mul(size_of::<u32>());
    let config =
        LaunchConfig::new(clusters.saturating_mul(cluster), check::THREADS).with_shared_bytes(shared);
    let attributes = LaunchAttributes::new().cluster(cluster);
    // SAFETY: the kernel reads the first `count` values and adds to the first `bin_count` bins, and there are
    // as many, on the stream's device; each block has room for its part of the bins.
    unsafe {
        kernels::clusters::cluster_histogram.launch_ex(
            config,
            &attributes,
            stream,
            (values, count, bins, bin_count),
        )
    }
}
