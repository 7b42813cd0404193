//! No failure leaks memory.
//!
//! Alone: it watches the memory of the whole device.
//! Not under sanitizers: it compares the free memory before and after.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a helper of tests")]

use cuda_safe::error::Detail;
use cuda_safe::stream::Stream;
use cuda_safe::{Device, DeviceBuffer, MappedFlag, PinnedBuffer, memcpy, memcpy_async, memset_async};
use cuda_testing::own_process;

/// Large enough that the runtime returns it at once instead of caching it.
const BYTES: usize = 64 << 20;

/// Runs `f` twice, and asserts that the second run leaves as much memory as the first one.
fn leaves_nothing(what: &str, f: impl Fn()) {
    let free = || -> usize {
        let of = |device: Device| {
            device.synchronize().expect("an idle device");
            device.memory_info().expect("its memory").free
        };
        Device::all().expect("devices").map(of).sum()
    };
    f();
    let before = free();
    f();
    let after = free();
    assert!(after >= before, "{what} leaves {} bytes behind", before - after);
}

#[test]
fn what_fails_leaves_nothing_behind() {
    own_process!();
    let stream = Stream::non_blocking().unwrap();

    leaves_nothing("an allocation that is too large", || {
        assert!(DeviceBuffer::<u8>::alloc(1 << 50).is_err());
        assert!(PinnedBuffer::<u8>::alloc(1 << 50).is_err());
        assert!(DeviceBuffer::<u8>::alloc_async(1 << 50, &stream).is_err());
    });
    leaves_nothing("a copy of the wrong length", || {
        let mut device = DeviceBuffer::<u8>::alloc(BYTES).unwrap();
        assert!(memcpy(&mut device, &[0; 3]).is_err());
        assert!(memcpy_async(&mut device, &PinnedBuffer::alloc(3).unwrap(), &stream).is_err());
        assert!(device.slice(BYTES + 1..).is_err());
    });
    leaves_nothing("a function that returns early", || {
        fn early() -> cuda_safe::Result<()> {
            let mut device = DeviceBuffer::<u8>::alloc(BYTES)?;
            memcpy(&mut device.slice_mut(..BYTES + 1)?, &[0])?;
            Ok(())
        }
        assert!(early().is_err());
    });
    leaves_nothing("a panic", || {
        let panicked = std::panic::catch_unwind(|| {
            let _device = DeviceBuffer::<u8>::alloc(BYTES).unwrap();
            std::panic::resume_unwind(Box::new("on purpose"));
        });
        assert!(panicked.is_err());
    });
    leaves_nothing("work that is pending", || {
        let mut device = DeviceBuffer::<u8>::alloc(BYTES).unwrap();
        memset_async(&mut device, 1, &stream).unwrap();
    });
    leaves_nothing("a buffer that a host function drops", || {
        let device = DeviceBuffer::<u8>::alloc(BYTES).unwrap();
        stream.launch_host_fn(move || drop(device)).unwrap();
        stream.synchronize().unwrap();
    });
    leaves_nothing("a buffer taken apart and put together", || {
        let device = DeviceBuffer::<u8>::alloc(BYTES).unwrap();
        let (on, pointer) = (device.device(), device.into_raw().unwrap());
        #[expect(unsafe_code, reason = "puts the buffer together again")]
        // SAFETY: pointer, length and device are those of the buffer that was just taken apart.
        unsafe { DeviceBuffer::from_raw(on, pointer, BYTES) }.unwrap();
    });
    leaves_nothing("a buffer of another device that another thread drops", || {
        let last = Device::all().unwrap().next_back().unwrap();
        let device = DeviceBuffer::<u8>::alloc_on(last, BYTES).unwrap();
        std::thread::spawn(move || drop(device)).join().unwrap();
    });
    leaves_nothing("a flag", || {
        MappedFlag::new().unwrap().set(1);
    });
    leaves_nothing("memory of a pool", || {
        let mut scratch = DeviceBuffer::<u8>::alloc_async(BYTES, &stream).unwrap();
        memset_async(&mut scratch, 1, &stream).unwrap();
    });
}

#[test]
fn what_a_host_function_may_not_free_is_freed_later_and_the_error_says_where_it_was_to_be() {
    own_process!();
    let (stream, other) = (Stream::new().unwrap(), Stream::new().unwrap());
    let device = Device::current().unwrap();
    let ordinary = || DeviceBuffer::<u8>::alloc(16 << 20).unwrap();
    // Never used, used before, and requested from a stream.
    let (unused, mut used, on_stream) = (ordinary(), ordinary(), ordinary());
    memset_async(&mut used, 1, &other).unwrap();
    other.synchronize().unwrap();
    device.synchronize().unwrap();
    let before = device.memory_info().unwrap().free;
    let pinned = PinnedBuffer::<u8>::alloc(16).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    stream
        .launch_host_fn(move || {
            let refused = [unused.free(), used.free(), on_stream.free_async(&other), pinned.free()];
            tell.send((refused, other)).unwrap();
        })
        .unwrap();
    stream.synchronize().unwrap();
    let (refused, _other) = told.recv().unwrap();
    for error in refused.map(Result::unwrap_err) {
        assert_eq!((error.detail(), error.call_site().file()), (&Detail::IN_CALLBACK, file!()), "{error}");
    }
    // The next wait frees the rest.
    device.synchronize().unwrap();
    let after = device.memory_info().unwrap().free;
    assert!(after >= before + (48 << 20), "{before} bytes were free before, {after} are now");
}
