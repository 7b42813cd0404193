//! A kernel that stops with a trap while copies wait behind it: what every later call says, and what becomes
//! of memory that a copy may still be using. Faults on purpose, and loses the device for the process: one
//! test, in a binary of its own.
#![expect(
    unsafe_code,
    reason = "launches a kernel that goes wrong, and looks at memory that must not have been freed"
)]

use std::sync::Arc;

use cuda_kernels::kernels::fault_trap;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Registered, error, launch, memcpy_async};

#[test]
fn after_a_fault_every_call_says_so_and_pinned_memory_in_flight_is_leaked() {
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let mut dropped = PinnedBuffer::from_slice(&[2_u32; 1000]).unwrap();
    let shared: Arc<[u32]> = vec![4; 1000].into();
    let registered = Registered::new(shared.clone()).unwrap();
    let mut filled = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut borrowed = vec![3_u32; 1000];

    // Loading a kernel may wait for what streams hold, and here for the test itself.
    fault_trap.load().unwrap();
    // Held until all of it is given to the stream: what is given after the fault may be refused at once.
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let held = move || {
        // An error means that the test has failed already.
        let _ = opened.recv();
    };
    stream.launch_host_fn(held).unwrap();
    // SAFETY: the kernel touches no memory.
    unsafe { launch!(fault_trap<<<1, 1, 0, &stream>>>()) }.unwrap();
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    memcpy_async(&mut dropped, &device, &stream).unwrap();
    memcpy_async(&mut filled, &registered, &stream).unwrap();
    open.send(()).unwrap();

    // The host is not given the memory, and is told why.
    let first = pinned.host().unwrap_err();
    assert!(first.is_sticky() && first.is_from_earlier_work(), "{first}");
    assert_eq!(error::first_sticky(), Some(first.clone()));
    assert!(pinned.host_mut().unwrap_err().is_sticky());

    // A scope cannot prove that its copies are over, so it says so; nothing runs any more.
    let scoped = stream.scope(|scope| scope.memcpy_async(&mut borrowed, &device));
    let failed = scoped.and_then(|inner| inner).unwrap_err();
    assert!(failed.is_sticky(), "{failed}");

    // Freed by nobody: the error is given, or swallowed by the drop, and the memory stays where it is.
    let pointer = pinned.as_ptr();
    let swallowed = dropped.as_ptr();
    assert!(pinned.free().unwrap_err().is_sticky());
    drop(dropped);
    for (pointer, value) in [(pointer, 1_u32), (swallowed, 2)] {
        // SAFETY: the memory was leaked, not freed, so the address is still good.
        let found = unsafe { pointer.read_volatile() };
        assert_eq!(found, value);
    }

    // Nor does a registered container come back, or go: one owner of the shared elements is left for ever.
    let (error, registered) = registered.into_inner().unwrap_err();
    assert!(error.is_sticky(), "{error}");
    drop(registered);
    assert_eq!(Arc::strong_count(&shared), 2);

    // Every later call says the same, and where it was heard first.
    let later = DeviceBuffer::<u32>::alloc(1).unwrap_err();
    assert!(later.is_sticky());
    let text = later.to_string();
    assert!(
        text.contains("until the process ends") && text.contains(&first.call_site().to_string()),
        "{text}"
    );
    assert!(stream.synchronize().unwrap_err().is_sticky());
    assert!(device.free().unwrap_err().is_sticky());
}
