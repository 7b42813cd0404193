//! Variables of source files: copies to and from them, and their order with the kernels that use them.
//!
//! Not under initcheck: it does not see the zeros that a variable of a kernel starts with.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![allow(unsafe_code, reason = "launches kernels that have no safe function")]

use std::sync::{Arc, Mutex};

use cuda_kernels::kernels::{
    self, variables_Tap as Tap, variables_add_one_to_shared as add_one_to_shared, variables_count as count,
    variables_counter as counter, variables_fill as fill, variables_matrix as matrix, variables_odd as odd,
    variables_shared as shared, variables_sum as sum, variables_table as table,
    variables_table_behind_a_gate as table_behind_a_gate, variables_taps as taps, variables_wait as wait,
};
use cuda_safe::copy::{
    memcpy_from_symbol, memcpy_from_symbol_async, memcpy_to_symbol, memcpy_to_symbol_async,
};
use cuda_safe::error::Detail;
use cuda_safe::hazard::added_waits;
use cuda_safe::launch::Space;
use cuda_safe::launch::Symbol;
use cuda_safe::{
    AsStream as _, Device, DeviceBuffer, Event, MappedFlag, PinnedBuffer, Result, Stream, launch, memcpy,
    memcpy_async, memset, sys,
};
use cuda_testing::alone;

/// Returns the output of the kernel that reads all variables.
fn sums(stream: &Stream) -> Result<Vec<i32>> {
    let mut out = DeviceBuffer::<i32>::alloc(64)?;
    launch!(sum<<<1, 64, 0, stream>>>(&mut out))?;
    out.to_vec()
}

#[test]
fn variables_are_what_the_header_says() -> Result<()> {
    let _alone = alone();
    assert_eq!((table.name(), table.len(), table.space()), ("variables_table", 64, Space::Constant));
    assert_eq!((matrix.len(), matrix.size_in_bytes(), matrix.space()), (64, 256, Space::Device));
    assert_eq!((odd.len(), odd.size()?), (13, 13));
    assert_eq!((shared.len(), shared.size()?, shared.space()), (8, 32, Space::Managed));
    assert_eq!((taps.len(), taps.size()?), (2, 16));
    assert!(!taps.is_empty());
    let here = Device::current()?;
    assert!(!Symbol::device_ptr(&matrix, here)?.is_null());
    assert_eq!(matrix.slice(5..9)?.device_ptr()?, matrix.device_ptr(here)?.wrapping_add(5));
    let seen = format!("{table:?} {:?}", matrix.slice(1..3)?.on(here));
    assert!(seen.contains("variables_table") && seen.contains("1..3"), "{seen}");
    Ok(())
}

#[test]
fn values_to_start_with_are_read_back() -> Result<()> {
    let _alone = alone();
    assert_eq!(taps.to_vec()?, [Tap { weight: 1.5, offset: 3 }, Tap { weight: -2.25, offset: 4 }]);
    assert_eq!(shared.slice(0..4)?.to_vec()?.len(), 4);
    Ok(())
}

#[test]
fn what_the_host_sets_the_kernel_sees_and_what_the_kernel_sets_the_host_sees() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let numbers: Vec<i32> = (0..64).map(|i| i * i).collect();
    memcpy_to_symbol(&table, &numbers)?;
    launch!(fill<<<1, 64, 0, &stream>>>(1000))?;
    let mut back = [0; 64];
    memcpy_from_symbol(&mut back, &matrix)?;
    assert_eq!(back.to_vec(), (1000..1064).collect::<Vec<_>>());
    let expected: Vec<i32> = numbers.iter().zip(1000..).map(|(square, i)| square + i + 3).collect();
    assert_eq!(sums(&stream)?, expected);
    Ok(())
}

#[test]
fn parts_are_copied_by_elements_and_nothing_around_them_changes() -> Result<()> {
    let _alone = alone();
    memset(&mut odd.as_slice(), 9)?;
    memcpy_to_symbol(&odd.slice(3..6)?, &[1, 2, 3])?;
    memcpy_to_symbol(odd.slice(12..)?, &[4])?;
    let expected = [9, 9, 9, 1, 2, 3, 9, 9, 9, 9, 9, 9, 4];
    assert_eq!(odd.to_vec()?, expected);
    assert_eq!(odd.slice(2..)?.slice(1..3)?.to_vec()?, [1, 2]);
    let mut last = vec![0; 1];
    memcpy_from_symbol(&mut last, odd.slice(12..13)?)?;
    assert_eq!(last, [4]);
    let nothing: [u8; 0] = [];
    memcpy_to_symbol(&odd.slice(13..13)?, &nothing)?;
    assert!(odd.slice(4..4)?.to_vec()?.is_empty());
    assert_eq!(odd.to_vec()?, expected);
    Ok(())
}

