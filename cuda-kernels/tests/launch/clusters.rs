//! Launches with attributes: clusters of blocks, and refused launches.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use cuda_kernels::cluster_histogram;
use cuda_kernels::kernels::clusters::{self, cluster_pairs, cluster_places};
use cuda_kernels::kernels::{self, add_one};
use cuda_safe::error::{Detail, ErrorKind};
use cuda_safe::launch::{ClusterScheduling, Dim3, Kernel, LaunchConfig};
use cuda_safe::stream::{AccessPolicy, AccessProperty, MemSyncDomain, MemSyncDomainMap};
use cuda_safe::{Device, DeviceBuffer, Result, Stream, launch, sys};
use cuda_testing::alone;

type Places = Kernel<(*mut u32,)>;

/// The numbers that each block writes.
const NUMBERS: usize = clusters::CLUSTER_NUMBERS as usize;

/// Returns whether the device has clusters, and prints a message if it has none.
fn has_clusters() -> Result<bool> {
    let has = Device::current()?.attribute(sys::cudaDevAttrClusterLaunch)? != 0;
    if !has {
        println!("this device has no clusters");
    }
    Ok(has)
}

/// Returns what each block of a grid reports about its position.
fn places(kernel: &Places, config: LaunchConfig<'_>) -> Result<Vec<[u32; NUMBERS]>> {
    let stream = Stream::new()?;
    let blocks = usize::try_from(config.grid.count()).unwrap();
    let mut numbers = DeviceBuffer::from_slice(&vec![u32::MAX; blocks * NUMBERS])?;
    // SAFETY: there is room for the numbers of each block.
    unsafe { kernel.launch(config, &stream, (&mut numbers,)) }?;
    Ok(numbers.to_vec()?.chunks_exact(NUMBERS).map(|of| of.try_into().unwrap()).collect())
}

/// A grid of blocks of 64 threads.
fn blocks(grid: impl Into<Dim3>) -> LaunchConfig<'static> {
    LaunchConfig::new(grid, 64)
}

#[test]
fn blocks_of_a_cluster_know_their_places_and_reach_each_others_memory() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    let config = blocks((6, 4, 1)).cluster((2, 2)).cluster_scheduling(ClusterScheduling::SPREAD);
    let found = places(&cluster_places, config)?;
    for (block, of) in found.iter().enumerate() {
        let (x, y) = (u32::try_from(block % 6).unwrap(), u32::try_from(block / 6).unwrap());
        assert_eq!(*of, [x % 2 + 2 * (y % 2), 4, x % 2, y % 2, 0, x / 2, 3, 6], "block {block}");
    }
    let deep = places(&cluster_places, blocks((2, 1, 6)).cluster((2, 1, 3)))?;
    assert_eq!(deep[7], [1, 6, 1, 0, 0, 0, 1, 15]);
    let alone = places(&cluster_places, blocks(3))?;
    assert_eq!(alone[2], [0, 1, 0, 0, 0, 2, 3, 0]);
    Ok(())
}

#[test]
fn clusters_that_the_source_declares_need_no_attribute() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    assert_eq!(cluster_pairs.attributes()?.required_cluster(), Some((2, 1).into()));
    assert_eq!(cluster_places.attributes()?.required_cluster(), None);
    let found = places(&cluster_pairs, blocks(4))?;
    assert_eq!(found[3], [1, 2, 1, 0, 0, 1, 2, 1]);
    let error = places(&cluster_pairs, blocks(3)).unwrap_err();
    assert_eq!(
        error.detail().as_str(),
        "the grid's x is 3 blocks, which clusters of 2 along it do not divide: launch 4, or smaller \
         clusters"
    );
    let error = places(&cluster_pairs, blocks(4).cluster(4)).unwrap_err();
    let detail =
        "clusters of [4, 1, 1] blocks were asked for, but the kernel's source says [2, 1, 1]: ask for none";
    assert_eq!(error.detail().as_str(), detail);
    assert_eq!(places(&cluster_pairs, blocks(4).cluster(2))?[3][1], 2);
    Ok(())
}

