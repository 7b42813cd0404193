//! Streams, events and scopes: the order of work, and the reuse of handles.
#![expect(unsafe_code, reason = "puts raw operations on streams, takes handles apart and together")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::stream::{AsStream, EventFlags, LegacyStream, StreamRef};
use cuda_safe::{Device, DeviceBuffer, Event, PinnedBuffer, Stream, memcpy_async, memset_async, sys};
use cuda_testing::{Gate, alone};

#[test]
fn a_stream_says_what_it_was_made_with() {
    let _alone = alone();
    let device = Device::current().unwrap();
    let blocking = Stream::new().unwrap();
    let free = Stream::non_blocking().unwrap();
    assert!(blocking.is_blocking() && !free.is_blocking() && Stream::legacy().unwrap().is_blocking());
    assert_eq!(blocking.device(), device);
    let ids = [blocking.id().unwrap(), free.id().unwrap(), Stream::legacy().unwrap().id().unwrap()];
    assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    let range = device.stream_priority_range().unwrap();
    for asked in [i32::MIN, range.greatest, range.least, i32::MAX] {
        let stream = Stream::builder().priority(asked).build().unwrap();
        assert_eq!(stream.priority().unwrap(), asked.clamp(range.greatest, range.least));
    }
}

#[test]
fn a_stream_is_done_when_all_it_was_given_is() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    assert!(stream.is_done().unwrap());
    let gate = Gate::on(&alone, &stream);
    assert!(!stream.is_done().unwrap());
    gate.open();
    stream.synchronize().unwrap();
    assert!(stream.is_done().unwrap());
}

#[test]
fn an_event_stands_for_what_came_before_it_and_nothing_after() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let event = Event::without_timing().unwrap();
    event.record(&stream).unwrap();
    event.synchronize().unwrap();
    let gate = Gate::on(&alone, &stream);
    assert!(event.is_done().unwrap(), "the gate came after the record");
    event.record(&stream).unwrap();
    assert!(!event.is_done().unwrap(), "recording again moves the mark");
    gate.open();
    event.synchronize().unwrap();
    assert!(event.is_done().unwrap());
}

#[test]
fn an_event_that_was_never_recorded_stands_for_nothing_even_with_a_used_handle() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let gate = Gate::on(&alone, &stream);
    let former = Event::with_flags(EventFlags::BLOCKING_SYNC).unwrap();
    former.record(&stream).unwrap();
    drop(former);
    let fresh = Event::with_flags(EventFlags::BLOCKING_SYNC).unwrap();
    assert!(fresh.is_done().unwrap());
    fresh.synchronize().unwrap();
    let other = Stream::non_blocking().unwrap();
    other.wait(&fresh).unwrap();
    other.synchronize().unwrap();
    let error = fresh.elapsed_ms(&fresh).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidResourceHandle);
    assert!(error.to_string().contains("the start was never recorded"), "{error}");
    gate.open();
    stream.synchronize().unwrap();
    let start = Event::new().unwrap();
    start.record(&stream).unwrap();
    let error = fresh.elapsed_ms(&start).unwrap_err();
    assert!(error.to_string().contains("the end was never recorded"), "{error}");
}

#[test]
fn a_stream_that_waits_for_an_event_goes_on_when_it_is_complete() {
    let alone = alone();
    let (producer, consumer) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let ready = Event::without_timing().unwrap();
    let gate = Gate::on(&alone, &producer);
    ready.record(&producer).unwrap();
    consumer.wait(&ready).unwrap();
    let (tell, told) = channel();
    consumer.launch_host_fn(move || tell.send(()).unwrap()).unwrap();
    assert!(!consumer.is_done().unwrap());
    assert!(told.try_recv().is_err());
    gate.open();
    consumer.synchronize().unwrap();
    told.try_recv().unwrap();
}

#[test]
fn a_wait_stands_for_the_mark_as_it_was_when_it_was_given() {
    let alone = alone();
    let (first, second, waiter) =
        (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let event = Event::without_timing().unwrap();
    event.record(&first).unwrap();
    waiter.wait(&event).unwrap();
    let gate = Gate::on(&alone, &second);
    event.record(&second).unwrap();
    waiter.synchronize().unwrap();
    assert!(!event.is_done().unwrap());
    gate.open();
    event.synchronize().unwrap();
}

#[test]
fn elapsed_time_is_negative_the_other_way_round() {
    let _alone = alone();
    let stream = Stream::new().unwrap();
    let (start, end) = (Event::new().unwrap(), Event::new().unwrap());
    start.record(&stream).unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(1 << 20).unwrap();
    memset_async(&mut buffer, 1, &stream).unwrap();
    end.record(&stream).unwrap();
    end.synchronize().unwrap();
    let forwards = end.elapsed_ms(&start).unwrap();
    assert!(forwards >= 0.0);
    assert_eq!(start.elapsed_ms(&end).unwrap(), -forwards);
    let untimed = Event::without_timing().unwrap();
    let error = end.elapsed_ms(&untimed).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorInvalidResourceHandle);
    assert!(error.to_string().contains("made without timing: use `Event::new`"), "{error}");
}

