//! Flags that kernels poll: what the host may do with them meanwhile.
#![allow(unsafe_code, reason = "launches a kernel that has no safe function")]

use cuda_kernels::{gate, gate_announced, kernels, raise_flag};
use cuda_safe::stream::Stream;
use cuda_safe::{DeviceBuffer, MappedFlag, PinnedBuffer, launch, memcpy_async, memset_async};
use cuda_testing::alone;

#[test]
fn the_host_opens_a_gate_that_a_kernel_waits_at() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (started, open) = (MappedFlag::new().unwrap(), MappedFlag::new().unwrap());
    gate_announced(&started, &open, &stream).unwrap();
    while started.load() == 0 {
        // On real hardware the kernel starts by itself. The query makes sure that the launch was
        // submitted.
        assert!(!stream.is_done().unwrap());
    }
    open.set(1);
    stream.synchronize().unwrap();
}

#[test]
fn a_kernel_of_one_stream_opens_the_gate_of_another() {
    let _alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let open = MappedFlag::new().unwrap();
    // Loading a kernel may wait for the running one, which here waits for this kernel.
    kernels::raise_flag.load().unwrap();
    gate(&open, &first).unwrap();
    // A flag orders nothing: the second stream does not wait for the first.
    raise_flag(&open, 1, &second).unwrap();
    first.synchronize().unwrap();
    assert_eq!(open.load(), 1);
}

#[test]
fn a_flag_dropped_while_a_kernel_polls_it_is_kept_for_the_kernel() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let (kept, open) = (MappedFlag::new().unwrap(), MappedFlag::new().unwrap());
    gate_announced(&kept, &open, &stream).unwrap();
    // The drop does not wait for the kernel. It would wait forever, because the gate is closed.
    drop(kept);
    let others: Vec<_> = (0..8).map(|_| MappedFlag::new().unwrap()).collect();
    open.set(1);
    stream.synchronize().unwrap();
    // The kernel wrote its own flag and no memory of another one.
    assert!(others.iter().all(|flag| flag.load() == 0));
}

#[test]
fn the_host_gets_pinned_memory_behind_a_gate_only_once_the_gate_is_open() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let open = MappedFlag::new().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    gate(&open, &stream).unwrap();
    memset_async(&mut device, 9, &stream).unwrap();
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| open.set(1));
        assert_eq!(*pinned.host().unwrap(), [0x0909_0909; 1000]);
    });
}

#[test]
fn every_guard_and_owner_can_be_forgotten_with_work_pending() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let open = MappedFlag::new().unwrap();
    let mut device = DeviceBuffer::<u32>::alloc(1000).unwrap();
    let mut pinned = PinnedBuffer::from_slice(&[1_u32; 1000]).unwrap();
    let other = PinnedBuffer::from_slice(&[2_u32; 8]).unwrap();
    let _forgotten = std::mem::ManuallyDrop::new(other.host().unwrap());
    gate(&open, &stream).unwrap();
    memset_async(&mut device, 9, &stream).unwrap();
    memcpy_async(&mut pinned, &device, &stream).unwrap();
    // Forgotten owners are leaked, so the pending copies still have valid memory.
    let _device = std::mem::ManuallyDrop::new(device);
    let pinned = std::mem::ManuallyDrop::new(pinned);
    open.set(1);
    stream.synchronize().unwrap();
    assert_eq!(*pinned.host().unwrap(), [0x0909_0909; 1000]);
}

#[test]
fn a_flag_serves_kernels_that_declare_it_signed_or_with_64_bits() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let [open, opened, close] = [(); 3].map(|()| MappedFlag::new().unwrap());
    let kernel = &kernels::arguments_signs;
    // SAFETY: the kernel accesses only the flags, and ends once the host has set them.
    unsafe { launch!(kernel.unchecked()<<<1, 1, 0, &stream>>>(&open, &opened, &close)) }.unwrap();
    open.set(5);
    close.set(7);
    stream.synchronize().unwrap();
    assert_eq!(opened.load(), 5);
}