#[test]
fn lengths_that_do_not_fit_are_refused_with_both() -> Result<()> {
    let _alone = alone();
    let error = memcpy_to_symbol(&odd, &[0; 14]).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(13, 14));
    assert_eq!(error.api(), "memcpy_to_symbol");
    let error = memcpy_from_symbol(&mut [0; 12], &odd).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(12, 13));
    let error = odd.slice(13..14).unwrap_err();
    assert_eq!(error.detail(), &Detail::out_of_range(13, 14, 13));
    assert_eq!(odd.slice(..14).unwrap_err().detail(), &Detail::out_of_range(0, 14, 13));
    Ok(())
}

/// CUDA itself accepts some of these, and accesses memory after the variable.
#[test]
fn asynchronous_copies_past_the_end_are_refused_before_the_call() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    memset(&mut odd.as_slice(), 5)?;
    let source = PinnedBuffer::from_slice(&[9; 14])?;
    let error = memcpy_to_symbol_async(&odd, &source, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(13, 14));
    let mut back = PinnedBuffer::from_slice(&[7; 14])?;
    let error = memcpy_from_symbol_async(&mut back, &odd, &stream).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(14, 13));
    let error = odd.slice(13..).and_then(|none| memcpy_to_symbol_async(none, &source.slice(..1)?, &stream));
    assert_eq!(error.unwrap_err().detail(), &Detail::length_mismatch(0, 1));
    stream.synchronize()?;
    assert_eq!((odd.as_slice().to_vec()?, back.to_vec()?), (vec![5; 13], vec![7; 14]));
    Ok(())
}

#[test]
fn every_kind_of_memory_stands_on_the_other_side() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let numbers: Vec<i32> = (100..164).collect();
    let device = DeviceBuffer::from_slice(&numbers)?;
    let pinned = PinnedBuffer::from_slice(&numbers)?;

    memcpy_to_symbol(&table, &device)?;
    assert_eq!(table.to_vec()?, numbers);
    memset(&mut table.as_slice(), 0)?;
    memcpy_to_symbol(&table, &pinned)?;
    assert_eq!(table.to_vec()?, numbers);
    memset(&mut table.as_slice(), 0)?;
    memcpy_to_symbol_async(&table, &device, &stream)?;
    memcpy_to_symbol_async(table.slice(..1)?, &pinned.slice(63..)?, &stream)?;

    let (mut there, mut here) = (DeviceBuffer::<i32>::alloc(64)?, PinnedBuffer::<i32>::alloc(64)?);
    memcpy_from_symbol_async(&mut there, &table, &stream)?;
    memcpy_from_symbol_async(&mut here, &table, &stream)?;
    assert_eq!(there.slice(1..)?.to_vec()?, numbers[1..]);
    assert_eq!((here.host()?[0], here.host()?[63]), (163, 163));

    // Copies from a variable to a variable, and the ordinary verbs with parts of one.
    memcpy(&mut matrix.as_slice(), &table.as_slice())?;
    memcpy_async(&mut shared.as_slice(), &matrix.slice(8..16)?, &stream)?;
    stream.synchronize()?;
    assert_eq!(shared.to_vec()?, numbers[8..16]);
    memcpy_to_symbol(&shared, &[5, 6, 7, 8, 0, 0, 0, 0])?;
    Ok(())
}

#[test]
fn a_scope_copies_borrowed_slices() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let numbers: Vec<i32> = (7..71).collect();
    let mut back = vec![0; 64];
    stream.scope(|scope| {
        scope.memcpy_to_symbol_async(&matrix, &numbers)?;
        scope.memcpy_from_symbol_async(&mut back, &matrix)
    })??;
    assert_eq!(back, numbers);
    Ok(())
}

