//! Two threads that submit conflicting work to two streams at the same time.
#![expect(unsafe_code, reason = "puts operations on streams that reach two buffers at once")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::{Barrier, Mutex};

use cuda_safe::hazard::Access;
use cuda_safe::{
    DeviceBuffer, Event, PinnedBuffer, Result, Stream, check, memcpy_async, memset, memset_async, sys,
};
use cuda_testing::alone;

/// The number of operations of each thread.
const ROUNDS: usize = 200;

/// Large enough that a half-done fill is visible.
const BYTES: usize = 1 << 16;

/// An address that threads share. The tracker decides who may access it, and when.
#[derive(Clone, Copy)]
struct Address(*mut u8);

// SAFETY: an address may be sent to any thread. Each use states why it is sound.
unsafe impl Send for Address {}
// SAFETY: an address may be sent to any thread. Each use states why it is sound.
unsafe impl Sync for Address {}

impl Address {
    /// The address of the byte `at`.
    fn at(self, at: usize) -> *mut std::ffi::c_void {
        self.0.wrapping_add(at).cast()
    }
}

/// One operation for the tracker: stores the last byte of each buffer, then fills both with `value`.
///
/// # Safety
/// The buffers have `BYTES` bytes, `seen` two. The accesses of the operation that calls this cover all of
/// them.
unsafe fn note_and_fill(
    raw: sys::cudaStream_t,
    buffers: [Address; 2],
    seen: Address,
    value: u8,
) -> Result<()> {
    for (at, buffer) in buffers.into_iter().enumerate() {
        // SAFETY: both bytes are within the memory that the caller guarantees.
        unsafe {
            check!(cudaMemcpyAsync(seen.at(at), buffer.at(BYTES - 1), 1, sys::cudaMemcpyDeviceToHost, raw))
        }?;
    }
    for buffer in buffers {
        // SAFETY: the caller guarantees the bytes.
        unsafe { check!(cudaMemsetAsync(buffer.at(0), i32::from(value), BYTES, raw)) }?;
    }
    Ok(())
}

