//! Programs of safe code only that try to mislead the tracker.
//!
//! The count of added waits is a property of the process, so these tests run one at a time.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::cell::RefCell;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

use cuda_safe::stream::RecordFlags;
use cuda_safe::{DeviceBuffer, Event, Stream, hazard, memset_async};
use cuda_testing::{Gate, alone};

/// Runs a closure when it is dropped. As a variable of a thread, it runs the closure when the thread ends.
struct AtTheEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    static AT_THE_END: RefCell<AtTheEnd> = const { RefCell::new(AtTheEnd(None)) };
}

#[test]
fn a_threads_own_stream_is_nobodys_any_more_once_the_thread_is_ending() {
    let alone = alone();
    let buffer = Arc::new(Mutex::new(DeviceBuffer::<u8>::alloc(64).unwrap()));
    let (ending, told) = channel();
    let (go, going) = channel::<()>();
    let (answer, answered) = channel();
    let thread = {
        let buffer = Arc::clone(&buffer);
        std::thread::spawn(move || {
            // First the variable, then the stream: variables of a thread are dropped in the opposite order.
            AT_THE_END.with(|_| ());
            let stream = Stream::per_thread().unwrap();
            memset_async(&mut *buffer.lock().unwrap(), 1, &stream).unwrap();
            stream.synchronize().unwrap();
            let last = move || {
                ending.send(()).unwrap();
                going.recv().unwrap();
                let waits = hazard::added_waits();
                let filled = memset_async(&mut *buffer.lock().unwrap(), 3, &stream);
                answer.send((filled, hazard::added_waits() - waits)).unwrap();
                assert!(stream.scope(|_| unreachable!("its end could not be waited for")).is_err());
                assert!(Event::without_timing().unwrap().record(&stream).is_err());
                assert!(stream.synchronize().is_err() && stream.is_done().is_err());
            };
            AT_THE_END.with(|it| it.borrow_mut().0 = Some(Box::new(last)));
        })
    };
    told.recv().unwrap();
    // The tracker may give the timeline of the other thread's stream to this one's, because no work of it
    // is pending.
    let mine = Stream::per_thread().unwrap();
    let gate = Gate::on(&alone, &mine);
    memset_async(&mut *buffer.lock().unwrap(), 2, &mine).unwrap();
    go.send(()).unwrap();
    let (filled, waits) = answered.recv().unwrap();
    assert!(filled.is_err(), "taken for an operation of this thread's stream, with {waits} waits");
    gate.open();
    thread.join().unwrap();
    assert_eq!(buffer.lock().unwrap().to_vec().unwrap(), [2; 64]);
}

#[test]
fn an_event_that_a_graph_records_too_proves_nothing_about_the_stream_that_it_was_recorded_on() {
    let alone = alone();
    let [held, mut other, third] = [(); 3].map(|()| Stream::non_blocking().unwrap());
    let event = Event::without_timing().unwrap();
    let graph = other.capture(|captured| event.record_with(captured, RecordFlags::EXTERNAL)).unwrap();
    let mut graph = graph.instantiate().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let gate = Gate::on(&alone, &held);
    memset_async(&mut buffer, 1, &held).unwrap();
    event.record(&held).unwrap();
    graph.launch(&other).unwrap();
    other.synchronize().unwrap();
    assert!(event.is_done().unwrap(), "it stands for what the graph has done");
    let waits = hazard::added_waits();
    memset_async(&mut buffer, 2, &third).unwrap();
    assert_eq!(hazard::added_waits() - waits, 1, "the held stream has not filled the buffer yet");
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
}

#[test]
fn an_event_that_a_graph_records_is_nobody_elses_after_it_was_dropped() {
    let alone = alone();
    let [held, mut other, third] = [(); 3].map(|()| Stream::non_blocking().unwrap());
    let event = Event::without_timing().unwrap();
    let handle = event.as_raw();
    let graph = other.capture(|captured| event.record_with(captured, RecordFlags::EXTERNAL)).unwrap();
    let mut graph = graph.instantiate().unwrap();
    drop(event);
    let events: Vec<_> = (0..20).map(|_| Event::without_timing().unwrap()).collect();
    assert!(events.iter().all(|event| event.as_raw() != handle), "the graph still records it");
    drop(events);
    // The tracker takes its events from the same pool.
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let gate = Gate::on(&alone, &held);
    memset_async(&mut buffer, 1, &held).unwrap();
    graph.launch(&other).unwrap();
    memset_async(&mut buffer, 2, &third).unwrap();
    graph.launch(&other).unwrap();
    other.synchronize().unwrap();
    assert!(!third.is_done().unwrap());
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
}
