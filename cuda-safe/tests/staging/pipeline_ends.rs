//! How runs of a pipeline end: work that fails or panics at any chunk, values that are dropped meanwhile,
//! and the state afterwards.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use cuda_testing::test_beside;

use super::alone;
use super::streamed::{Arrays, WAYS, both_ways};
use cuda_safe::copy::Pipeline;
use cuda_safe::stream::StreamRef;
use cuda_safe::{
    DeviceBuffer, DeviceSlice, DeviceSliceMut, Error, Result, Stream, memcpy_async, memset_async, sys,
};
use cuda_testing::schedules::in_all_schedules;

const LEN: usize = 1003;
const CHUNK: usize = 101;

/// How the work of a chunk ends.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Before any of it is enqueued.
    Fails,
    /// With all of it enqueued.
    FailsLate,
    Panics,
    PanicsLate,
}

/// Copies, up to the chunk that ends the run. Counts the calls.
fn until(
    last: usize,
    end: End,
    calls: &mut usize,
) -> impl FnMut(StreamRef<'_>, DeviceSlice<'_, u32>, DeviceSliceMut<'_, u32>, Range<usize>) -> Result<()> {
    move |stream, input, mut output, range| {
        *calls += 1;
        if range.start == last * CHUNK {
            if matches!(end, End::FailsLate | End::PanicsLate) {
                memcpy_async(&mut output, &input, &stream)?;
            }
            if matches!(end, End::Panics | End::PanicsLate) {
                resume_unwind(Box::new("on purpose"));
            }
            return Error::check("on purpose", sys::cudaErrorInvalidValue);
        }
        memcpy_async(&mut output, &input, &stream)
    }
}

/// Ends runs in one way at every chunk, with arrays of all kinds.
fn at_every_chunk(end: End) {
    let chunks = LEN.div_ceil(CHUNK);
    both_ways(|| {
        let mut arrays = Arrays::of(LEN);
        for (buffers, streams) in [(4, 1), (1, 1), (3, 2)] {
            let mut pipeline =
                Pipeline::builder().chunk(CHUNK).buffers(buffers).work_streams(streams).build().unwrap();
            for way in WAYS {
                for last in 0..chunks {
                    let mut calls = 0;
                    let work = until(last, end, &mut calls);
                    let ended = catch_unwind(AssertUnwindSafe(|| arrays.run(&mut pipeline, way, work)));
                    match (end, ended) {
                        (End::Fails | End::FailsLate, Ok(failed)) => {
                            assert_eq!(failed.unwrap_err().api(), "on purpose");
                        }
                        (End::Panics | End::PanicsLate, Err(panic)) => {
                            assert_eq!(panic.downcast_ref::<&str>(), Some(&"on purpose"));
                        }
                        (_, ended) => panic!("{end:?} at {last}, pinned {way:?}: {ended:?}"),
                    }
                    assert_eq!(calls, last + 1, "no chunk is begun after the last");
                    // Chunks that were begun before are on the host, and nothing else was written.
                    let (found, done) = (arrays.take(way), last * CHUNK);
                    assert_eq!(found[..done], arrays.source[..done], "{end:?} at {last}, pinned: {way:?}");
                    assert!(found[done..].iter().all(|&number| number == 0));
                }
                let mut calls = 0;
                let whole = until(chunks, end, &mut calls);
                arrays.run(&mut pipeline, way, whole).unwrap();
                assert_eq!(arrays.take(way), arrays.source, "it can be used again");
            }
        }
    });
}

#[test]
fn work_that_fails_ends_the_run_with_its_error_and_the_pipeline_can_be_used_again() {
    let _alone = alone();
    at_every_chunk(End::Fails);
    at_every_chunk(End::FailsLate);
}

#[test]
fn work_that_panics_leaves_nothing_in_flight_and_the_pipeline_can_be_used_again() {
    let _alone = alone();
    at_every_chunk(End::Panics);
    at_every_chunk(End::PanicsLate);
}

