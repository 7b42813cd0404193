//! Launches: shapes, shared memory, every syntax, and refused launches.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use cuda_kernels::kernels::{self, add_one, arguments_bounded, arguments_meet, arguments_shape, vector_add};
use cuda_safe::device::CacheConfig;
use cuda_safe::error::Detail;
use cuda_safe::graph::node;
use cuda_safe::launch::{Dim3, KernelSetting, LaunchConfig, OccupancyFlags, Parameter};
use cuda_safe::{
    AsStream, Device, DeviceBuffer, Graph, Result, Stream, hazard, launch, memcpy, memset_async, sys,
};
use cuda_testing::alone;

/// Returns the number of threads that ran, and the words of dynamic shared memory that all blocks could
/// use.
fn shape<'a>(config: impl Into<LaunchConfig<'a>>, words: u32, stream: &impl AsStream) -> Result<(u32, u32)> {
    let mut threads = DeviceBuffer::from_slice(&[0_u32])?;
    let mut shared = DeviceBuffer::from_slice(&[0_u32])?;
    let config = config.into().with_shared_bytes(usize::try_from(words).unwrap() * 4);
    arguments_shape.launch(config, stream, (&mut threads, &mut shared, words))?;
    Ok((threads.to_vec()?[0], shared.to_vec()?[0]))
}

#[test]
fn one_two_and_three_dimensions_run_as_many_threads_as_they_say() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    assert_eq!(shape((3, 32), 0, &stream)?, (96, 0));
    assert_eq!(shape(((2, 3), (8, 4)), 5, &stream)?, (192, 30));
    assert_eq!(shape(((2, 1, 3), (4, 2, 2)), 100, &stream)?, (96, 600));
    assert_eq!(shape((1, 1024), 0, &stream)?, (1024, 0));
    Ok(())
}

#[test]
fn the_macro_takes_any_expression_as_kernel_dimension_and_argument() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::new()?, Stream::new()?];
    let mut buffers = [DeviceBuffer::from_slice(&[0_i32; 64])?];
    let count: u32 = 64;
    let block = Dim3 { x: 32, y: 1, z: 1 };
    launch!(add_one<<<2, 32, 0, &streams[0]>>>(&mut buffers[0], count))?;
    launch!(kernels::add_one<<<count.div_ceil(32), block, 0, &streams[1]>>>(&mut buffers[0], 64))?;
    launch!(cuda_kernels::kernels::add_one<<<(count >> 5, 1), (32, 1, 1), 0, &streams[0],>>>(&mut buffers[0], count,))?;
    launch!({ &kernels::add_one }<<<1 + 1, 32, usize::MIN, &streams[1].as_stream()>>>(buffers[0].as_slice_mut(), count))?;
    let kernel = &kernels::add_one;
    launch!(kernel<<<2, 32, 0, &Stream::legacy()?>>>(&mut buffers[0].as_slice_mut(), count))?;
    assert_eq!(buffers[0].to_vec()?, [5; 64]);
    Ok(())
}

#[test]
fn raw_pointers_are_arguments() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let a = DeviceBuffer::from_slice(&[1.0_f32, 2.0])?;
    let mut sum = DeviceBuffer::from_slice(&[0.0_f32; 2])?;
    let (a_pointer, out) = (a.as_ptr(), sum.as_mut_ptr());
    // SAFETY: both have two elements and are not used before the stream is done.
    unsafe { launch!(vector_add.unchecked()<<<1, 2, 0, &stream>>>(a_pointer, &a, out, 2)) }?;
    stream.synchronize()?;
    assert_eq!(sum.to_vec()?, [2.0, 4.0]);
    Ok(())
}

#[test]
fn streams_that_conflict_are_ordered_by_their_arguments() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let mut data = DeviceBuffer::from_slice(&[1_i32; 256])?;
    for turn in 0..10 {
        launch!(kernels::double_values<<<1, 256, 0, &streams[turn % 2]>>>(&mut data, 256))?;
        launch!(kernels::add_one<<<1, 256, 0, &streams[(turn + 1) % 2]>>>(&mut data, 256))?;
    }
    assert_eq!(data.to_vec()?, [(1 << 11) - 1; 256]);
    Ok(())
}