#[test]
fn a_scope_copies_no_variable_for_a_graph() -> Result<()> {
    let _alone = alone();
    let (mut stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (event, joined) = (Event::without_timing()?, Event::without_timing()?);
    let (numbers, mut back) = ([7; 64], vec![0; 64]);
    let graph = other.scope(|scope| {
        stream.capture(|captured| {
            event.record(captured)?;
            // The scope's stream becomes a branch.
            other.wait(&event)?;
            let refused = [
                scope.memcpy_to_symbol_async(&matrix, &numbers),
                scope.memcpy_from_symbol_async(&mut back, &matrix),
            ];
            for refused in refused {
                assert_eq!(refused.map_err(|error| error.detail().clone()), Err(Detail::NOT_RETAINED));
            }
            joined.record(&other)?;
            captured.as_stream().wait(&joined)
        })
    })??;
    assert_eq!(graph.node_count()?, 0);
    Ok(())
}

#[test]
fn a_variable_set_on_one_stream_waits_for_the_kernel_of_another_that_reads_it() -> Result<()> {
    let _alone = alone();
    let (reader, setter) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let mut out = DeviceBuffer::<i32>::alloc(64)?;
    for kernel in [table_behind_a_gate.load(), kernels::gate.load()] {
        kernel?;
    }
    let later = PinnedBuffer::from_slice(&[2; 64])?;
    memcpy_to_symbol(&table, &[1; 64])?;
    Device::current()?.synchronize()?;
    let before = added_waits();
    // SAFETY: the kernel waits for the flag and writes 64 elements, one for each thread.
    unsafe { launch!(table_behind_a_gate.unchecked()<<<1, 64, 0, &reader>>>(&flag, &mut out)) }?;
    memcpy_to_symbol_async(&table, &later, &setter)?;
    let (added, done) = (added_waits() - before, setter.is_done()?);
    flag.set(1);
    assert_eq!(added, 1, "the copy must come after the kernel");
    assert!(!done, "the copy did not wait for the kernel that is held");
    assert_eq!(out.to_vec()?, [1; 64]);
    assert_eq!(table.to_vec()?, [2; 64]);

    // In the other direction, the kernel comes after a copy that earlier work of its stream holds.
    let held = MappedFlag::new()?;
    let last = PinnedBuffer::from_slice(&[3; 64])?;
    Device::current()?.synchronize()?;
    let before = added_waits();
    cuda_kernels::gate(&held, &setter)?;
    memcpy_to_symbol_async(&table, &last, &setter)?;
    // SAFETY: as above; the flag is set already.
    unsafe { launch!(table_behind_a_gate.unchecked()<<<1, 64, 0, &reader>>>(&flag, &mut out)) }?;
    let added = added_waits() - before;
    held.set(1);
    assert_eq!(added, 1, "the kernel must come after the copy");
    assert_eq!(out.to_vec()?, [3; 64]);
    Ok(())
}

#[test]
fn a_kernel_of_which_nothing_is_said_has_its_variables_to_itself() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let flag = MappedFlag::new()?;
    count.load()?;
    memcpy_to_symbol(&counter, &[7])?;
    let mut seen = [DeviceBuffer::from_slice(&[0_u32])?, DeviceBuffer::from_slice(&[0_u32])?];
    Device::current()?.synchronize()?;
    let before = added_waits();
    for (stream, seen) in streams.iter().zip(&mut seen) {
        // SAFETY: the kernel runs one thread, which waits for the flag and writes one element.
        unsafe { launch!(count.unchecked()<<<1, 1, 0, stream>>>(seen, &flag, 10)) }?;
    }
    // The assertion comes after the gate is open: a failing test frees memory, which waits for the gate.
    let added = added_waits() - before;
    flag.set(1);
    assert_eq!(added, 1, "the second kernel must come after the first");
    assert_eq!((seen[0].to_vec()?[0], seen[1].to_vec()?[0]), (7, 17));
    assert_eq!(counter.to_vec()?, [27]);
    Ok(())
}