#[test]
fn an_event_is_refused_on_a_stream_of_another_device() {
    let _alone = alone();
    if Device::count().unwrap() < 2 {
        eprintln!("one device only: nothing to refuse");
        return;
    }
    let elsewhere = Stream::builder().device(Device::new(1).unwrap()).build().unwrap();
    let event = Event::with_device(Device::new(0).unwrap(), EventFlags::empty()).unwrap();
    let error = event.record(&elsewhere).unwrap_err();
    assert_eq!(error.detail(), &Detail::device_mismatch("the stream", 1, 0));
}

#[test]
fn a_stream_of_another_device_needs_no_switch() {
    let alone = alone();
    if Device::count().unwrap() < 2 {
        eprintln!("one device only: nothing to switch");
        return;
    }
    let other = Device::new(1).unwrap();
    let stream = Stream::builder().device(other).non_blocking().build().unwrap();
    let event = Event::with_device(other, EventFlags::DISABLE_TIMING).unwrap();
    let gate = Gate::on(&alone, &stream);
    event.record(&stream).unwrap();
    let here = Stream::non_blocking().unwrap();
    here.wait(&event).unwrap();
    assert!(!here.is_done().unwrap());
    gate.open();
    here.synchronize().unwrap();
    assert_eq!(Device::current().unwrap().ordinal(), 0);
    assert_eq!(LegacyStream::new(other).unwrap().device(), other);
    LegacyStream::new(other).unwrap().synchronize().unwrap();
    assert_eq!(Device::current().unwrap().ordinal(), 0);
}

#[test]
fn a_dropped_stream_serves_again_only_when_its_work_is_done() {
    let alone = alone();
    // A different priority keeps the streams of other tests away.
    let make = || Stream::builder().non_blocking().priority(-77).build().unwrap();
    let stream = make();
    let raw = stream.as_raw();
    let gate = Gate::on(&alone, &stream);
    drop(stream);
    let second = make();
    assert_ne!(second.as_raw(), raw, "the gate still holds the first one");
    gate.open();
    Device::current().unwrap().synchronize().unwrap();
    assert_eq!(make().as_raw(), raw);
}

#[test]
fn a_stream_taken_apart_can_be_put_together_again() {
    let alone = alone();
    let stream = Stream::builder().non_blocking().build().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 3, &stream).unwrap();
    let raw = stream.into_raw();
    // The tracker still has the stream's work: another stream waits for it.
    let other = Stream::non_blocking().unwrap();
    let mut pinned = PinnedBuffer::<u8>::alloc(64).unwrap();
    memcpy_async(&mut pinned, &buffer, &other).unwrap();
    assert!(!other.is_done().unwrap());
    gate.open();
    assert_eq!(*pinned.host().unwrap(), [3; 64]);
    // SAFETY: the stream is the one given up above, and belongs to the current device.
    let stream = unsafe { Stream::from_raw(raw, Device::current().unwrap()) }.unwrap();
    assert!(!stream.is_blocking());
    stream.synchronize().unwrap();
}

#[test]
fn a_scope_is_over_when_it_returns() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let gate = Gate::on(&alone, &stream);
    let opener = std::thread::spawn(move || gate.open());
    let answer = stream.scope(|scope| scope.stream().device().ordinal()).unwrap();
    assert_eq!(answer, stream.device().ordinal());
    assert!(stream.is_done().unwrap());
    opener.join().unwrap();
}

#[test]
fn a_scope_is_over_when_its_closure_panics() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (tell, told) = channel();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        stream.scope(|scope| {
            scope.stream().launch_host_fn(move || tell.send(()).unwrap()).unwrap();
            panic!("as planned");
        })
    }));
    assert!(panicked.is_err());
    told.try_recv().expect("the scope has waited for the host function");
}

#[test]
fn an_operation_inside_another_is_refused() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let other = Stream::non_blocking().unwrap();
    let within = |f: &dyn Fn() -> cuda_safe::Result<()>| {
        // SAFETY: the closure puts no work on the stream.
        unsafe { stream.enqueue(&[], |_| f()) }.unwrap_err().detail().clone()
    };
    assert_eq!(within(&|| stream.launch_host_fn(|| ())), Detail::NESTED);
    assert_eq!(within(&|| other.launch_host_fn(|| ())), Detail::NESTED);
    assert_eq!(within(&|| other.synchronize()), Detail::NESTED);
    assert_eq!(within(&|| other.scope(|_| ())), Detail::NESTED);
    assert_eq!(within(&|| Device::new(0)?.synchronize()), Detail::NESTED);
    stream.synchronize().unwrap();
}