#[test]
fn impossible_dimensions_are_refused_before_the_call_and_work_goes_on() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 4])?;
    let wrong: [(Dim3, Dim3, Detail); 4] = [
        (0.into(), 32.into(), Detail::zero("the grid's x")),
        (1.into(), (8, 0).into(), Detail::zero("the block's y")),
        (1.into(), 4096.into(), Detail::limit("the block's x", 4096, 1024)),
        ((1, 1 << 20).into(), 1.into(), Detail::limit("the grid's y", 1 << 20, 65_535)),
    ];
    for (grid, block, detail) in wrong {
        let refused = launch!(add_one<<<grid, block, 0, &stream>>>(&mut data, 4));
        let error = refused.unwrap_err();
        assert!(error.is_refused() && *error.detail() == detail, "{error}");
        assert_eq!((error.api(), error.call_site().file()), ("add_one", file!()));
    }
    launch!(add_one<<<1, 4, 0, &stream>>>(&mut data, 4))?;
    assert_eq!(data.to_vec()?, [1; 4]);
    Ok(())
}

#[test]
fn a_block_too_large_for_this_kernel_names_both_numbers() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut out = DeviceBuffer::from_slice(&[7_u32; 128])?;
    let refused = launch!(arguments_bounded<<<1, 128, 0, &stream>>>(&mut out));
    let error = refused.unwrap_err();
    let what = "the number of threads of a block";
    assert_eq!(error.detail(), &Detail::limit(what, 128, 64), "{error}");
    assert_eq!(error.call_site().file(), file!());
    launch!(arguments_bounded<<<1, 64, 0, &stream>>>(&mut out))?;
    assert_eq!(out.to_vec()?[60..68], [60, 61, 62, 63, 7, 7, 7, 7]);
    Ok(())
}

#[test]
fn shared_memory_beyond_the_default_is_refused_with_the_limit_and_can_be_raised() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let words = 15_000;
    let error = shape((1, 32), words, &stream).unwrap_err();
    let text = error.detail().as_str();
    let numbers: Vec<u64> = text.split([' ', ';']).filter_map(|word| word.parse().ok()).collect();
    let [60_000, limit, most] = numbers[..] else { panic!("{error}") };
    assert!(limit <= 49_152 && most >= 60_000, "{error}");
    assert!(text.contains("; Kernel::set_max_dynamic_shared_bytes allows it up to "), "{error}");
    let beyond = usize::try_from(most).unwrap() + 1;
    let refused = arguments_shape.set_max_dynamic_shared_bytes(beyond).unwrap_err();
    let what = "dynamic shared memory in bytes";
    assert_eq!(refused.detail(), &Detail::limit(what, most + 1, most), "{refused}");
    arguments_shape.set_max_dynamic_shared_bytes(60_000)?;
    assert_eq!(arguments_shape.attributes()?.max_dynamic_shared_bytes(), 60_000);
    assert_eq!(shape((1, 32), words, &stream)?, (32, words));
    Ok(())
}

#[test]
fn a_stream_of_another_device_than_the_current_one_runs_the_kernel_there() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: every stream is of the current one");
        return Ok(());
    }
    let (here, there) = (Device::new(0)?, Device::new(1)?);
    let stream = there.with_current(Stream::new)?;
    let mut data = DeviceBuffer::<i32>::alloc_on(there, 8)?;
    memcpy(&mut data, &[1; 8])?;
    here.set_current()?;
    launch!(add_one<<<1, 8, 0, &stream>>>(&mut data, 8))?;
    assert_eq!(Device::current()?, here);
    cuda_safe::error::peek_last()?;
    assert_eq!(data.to_vec()?, [2; 8]);
    Ok(())
}

#[test]
fn attributes_say_what_the_header_says() -> Result<()> {
    let _alone = alone();
    assert_eq!(arguments_bounded.attributes()?.max_threads_per_block(), 64);
    let tiled = kernels::matrix_multiply_tiled.attributes()?;
    assert_eq!(tiled.static_shared_bytes(), 2 * 16 * 16 * 4);
    assert!(tiled.ptx_version() >= 75, "{tiled:?}");
    Ok(())
}

