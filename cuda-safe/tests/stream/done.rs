//! Futures of streams and events: when they are ready, what their wakers may do, and what a drop leaves.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use cuda_safe::error::Detail;
use cuda_safe::stream::{AsStream, Done};
use cuda_safe::{DeviceBuffer, Event, PinnedBuffer, Result, Stream, memcpy_async, memset_async};
use cuda_testing::{Gate, alone};

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll(done: &mut Done, waker: &Waker) -> Poll<Result<()>> {
    pin!(done).poll(&mut Context::from_waker(waker))
}

/// Calls a function when it wakes.
struct Calls<F>(F);

impl<F: Fn() + Send + Sync> Wake for Calls<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

fn calls(f: impl Fn() + Send + Sync + 'static) -> Waker {
    Waker::from(Arc::new(Calls(f)))
}

/// Tells that it wakes.
fn tells(tell: Sender<()>) -> Waker {
    let tell = Mutex::new(tell);
    calls(move || tell.lock().unwrap().send(()).unwrap())
}

#[test]
fn a_future_is_ready_behind_the_work_before_it_and_not_behind_later_work() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let (tell, told) = channel();
    let waker = tells(tell);
    let first = Gate::on(&alone, &stream);
    let mut done = stream.done();
    let second = Gate::on(&alone, &stream);
    assert!(poll(&mut done, &waker).is_pending());
    first.open();
    told.recv().unwrap();
    assert_eq!(poll(&mut done, &waker), Poll::Ready(Ok(())));
    assert_eq!(poll(&mut done, &waker), Poll::Ready(Ok(())), "it stays ready");
    assert!(!stream.is_done()?);
    second.open();
    stream.synchronize()
}

#[test]
fn afterwards_the_host_accesses_the_memory_of_the_work_without_waiting() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::alloc(64)?;
    let mut host = PinnedBuffer::<u8>::alloc(64)?;
    memset_async(&mut device, 7, &stream)?;
    memcpy_async(&mut host, &device, &stream)?;
    let done = stream.done();
    // A guard that waited would wait for this gate too.
    let gate = Gate::on(&alone, &stream);
    block_on(done)?;
    assert_eq!(*host.host()?, [7; 64]);
    gate.open();
    stream.synchronize()
}

#[test]
fn a_dropped_future_wakes_nobody_and_leaves_the_work_as_it_is() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let mut buffer = PinnedBuffer::<u8>::alloc(64)?;
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 5, &stream)?;
    let woken = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&woken);
    let waker = calls(move || {
        count.fetch_add(1, Ordering::SeqCst);
    });
    let mut done = stream.done();
    assert!(poll(&mut done, &waker).is_pending());
    drop((done, waker));
    assert_eq!(Arc::strong_count(&woken), 1, "the future has let the waker go");
    let never_polled = stream.done();
    let forgotten = std::mem::ManuallyDrop::new(stream.done());
    drop(never_polled);
    gate.open();
    assert_eq!(*buffer.host()?, [5; 64]);
    stream.synchronize()?;
    assert_eq!(woken.load(Ordering::SeqCst), 0);
    drop(std::mem::ManuallyDrop::into_inner(forgotten));
    Ok(())
}

#[test]
fn the_last_waker_is_woken_once() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let gate = Gate::on(&alone, &stream);
    let former = calls(|| panic!("another one has replaced it"));
    let (tell, told) = channel();
    let mut done = stream.done();
    assert!(poll(&mut done, &former).is_pending());
    assert!(poll(&mut done, &tells(tell)).is_pending());
    gate.open();
    told.recv().unwrap();
    stream.synchronize()?;
    assert!(told.recv().is_err(), "the waker is gone");
    block_on(done)
}

#[test]
fn a_waker_is_refused_cuda_and_what_it_drops_is_freed_later() -> Result<()> {
    let alone = alone();
    let stream = Arc::new(Stream::non_blocking()?);
    let gate = Gate::on(&alone, &*stream);
    let (tell, told) = channel();
    let (tell, memory, of_waker) =
        (Mutex::new(tell), Mutex::new(Some(DeviceBuffer::<u8>::alloc(64)?)), Arc::clone(&stream));
    let waker = calls(move || {
        drop(memory.lock().unwrap().take());
        let launched = of_waker.launch_host_fn(|| ());
        tell.lock().unwrap().send((launched, of_waker.synchronize(), DeviceBuffer::<u8>::alloc(4))).unwrap();
    });
    let mut done = stream.done();
    assert!(poll(&mut done, &waker).is_pending());
    gate.open();
    let (launched, waited, allocated) = told.recv().unwrap();
    for error in [launched.unwrap_err(), waited.unwrap_err(), allocated.unwrap_err()] {
        assert_eq!(error.detail(), &Detail::IN_CALLBACK, "{error}");
    }
    block_on(done)?;
    stream.synchronize()
}

#[test]
fn an_executor_may_poll_in_the_waker() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let gate = Gate::on(&alone, &stream);
    let (tell, told) = channel();
    let (tell, shared) = (Mutex::new(tell), Arc::new(Mutex::new(stream.done())));
    let polled = Arc::clone(&shared);
    let waker = calls(move || {
        let ready = poll(&mut polled.lock().unwrap(), Waker::noop());
        tell.lock().unwrap().send(ready).unwrap();
    });
    assert!(poll(&mut shared.lock().unwrap(), &waker).is_pending());
    gate.open();
    assert_eq!(told.recv().unwrap(), Poll::Ready(Ok(())));
    stream.synchronize()
}