#[test]
fn two_threads_that_take_two_buffers_in_either_order_get_through_and_see_one_order() {
    let _alone = alone();
    let (mut x, mut y) =
        (DeviceBuffer::<u8>::alloc(BYTES).unwrap(), DeviceBuffer::<u8>::alloc(BYTES).unwrap());
    memset(&mut x, 0).unwrap();
    memset(&mut y, 0).unwrap();
    let (x_at, y_at) = (Address(x.as_mut_ptr()), Address(y.as_mut_ptr()));
    let (x_written, y_written) = (x.access_mut(), y.access_mut());
    // Conflicting operations are submitted to CUDA one after the other: this is their order.
    let order = Mutex::new(Vec::<(usize, usize, u8)>::new());
    let start = Barrier::new(2);
    let seen: Vec<Vec<u8>> = std::thread::scope(|threads| {
        let work = |thread: usize| {
            let (order, start) = (&order, &start);
            move || {
                let stream = Stream::non_blocking().unwrap();
                let mut seen = PinnedBuffer::<u8>::alloc(2 * ROUNDS).unwrap();
                start.wait();
                for round in 0..ROUNDS {
                    // Every value differs from the last few of both threads.
                    let value = u8::try_from((2 * round + thread) % 251 + 1).unwrap();
                    let at = Address(seen.as_mut_ptr().wrapping_add(2 * round));
                    let noted = seen.access_mut();
                    let both: [Access<'_>; 3] = if thread == 0 {
                        [x_written, y_written, noted]
                    } else {
                        [noted, y_written, x_written]
                    };
                    let call = |raw| {
                        order.lock().unwrap().push((thread, round, value));
                        // SAFETY: the sizes are those of the buffers, which the accesses below cover.
                        unsafe { note_and_fill(raw, [x_at, y_at], at, value) }
                    };
                    // SAFETY: the operation accesses exactly this memory. The buffers outlive it.
                    unsafe { stream.enqueue(&both, call) }.unwrap();
                    if round % 50 == 49 {
                        stream.synchronize().unwrap();
                    }
                }
                seen.host().unwrap().to_vec()
            }
        };
        let threads = [threads.spawn(work(0)), threads.spawn(work(1))];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    let order = order.into_inner().unwrap();
    assert_eq!(order.len(), 2 * ROUNDS);
    // Each found the values of the one before it, in both buffers.
    let mut before = 0;
    for (at, (thread, round, value)) in order.into_iter().enumerate() {
        let found = &seen[thread][2 * round..2 * round + 2];
        assert_eq!(found, [before; 2], "operation {at}, of thread {thread}");
        before = value;
    }
    assert_eq!((x.to_vec().unwrap(), y.to_vec().unwrap()), (vec![before; BYTES], vec![before; BYTES]));
}

#[test]
fn two_threads_on_one_stream_and_an_event_between_them() -> Result<()> {
    let _alone = alone();
    let (shared, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let start = Barrier::new(2);
    std::thread::scope(|threads| {
        let filling = threads.spawn(|| -> Result<()> {
            let mut device = DeviceBuffer::<u8>::alloc(BYTES)?;
            start.wait();
            for round in 0..ROUNDS {
                let value = u8::try_from(round % 251).unwrap();
                memset_async(&mut device, value, &shared)?;
                assert!(device.slice(BYTES - 4..)?.to_vec()?.iter().all(|byte| *byte == value));
            }
            Ok(())
        });
        let recording = threads.spawn(|| -> Result<()> {
            let event = Event::without_timing()?;
            let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(BYTES)?, PinnedBuffer::<u8>::alloc(4)?);
            start.wait();
            for round in 0..ROUNDS {
                let value = u8::try_from(round % 241).unwrap();
                memset_async(&mut device, value, &shared)?;
                event.record(&shared)?;
                other.wait(&event)?;
                memcpy_async(&mut host, &device.slice(BYTES - 4..)?, &other)?;
                // After the event: a tracker that took the event for more than it stood for would let this
                // operation overtake the copy.
                memset_async(&mut device, 255, &shared)?;
                assert_eq!(*host.host()?, [value; 4]);
            }
            Ok(())
        });
        filling.join().unwrap()?;
        recording.join().unwrap()
    })
}

#[test]
fn one_thread_records_an_event_while_others_wait_for_it_and_query_it() -> Result<()> {
    let _alone = alone();
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut x, mut y) = (DeviceBuffer::<u8>::alloc(BYTES)?, DeviceBuffer::<u8>::alloc(BYTES)?);
    let event = Event::without_timing()?;
    let start = Barrier::new(3);
    std::thread::scope(|threads| -> Result<()> {
        let recording = threads.spawn(|| -> Result<()> {
            start.wait();
            for round in 0..ROUNDS {
                memset_async(&mut x, u8::try_from(round % 251).unwrap_or_default(), &a)?;
                event.record(if round % 3 == 0 { &b } else { &a })?;
            }
            event.record(&a)
        });
        let waiting = threads.spawn(|| -> Result<()> {
            start.wait();
            for _ in 0..ROUNDS {
                b.wait(&event)?;
                memset_async(&mut y, 7, &b)?;
            }
            Ok(())
        });
        start.wait();
        for _ in 0..ROUNDS {
            event.synchronize()?;
            event.is_done()?;
        }
        recording.join().unwrap()?;
        waiting.join().unwrap()
    })?;
    let mut last = PinnedBuffer::<u8>::alloc(BYTES)?;
    event.synchronize()?;
    assert!(event.is_done()?, "nobody records it any more");
    b.wait(&event)?;
    memcpy_async(&mut last, &x, &b)?;
    assert_eq!(last.host()?[..], vec![u8::try_from((ROUNDS - 1) % 251).unwrap(); BYTES]);
    assert_eq!(y.to_vec()?, vec![7; BYTES]);
    Ok(())
}

#[test]
fn an_event_shared_by_an_arc_is_recorded_by_any_of_its_owners() -> Result<()> {
    let _alone = alone();
    let event = std::sync::Arc::new(Event::new()?);
    let (a, b) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut x = DeviceBuffer::<u8>::alloc(BYTES)?;
    memset_async(&mut x, 1, &a)?;
    let waits = {
        let event = std::sync::Arc::clone(&event);
        event.record(&a)?;
        std::thread::spawn(move || event.synchronize())
    };
    waits.join().unwrap()?;
    event.record(&b)?;
    event.synchronize()
}
