//! The host, and memory that another thread's own stream used: when the host waits, and when it does not.
#![expect(unsafe_code, reason = "captures a blocking stream, which the crate does not do")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::mpsc::channel;
use std::sync::{Arc, Weak};

use cuda_safe::memory::{Stable, StableMut};
use cuda_safe::{Device, DeviceBuffer, PinnedBuffer, Registered, Result, Stream, check, memset_async, sys};
use cuda_testing::{Gate, alone};

/// Memory that a thread's own stream fills with ones. The thread has ended.
fn filled_by_a_thread_that_ended() -> PinnedBuffer<u8> {
    let fill = || {
        let mut buffer = PinnedBuffer::alloc(64).unwrap();
        memset_async(&mut buffer, 1, &Stream::per_thread().unwrap()).unwrap();
        buffer
    };
    std::thread::spawn(fill).join().unwrap()
}

/// Memory that a thread's own stream fills with ones, for `f`. The thread lives until `f` returns.
fn filled_by_a_living_thread<R>(f: impl FnOnce(PinnedBuffer<u8>) -> R) -> R {
    std::thread::scope(|scope| {
        let (give, given) = channel();
        let (end, ended) = channel::<()>();
        scope.spawn(move || {
            let mut buffer = PinnedBuffer::alloc(64).unwrap();
            memset_async(&mut buffer, 1, &Stream::per_thread().unwrap()).unwrap();
            give.send(buffer).unwrap();
            let _ = ended.recv();
        });
        let result = f(given.recv().unwrap());
        drop(end);
        result
    })
}

#[test]
fn the_host_waits_for_the_last_event_of_a_thread_that_has_ended_and_for_nobody_else() -> Result<()> {
    let alone = alone();
    let (blocking, other) = (Stream::new()?, Stream::non_blocking()?);
    let (first, second) = (filled_by_a_thread_that_ended(), filled_by_a_thread_that_ended());
    let gate = Gate::on(&alone, &other);
    assert_eq!(*first.host()?, [1; 64]);
    gate.open();
    // Nor for the legacy stream's part of the device.
    let gate = Gate::on(&alone, &blocking);
    assert_eq!(*second.host()?, [1; 64]);
    gate.open();
    Device::current()?.synchronize()
}

#[test]
fn the_host_waits_for_a_living_thread_and_for_no_stream_that_is_not_blocking() -> Result<()> {
    let alone = alone();
    let other = Stream::non_blocking()?;
    filled_by_a_living_thread(|buffer| {
        let gate = Gate::on(&alone, &other);
        assert_eq!(*buffer.host()?, [1; 64]);
        gate.open();
        other.synchronize()
    })
}

#[test]
fn a_stream_that_left_the_crate_is_waited_for_by_its_last_event_alone() -> Result<()> {
    let alone = alone();
    let other = Stream::non_blocking()?;
    let mut buffer = PinnedBuffer::<u8>::alloc(64)?;
    let stream = Stream::non_blocking()?;
    memset_async(&mut buffer, 1, &stream)?;
    let raw = stream.into_raw();
    let gate = Gate::on(&alone, &other);
    assert_eq!(*buffer.host()?, [1; 64]);
    gate.open();
    // SAFETY: the stream was given up above, and has no other user.
    unsafe { check!(cudaStreamDestroy(raw)) }
}

#[test]
fn who_waits_for_another_threads_stream_spoils_nobodys_capture() -> Result<()> {
    let _alone = alone();
    let (mut stream, mut captured) = (Stream::non_blocking()?, DeviceBuffer::<u8>::alloc(64)?);
    let wait = |buffer: PinnedBuffer<u8>| {
        assert_eq!(*buffer.host().unwrap(), [1; 64]);
        buffer.free().unwrap();
    };
    let graph = stream.capture(|captures| {
        memset_async(&mut captured, 2, captures)?;
        let other = std::thread::spawn(move || {
            wait(filled_by_a_thread_that_ended());
            filled_by_a_living_thread(wait);
        });
        other.join().unwrap();
        Ok(())
    })?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(captured.to_vec()?, [2; 64]);
    Ok(())
}

/// A container that records its end.
struct Watched(Vec<u8>, #[expect(dead_code, reason = "counted by a weak reference")] Arc<()>);

// SAFETY: the vector is not used otherwise while the container is registered.
unsafe impl Stable for Watched {
    type Element = u8;

    fn elements(&mut self) -> (*mut u8, usize) {
        self.0.elements()
    }
}

// SAFETY: the container is the only owner of the vector.
unsafe impl StableMut for Watched {}

#[test]
fn memory_that_a_capture_keeps_from_being_waited_for_is_freed_later() -> Result<()> {
    let _alone = alone();
    // A capture of a blocking stream, by raw calls. The crate captures only streams that the legacy stream
    // does not concern.
    let blocking = Stream::new()?;
    let (raw, mode) = (blocking.as_raw(), sys::cudaStreamCaptureModeThreadLocal);
    let begin = || {
        // SAFETY: the stream lives, and this thread captures nothing else.
        unsafe { check!(cudaStreamBeginCapture(raw, mode)) }
    };
    let end = || {
        let mut graph = std::ptr::null_mut();
        // SAFETY: the capture was begun on this thread. The pointer is to a live variable.
        let ended = unsafe { check!(cudaStreamEndCapture(raw, &raw mut graph)) };
        if !graph.is_null() {
            // SAFETY: this function is the only owner of the graph.
            unsafe { check!(cudaGraphDestroy(graph)) }.unwrap();
        }
        // The wait that the capture refused has invalidated it.
        let _ = cuda_safe::error::take_last();
        ended.err().map(|error| error.code())
    };
    std::thread::scope(|scope| {
        let (give, given) = channel();
        let (go, going) = channel::<()>();
        scope.spawn(move || {
            let owner = Arc::new(());
            let weak: Weak<()> = Arc::downgrade(&owner);
            let mut memory = Registered::new(Watched(vec![0; 64], owner)).unwrap();
            memset_async(&mut memory, 1, &Stream::per_thread().unwrap()).unwrap();
            give.send((memory, weak)).unwrap();
            let _ = going.recv();
        });
        let (memory, weak) = given.recv().unwrap();
        begin()?;
        let dropped = std::thread::spawn(move || drop(memory)).join();
        let code = end();
        dropped.unwrap();
        assert_eq!(code, Some(sys::cudaErrorStreamCaptureInvalidated));
        assert!(weak.upgrade().is_some(), "freed without a wait");
        Device::current()?.synchronize()?;
        assert!(weak.upgrade().is_none(), "the memory is leaked");
        drop(go);
        Ok(())
    })
}
