//! Copies under `Policy::Error`: refused with both call sites.
//!
//! Alone: the policy is a property of the process.

use cuda_safe::hazard::{self, Policy};
use cuda_safe::stream::{Event, Stream};
use cuda_safe::{CopyBatch, DeviceBuffer, PinnedBuffer, memcpy, memcpy_async, memset_async};
use cuda_testing::own_process;

#[test]
fn copies_that_nothing_orders_are_refused_with_both_lines() {
    own_process!();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut pinned = PinnedBuffer::<u32>::alloc(1000).unwrap();
    hazard::set_policy(Policy::Error).unwrap();

    let written = line!() + 1;
    memset_async(&mut device, 1, &first).unwrap();
    let read = line!() + 1;
    let error = memcpy_async(&mut pinned, &device, &second).unwrap_err();
    assert_unordered(&error, written, read);

    // Blocking copies use the legacy stream, which does not wait for a non-blocking one.
    let error = memcpy(&mut pinned, &device).unwrap_err();
    assert!(error.detail().as_str().contains("nothing orders the operation at "), "{error}");

    // In order: there is nothing to refuse.
    let event = Event::without_timing().unwrap();
    event.record(&first).unwrap();
    second.wait(&event).unwrap();
    let added = hazard::added_waits();
    memcpy_async(&mut pinned, &device, &second).unwrap();
    assert_eq!(pinned.host().unwrap()[999], 0x0101_0101);
    assert_eq!(hazard::added_waits(), added);

    // Batches too, at the first enqueue and at a later one. A refusal leaves no trace.
    let mut halves: Vec<_> = device.slice_mut(..).unwrap().chunks_mut(500).unwrap().collect();
    let sources: Vec<_> = pinned.slice(..).unwrap().chunks(500).unwrap().collect();
    let batch: CopyBatch<'_> = halves.iter_mut().zip(&sources).collect();
    batch.enqueue(&second).unwrap();
    let again = line!() + 1;
    batch.enqueue(&second).unwrap();
    for _ in 0..2 {
        let refused = line!() + 1;
        let error = batch.enqueue(&first).unwrap_err();
        assert_unordered(&error, again, refused);
    }
    event.record(&second).unwrap();
    first.wait(&event).unwrap();
    batch.enqueue(&first).unwrap();
    assert_eq!(hazard::added_waits(), added);
    first.synchronize().unwrap();
    hazard::set_policy(Policy::Order).unwrap();
}

/// Checks that an error is the hazard of two operations at these lines of the caller's file.
#[track_caller]
fn assert_unordered(error: &cuda_safe::Error, first: u32, second: u32) {
    let file = std::panic::Location::caller().file();
    let text = error.detail().as_str();
    assert_eq!(error.detail().kind(), cuda_safe::error::ErrorKind::Hazard, "{text}");
    assert!(text.starts_with(&format!("nothing orders the operation at {file}:{second}:")), "{text}");
    assert!(text.contains(&format!(" after the conflicting one at {file}:{first}:")), "{text}");
    assert!(error.to_string().contains(text), "{error}");
}
