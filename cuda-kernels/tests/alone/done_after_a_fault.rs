//! Futures of streams that a kernel's fault keeps from completing: the task is woken, with the error.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: a kernel traps while tasks await it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use cuda_kernels::kernels::fault_trap;
use cuda_safe::launch;
use cuda_safe::stream::{Done, Event, Stream};
use cuda_testing::own_process;

struct Tells(mpsc::SyncSender<()>);

impl Wake for Tells {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// Polls the future until it is ready. The task sleeps in between.
fn wait(done: Done) -> cuda_safe::Result<()> {
    let (tell, told) = mpsc::sync_channel(1);
    let (waker, mut done) = (Waker::from(Arc::new(Tells(tell))), pin!(done));
    loop {
        match done.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(result) => return result,
            // No test waits for ever, whatever a device does after its fault.
            Poll::Pending => told.recv_timeout(Duration::from_secs(20)).unwrap(),
        }
    }
}

#[test]
fn a_fault_wakes_the_tasks_with_its_error() {
    own_process!();
    let (stream, other) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let event = Event::without_timing().unwrap();
    fault_trap.load().unwrap();
    wait(stream.done()).unwrap();
    // The stream is held until all futures are made: work after the fault may be refused at once.
    let (open, opened) = mpsc::channel::<()>();
    stream.launch_host_fn(move || opened.recv().unwrap_or(())).unwrap();
    launch!(fault_trap<<<1, 1, 0, &stream>>>()).unwrap();
    event.record(&stream).unwrap();
    other.wait(&event).unwrap();
    let futures = [stream.done(), event.done(), other.done()];
    drop(open);
    for done in futures {
        let error = wait(done).unwrap_err();
        assert!(error.is_sticky() && error.call_site().file() == file!(), "{error}");
    }
    assert!(wait(stream.done()).unwrap_err().is_sticky());
}
