//! Execution contexts: splits of multiprocessors, green contexts, and the order of their streams.
#![cfg(cudart_13_1)]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use cuda_safe::error::Detail;
use cuda_safe::stream::{AsStream, ExecutionContext, SmGroup, SmResource};
use cuda_safe::{Device, DeviceBuffer, Event, PinnedBuffer, Result, Stream, memcpy_async, memset_async};
use cuda_testing::{Gate, alone};

/// All multiprocessors, or `None` if the driver has no green contexts.
fn all() -> Option<SmResource> {
    match Device::current().unwrap().sm_resource() {
        Ok(all) => Some(all),
        Err(error) => {
            eprintln!("cannot run: this driver has no green contexts: {error}");
            assert_ne!(std::env::var("CUDA_RUNNER").as_deref(), Ok("emulator"));
            None
        }
    }
}

#[test]
fn multiprocessors_are_split_into_parts_and_a_rest() -> Result<()> {
    let _alone = alone();
    let Some(all) = all() else { return Ok(()) };
    let least = all.min_partition_size();
    assert!(all.coscheduled_alignment() > 0 && all.device() == Device::current()?);
    let one = SmGroup { count: least, coscheduled: 2, ..SmGroup::default() };
    let (parts, rest) = all.split(&[one, one])?;
    let counts: Vec<u32> = parts.iter().map(SmResource::count).collect();
    assert_eq!(counts, [least; 2]);
    assert_eq!(rest.unwrap().count(), all.count() - 2 * least);
    let (parts, rest) = all.split_by_count(2, least)?;
    assert!(parts.len() == 2 && parts.iter().all(|part| part.count() >= least));
    let sum: u32 = parts.iter().chain(&rest).map(SmResource::count).sum();
    assert_eq!(sum, all.count());
    assert!(all.split(&[SmGroup { count: 2 * all.count(), ..SmGroup::default() }]).is_err());
    for refused in [all.split(&[]).unwrap_err(), all.split_by_count(0, 2).unwrap_err()] {
        assert!(refused.detail().as_str().contains("is zero, at least 1 is needed"), "{refused}");
        assert_eq!(refused.call_site().file(), file!());
    }
    Ok(())
}

#[test]
fn work_on_a_stream_of_a_green_context_is_ordered_like_all_work() -> Result<()> {
    let alone = alone();
    let Some(all) = all() else { return Ok(()) };
    let (parts, _) = all.split_by_count(1, all.min_partition_size())?;
    let context = ExecutionContext::green(&parts)?;
    assert_eq!(context.sm_resource()?.count(), parts[0].count());
    assert_ne!(context.id()?, Device::current()?.execution_context()?.id()?);
    let (green, other) = (context.stream(0)?, Stream::non_blocking()?);
    assert_eq!(green.as_stream().sm_resource()?.count(), parts[0].count());
    assert_eq!(other.as_stream().sm_resource()?.count(), all.count());
    assert!(!green.as_stream().is_blocking());
    drop(context); // the stream keeps it
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let mut host = PinnedBuffer::<u8>::alloc(64)?;
    let gate = Gate::on(&alone, &green);
    memset_async(&mut buffer, 7, &green)?;
    memcpy_async(&mut host, &buffer, &other)?;
    assert!(!other.is_done()?);
    gate.open();
    assert_eq!(*host.host()?, [7; 64]);
    // Dropped with work pending, which still runs.
    memset_async(&mut buffer, 8, &green)?;
    drop(green);
    assert_eq!(buffer.to_vec()?, [8; 64]);
    Ok(())
}

#[test]
fn an_event_stands_for_a_whole_context_and_a_context_waits_for_one() -> Result<()> {
    let alone = alone();
    let Some(all) = all() else { return Ok(()) };
    let (parts, _) = all.split_by_count(1, all.min_partition_size())?;
    let context = ExecutionContext::green(&parts)?;
    let (first, second, other) = (context.stream(0)?, context.stream(-1)?, Stream::non_blocking()?);
    let event = Event::without_timing()?;
    let gate = Gate::on(&alone, &first);
    context.record(&event)?;
    assert!(!event.is_done()? && second.is_done()?);
    // It proves nothing to the tracker, and is waited for all the same.
    other.wait(&event)?;
    assert!(!other.is_done()?);
    gate.open();
    other.synchronize()?;
    let gate = Gate::on(&alone, &other);
    event.record(&other)?;
    context.wait(&event)?;
    second.launch_host_fn(|| ())?;
    assert!(!second.is_done()?);
    gate.open();
    context.synchronize()?;
    assert!(first.is_done()? && second.is_done()?);
    Device::current()?.execution_context()?.synchronize()
}

/// The event may stand for the idle context, and must then prove nothing of the stream.
#[test]
fn an_event_that_another_thread_records_for_a_context_proves_nothing_of_a_stream() -> Result<()> {
    let _alone = alone();
    let Some(all) = all() else { return Ok(()) };
    let (parts, _) = all.split_by_count(1, all.min_partition_size())?;
    let context = ExecutionContext::green(&parts)?;
    let (event, stream) = (Event::without_timing()?, Stream::non_blocking()?);
    let mut bytes = PinnedBuffer::<u8>::alloc(1 << 20)?;
    let is_over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    context.record(&event).unwrap();
                }
            });
        }
        let rounds = || {
            for round in 0..2000_u16 {
                let [value, _] = round.to_le_bytes();
                memset_async(&mut bytes, value, &stream)?;
                event.record(&stream)?;
                event.synchronize()?;
                let found = bytes.host()?;
                assert_eq!((found.first(), found.last()), (Some(&value), Some(&value)), "round {round}");
            }
            Ok(())
        };
        let rounds = catch_unwind(AssertUnwindSafe(rounds));
        is_over.store(true, Ordering::Relaxed);
        rounds.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[test]
fn contexts_are_refused_in_host_functions_and_captures_and_for_several_devices() -> Result<()> {
    let _alone = alone();
    let Some(all) = all() else { return Ok(()) };
    let context = ExecutionContext::green(&[all])?;
    assert!(
        ExecutionContext::green(&[]).unwrap_err().detail().as_str().contains("is zero, at least 1 is needed")
    );
    let event = Event::without_timing()?;
    let mut stream = Stream::non_blocking()?;
    stream.capture(|_| {
        for refused in [context.synchronize(), context.record(&event), context.wait(&event)] {
            assert_eq!(refused.unwrap_err().detail(), &Detail::OUTSIDE_CAPTURE);
        }
        Ok(())
    })?;
    if let Some(device) = Device::all()?.find(|device| *device != all.device()) {
        let there = device.sm_resource()?;
        let error = ExecutionContext::green(&[all, there]).unwrap_err();
        assert!(error.detail().as_str().contains(" belongs to device "), "{error}");
        let event = Event::with_device(device, cuda_safe::stream::EventFlags::DISABLE_TIMING)?;
        assert!(context.record(&event).unwrap_err().detail().as_str().contains(" belongs to device "));
    }
    // The last owner may be dropped in a host function: a thread that may wait destroys the context.
    stream.launch_host_fn(move || {
        assert_eq!(context.synchronize().unwrap_err().detail(), &Detail::IN_CALLBACK);
        drop(context);
    })?;
    stream.synchronize()
}
