//! A histogram in the shared memory of clusters of blocks.
#![expect(unsafe_code, reason = "launches kernels")]
use anyhow::ensure;
use cuda_kernels::kernels::clusters::cluster_histogram;
use cuda_safe::launch::{ClusterScheduling, LaunchConfig};
use cuda_safe::{Device, DeviceBuffer, Stream, memcpy, memset, sys};

fn main() -> anyhow::Result<()> {
    const COUNT: u32 = 1 << 16;
    const BIN_COUNT: u32 = 1000;
    const CLUSTER: u32 = 4;

    if Device::new(0)?.attribute(sys::cudaDevAttrClusterLaunch)? == 0 {
        println!("This device has no clusters.");
        return Ok(());
    }
    let values: Vec<u32> = (0..COUNT).map(|i| i * i % BIN_COUNT).collect();
    let mut bins = vec![0_u32; BIN_COUNT as usize];

    let d_values = DeviceBuffer::from_slice(&values)?;
    let mut d_bins = DeviceBuffer::<u32>::alloc(bins.len())?;
    memset(&mut d_bins, 0)?;

    // Four blocks share the bins: each has a quarter of them in its shared memory.
    let shared = (BIN_COUNT / CLUSTER) as usize * size_of::<u32>();
    let config = LaunchConfig::new(4 * CLUSTER, 256)
        .with_shared_bytes(shared)
        .cluster(CLUSTER)
        .cluster_scheduling(ClusterScheduling::SPREAD);

    let at_once = cluster_histogram.max_active_clusters(config)?;
    ensure!(at_once >= 1);
    let (stream, arguments) = (Stream::legacy()?, (&d_values, COUNT, &mut d_bins, BIN_COUNT));
    // SAFETY: there are as many values and bins as the kernel's counts, and each block has room for its
    // part of the bins.
    unsafe { cluster_histogram.unchecked().launch(config, &stream, arguments) }?;
    memcpy(&mut bins, &d_bins)?;

    let sum: u32 = bins.iter().sum();
    let used = bins.iter().filter(|bin| **bin != 0).count();
    println!("{sum} squares end in {used} of {BIN_COUNT} ways");
    for bin in (0..=100).step_by(25) {
        println!("{bin:03}: {}", bins[bin]);
    }
    ensure!(sum == COUNT);
    Ok(())
}