#[test]
fn impossible_clusters_are_refused_by_number_and_work_goes_on() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    let error = places(&cluster_places, blocks(7).cluster(2)).unwrap_err();
    assert!(error.is_refused() && error.api() == "cluster_places", "{error}");
    assert_eq!(
        error.detail().as_str(),
        "the grid's x is 7 blocks, which clusters of 2 along it do not divide: launch 8, or smaller clusters",
        "{error}"
    );
    assert_eq!(error.call_site().file(), file!());
    let error = places(&cluster_places, blocks(7).cluster(0)).unwrap_err();
    assert_eq!(error.detail(), &Detail::zero("the cluster's x"), "{error}");
    cluster_places.set_non_portable_clusters(false)?;
    let error = places(&cluster_places, blocks(16).cluster(16)).unwrap_err();
    let detail = "a cluster has 16 blocks, at most 8 are possible for this launch; \
                  Kernel::set_non_portable_clusters allows more than 8 where the device can";
    assert_eq!((error.detail().as_str(), error.detail().kind()), (detail, ErrorKind::Limit));
    assert_eq!(places(&cluster_places, blocks(8).cluster(8))?[7][0], 7);
    Ok(())
}

#[test]
fn more_than_eight_blocks_run_where_that_is_allowed_and_possible() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    // The settings of a kernel hold for the whole process.
    let kernel = &clusters::cluster_histogram;
    let shape = LaunchConfig::new(16, 256);
    assert!(!kernel.attributes()?.non_portable_clusters());
    assert_eq!(kernel.max_potential_cluster_size(shape)?, 8);
    kernel.set_non_portable_clusters(true)?;
    kernel.set_cluster_scheduling(ClusterScheduling::LOAD_BALANCING)?;
    assert!(kernel.attributes()?.non_portable_clusters());
    let most = kernel.max_potential_cluster_size(shape)?;
    assert!((8..=16).contains(&most), "{most}");
    if most == 16 {
        let stream = Stream::new()?;
        let values = DeviceBuffer::from_slice(&(0..4096).map(|n| n % 1000).collect::<Vec<u32>>())?;
        let mut bins = DeviceBuffer::from_slice(&[0_u32; 1000])?;
        cluster_histogram(&values, &mut bins, 16, &stream)?;
        let expected: Vec<u32> = (0..1000).map(|bin| if bin < 96 { 5 } else { 4 }).collect();
        assert_eq!(bins.to_vec()?, expected);
        assert!(kernel.max_active_clusters(shape.cluster(16))? >= 1);
    }
    kernel.set_cluster_scheduling(ClusterScheduling::DEFAULT)?;
    kernel.set_non_portable_clusters(false)
}

#[test]
fn fewer_clusters_run_at_once_the_larger_they_are() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    let at_once =
        |blocks: u32| cluster_places.max_active_clusters(LaunchConfig::new(16, 1024).cluster(blocks));
    let (ones, twos, eights) = (at_once(1)?, at_once(2)?, at_once(8)?);
    assert!(ones >= 2 * twos && twos >= 4 * eights && eights >= 1, "{ones} {twos} {eights}");
    let error = cluster_places.max_active_clusters(LaunchConfig::new(15, 64).cluster(2)).unwrap_err();
    assert_eq!(
        error.detail().as_str(),
        "the grid's x is 15 blocks, which clusters of 2 along it do not divide: launch 16, or smaller \
         clusters"
    );
    Ok(())
}

