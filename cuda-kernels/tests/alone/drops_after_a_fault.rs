//! Drops of every type that owns a CUDA resource after a kernel's fault.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: a kernel traps while everything is still owned.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use cuda_kernels::kernels::fault_trap;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, launch};
use cuda_testing::everything::everything;
use cuda_testing::own_process;

#[test]
fn everything_can_be_dropped_after_a_fault() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();
    // Loading a kernel may wait for work that a stream holds, which here waits for the test itself. The
    // first creation of these objects may wait in the same way.
    fault_trap.load().unwrap();
    drop(everything(&stream, || ()));
    let before = everything(&stream, || ());
    stream.synchronize().unwrap();
    // The stream is held until all work is submitted: work submitted after the fault may be refused at
    // once.
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let behind = everything(&stream, || {
        stream.launch_host_fn(move || opened.recv().unwrap_or(())).unwrap();
        launch!(fault_trap<<<1, 1, 0, &stream>>>()).unwrap();
    });
    open.send(()).unwrap();
    assert!(stream.synchronize().unwrap_err().is_sticky());
    // Some are dropped before any other call reports the fault, some on another thread, which has seen no
    // error.
    drop(behind);
    std::thread::spawn(move || drop(before)).join().unwrap();
    assert!(DeviceBuffer::<u32>::alloc(1).unwrap_err().is_sticky());
}
