//! Host arrays that are streamed through a device in chunks.
//!
//! Not under initcheck: the host opens a stream that a host function holds, and calls wait for it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use cuda_testing::test_beside;

use super::alone;
use super::streamed::{Arrays, WAYS, both_ways, hand_on, hand_on_in_place, handed_on, numbers};
use cuda_safe::copy::Pipeline;
use cuda_safe::copy::staged::{Settings, configure, statistics};
use cuda_safe::error::Detail;
use cuda_safe::hazard::{self, Policy};
use cuda_safe::{DeviceBuffer, PinnedBuffer, Registered, Stream, memcpy_async, memset_async};
use cuda_testing::schedules::in_all_schedules;

#[test]
fn arrays_of_every_kind_and_length_come_through_in_order() {
    let _alone = alone();
    both_ways(|| {
        for (chunk, lanes) in [(1000, 4), (1000, 1), (7, 3), (10_000, 2), (4096, 3)] {
            let mut pipeline = Pipeline::<u32, u32>::builder().chunk(chunk).buffers(lanes).build().unwrap();
            // Many chunks take long and show nothing that a hundred do not.
            for len in [0, 1, 7, 999, 1000, 1001, 4096, 5003].into_iter().filter(|len| len / chunk <= 150) {
                let source = numbers(len);
                let pinned = PinnedBuffer::from_slice(&source).unwrap();
                let registered = Registered::new(source.clone()).unwrap();
                let (mut pageable, mut into_pinned) = (vec![0; len], PinnedBuffer::alloc(len).unwrap());
                let mut into_registered = Registered::new(vec![0; len]).unwrap();
                let mut seen = 0;
                let mut work = |stream: cuda_safe::stream::StreamRef<'_>,
                                input: cuda_safe::DeviceSlice<'_, u32>,
                                mut output: cuda_safe::DeviceSliceMut<'_, u32>,
                                range: std::ops::Range<usize>| {
                    assert_eq!((range.start, range.len(), output.len()), (seen, input.len(), input.len()));
                    seen = if range.end == len { 0 } else { range.end };
                    memcpy_async(&mut output, &input, &stream)
                };
                pipeline.run(&mut pageable, &source, &mut work).unwrap();
                assert_eq!(pageable, source);
                pipeline.run(&mut into_pinned, &source, &mut work).unwrap();
                assert_eq!(*into_pinned.host().unwrap(), source);
                pageable.fill(0);
                pipeline.run(&mut pageable[..], &pinned, &mut work).unwrap();
                assert_eq!(pageable, source);
                pipeline.run(&mut into_registered, &registered, &mut work).unwrap();
                assert_eq!(*into_registered.host().unwrap(), source);
                into_pinned.host_mut().unwrap().fill(0);
                pipeline.run(into_pinned.as_slice_mut(), pinned.as_slice(), &mut work).unwrap();
                assert_eq!(*into_pinned.host().unwrap(), source);
            }
        }
    });
}

#[test]
fn elements_may_change_their_type_and_work_may_use_other_streams() {
    let _alone = alone();
    both_ways(|| {
        let source: Vec<u8> = numbers(50_000).into_iter().map(|n| n.to_le_bytes()[1]).collect();
        let other = Stream::non_blocking().unwrap();
        let mut pipeline = Pipeline::<u8, [u8; 4]>::new(9000).unwrap();
        let mut output = vec![[0; 4]; source.len()];
        // The tracker orders the other stream with the pipeline's streams.
        pipeline
            .run(&mut output, &source, |stream, input, mut output, _| {
                let len = input.len();
                memset_async(&mut output, 9, &stream)?;
                memcpy_async(
                    &mut output.reborrow().reinterpret_mut::<u8>()?.slice_mut(..len)?,
                    &input,
                    &other,
                )
            })
            .unwrap();
        let flat = output.as_flattened();
        for (at, chunk) in source.chunks(9000).enumerate() {
            let start = at * 9000 * 4;
            assert_eq!(flat[start..start + chunk.len()], *chunk);
            assert!(flat[start + chunk.len()..start + 4 * chunk.len()].iter().all(|&byte| byte == 9));
        }
    });
}

