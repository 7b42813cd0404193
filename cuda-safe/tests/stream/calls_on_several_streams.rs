//! Calls that submit work to several streams at once.
#![expect(unsafe_code, reason = "makes calls of the runtime as another library does")]
#![allow(clippy::unwrap_used, reason = "tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_safe::error::{Detail, ErrorKind};
use cuda_safe::hazard::{self, Access};
use cuda_safe::stream::{AsStream as _, LegacyStream, StreamRef, enqueue_all};
use cuda_safe::{
    Device, DeviceBuffer, Error, PinnedBuffer, Result, Stream, check, memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

/// Fills memory, as a function of another library does.
unsafe fn fill(pointer: *mut u8, byte: i32, bytes: usize, raw: sys::cudaStream_t) -> Result<()> {
    // SAFETY: the caller guarantees that the memory has the bytes, on this stream.
    unsafe { check!(cudaMemsetAsync(pointer.cast(), byte, bytes, raw)) }
}

/// Gives each stream a host function that does nothing.
fn nothing(raws: &[sys::cudaStream_t]) -> Result<()> {
    raws.iter().try_for_each(|raw| cuda_testing::put_nothing(*raw))
}

#[test]
fn each_stream_of_a_call_comes_after_what_its_own_memory_is_used_for() -> Result<()> {
    let alone = alone();
    let (held, s0, s1) = (Stream::non_blocking()?, Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut a, mut b) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    let mut found = PinnedBuffer::<u8>::alloc(128)?;
    let gate = Gate::on(&alone, &held);
    memset_async(&mut a, 1, &held)?;
    memset_async(&mut b, 1, &held)?;
    let pointers = [a.as_mut_ptr(), b.as_mut_ptr()];
    let (before, line) = (hazard::added_waits(), line!() + 10);
    let call = |raws: &[sys::cudaStream_t]| {
        assert_eq!(raws, [s0.as_raw(), s1.as_raw()]);
        for ((raw, pointer), byte) in raws.iter().zip(pointers).zip(7..) {
            // SAFETY: both buffers have 64 bytes.
            unsafe { fill(pointer, byte, 64, *raw) }?;
        }
        Result::Ok(())
    };
    // SAFETY: each stream fills the buffer that is declared for it.
    unsafe { enqueue_all(&[(&s0, &[a.access_mut()]), (&s1, &[b.access_mut()])], call) }?;
    assert_eq!(hazard::added_waits(), before + 2);
    assert!(hazard::recent_waits().iter().rev().take(2).all(|wait| wait.at.line() == line));
    // What comes later finds the work of both.
    let (mut left, mut right) = found.split_at_mut(64)?;
    memcpy_async(&mut left, &a, &held)?;
    memcpy_async(&mut right, &b, &s0)?;
    gate.open();
    assert_eq!(found.host()?[..64], [7; 64]);
    assert_eq!(found.host()?[64..], [8; 64]);
    Ok(())
}

#[test]
fn streams_of_a_call_that_conflict_are_refused_before_the_call() -> Result<()> {
    let _alone = alone();
    let (s0, s1) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut a = DeviceBuffer::<u8>::alloc(64)?;
    let (read, left) = (a.slice(24..40)?.access(), a.slice(..32)?.access());
    let write = Access::write(left.history(), left.range());
    // SAFETY: the call is refused.
    let refused = unsafe { enqueue_all::<_, (), Error>(&[(&s0, &[write]), (&s1, &[read])], |_| panic!()) };
    let refused = refused.unwrap_err();
    let sides = "the same 8 bytes of an allocation, one from byte 0 on and one from byte 24 on";
    assert!(refused.detail().kind() == ErrorKind::Hazard && refused.to_string().contains(sides), "{refused}");
    assert!(refused.is_refused() && refused.to_string().contains("two streams of one call"), "{refused}");
    // Both may read the same bytes, and write different ones. One stream may do with them whatever it likes.
    // SAFETY: host functions access no memory.
    unsafe { enqueue_all(&[(&s0, &[left]), (&s1, &[read])], nothing) }?;
    let (mut left, mut right) = a.split_at_mut(32)?;
    // SAFETY: host functions access no memory.
    unsafe { enqueue_all(&[(&s0, &[left.access_mut()]), (&s1, &[right.access_mut()])], nothing) }?;
    let whole = a.access_mut();
    let part = Access::write(whole.history(), 8..16);
    let before = hazard::added_waits();
    // SAFETY: host functions access no memory.
    unsafe { enqueue_all(&[(&s0, &[whole]), (&s0, &[part])], nothing) }?;
    assert_eq!(hazard::added_waits(), before + 1, "for what the other stream wrote");
    Ok(())
}

#[test]
fn a_call_on_several_streams_is_refused_in_captures_host_functions_and_other_calls() -> Result<()> {
    let _alone = alone();
    let (mut s0, s1) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let attempt = |streams: [StreamRef<'_>; 2]| {
        let [a, b] = &streams;
        // SAFETY: the call is refused.
        let refused = unsafe { enqueue_all::<_, (), Error>(&[(a, &[]), (b, &[])], |_| panic!()) };
        refused.unwrap_err().detail().clone()
    };
    let graph = s0.capture(|captured| {
        assert_eq!(attempt([s1.as_stream(), captured.as_stream()]), Detail::CAPTURING);
        assert_eq!(attempt([s1.as_stream(), s1.as_stream()]), Detail::OUTSIDE_CAPTURE);
        Ok(())
    })?;
    assert_eq!(graph.node_count()?, 0);
    let nested = || {
        assert_eq!(attempt([s0.as_stream(), s1.as_stream()]), Detail::NESTED);
        assert_eq!(s0.synchronize().unwrap_err().detail(), &Detail::NESTED);
        Result::Ok(())
    };
    // SAFETY: nothing is submitted.
    unsafe { s1.enqueue(&[], |_| nested()) }?;
    // SAFETY: nothing is submitted.
    unsafe { enqueue_all(&[(&s0, &[]), (&s1, &[])], |_| nested()) }?;
    let (tell, told) = std::sync::mpsc::channel();
    s0.launch_host_fn(move || {
        // SAFETY: the call is refused.
        let refused = unsafe { enqueue_all::<Stream, (), Error>(&[], |_| panic!()) };
        tell.send(refused.unwrap_err().detail().clone()).unwrap();
    })?;
    s0.synchronize()?;
    assert_eq!(told.recv().unwrap(), Detail::IN_CALLBACK);
    // SAFETY: nothing is submitted.
    assert_eq!(unsafe { enqueue_all::<Stream, _, Error>(&[], |raws| Ok(raws.len())) }, Ok(0));
    Ok(())
}

#[test]
fn a_call_that_fails_or_panics_leaves_its_streams_and_memory_usable() -> Result<()> {
    let _alone = alone();
    #[derive(Debug)]
    struct Status(i32);
    impl From<Error> for Status {
        fn from(error: Error) -> Self {
            panic!("{error}")
        }
    }
    let (s0, s1) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut a, mut b) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    let accesses = [[a.access_mut()], [b.access_mut()]];
    let streams: [(&Stream, &[Access<'_>]); 2] = [(&s0, &accesses[0]), (&s1, &accesses[1])];
    // SAFETY: nothing is submitted, and the call fails.
    let failed = unsafe { enqueue_all(&streams, |_| Err::<(), _>(Status(5))) };
    assert_eq!(failed.unwrap_err().0, 5);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: nothing is submitted, and the call does not return.
        unsafe { enqueue_all(&streams, |_| -> Result<()> { panic!("as planned") }) }
    }));
    assert!(panicked.is_err());
    let other = Stream::non_blocking()?;
    memset_async(&mut a, 1, &other)?;
    memset_async(&mut b, 2, &s1)?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![1; 64], vec![2; 64]));
    Ok(())
}