#[test]
fn work_that_ends_a_run_in_place_leaves_later_chunks_as_they_were() {
    let _alone = alone();
    both_ways(|| {
        let mut arrays = Arrays::of(LEN);
        let mut pipeline = Pipeline::new(CHUNK).unwrap();
        for pinned in [false, true] {
            for last in 0..LEN.div_ceil(CHUNK) {
                for panics in [false, true] {
                    let work =
                        |stream: StreamRef<'_>, mut chunk: DeviceSliceMut<'_, u32>, range: Range<usize>| {
                            memset_async(&mut chunk, 0, &stream)?;
                            if range.start < last * CHUNK {
                                return Ok(());
                            }
                            if panics {
                                resume_unwind(Box::new("on purpose"));
                            }
                            Error::check("on purpose", sys::cudaErrorInvalidValue)
                        };
                    let ended =
                        catch_unwind(AssertUnwindSafe(|| arrays.run_in_place(&mut pipeline, pinned, work)));
                    assert_eq!(ended.is_err(), panics);
                    assert!(ended.is_err() || ended.is_ok_and(|ended| ended.is_err()));
                    let (found, done) = (arrays.take((false, pinned)), last * CHUNK);
                    assert!(
                        found[..done].iter().all(|&number| number == 0),
                        "up to {last}, pinned: {pinned}"
                    );
                    assert_eq!(found[done..], arrays.source[done..], "from {last}, pinned: {pinned}");
                }
            }
        }
    });
}

#[test]
fn runs_end_alike_in_all_schedules_of_the_emulator() {
    let _alone = alone();
    in_all_schedules(test_beside!("work_that"), 3);
    in_all_schedules(test_beside!("what_the_work_drops"), 1);
}

#[test]
fn what_the_work_drops_is_dropped_when_it_is_no_longer_used() {
    let _alone = alone();
    both_ways(|| {
        let mut arrays = Arrays::of(LEN);
        for way in WAYS {
            let mut pipeline = Pipeline::new(CHUNK).unwrap();
            let work = |stream: StreamRef<'_>,
                        input: DeviceSlice<'_, u32>,
                        mut output: DeviceSliceMut<'_, u32>,
                        _: Range<usize>| {
                // A detour through memory and a stream that are dropped before any of this need have run.
                let mut between = DeviceBuffer::<u32>::alloc(input.len())?;
                let own = Stream::non_blocking()?;
                memset_async(&mut between, 0xee, &own)?;
                memcpy_async(&mut between, &input, &stream)?;
                memcpy_async(&mut output, &between, &own)
            };
            arrays.run(&mut pipeline, way, work).unwrap();
            assert_eq!(arrays.take(way), arrays.source);
        }
    });
}

#[test]
fn a_pipeline_can_be_dropped_after_a_panic_and_leaves_no_thread() {
    let _alone = alone();
    both_ways(|| {
        let mut arrays = Arrays::of(LEN);
        for way in WAYS {
            for last in [0, 3, 9] {
                let mut pipeline = Pipeline::new(CHUNK).unwrap();
                let (mut calls, mut running) = (0, 0);
                let mut end = until(last, End::PanicsLate, &mut calls);
                let work = |stream: StreamRef<'_>,
                            input: DeviceSlice<'_, u32>,
                            output: DeviceSliceMut<'_, u32>,
                            range: Range<usize>| {
                    running = threads_downwards();
                    end(stream, input, output, range)
                };
                assert!(catch_unwind(AssertUnwindSafe(|| arrays.run(&mut pipeline, way, work))).is_err());
                drop(pipeline);
                assert_eq!(threads_downwards(), 0);
                // By the last chunk one has been copied to the host, by the thread if the output is
                // pageable.
                assert!(last < 9 || running == usize::from(!way.1), "{running} of {way:?}");
                let (found, done) = (arrays.take(way), last * CHUNK);
                assert_eq!(found[..done], arrays.source[..done]);
            }
        }
    });
}

/// The number of threads that copy chunks to the host.
fn threads_downwards() -> usize {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let stats = threads.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    stats.filter(|stat| runs_downwards(stat)).count()
}

/// Whether a thread, given by its line in the system's files, copies chunks to the host and is not ending.
/// A joined thread may be listed for some time.
fn runs_downwards(stat: &str) -> bool {
    /// `PF_EXITING` of Linux, which a thread has before its join returns.
    const EXITING: u32 = 4;
    let (name, rest) = stat.split_once('(').unwrap().1.rsplit_once(") ").unwrap();
    let flags: u32 = rest.split(' ').nth(6).unwrap().parse().unwrap();
    name == "cuda-safe D2H" && flags & EXITING == 0
}