#[test]
fn results_are_those_of_the_sequential_program() {
    let _alone = alone();
    both_ways(|| {
        for (chunk, buffers, streams) in
            [(101, 4, 1), (101, 3, 2), (64, 1, 1), (64, 2, 3), (5000, 3, 1), (1, 6, 1)]
        {
            let mut pipeline =
                Pipeline::builder().chunk(chunk).buffers(buffers).work_streams(streams).build().unwrap();
            for len in [0, 1, 2, 63, 64, 65, 1003] {
                if len / chunk > 100 {
                    continue;
                }
                let mut arrays = Arrays::of(len);
                for way in WAYS {
                    let mut carry = DeviceBuffer::from_slice(&[7]).unwrap();
                    let work = |stream: cuda_safe::stream::StreamRef<'_>,
                                input: cuda_safe::DeviceSlice<'_, u32>,
                                output: cuda_safe::DeviceSliceMut<'_, u32>,
                                _| hand_on(&mut carry, stream, input, output);
                    arrays.run(&mut pipeline, way, work).unwrap();
                    let expected = handed_on(&arrays.source, chunk, 7);
                    assert_eq!(
                        arrays.take(way),
                        expected,
                        "{len} by {chunk}, {buffers} buffers, pinned: {way:?}"
                    );
                }
                for pinned in [false, true] {
                    let mut carry = DeviceBuffer::from_slice(&[7]).unwrap();
                    let work = |stream: cuda_safe::stream::StreamRef<'_>,
                                part: cuda_safe::DeviceSliceMut<'_, u32>,
                                _| hand_on_in_place(&mut carry, stream, part);
                    arrays.run_in_place(&mut pipeline, pinned, work).unwrap();
                    let expected = handed_on(&arrays.source, chunk, 7);
                    assert_eq!(arrays.take((false, pinned)), expected, "{len} by {chunk} in place: {pinned}");
                }
            }
        }
    });
}

#[test]
fn results_are_the_same_in_all_schedules_of_the_emulator() {
    let _alone = alone();
    in_all_schedules(test_beside!("results_are_those"), 1);
    in_all_schedules(test_beside!("arrays_of_every_kind"), 1);
}

#[test]
fn chunks_are_chosen_for_each_array() {
    let _alone = alone();
    configure(Settings::default());
    let mut pipeline = Pipeline::<u32, u32>::builder().build().unwrap();
    // Small, large, small again: bounce buffers grow and are used again.
    for (len, at_least) in [(1, 1), (1000, 1), ((20 << 20) / 4 + 1, 3), (0, 0), (77, 1)] {
        let mut arrays = Arrays::of(len);
        for way in WAYS {
            let (mut calls, mut seen) = (0, 0);
            let work = |stream: cuda_safe::stream::StreamRef<'_>,
                        input: cuda_safe::DeviceSlice<'_, u32>,
                        mut output: cuda_safe::DeviceSliceMut<'_, u32>,
                        range: std::ops::Range<usize>| {
                assert_eq!((range.start, range.len()), (seen, input.len()));
                (calls, seen) = (calls + 1, range.end);
                memcpy_async(&mut output, &input, &stream)
            };
            arrays.run(&mut pipeline, way, work).unwrap();
            assert_eq!(seen, len);
            // Chunks of pageable arrays are larger, because small copies are not staged.
            assert!(calls >= at_least && (way != (true, true) || len < 1 << 20 || calls >= 16), "{calls}");
            assert_eq!(arrays.take(way), arrays.source);
        }
    }
}

#[test]
fn a_pipeline_orders_its_own_work_and_has_no_wait_added() {
    let _alone = alone();
    both_ways(|| {
        let mut arrays = Arrays::of(10_001);
        for (buffers, streams) in [(1, 1), (2, 1), (3, 2), (4, 1), (4, 3)] {
            let added = hazard::added_waits();
            let mut in_place =
                Pipeline::builder().chunk(1000).buffers(buffers).work_streams(streams).build().unwrap();
            for pinned in [false, true, false, true] {
                hazard::set_policy(Policy::Error).unwrap();
                let worked = arrays.run_in_place(&mut in_place, pinned, |stream, mut chunk, _| {
                    memset_async(&mut chunk.slice_mut(..1)?, 0, &stream)
                });
                hazard::set_policy(Policy::Order).unwrap();
                worked.unwrap();
                assert_eq!(hazard::added_waits(), added, "in place, {buffers} buffers, {streams} streams");
                let found = arrays.take((false, pinned));
                for (at, (found, number)) in found.iter().zip(&arrays.source).enumerate() {
                    assert_eq!(*found, if at % 1000 == 0 { 0 } else { *number });
                }
            }
            let mut pipeline =
                Pipeline::builder().chunk(1000).buffers(buffers).work_streams(streams).build().unwrap();
            for way in WAYS.into_iter().chain(WAYS) {
                let added = hazard::added_waits();
                // Unordered work is refused, too.
                hazard::set_policy(Policy::Error).unwrap();
                let worked = arrays.run(&mut pipeline, way, |stream, input, mut output, _| {
                    memcpy_async(&mut output, &input, &stream)
                });
                hazard::set_policy(Policy::Order).unwrap();
                worked.unwrap();
                assert_eq!(
                    hazard::added_waits(),
                    added,
                    "{buffers} buffers, {streams} streams, pinned: {way:?}"
                );
                assert_eq!(arrays.take(way), arrays.source);
            }
        }
    });
}