#[test]
fn under_the_policy_error_each_stream_must_be_ordered() -> Result<()> {
    let alone = alone();
    let (held, s0, s1) = (Stream::non_blocking()?, Stream::non_blocking()?, Stream::non_blocking()?);
    let (a, mut b) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    hazard::set_policy(hazard::Policy::Error)?;
    let gate = Gate::on(&alone, &held);
    memset_async(&mut b, 1, &held)?;
    let line = line!() + 2;
    // SAFETY: host functions access no memory.
    let refused = unsafe { enqueue_all(&[(&s0, &[a.access()]), (&s1, &[b.access()])], nothing) };
    hazard::set_policy(hazard::Policy::Order)?;
    gate.open();
    cuda_testing::assert_unordered(&refused.unwrap_err(), line - 3, line);
    Ok(())
}

#[test]
fn threads_that_name_the_same_streams_and_buffers_in_any_order_get_through() -> Result<()> {
    let _alone = alone();
    let streams = [Stream::non_blocking()?, Stream::non_blocking()?, Stream::non_blocking()?];
    let buffers = [DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?];
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (streams, buffers) = (&streams, &buffers);
            threads.spawn(move || {
                for round in 0..500 {
                    let at = thread + round;
                    let [one, other] = [at % 3, (at + 1 + at % 2) % 3].map(|at| &streams[at]);
                    let [a, b] = [at % 2, (at + 1) % 2].map(|at| {
                        let access = buffers[at].access();
                        // As through a graph: no borrow stands for it.
                        [Access::write(access.history(), access.range()).unborrowed()]
                    });
                    // SAFETY: host functions access no memory.
                    unsafe { enqueue_all(&[(one, &a), (other, &b)], nothing) }.unwrap();
                }
            });
        }
    });
    streams.iter().try_for_each(Stream::synchronize)
}