#[test]
fn occupancy_falls_when_blocks_need_more() -> Result<()> {
    let _alone = alone();
    let small = add_one.blocks_per_multiprocessor(128, 0)?;
    let large = add_one.blocks_per_multiprocessor(1024, 0)?;
    assert!(small > large && large >= 1, "{small} blocks of 128 threads, {large} of 1024");
    Ok(())
}

#[test]
fn the_block_size_that_keeps_the_most_threads_busy_is_found_within_limits() -> Result<()> {
    let _alone = alone();
    let processors = Device::current()?.properties()?.multi_processor_count();
    let (grid, block) = arguments_bounded.max_potential_block_size(|_| 0, 0)?;
    assert_eq!((block, grid % processors), (64, 0), "the kernel takes blocks of up to 64 threads");
    assert_eq!(arguments_bounded.max_potential_block_size(|_| 0, 48)?.1 % 16, 0);
    // If blocks of more than 96 threads need much shared memory, more threads run in small blocks.
    let (grid, block) =
        add_one.max_potential_block_size(|threads| if threads > 96 { 48_000 } else { 0 }, 256)?;
    let (each, of_96) =
        (add_one.blocks_per_multiprocessor(block, 0)?, add_one.blocks_per_multiprocessor(96, 0)?);
    assert_eq!(grid, processors * each);
    assert!(block <= 96 && block * each >= 96 * of_96, "{each} blocks of {block} threads, {of_96} of 96");
    Ok(())
}

#[test]
fn shared_memory_that_is_available_is_what_so_many_blocks_can_have() -> Result<()> {
    let _alone = alone();
    // With few blocks, the limit is that of a kernel without an increased limit.
    let one = arguments_shape.available_dynamic_shared_bytes(1, 256)?;
    let most = arguments_shape.blocks_per_multiprocessor(256, 0)?;
    let of_most = arguments_shape.available_dynamic_shared_bytes(most, 256)?;
    assert!(one > of_most && of_most > 0, "{one} bytes, and {of_most} for each of {most} blocks");
    // An H200 reserves some of it, and then one block fewer fits.
    let found = arguments_shape.blocks_per_multiprocessor(256, of_most)?;
    assert!(found == most || found + 1 == most, "{found} blocks of {of_most} bytes, not {most}");
    let too_many = arguments_shape.available_dynamic_shared_bytes(u32::MAX, 256).unwrap_err();
    assert!(too_many.is_refused(), "{too_many}");
    arguments_shape.set_shared_carveout(Some(100))?;
    arguments_shape.set_shared_carveout(None)?;
    let wrong = arguments_shape.set_shared_carveout(Some(101)).unwrap_err();
    assert_eq!(wrong.name(), "cudaErrorInvalidValue");
    Ok(())
}

#[test]
fn the_unchecked_handle_launches_the_same_kernel_on_streams_and_in_graphs() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 64])?;
    // SAFETY: here and below, the count is the buffer's.
    unsafe { launch!(add_one.unchecked()<<<1, 64, 0, &stream>>>(&mut data, 64)) }?;
    // SAFETY: as above.
    unsafe { add_one.unchecked().launch((1, 64), &stream, (&mut data, 64)) }?;
    let mut graph = Graph::new()?;
    // SAFETY: as above.
    unsafe { graph.add(&[], node::kernel(&add_one.unchecked(), (1, 64), (&mut data, 64))) }?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(data.to_vec()?, [3; 64]);
    Ok(())
}

#[test]
fn blocks_of_a_cooperative_launch_wait_for_each_other_and_too_many_are_refused() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut arrived = DeviceBuffer::from_slice(&[0_u32])?;
    let mut seen = DeviceBuffer::from_slice(&[0_u32; 6])?;
    let (meet, config) = (arguments_meet.unchecked(), LaunchConfig::new(6, 64).cooperative());
    // SAFETY: there is an element for each block.
    unsafe { meet.launch(config, &stream, (&mut arrived, &mut seen)) }?;
    assert_eq!(seen.to_vec()?, [6; 6]);

    let each = arguments_meet.blocks_per_multiprocessor(64, 0)?;
    let limit = u64::from(each * Device::current()?.properties()?.multi_processor_count());
    let blocks = u32::try_from(limit).unwrap() + 1;
    let mut seen = DeviceBuffer::<u32>::alloc(blocks as usize)?;
    let config = LaunchConfig::new(blocks, 64).cooperative();
    // SAFETY: as above.
    let refused = unsafe { meet.launch(config, &stream, (&mut arrived, &mut seen)) };
    let error = refused.unwrap_err();
    let what = "the number of blocks that wait for each other";
    assert_eq!(error.detail(), &Detail::limit(what, limit + 1, limit), "{error}");
    assert_eq!((error.api(), error.call_site().file()), ("cudaLaunchCooperativeKernel", file!()));
    Ok(())
}

