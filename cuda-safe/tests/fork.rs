//! What a child process inherits it does not free. A binary of its own, because it forks.
#![expect(unsafe_code, reason = "forks, and ends the child without the parent's exit handlers")]

use std::mem::ManuallyDrop;

use cuda_safe::{DeviceBuffer, MappedFlag, PinnedBuffer};

#[test]
fn a_child_process_drops_what_it_inherited_without_a_call() {
    let device = ManuallyDrop::new(DeviceBuffer::from_slice(&[1_u32, 2, 3]).unwrap());
    let pinned = ManuallyDrop::new(PinnedBuffer::from_slice(&[4_u32, 5, 6]).unwrap());
    let flag = ManuallyDrop::new(MappedFlag::new().unwrap());
    // SAFETY: the child only drops what is below and exits; it takes no lock that another thread may have held.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        // SAFETY: ends the child if a drop waits for a runtime that did not come along.
        unsafe { libc::alarm(20) };
        drop((
            ManuallyDrop::into_inner(device),
            ManuallyDrop::into_inner(pinned),
            ManuallyDrop::into_inner(flag),
        ));
        // SAFETY: ends the child at once.
        unsafe { libc::_exit(0) };
    }
    let mut status = -1;
    // SAFETY: the pointer is to a live integer, which the call fills.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0, "the child did not come to its end");
    // The parent's memory is the parent's still.
    assert_eq!(device.to_vec().unwrap(), [1, 2, 3]);
    assert_eq!(*pinned.host().unwrap(), [4, 5, 6]);
    assert_eq!(flag.load(), 0);
    drop((
        ManuallyDrop::into_inner(device),
        ManuallyDrop::into_inner(pinned),
        ManuallyDrop::into_inner(flag),
    ));
}
