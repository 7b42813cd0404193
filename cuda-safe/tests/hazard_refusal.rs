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