#[test]
fn a_kernel_says_its_name_and_where_its_parameters_are() -> Result<()> {
    let _alone = alone();
    assert_eq!(add_one.mangled_name()?, "add_one");
    let trap = kernels::fault_trap.mangled_name()?;
    assert!(trap.starts_with("_Z") && trap.contains("trap"), "{trap}");
    let places = [vector_add.parameter(0)?, vector_add.parameter(3)?];
    assert_eq!(places, [Parameter { offset: 0, size: 8 }, Parameter { offset: 24, size: 4 }]);
    let error = vector_add.parameter(4).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidValue, "{error}");
    Ok(())
}

#[test]
fn a_kernel_has_handles_for_the_driver_and_is_set_up_for_devices_that_are_not_current() -> Result<()> {
    let _alone = alone();
    assert!(!add_one.kernel()?.is_null() && !add_one.function()?.is_null());
    assert_eq!(add_one.kernel()?, add_one.clone().kernel()?);
    assert_ne!(add_one.kernel()?, vector_add.kernel()?);
    for device in Device::all()? {
        add_one.set_for(device, KernelSetting::SharedCarveout(None))?;
        let error = add_one.set_for(device, KernelSetting::MaxDynamicSharedBytes(1 << 30)).unwrap_err();
        assert!(error.detail().as_str().contains(" is 1073741824, at most "), "{error}");
    }
    let _ = cuda_safe::error::take_last();
    Ok(())
}

#[test]
fn a_launch_is_ordered_on_memory_that_only_its_kernel_was_told_of() -> Result<()> {
    let _alone = alone();
    let (one, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut data, mut hidden) =
        (DeviceBuffer::from_slice(&[0_i32; 4])?, DeviceBuffer::from_slice(&[7_i32; 4])?);
    let kernel = add_one.using(hidden.access_mut())?;
    for (kernel, waits) in [(&*add_one, 0), (&kernel, 1)] {
        // SAFETY: the count is the buffer's.
        unsafe { launch!(kernel<<<1, 4, 0, &one>>>(&mut data, 4)) }?;
        memset_async(&mut hidden, 0, &other)?;
        // Other tests of this program add waits meanwhile, so only those of this line count.
        let added = |line| hazard::recent_waits().iter().filter(|it| it.at.line() == line).count();
        let line = line!() + 2;
        // SAFETY: as above.
        unsafe { launch!(kernel<<<1, 4, 0, &one>>>(&mut data, 4)) }?;
        assert_eq!(added(line), waits);
    }
    assert_eq!((data.to_vec()?, hidden.to_vec()?), (vec![4; 4], vec![0; 4]));
    Ok(())
}

#[test]
fn wishes_about_caches_are_taken_and_change_no_result() -> Result<()> {
    let _alone = alone();
    let kernel = add_one.clone();
    kernel.set_cache_config(CacheConfig::PREFER_SHARED)?;
    let flags = [OccupancyFlags::DEFAULT, OccupancyFlags::DISABLE_CACHING_OVERRIDE];
    let plain = add_one.blocks_per_multiprocessor(256, 0)?;
    for flags in flags {
        assert_eq!(add_one.blocks_per_multiprocessor_with_flags(256, 0, flags)?, plain);
    }
    let stream = Stream::new()?;
    let mut data = DeviceBuffer::from_slice(&[0_i32; 64])?;
    launch!(add_one<<<2, 32, 0, &stream>>>(&mut data, 64))?;
    assert_eq!(data.to_vec()?, [1; 64]);
    kernel.set_cache_config(CacheConfig::PREFER_NONE)
}