#[test]
fn a_histogram_counts_in_the_shared_memory_of_a_whole_cluster() -> Result<()> {
    let _alone = alone();
    if !has_clusters()? {
        return Ok(());
    }
    let stream = Stream::non_blocking()?;
    // More bins than one block has room for by default, and values without a bin.
    let bins = 20_000_u32;
    let values: Vec<u32> = (0..50_000_u32).map(|n| n.wrapping_mul(2_654_435_761) % (bins + 100)).collect();
    let mut expected = vec![1_u32; 20_000];
    for value in values.iter().filter(|value| **value < bins) {
        expected[usize::try_from(*value).unwrap()] += 1;
    }
    let values = DeviceBuffer::from_slice(&values)?;
    for cluster in [2, 4, 8] {
        let mut counts = DeviceBuffer::from_slice(&vec![1_u32; 20_000])?;
        cluster_histogram(&values, &mut counts, cluster, &stream)?;
        assert!(counts.to_vec()? == expected, "clusters of {cluster}");
    }
    let mut counts = DeviceBuffer::from_slice(&[0_u32; 3])?;
    let error = cluster_histogram(&values, &mut counts, 0, &stream).unwrap_err();
    assert!(error.detail().as_str().contains("is zero, at least 1 is needed"), "{error}");
    let empty = DeviceBuffer::<u32>::alloc(0)?;
    cluster_histogram(&empty, &mut counts, 2, &stream)?;
    assert_eq!(counts.to_vec()?, [0; 3]);
    Ok(())
}

#[test]
fn attributes_change_how_a_kernel_runs_and_not_what_it_does_nor_its_order() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let mut data = DeviceBuffer::from_slice(&[0_i32; 256])?;
    let table = DeviceBuffer::<f32>::alloc(256)?;
    let window =
        AccessPolicy::new(&table.slice(..)?, 0.5, AccessProperty::Persisting, AccessProperty::Normal);
    let config = LaunchConfig::new(1, 256)
        .priority(-1)
        .mem_sync_domain(MemSyncDomain::REMOTE)
        .mem_sync_domain_map(MemSyncDomainMap { default: 0, remote: 1 })
        .access_policy(window)
        .cooperative();
    for turn in 0..10 {
        add_one.launch(config, &streams[turn % 2], (&mut data, 256))?;
        launch!(kernels::double_values<<<1, 256, 0, &streams[(turn + 1) % 2]>>>(&mut data, 256))?;
    }
    assert_eq!(data.to_vec()?, [(1 << 11) - 2; 256]);
    let (mut at, mut count) = (data.as_mut_ptr(), 256_u32);
    let mut values = [(&raw mut at).cast(), (&raw mut count).cast()];
    // SAFETY: there is a live value for each parameter, and the memory is listed.
    unsafe { add_one.launch_raw(config, &streams[0], &[data.access_mut()], &mut values) }?;
    assert_eq!(data.to_vec()?, [(1 << 11) - 1; 256]);
    Ok(())
}

#[test]
fn more_blocks_than_fit_at_once_are_refused_however_that_is_asked_for() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 4])?;
    let together = LaunchConfig::new(1 << 20, 1024).cooperative().priority(0);
    let refused = add_one.launch(together, &stream, (&mut data, 4));
    let error = refused.unwrap_err();
    let what = "the number of blocks that wait for each other";
    assert!(error.detail().as_str().starts_with(&format!("{what} is 1048576, at most ")), "{error}");
    Ok(())
}

#[test]
fn a_launch_that_orders_itself_is_refused_in_a_capture_and_clusters_are_captured() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 256])?;
    // SAFETY: refused before it is launched.
    let itself = unsafe { LaunchConfig::new(1, 256).programmatic_stream_serialization() };
    let captured = stream.capture(|captured| {
        let refused = add_one.launch(itself, captured, (&mut data, 256));
        let error = refused.unwrap_err();
        assert_eq!(error.detail(), &Detail::CAPTURING, "{error}");
        add_one.launch(LaunchConfig::new(1, 256).priority(0), captured, (&mut data, 256))
    });
    let mut exec = captured?.instantiate()?;
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    assert_eq!(data.to_vec()?, [2; 256]);
    if !has_clusters()? {
        return Ok(());
    }
    let mut numbers = DeviceBuffer::from_slice(&[0_u32; 4 * NUMBERS])?;
    let graph = stream.capture(|captured| {
        let config = LaunchConfig::new(4, 64).cluster(4);
        // SAFETY: there is room for the numbers of each block.
        unsafe { cluster_places.unchecked().launch(config, captured, (&mut numbers,)) }
    })?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(numbers.to_vec()?[3 * NUMBERS..3 * NUMBERS + 2], [3, 4]);
    Ok(())
}
