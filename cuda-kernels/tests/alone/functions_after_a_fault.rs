//! Host functions and futures that a kernel's fault leaves pending.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: a kernel traps while functions wait behind it.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Poll, Wake, Waker};

use cuda_kernels::kernels::fault_trap;
use cuda_safe::{DeviceBuffer, Stream, launch};
use cuda_testing::own_process;

/// Panics when it is dropped, after a try to call CUDA.
struct Panics(Sender<bool>);

impl Drop for Panics {
    fn drop(&mut self) {
        self.0.send(DeviceBuffer::<u8>::alloc(1).unwrap_err().is_refused()).unwrap();
        panic!("on purpose");
    }
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        panic!("on purpose");
    }
}

#[test]
fn functions_and_wakers_that_panic_after_a_fault_do_so_as_in_host_functions() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();
    fault_trap.load().unwrap();
    let (open, opened) = channel::<()>();
    stream.launch_host_fn(move || opened.recv().unwrap_or(())).unwrap();
    launch!(fault_trap<<<1, 1, 0, &stream>>>()).unwrap();
    let (tell, told) = channel();
    let waker = Waker::from(Arc::new(PanickingWaker));
    let mut futures = Vec::new();
    for _ in 0..2 {
        let owned = Panics(tell.clone());
        stream.launch_host_fn(move || drop(owned)).unwrap();
        let mut done = stream.done();
        assert!(Pin::new(&mut done).poll(&mut Context::from_waker(&waker)).is_pending());
        futures.push(done);
    }
    open.send(()).unwrap();
    let waited = catch_unwind(AssertUnwindSafe(|| stream.synchronize()));
    assert!(waited.expect("no panic comes through").unwrap_err().is_sticky());
    // Neither function could call CUDA.
    assert_eq!((told.recv(), told.recv()), (Ok(true), Ok(true)));
    for mut done in futures {
        let ready = Pin::new(&mut done).poll(&mut Context::from_waker(Waker::noop()));
        assert!(matches!(ready, Poll::Ready(Err(_))), "{ready:?}");
    }
}
