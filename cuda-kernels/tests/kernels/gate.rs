//! Gates: work behind a gate does not run until the host opens the gate, and then it does.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;

use cuda_kernels::{add_one, gate, gate_announced, gate_then_write, kernels, raise_flag};
use cuda_safe::stream::Done;
use cuda_safe::{DeviceBuffer, Event, MappedFlag, PinnedBuffer, Result, Stream, memset_async};
use cuda_testing::alone;

/// Opens the gate when the test ends, also by a failure: a failed test must not wait for its own gate.
struct Opens<'a>(&'a MappedFlag);

impl Drop for Opens<'_> {
    fn drop(&mut self) {
        self.0.set(1);
    }
}

#[test]
fn a_gate_holds_its_stream_until_it_is_opened() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let flag = MappedFlag::new()?;
    let _opens = Opens(&flag);
    gate(&flag, &stream)?;
    assert!(!stream.is_done()?);
    flag.set(1);
    stream.synchronize()?;
    assert!(stream.is_done()?);
    Ok(())
}

#[test]
fn a_gate_holds_what_is_behind_it_and_not_other_streams() -> Result<()> {
    let _alone = alone();
    let (held, free) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let _opens = Opens(&flag);
    let mut behind = DeviceBuffer::from_slice(&[0])?;
    let mut beside = DeviceBuffer::from_slice(&[0])?;
    // Loading a kernel may wait for the running one, and here would wait forever.
    kernels::add_one.load()?;
    gate(&flag, &held)?;
    add_one(&mut behind, &held)?;
    add_one(&mut beside, &free)?;
    free.synchronize()?;
    assert!(!held.is_done()?);
    flag.set(1);
    assert_eq!((behind.to_vec()?, beside.to_vec()?), (vec![1], vec![1]));
    Ok(())
}

#[test]
fn an_announced_gate_says_when_it_runs() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (started, flag) = (MappedFlag::new()?, MappedFlag::new()?);
    let _opens = Opens(&flag);
    gate_announced(&started, &flag, &stream)?;
    while started.load() == 0 {
        // The query makes sure that the work is submitted, on hardware and on the emulator.
        assert!(!stream.is_done()?);
    }
    flag.set(1);
    stream.synchronize()
}

#[test]
fn a_gate_writes_only_after_it_was_opened() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let flag = MappedFlag::new()?;
    let _opens = Opens(&flag);
    let mut out = DeviceBuffer::from_slice(&[1_u32; 40])?;
    gate_then_write(&flag, &mut out, 5, &stream)?;
    assert!(!stream.is_done()?);
    flag.set(1);
    assert_eq!(out.to_vec()?, [5; 40]);
    Ok(())
}

#[test]
fn one_stream_opens_the_gate_of_another() -> Result<()> {
    let _alone = alone();
    let (held, opener) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let flag = MappedFlag::new()?;
    let _opens = Opens(&flag);
    kernels::raise_flag.load()?;
    gate(&flag, &held)?;
    raise_flag(&flag, 9, &opener)?;
    held.synchronize()?;
    assert_eq!(flag.load(), 9);
    Ok(())
}

/// Asks a future until it is ready.
fn wait_for(mut done: Done) -> Result<()> {
    loop {
        if let Poll::Ready(answer) = pin!(&mut done).poll(&mut Context::from_waker(Waker::noop())) {
            return answer;
        }
        thread::yield_now();
    }
}

/// Held by a kernel: a host function that blocks would delay the functions of all streams on hardware.
#[test]
fn an_event_is_done_whatever_its_stream_does_then() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let flag = MappedFlag::new()?;
    let _opens = Opens(&flag);
    let mut buffer = PinnedBuffer::<u8>::alloc(64)?;
    let event = Event::without_timing()?;
    wait_for(event.done())?; // never recorded
    memset_async(&mut buffer, 3, &stream)?;
    event.record(&stream)?;
    gate(&flag, &stream)?;
    let later = stream.done();
    let done = event.done();
    // Another record does not concern the future.
    event.record(&stream)?;
    wait_for(done)?;
    assert_eq!(*buffer.host()?, [3; 64]);
    assert!(!stream.is_done()?);
    flag.set(1);
    wait_for(later)
}
