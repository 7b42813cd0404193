//! Everything that owns something of CUDA's, dropped after a kernel's fault. It loses the device for the
//! process: one test, in a binary of its own.
#![expect(unsafe_code, reason = "launches a kernel that goes wrong")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../cuda-safe/tests/common/mod.rs"]
mod common;

use common::everything::everything;
use cuda_kernels::kernels::fault_trap;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, launch};

#[test]
fn everything_can_be_dropped_after_a_fault() {
    let stream = Stream::non_blocking().unwrap();
    // Loading a kernel may wait for what streams hold, and here for the test itself; so may what is made for
    // the first time.
    fault_trap.load().unwrap();
    drop(everything(&stream, || ()));
    let before = everything(&stream, || ());
    stream.synchronize().unwrap();
    // Held until all of it is given to the stream: what is given after the fault may be refused at once.
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let behind = everything(&stream, || {
        stream.launch_host_fn(move || opened.recv().unwrap_or(())).unwrap();
        // SAFETY: the kernel touches no memory.
        unsafe { launch!(fault_trap<<<1, 1, 0, &stream>>>()) }.unwrap();
    });
    open.send(()).unwrap();
    assert!(stream.synchronize().unwrap_err().is_sticky());
    // Some before anything else was told of the fault, some on another thread, which was told of nothing.
    drop(behind);
    std::thread::spawn(move || drop(before)).join().unwrap();
    assert!(DeviceBuffer::<u32>::alloc(1).unwrap_err().is_sticky());
}