#[test]
fn other_chunks_go_up_and_down_while_one_is_computed() {
    let _alone = alone();
    both_ways(|| {
        let mut arrays = Arrays::of(10_000);
        for way in WAYS {
            let mut pipeline = Pipeline::<u32, u32>::builder().chunk(1000).buffers(4).build().unwrap();
            let (open, opened) = channel::<()>();
            let (tell, told) = channel();
            let mut opened = Some(opened);
            let work = |stream: cuda_safe::stream::StreamRef<'_>,
                        input: cuda_safe::DeviceSlice<'_, u32>,
                        mut output: cuda_safe::DeviceSliceMut<'_, u32>,
                        range: std::ops::Range<usize>| {
                // The work of the second chunk is held until the first chunk is on the host, and the fifth,
                // which uses its buffer, is on the device.
                if range.start == 1000 {
                    let (opened, tell) = (opened.take().unwrap(), tell.clone());
                    stream.launch_host_fn(move || {
                        let _ = tell.send(opened.recv_timeout(Duration::from_secs(20)).is_ok());
                    })?;
                } else if range.start == 4000 {
                    open.send(()).unwrap();
                }
                memcpy_async(&mut output, &input, &stream)
            };
            arrays.run(&mut pipeline, way, work).unwrap();
            assert!(told.recv().unwrap(), "the calling thread waited for the work, pinned: {way:?}");
            assert_eq!(arrays.take(way), arrays.source);
        }
    });
}

#[test]
fn pageable_arrays_are_staged() {
    let _alone = alone();
    configure(Settings { threshold: Some(1), chunk: Some(4096), ..Settings::default() });
    let before = statistics().copies;
    let mut output = vec![0; 10_000];
    let mut pipeline = Pipeline::<u32, u32>::new(1000).unwrap();
    pipeline
        .run(&mut output, &numbers(10_000), |stream, input, mut output, _| {
            memcpy_async(&mut output, &input, &stream)
        })
        .unwrap();
    assert_eq!(statistics().copies - before, 20);
    assert_eq!(output, numbers(10_000));
}

#[test]
fn pageable_chunks_go_up_while_the_work_of_one_is_enqueued() {
    let _alone = alone();
    configure(Settings { threshold: Some(1), chunk: Some(4096), ..Settings::default() });
    let before = statistics().copies;
    let source = numbers(3000);
    let mut output = vec![0; 3000];
    let mut pipeline = Pipeline::<u32, u32>::new(1000).unwrap();
    pipeline
        .run(&mut output, &source, |stream, input, mut output, range| {
            // There is a buffer for each chunk, so no upload waits for this one.
            let until = Instant::now() + Duration::from_secs(60);
            while range.start == 0 && statistics().copies - before < 3 {
                assert!(Instant::now() < until, "the other chunks wait for the work of the first one");
                std::thread::yield_now();
            }
            memcpy_async(&mut output, &input, &stream)
        })
        .unwrap();
    assert_eq!(output, source);
}

#[test]
fn a_run_in_a_host_function_is_refused_and_begins_nothing() {
    let _alone = alone();
    configure(Settings { threshold: Some(1), chunk: Some(4096), ..Settings::default() });
    let mut pipeline = Pipeline::<u32, u32>::new(10).unwrap();
    let (tell, told) = channel();
    let stream = Stream::new().unwrap();
    let before = statistics().copies;
    stream
        .launch_host_fn(move || {
            let mut output = vec![0; 100];
            let refused = pipeline.run(&mut output, &vec![1; 100], |_, _, _, _| Ok(()));
            tell.send((refused.unwrap_err().detail().clone(), output)).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    assert_eq!(told.recv().unwrap(), (Detail::IN_CALLBACK, vec![0; 100]));
    assert_eq!(statistics().copies, before);
}

#[test]
fn what_cannot_be_is_refused() {
    let _alone = alone();
    assert!(
        Pipeline::<u8, u8>::new(0).unwrap_err().detail().as_str().contains("is zero, at least 1 is needed")
    );
    assert!(
        Pipeline::<u8, u8>::builder()
            .buffers(0)
            .build()
            .unwrap_err()
            .detail()
            .as_str()
            .contains("is zero, at least 1 is needed")
    );
    let error = Pipeline::<u8, u8>::builder().work_streams(0).build().unwrap_err();
    assert!(error.detail().as_str().contains("the number of work streams is zero"));
    assert!(Pipeline::<u8, u8>::new(1 << 60).is_err());
    // More buffers than there are chunks are not allocated.
    let mut many = Pipeline::<u8, u8>::builder().chunk(1 << 10).buffers(usize::MAX).build().unwrap();
    let mut copied = vec![0; 6 << 10];
    many.run(&mut copied, &vec![1; 6 << 10], |s, from, mut to, _| memcpy_async(&mut to, &from, &s)).unwrap();
    assert!(copied.iter().all(|it| *it == 1));
    let mut pipeline = Pipeline::<u8, u8>::new(100).unwrap();
    let error = pipeline.run(&mut vec![0; 3], &vec![0; 4], |_, _, _, _| Ok(())).unwrap_err();
    assert_eq!(error.detail(), &Detail::length_mismatch(3, 4));
    assert_eq!(error.call_site().file(), file!());
}