#[test]
fn a_panic_while_an_operation_is_entered_leaves_the_stream_usable() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(16).unwrap();
    let access = buffer.access_mut();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the closure puts no work on the stream and does not return.
        unsafe { stream.enqueue(&[access], |_| -> cuda_safe::Result<()> { panic!("as planned") }) }
    }));
    assert!(panicked.is_err());
    // Another stream that conflicts does not wait for an operation that was never submitted.
    let other = Stream::non_blocking().unwrap();
    memset_async(&mut buffer, 1, &other).unwrap();
    memset_async(&mut buffer, 2, &stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [2; 16]);
}

#[test]
fn a_buffer_named_twice_by_one_operation_is_one_buffer() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let buffer = DeviceBuffer::<u8>::alloc(16).unwrap();
    for accesses in
        [[buffer.access(), buffer.access()], [buffer.access(), buffer.slice(4..8).unwrap().access()]]
    {
        // SAFETY: the closure puts a host function that accesses no memory on the stream.
        unsafe { stream.enqueue(&accesses, cuda_testing::put_nothing) }.unwrap();
    }
    stream.synchronize().unwrap();
}

/// Returns the byte that fills a buffer.
fn byte_of(buffer: &DeviceBuffer<u8>) -> u8 {
    let bytes = buffer.to_vec().unwrap();
    assert!(bytes.iter().all(|byte| *byte == bytes[0]), "torn: {bytes:?}");
    bytes[0]
}

#[test]
fn work_of_a_thread_on_its_own_stream_is_waited_for_by_others() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::<u8>::alloc(256).unwrap();
    let stream = Stream::non_blocking().unwrap();
    // The thread still runs when the other stream accesses the buffer.
    let (give, taken) = channel::<DeviceBuffer<u8>>();
    let (end, ended) = channel::<()>();
    let worker = std::thread::spawn(move || {
        let mine = Stream::per_thread().unwrap();
        memset_async(&mut buffer, 1, &mine).unwrap();
        give.send(buffer).unwrap();
        let _ = ended.recv();
    });
    let mut buffer = taken.recv().unwrap();
    memset_async(&mut buffer, 2, &stream).unwrap();
    assert_eq!(byte_of(&buffer), 2);
    end.send(()).unwrap();
    worker.join().unwrap();
    // Here it has ended.
    let mut buffer = std::thread::spawn(move || {
        memset_async(&mut buffer, 3, &Stream::per_thread().unwrap()).unwrap();
        buffer
    })
    .join()
    .unwrap();
    memset_async(&mut buffer, 4, &stream).unwrap();
    assert_eq!(byte_of(&buffer), 4);
    // This thread's own stream, and one of another kind.
    let mine = Stream::per_thread().unwrap();
    assert!(mine.is_blocking());
    memset_async(&mut buffer, 5, &mine).unwrap();
    memset_async(&mut buffer, 6, &stream).unwrap();
    memset_async(&mut buffer, 7, &mine).unwrap();
    mine.synchronize().unwrap();
    assert_eq!(byte_of(&buffer), 7);
}

#[test]
fn work_of_a_thread_that_has_ended_is_waited_for_by_streams_and_not_by_the_host() {
    let alone = alone();
    let [mut one, mut other] = [(); 2].map(|()| DeviceBuffer::<u8>::alloc(256).unwrap());
    let held = alone.clone();
    let gate;
    (gate, one, other) = std::thread::spawn(move || {
        let mine = Stream::per_thread().unwrap();
        let gate = Gate::on(&held, &mine);
        memset_async(&mut one, 1, &mine).unwrap();
        memset_async(&mut other, 1, &mine).unwrap();
        (gate, one, other)
    })
    .join()
    .unwrap();
    let (legacy, stream) = (Stream::legacy().unwrap(), Stream::non_blocking().unwrap());
    memset_async(&mut one, 2, &stream).unwrap();
    memset_async(&mut other, 2, &legacy).unwrap();
    assert!(!stream.is_done().unwrap() && !legacy.is_done().unwrap());
    gate.open();
    assert_eq!((byte_of(&one), byte_of(&other)), (2, 2));
}

#[test]
fn every_kind_of_stream_is_a_stream() {
    let _alone = alone();
    fn device_of(stream: &impl AsStream) -> Device {
        let view: StreamRef<'_> = stream.as_stream();
        view.device()
    }
    let here = Device::current().unwrap();
    let stream = Stream::new().unwrap();
    assert_eq!(device_of(&stream), here);
    assert_eq!(device_of(&stream.as_stream()), here);
    assert_eq!(device_of(&Stream::legacy().unwrap()), here);
    assert_eq!(device_of(&Stream::per_thread().unwrap()), here);
}

#[test]
fn the_legacy_stream_is_that_of_the_device_that_is_current_when_it_is_asked_for() {
    let _alone = alone();
    let mut buffer = DeviceBuffer::<u8>::alloc(16).unwrap();
    memset_async(&mut buffer, 5, &Stream::legacy().unwrap()).unwrap();
    Stream::legacy().unwrap().synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [5; 16]);
    for device in Device::all().unwrap() {
        let used = device.with_current(Stream::legacy).unwrap();
        assert_eq!(used.as_stream().device(), device);
    }
}
