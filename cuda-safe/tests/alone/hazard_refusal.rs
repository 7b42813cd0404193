//! `Policy::Error`: work that the program does not order is refused, with both call sites.
//!
//! Alone: the policy is a property of the process.
#![allow(clippy::unwrap_used, reason = "tests")]

use cuda_safe::hazard::{self, Policy};
use cuda_safe::{Device, DeviceBuffer, Event, Result, Stream, memcpy, memset, memset_async, sys};
use cuda_testing::own_process;
use cuda_testing::{Gate, alone};

#[test]
fn an_unordered_conflict_is_refused_with_both_places_and_does_not_run() {
    own_process!();
    let alone = alone();
    hazard::set_policy(Policy::Error).unwrap();
    assert_eq!(hazard::policy(), Policy::Error);
    let (a, b) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut buffer = DeviceBuffer::<u8>::alloc(4096).unwrap();
    let gate = Gate::on(&alone, &a);
    let first_line = line!() + 1;
    memset_async(&mut buffer, 1, &a).unwrap();
    let second_line = line!() + 1;
    let error = memset_async(&mut buffer, 2, &b).unwrap_err();
    cuda_testing::assert_unordered(&error, first_line, second_line);

    // With an event in between it is correct. So is work after a synchronization.
    let event = Event::without_timing().unwrap();
    event.record(&a).unwrap();
    b.wait(&event).unwrap();
    memset_async(&mut buffer, 3, &b).unwrap();
    memset_async(&mut buffer, 4, &a).unwrap_err();
    gate.open();
    b.synchronize().unwrap();
    memset_async(&mut buffer, 5, &a).unwrap();
    a.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [5; 4096]);
    assert_eq!(hazard::added_waits(), 0);
}

#[test]
fn branches_of_a_capture_that_conflict_are_refused_with_both_lines() {
    own_process!();
    let _alone = alone();
    hazard::set_policy(Policy::Error).unwrap();
    let mut stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let first_line = line!() + 4;
    let graph = stream
        .capture(|s| {
            let side = s.fork()?;
            memset_async(&mut buffer, 1, s)?;
            let error = memset_async(&mut buffer, 2, &side).unwrap_err();
            cuda_testing::assert_unordered(&error, first_line, first_line + 1);
            s.join(side)?;
            memset_async(&mut buffer, 3, s)
        })
        .unwrap();
    assert_eq!(graph.node_count().unwrap(), 2);
    graph.instantiate().unwrap().launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [3; 64]);
}

#[test]
fn work_after_a_measured_time_is_ordered() -> Result<()> {
    own_process!(Ok(()));
    let _alone = alone();
    hazard::set_policy(Policy::Error)?;
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let (start, stop) = (Event::new()?, Event::new()?);
    start.record(&a)?;
    memset_async(&mut buffer, 1, &a)?;
    stop.record(&a)?;
    memset_async(&mut buffer, 2, &b).unwrap_err();
    while stop.elapsed_ms(&start).is_err_and(|error| error.code() == sys::cudaErrorNotReady) {}
    memset_async(&mut buffer, 2, &b)?;
    b.synchronize()
}

#[test]
fn launches_of_one_executable_graph_on_two_streams_are_ordered() -> Result<()> {
    own_process!(Ok(()));
    let alone = alone();
    hazard::set_policy(Policy::Error)?;
    let (mut a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let mut exec = a.capture(|s| memset_async(&mut buffer, 1, s))?.instantiate()?;
    let gate = Gate::on(&alone, &a);
    exec.launch(&a)?;
    exec.launch(&b)?;
    // Nothing orders the first stream after the second launch.
    memset_async(&mut buffer, 2, &a).unwrap_err();
    assert!(!b.is_done()?);
    gate.open();
    exec.launch(&a)?;
    memset_async(&mut buffer, 2, &a)?;
    a.synchronize()?;
    assert_eq!(buffer.to_vec()?, [2; 64]);
    Ok(())
}

#[test]
fn blocking_copies_between_devices_are_ordered_with_the_default_streams_of_both() -> Result<()> {
    own_process!(Ok(()));
    let _alone = alone();
    hazard::set_policy(Policy::Error)?;
    let devices: Vec<_> = Device::all()?.collect();
    let [here, there, ..] = devices[..] else {
        println!("one device only: nothing to copy between");
        return Ok(());
    };
    let (mut first, mut second) =
        (DeviceBuffer::<u8>::alloc_on(here, 64)?, DeviceBuffer::<u8>::alloc_on(there, 64)?);
    memset(&mut first, 1)?;
    memset(&mut second, 2)?;
    memcpy(&mut second, &first)?;
    memset(&mut first, 3)?;
    assert_eq!(second.to_vec()?, [1; 64]);
    memcpy(&mut second, &first)?;
    memset(&mut second, 4)?;
    memcpy(&mut first, &second)?;
    assert_eq!(first.to_vec()?, [4; 64]);
    // In C++ a stream that does not wait for the default one must be ordered by the program, here too.
    let stream = Stream::builder().device(there).non_blocking().build()?;
    memcpy(&mut second, &first)?;
    memset_async(&mut second, 5, &stream).unwrap_err();
    Ok(())
}
