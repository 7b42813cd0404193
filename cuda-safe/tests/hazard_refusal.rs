//! `Policy::Error`: work that the program does not order is refused, with both call sites. One process, one
//! policy.
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{Gate, alone};
use cuda_safe::error::Detail;
use cuda_safe::hazard::{self, Policy};
use cuda_safe::{DeviceBuffer, Event, Stream, memset_async};

#[test]
fn an_unordered_conflict_is_refused_with_both_places_and_does_not_run() {
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
    let Detail::Hazard { first: Some(first), second } = error.detail() else { panic!("{error}") };
    assert_eq!((first.file(), first.line()), (file!(), first_line));
    assert_eq!((second.file(), second.line()), (file!(), second_line));
    let text = error.to_string();
    assert!(text.contains(&format!("{}:{first_line}", file!())), "{text}");
    assert!(text.contains(&format!("{}:{second_line}", file!())), "{text}");

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
            let Detail::Hazard { first: Some(first), second } = error.detail() else { panic!("{error}") };
            assert_eq!((first.line(), second.line()), (first_line, first_line + 1));
            s.join(side)?;
            memset_async(&mut buffer, 3, s)
        })
        .unwrap();
    assert_eq!(graph.node_count().unwrap(), 2);
    graph.instantiate().unwrap().launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [3; 64]);
}
