//! A kernel that stops with a trap while copies wait behind it. The test checks the errors of all later
//! calls, and the memory that a copy may still use.
//!
//! Alone: the fault loses the device.
//! Not under sanitizers: a kernel faults while copies are under way.
#![expect(
    unsafe_code,
    reason = "launches a kernel that faults, and reads memory that must not have been freed"
)]

use std::sync::Arc;

use cuda_kernels::kernels::fault_trap;
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, PinnedBuffer, Registered, error, launch, memcpy_async};
use cuda_testing::own_process;

#[test]
fn after_a_fault_every_call_says_so_and_pinned_memory_in_flight_is_leaked() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();
    let device = DeviceBuffer::from_slice(&[7_u32; 1000]).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let mut dropped = PinnedBuffer::from_slice(&[2_u32; 1000]).unwrap();
    let shared: Arc<[u32]> = vec![4; 1000].into();
    let registered = Registered::new(shared.clone()).unwrap();
    let mut filled = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut borrowed = vec![3_u32; 1000];

    // Loading a kernel may wait for work that a stream holds, which here waits for the test itself.
    fault_trap.load().unwrap();
    // The stream is held until all work is submitted: work submitted after the fault may be refused at
    // once.
    let (open, opened) = std::sync::mpsc::channel::<()>();
    let held = move || {
        // After an error the test has failed already.
        let _ = opened.recv();
    };
    stream.launch_host_fn(held).unwrap();
    launch!(fault_trap<<<1, 1, 0, &stream>>>()).unwrap();
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    memcpy_async(&mut dropped, &device, &stream).unwrap();
    memcpy_async(&mut filled, &registered, &stream).unwrap();
    open.send(()).unwrap();

    // The host does not get the memory, and the error says why.
    let first = pinned.host().unwrap_err();
    assert!(first.is_sticky() && first.is_from_earlier_work(), "{first}");
    assert_eq!(error::first_sticky(), Some(first.clone()));
    assert!(pinned.host_mut().unwrap_err().is_sticky());

    // A scope cannot prove that its copies are complete, so it returns an error. Nothing runs any more.
    let scoped = stream.scope(|scope| scope.memcpy_async(&mut borrowed, &device));
    let failed = scoped.and_then(|inner| inner).unwrap_err();
    assert!(failed.is_sticky(), "{failed}");

    // Nothing frees them: `free` returns the error, the drop ignores it, and the memory remains
    // allocated.
    let pointer = pinned.as_ptr();
    let swallowed = dropped.as_ptr();
    assert!(pinned.free().unwrap_err().is_sticky());
    drop(dropped);
    for (pointer, value) in [(pointer, 1_u32), (swallowed, 2)] {
        // SAFETY: the memory was leaked, not freed, so the address is still valid.
        let found = unsafe { pointer.read_volatile() };
        assert_eq!(found, value);
    }

    // A registered container is neither returned nor dropped: one owner of the shared elements remains
    // forever.
    let (error, registered) = registered.into_inner().unwrap_err().into_parts();
    assert!(error.is_sticky(), "{error}");
    drop(registered);
    assert_eq!(Arc::strong_count(&shared), 2);

    // Every later call reports the same error, and the call that saw it first.
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