#[test]
fn kernels_that_only_read_and_kernels_that_use_none_wait_for_nobody() -> Result<()> {
    let _alone = alone();
    let (held, free) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let mut out = DeviceBuffer::<i32>::alloc(64)?;
    memcpy_to_symbol(&table, &[4; 64])?;
    let expected = sums(&free)?;
    for kernel in [table_behind_a_gate.load(), wait.load()] {
        kernel?;
    }
    let mut sums = DeviceBuffer::<i32>::alloc(64)?;
    Device::current()?.synchronize()?;
    let before = added_waits();
    // SAFETY: the kernels wait for the flag; the first one writes 64 elements.
    unsafe { launch!(table_behind_a_gate.unchecked()<<<1, 64, 0, &held>>>(&flag, &mut out)) }?;
    // SAFETY: as above.
    unsafe { launch!(wait.unchecked()<<<1, 1, 0, &held>>>(&flag)) }?;
    launch!(sum<<<1, 64, 0, &free>>>(&mut sums))?;
    free.synchronize()?;
    let added = added_waits() - before;
    flag.set(1);
    assert_eq!(added, 0);
    assert_eq!(sums.to_vec()?, expected);
    assert_eq!(out.to_vec()?, [4; 64]);
    Ok(())
}

#[test]
fn a_managed_variable_is_one_for_the_host_and_all_devices() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    memcpy_to_symbol(&shared, &[5, 6, 7, 8, 0, 0, 0, 0])?;
    launch!(add_one_to_shared<<<1, 8, 0, &stream>>>())?;
    assert_eq!(shared.to_vec()?, [6, 7, 8, 9, 1, 1, 1, 1]);
    memcpy_to_symbol(&shared, &[5, 6, 7, 8, 0, 0, 0, 0])
}

#[test]
fn each_device_has_its_own() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: nothing to tell apart");
        return Ok(());
    }
    let (zero, one) = (Device::new(0)?, Device::new(1)?);
    memcpy_to_symbol(&table.on(zero), &[10; 64])?;
    memcpy_to_symbol(&table.on(one), &[11; 64])?;
    assert_eq!(table.on(zero).to_vec()?, [10; 64]);
    assert_eq!(table.on(one).to_vec()?, [11; 64]);
    // Without a device, the variable is the current device's, or the stream's.
    assert_eq!(one.with_current(|| table.to_vec())?, [11; 64]);
    let stream = Stream::builder().device(one).build()?;
    let twelve = PinnedBuffer::from_slice(&[12; 64])?;
    memcpy_to_symbol_async(&table, &twelve, &stream)?;
    assert_eq!((table.on(zero).to_vec()?[0], table.on(one).to_vec()?[0]), (10, 12));
    // Copies from device to device.
    memcpy(&mut table.on(zero), &table.on(one))?;
    assert_eq!(table.on(zero).to_vec()?, [12; 64]);
    assert_eq!(Device::current()?, zero);
    Ok(())
}

#[test]
fn a_host_function_is_refused_what_would_call_cuda() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let found = Arc::new(Mutex::new(None));
    let keep = Arc::clone(&found);
    stream.launch_host_fn(move || {
        let refused = [memcpy_to_symbol(&odd, &[0; 13]).unwrap_err(), odd.size().unwrap_err()];
        *keep.lock().unwrap() = Some(refused.map(|error| error.detail().clone()));
    })?;
    stream.synchronize()?;
    assert_eq!(*found.lock().unwrap(), Some([Detail::IN_CALLBACK, Detail::IN_CALLBACK]));
    Ok(())
}

#[test]
fn raw_calls_take_the_variable_too() -> Result<()> {
    let _alone = alone();
    let numbers = [3_u8; 13];
    let raw = odd.as_raw()?;
    // SAFETY: the variable has 13 bytes, and so has the source; nothing else uses it.
    unsafe {
        cuda_safe::check!(cudaMemcpyToSymbol(
            raw,
            numbers.as_ptr().cast(),
            numbers.len(),
            0,
            sys::cudaMemcpyHostToDevice
        ))
    }?;
    assert_eq!(odd.to_vec()?, numbers);
    Ok(())
}

#[test]
fn the_filter_of_the_convolution_is_set_from_the_host() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    memcpy_to_symbol(kernels::convolution_filter.slice(..3)?, &[0.25, 0.5, 0.25])?;
    let input = DeviceBuffer::from_slice(&[4.0_f32, 8.0, 16.0, 0.0])?;
    let mut out = DeviceBuffer::<f32>::alloc(4)?;
    launch!(kernels::convolve<<<1, 32, 0, &stream>>>(&input, &mut out, 4, 3))?;
    assert_eq!(out.to_vec()?, [4.0, 9.0, 10.0, 4.0]);
    Ok(())
}