#[test]
fn default_streams_of_two_devices_take_part_and_the_current_device_comes_back() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: no default streams of two");
        return Ok(());
    }
    let (first, second) = (Device::new(0)?, Device::new(1)?);
    let legacy = [LegacyStream::new(first)?, LegacyStream::new(second)?];
    let mut a = first.with_current(|| DeviceBuffer::<u8>::alloc(64))?;
    let mut b = second.with_current(|| DeviceBuffer::<u8>::alloc(64))?;
    let other = Stream::builder().device(first).non_blocking().build()?;
    memset_async(&mut a, 1, &other)?;
    // `cudaMemsetAsync` refuses memory of another device than the stream's.
    memset_async(&mut b, 1, &Stream::builder().device(second).non_blocking().build()?)?;
    let pointers = [a.as_mut_ptr(), b.as_mut_ptr()];
    for start in [first, second] {
        start.set_current()?;
        let call = |raws: &[sys::cudaStream_t]| {
            for ((device, raw), pointer) in [first, second].iter().zip(raws).zip(pointers) {
                device.set_current()?;
                // SAFETY: both buffers have 64 bytes, each on the current device.
                unsafe { fill(pointer, 9, 64, *raw) }?;
            }
            Result::Ok(())
        };
        // SAFETY: each stream fills the buffer that is declared for it, with its device current.
        unsafe { enqueue_all(&[(&legacy[0], &[a.access_mut()]), (&legacy[1], &[b.access_mut()])], call) }?;
        assert_eq!(Device::current()?, start);
        // SAFETY: nothing is submitted.
        unsafe { enqueue_all(&[(&other, &[])], |_| Device::new(1 - start.ordinal())?.set_current()) }?;
        assert_eq!(Device::current()?, start, "also if no stream needs a device");
    }
    first.set_current()?;
    assert_eq!((a.to_vec()?, b.to_vec()?), (vec![9; 64], vec![9; 64]));
    Ok(())
}
