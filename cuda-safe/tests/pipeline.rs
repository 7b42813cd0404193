//! Host arrays streamed through a device in chunks.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::alone;
use cuda_safe::copy::Pipeline;
use cuda_safe::copy::staged::{Settings, configure, statistics};
use cuda_safe::error::Detail;
use cuda_safe::{PinnedBuffer, Registered, Stream, hazard, memcpy_async, memset_async, sys};

fn numbers(len: usize) -> Vec<u32> {
    (0..u32::try_from(len).unwrap()).map(|n| n.wrapping_mul(2_654_435_761)).collect()
}

/// With the engine for everything, and without.
fn both_ways(f: impl Fn()) {
    for enabled in [true, false] {
        configure(Settings {
            enabled,
            threshold: Some(1),
            threads: Some(3),
            chunk: Some(4096),
            pinned: 1 << 20,
        });
        f();
    }
}

#[test]
fn arrays_of_every_kind_and_length_come_through_in_order() {
    let _alone = alone();
    both_ways(|| {
        for (chunk, lanes) in [(1000, 4), (1000, 1), (7, 3), (10_000, 2), (4096, 3)] {
            let mut pipeline = Pipeline::<u32, u32>::with_lanes(chunk, lanes).unwrap();
            for len in [0, 1, 7, 999, 1000, 1001, 4096, 5003] {
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
        // The tracker orders the other stream with the pipeline's own.
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
fn a_pipeline_that_orders_its_own_work_has_no_wait_added() {
    let _alone = alone();
    configure(Settings::default());
    let pinned = PinnedBuffer::from_slice(&numbers(10_000)).unwrap();
    let mut output = PinnedBuffer::<u32>::alloc(10_000).unwrap();
    let mut pipeline = Pipeline::<u32, u32>::new(1000).unwrap();
    let added = hazard::added_waits();
    for _ in 0..3 {
        pipeline
            .run(&mut output, &pinned, |stream, input, mut output, _| {
                memcpy_async(&mut output, &input, &stream)
            })
            .unwrap();
    }
    assert_eq!(hazard::added_waits(), added);
    assert_eq!(*output.host().unwrap(), numbers(10_000));
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
fn work_that_fails_ends_the_run_with_its_error_and_the_pipeline_can_be_used_again() {
    let _alone = alone();
    both_ways(|| {
        let source = numbers(10_000);
        let mut pageable = vec![0; 10_000];
        let mut pinned = PinnedBuffer::<u32>::alloc(10_000).unwrap();
        let mut pipeline = Pipeline::<u32, u32>::new(1000).unwrap();
        for fails_at in [0, 1, 5, 9] {
            let mut calls = 0;
            let mut work = |stream: cuda_safe::stream::StreamRef<'_>,
                            input: cuda_safe::DeviceSlice<'_, u32>,
                            mut output: cuda_safe::DeviceSliceMut<'_, u32>,
                            range: std::ops::Range<usize>| {
                calls += 1;
                if range.start == fails_at * 1000 {
                    return Err(cuda_safe::Error::from_code("on purpose", sys::cudaErrorInvalidValue));
                }
                memcpy_async(&mut output, &input, &stream)
            };
            assert_eq!(pipeline.run(&mut pageable, &source, &mut work).unwrap_err().api(), "on purpose");
            assert_eq!(pipeline.run(&mut pinned, &source, &mut work).unwrap_err().api(), "on purpose");
            assert_eq!(calls, 2 * (fails_at + 1), "no chunk is begun after the failure");
        }
        pipeline
            .run(&mut pageable, &source, |stream, input, mut output, _| {
                memcpy_async(&mut output, &input, &stream)
            })
            .unwrap();
        assert_eq!(pageable, source);
    });
}

#[test]
fn work_that_panics_leaves_nothing_in_flight_and_the_pipeline_can_be_used_again() {
    let _alone = alone();
    both_ways(|| {
        let source = numbers(10_000);
        let mut pageable = vec![0; 10_000];
        let mut pinned = PinnedBuffer::<u32>::alloc(10_000).unwrap();
        let mut pipeline = Pipeline::<u32, u32>::new(1000).unwrap();
        for panics_at in [0, 1, 5, 9] {
            let mut work = |stream: cuda_safe::stream::StreamRef<'_>,
                            input: cuda_safe::DeviceSlice<'_, u32>,
                            mut output: cuda_safe::DeviceSliceMut<'_, u32>,
                            range: std::ops::Range<usize>| {
                if range.start == panics_at * 1000 {
                    std::panic::resume_unwind(Box::new("on purpose"));
                }
                memcpy_async(&mut output, &input, &stream)
            };
            let panicked = catch_unwind(AssertUnwindSafe(|| pipeline.run(&mut pageable, &source, &mut work)));
            assert!(panicked.is_err());
            // What was begun before is done, and nothing else was written.
            let done = panics_at * 1000;
            assert_eq!(pageable[..done], source[..done]);
            assert!(pageable[done..].iter().all(|&number| number == 0));
            pageable.fill(0);
            let panicked = catch_unwind(AssertUnwindSafe(|| pipeline.run(&mut pinned, &source, &mut work)));
            assert!(panicked.is_err());
        }
        pipeline
            .run(&mut pageable, &source, |stream, input, mut output, _| {
                memcpy_async(&mut output, &input, &stream)
            })
            .unwrap();
        assert_eq!(pageable, source);
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let _alone = alone();
    assert!(matches!(Pipeline::<u8, u8>::new(0).unwrap_err().detail(), Detail::Zero { .. }));
    assert!(matches!(Pipeline::<u8, u8>::with_lanes(1, 0).unwrap_err().detail(), Detail::Zero { .. }));
    assert!(Pipeline::<u8, u8>::new(1 << 60).is_err());
    let mut pipeline = Pipeline::<u8, u8>::new(100).unwrap();
    let error = pipeline.run(&mut vec![0; 3], &vec![0; 4], |_, _, _, _| Ok(())).unwrap_err();
    assert_eq!(error.detail(), Detail::LengthMismatch { destination: 3, source: 4 });
    assert_eq!(error.place().file(), file!());
}
