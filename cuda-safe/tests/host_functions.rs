//! Host functions: when they run, what they may do, and the result of their panics.
#![expect(unsafe_code, reason = "asks the runtime about an address")]
#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use common::{Gate, alone};
use cuda_safe::error::Detail;
use cuda_safe::{Device, DeviceBuffer, Event, Stream, check, memset_async, sys};

#[test]
fn host_functions_run_in_the_order_of_their_stream() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..20 {
        let order = Arc::clone(&order);
        stream.launch_host_fn(move || order.lock().unwrap().push(number)).unwrap();
    }
    stream.synchronize().unwrap();
    assert_eq!(*order.lock().unwrap(), (0..20).collect::<Vec<_>>());
}

#[test]
fn more_functions_than_a_stream_has_room_for_all_run_once_and_in_order_whatever_their_size() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..2 {
        let gate = Gate::on(&alone, &stream);
        for number in 0..700_usize {
            let order = Arc::clone(&order);
            if number % 3 == 0 {
                let large = [number; 100];
                stream.launch_host_fn(move || order.lock().unwrap().push(large[99])).unwrap();
            } else {
                stream.launch_host_fn(move || order.lock().unwrap().push(number)).unwrap();
            }
        }
        gate.open();
        stream.synchronize().unwrap();
        assert_eq!(*order.lock().unwrap(), (0..700).collect::<Vec<_>>());
        order.lock().unwrap().clear();
    }
    assert_eq!(Arc::strong_count(&order), 1, "what the functions own was dropped");
}

#[test]
fn what_a_function_owns_is_dropped_when_it_has_run() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let owned = Arc::new(());
    let held = Arc::clone(&owned);
    let gate = Gate::on(&alone, &stream);
    stream.launch_host_fn(move || drop(held)).unwrap();
    assert_eq!(Arc::strong_count(&owned), 2);
    gate.open();
    stream.synchronize().unwrap();
    assert_eq!(Arc::strong_count(&owned), 1);
}

#[test]
fn a_panic_is_reported_once_by_the_next_synchronisation_of_the_stream() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let other = Stream::non_blocking().unwrap();
    let line = line!() + 1;
    stream.launch_host_fn(|| panic!("as planned")).unwrap();
    other.synchronize().unwrap();
    let error = stream.synchronize().unwrap_err();
    let Detail::CallbackPanicked { launched } = error.detail() else { panic!("{error}") };
    assert_eq!((launched.file(), launched.line()), (file!(), line));
    stream.synchronize().unwrap();
    let (tell, told) = channel();
    stream.launch_host_fn(move || tell.send(()).unwrap()).unwrap();
    stream.synchronize().unwrap();
    told.try_recv().expect("the stream goes on after a panic");
}

#[test]
fn cuda_is_refused_in_a_host_function() {
    let _alone = alone();
    let stream = Arc::new(Stream::non_blocking().unwrap());
    let other = Stream::non_blocking().unwrap();
    let event = Event::without_timing().unwrap();
    event.record(&*stream).unwrap();
    let device = Device::current().unwrap();
    let (tell, told) = channel();
    let inner = Arc::clone(&stream);
    other
        .launch_host_fn(move || {
            let answers = [
                inner.synchronize(),
                inner.is_done().map(drop),
                inner.wait(&event),
                event.record(&*inner),
                event.synchronize(),
                inner.launch_host_fn(|| ()),
                inner.scope(|_| ()),
                device.synchronize(),
                Stream::new().map(drop),
                Event::new().map(drop),
            ];
            tell.send(answers).unwrap();
        })
        .unwrap();
    other.synchronize().unwrap();
    for answer in told.recv().unwrap() {
        assert_eq!(answer.unwrap_err().detail(), &Detail::InCallback);
    }
}

#[test]
fn a_buffer_dropped_in_a_host_function_is_freed_later() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(32 << 20).unwrap();
    memset_async(&mut buffer, 1, &stream).unwrap();
    let address = buffer.as_ptr();
    // The driver caches no memory of this size when it is freed.
    let is_memory = || {
        let mut attributes = std::mem::MaybeUninit::<sys::cudaPointerAttributes>::zeroed();
        // SAFETY: the pointer is to a live structure, which the call fills. Any address may be queried.
        unsafe { check!(cudaPointerGetAttributes(attributes.as_mut_ptr(), address.cast())) }.unwrap();
        // SAFETY: the call has filled it.
        unsafe { attributes.assume_init() }.type_ == sys::cudaMemoryTypeDevice
    };
    let gate = Gate::on(&alone, &stream);
    stream.launch_host_fn(move || drop(buffer)).unwrap();
    assert!(is_memory());
    gate.open();
    stream.synchronize().unwrap();
    assert!(!is_memory(), "the synchronisation has freed what was dropped");
}

#[test]
fn streams_and_events_may_be_dropped_in_a_host_function() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (other, event) = (Stream::non_blocking().unwrap(), Event::new().unwrap());
    stream.launch_host_fn(move || drop((other, event))).unwrap();
    stream.synchronize().unwrap();
}