#[test]
fn a_panic_in_a_waker_is_reported_and_one_in_a_host_function_by_the_future() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let gate = Gate::on(&alone, &stream);
    let mut done = stream.done();
    assert!(poll(&mut done, &calls(|| panic!("on purpose"))).is_pending());
    gate.open();
    let error = stream.synchronize().unwrap_err();
    assert!(error.detail().as_str().contains(" panicked"), "{error}");
    block_on(done)?;
    let launched = line!() + 1;
    stream.launch_host_fn(|| panic!("on purpose"))?;
    let error = block_on(stream.done()).unwrap_err();
    let at = format!("the host function launched at {}:{launched}:", file!());
    assert!(error.detail().as_str().starts_with(&at) && error.call_site().line() == launched + 1, "{error}");
    block_on(stream.done())
}

#[test]
fn futures_are_refused_in_host_functions_and_captures() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let event = Event::new()?;
    event.record(&stream)?;
    stream.capture(|captured| {
        for done in [captured.as_stream().done(), event.done(), Stream::legacy()?.done()] {
            let error = block_on(done).unwrap_err();
            assert!([Detail::CAPTURING, Detail::OUTSIDE_CAPTURE].contains(error.detail()), "{error}");
        }
        Ok(())
    })?;
    let (stream, (tell, told)) = (Arc::new(stream), channel());
    let inside = Arc::clone(&stream);
    stream.launch_host_fn(move || tell.send(block_on(inside.done())).unwrap())?;
    assert_eq!(told.recv().unwrap().unwrap_err().detail(), &Detail::IN_CALLBACK);
    block_on(stream.done())
}

#[test]
fn any_kind_of_stream_has_futures_and_any_thread_awaits_them() -> Result<()> {
    let _alone = alone();
    let mut buffer = PinnedBuffer::<u8>::alloc(64)?;
    let stream = Stream::new()?;
    memset_async(&mut buffer, 1, &stream)?;
    // The legacy stream comes after the blocking one.
    block_on(Stream::legacy()?.done())?;
    let per_thread = Stream::per_thread()?;
    memset_async(&mut buffer, 2, &per_thread)?;
    let done = per_thread.done();
    thread::scope(|scope| scope.spawn(|| block_on(done)).join()).unwrap()?;
    assert_eq!(*buffer.host()?, [2; 64]);
    Ok(())
}

#[test]
fn short_work_is_awaited_without_a_wake() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut buffer = DeviceBuffer::<u8>::alloc(64)?;
    let waker = calls(|| panic!("nobody is to be woken"));
    let mut ready = 0;
    for _ in 0..50 {
        memset_async(&mut buffer, 1, &stream)?;
        // The machine may be busy: what is ready before the poll is ready at it.
        stream.synchronize()?;
        let mut done = pin!(stream.synchronized());
        ready += usize::from(done.as_mut().poll(&mut Context::from_waker(&waker)).is_ready());
        assert_eq!(done.poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(())), "it stays ready");
    }
    assert_eq!(ready, 50);
    Ok(())
}

#[test]
fn long_work_wakes_the_task_and_covers_what_was_submitted_before_the_first_poll() -> Result<()> {
    let alone = alone();
    let stream = Stream::non_blocking()?;
    let (tell, told) = channel();
    let waker = tells(tell);
    let mut buffer = PinnedBuffer::<u8>::from_slice(&[0; 64])?;
    let mut done = pin!(stream.synchronized());
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 7, &stream)?;
    assert!(done.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    assert!(told.try_recv().is_err());
    gate.open();
    told.recv().unwrap();
    assert_eq!(done.as_mut().poll(&mut Context::from_waker(&waker)), Poll::Ready(Ok(())));
    assert_eq!(buffer.host()?[..], [7; 64]);
    assert_eq!(told.try_iter().count(), 0, "it is woken once");
    Ok(())
}

#[test]
fn a_thousand_futures_on_many_streams_are_pending_at_once() -> Result<()> {
    let alone = alone();
    let streams = (0..64).map(|_| Stream::non_blocking()).collect::<Result<Vec<_>>>()?;
    let gates: Vec<_> = streams.iter().map(|stream| Gate::on(&alone, stream)).collect();
    let woken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&woken);
    let waker = calls(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let mut context = Context::from_waker(&waker);
    let all = (0..1000).map(|i| Box::pin(streams[i % 64].synchronized()));
    let mut all: Vec<_> = all.collect();
    let begin = std::time::Instant::now();
    assert!(all.iter_mut().all(|done| done.as_mut().poll(&mut context).is_pending()));
    let first = begin.elapsed();
    for gate in gates {
        gate.open();
    }
    for stream in &streams {
        stream.synchronize()?;
    }
    assert!(all.iter_mut().all(|done| done.as_mut().poll(&mut context) == Poll::Ready(Ok(()))));
    assert_eq!(woken.load(Ordering::SeqCst), 1000);
    println!("1,000 first polls: {first:?}");
    Ok(())
}

#[test]
fn synchronized_is_refused_where_synchronize_is_and_may_be_sent_to_other_threads() -> Result<()> {
    fn sent<T: Send>(value: T) -> T {
        value
    }
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (tell, told) = channel();
    let inner = Arc::new(Stream::non_blocking()?);
    let other = Arc::clone(&inner);
    stream.launch_host_fn(move || tell.send(block_on(other.synchronized())).unwrap())?;
    let refused = told.recv().unwrap().unwrap_err();
    assert_eq!(refused.detail(), &Detail::IN_CALLBACK);
    stream.synchronize()?;
    let awaited = sent(inner.synchronized());
    thread::scope(|scope| scope.spawn(move || block_on(awaited)).join()).unwrap()
}
