//! The tracker at work: the order that it adds, the work that it does not touch, and its counts.
//!
//! Not under initcheck: the host opens streams that host functions hold, and calls wait for them.
#![expect(unsafe_code, reason = "puts raw operations on streams, switches the tracker off")]
#![allow(clippy::unwrap_used, clippy::mem_forget, reason = "tests, some of them of what forgetting does")]

#[cfg(cudart_13_0)]
use cuda_safe::ManagedBuffer;
use cuda_safe::copy::CopyBatch;
use cuda_safe::error::Detail;
use cuda_safe::graph::{Graph, node};
use cuda_safe::hazard::{self, Policy};
#[cfg(cudart_13_0)]
use cuda_safe::memory::managed::PrefetchBatch;
use cuda_safe::{
    DeviceBuffer, Event, PinnedBuffer, PitchedBuffer, PitchedVolume, Stream, check, memcpy, memcpy_async,
    memset_2d_async, memset_3d_async, memset_async,
};
use cuda_testing::{Alone, Gate, alone};

/// Returns the number of waits that are added for `f`.
fn added(f: impl FnOnce()) -> u64 {
    let before = hazard::added_waits();
    f();
    hazard::added_waits() - before
}

fn two() -> (Stream, Stream) {
    (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap())
}

#[test]
fn what_the_program_forgot_to_order_is_ordered_and_told() {
    let alone = alone();
    let (a, b) = two();
    let mut buffer = DeviceBuffer::<u8>::alloc(1 << 16).unwrap();
    let gate = Gate::on(&alone, &a);
    memset_async(&mut buffer, 1, &a).unwrap();
    let mut line = 0;
    let waits = added(|| {
        line = line!() + 1;
        memset_async(&mut buffer, 2, &b).unwrap();
    });
    assert_eq!(waits, 1);
    assert!(!b.is_done().unwrap(), "the second stream is behind the gate of the first");
    let last = *hazard::recent_waits().last().unwrap();
    assert_eq!((last.at.file(), last.at.line()), (file!(), line), "{last}");
    gate.open();
    assert!(buffer.to_vec().unwrap().iter().all(|byte| *byte == 2));
}

/// The legacy stream is held, and has memory to fill. The behaviour of a blocking stream proves nothing
/// here.
fn its_end_proves_nothing(alone: &Alone, of_the_blocking_stream: impl FnOnce(&Stream)) {
    let (legacy, blocking) = (Stream::legacy().unwrap(), Stream::new().unwrap());
    let other = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let gate = Gate::on(alone, &legacy);
    memset_async(&mut buffer, 1, &legacy).unwrap();
    of_the_blocking_stream(&blocking);
    assert!(blocking.is_done().unwrap(), "it has nothing to do that the device knows of");
    blocking.synchronize().unwrap();
    let waits = added(|| memset_async(&mut buffer, 2, &other).unwrap());
    assert_eq!(waits, 1, "the legacy stream has not filled the buffer yet");
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
}

#[test]
fn the_end_of_a_blocking_stream_proves_nothing_of_the_legacy_stream_because_of_an_event() {
    let alone = alone();
    its_end_proves_nothing(&alone, |blocking| {
        let event = Event::without_timing().unwrap();
        event.record(blocking).unwrap();
    });
}

#[test]
fn the_end_of_a_blocking_stream_proves_nothing_of_the_legacy_stream_because_of_an_allocation() {
    let alone = alone();
    its_end_proves_nothing(&alone, |blocking| {
        let buffer = DeviceBuffer::<u8>::alloc_async(64, blocking).unwrap();
        // Freeing it would give the device work.
        std::mem::forget(buffer);
    });
}

/// The legacy stream is held, and has memory to fill. A blocking stream receives an operation that counts
/// as a use of that memory but gives the device no work. The legacy stream's order is then not enough: the
/// blocking stream would appear complete, and the work of the legacy stream with it.
fn what_is_nothing_to_do_waits_by_an_event<T>(
    alone: &Alone,
    memory: &mut T,
    fill: impl FnOnce(&mut T),
    put: impl FnOnce(&mut T, &Stream),
) {
    let (legacy, blocking) = (Stream::legacy().unwrap(), Stream::new().unwrap());
    let gate = Gate::on(alone, &legacy);
    fill(memory);
    assert_eq!(added(|| put(memory, &blocking)), 1);
    assert!(!blocking.is_done().unwrap(), "it waits for the legacy stream");
    gate.open();
    blocking.synchronize().unwrap();
}

#[test]
fn a_graph_of_which_only_a_refused_copy_is_left_proves_nothing_of_the_legacy_stream() {
    let alone = alone();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let mut graph = {
        let captured = Stream::non_blocking().unwrap().capture(|captured| {
            let batch = CopyBatch::new().copy_during_call(&mut buffer, &[1; 64]);
            assert_eq!(batch.enqueue(captured).unwrap_err().detail(), &Detail::CAPTURING);
            Ok(())
        });
        captured.unwrap().instantiate().unwrap()
    };
    let fill = |buffer: &mut DeviceBuffer<u8>| memset_async(buffer, 2, &Stream::legacy().unwrap()).unwrap();
    what_is_nothing_to_do_waits_by_an_event(&alone, &mut buffer, fill, |_, stream| {
        graph.launch(stream).unwrap()
    });
    assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
}

#[test]
fn a_graph_of_which_launches_skip_all_nodes_proves_nothing_of_the_legacy_stream() {
    let alone = alone();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let ones = DeviceBuffer::from_slice(&[1; 64]).unwrap();
    for taken_over in [false, true] {
        let mut graph = Graph::new().unwrap();
        let node = graph.add(&[], node::memcpy(&mut buffer, &ones)).unwrap();
        let mut exec = graph.instantiate().unwrap();
        exec.set_enabled(&graph, node, false).unwrap();
        if taken_over {
            // The node is unchanged.
            exec.update(&graph).unwrap();
        }
        let fill =
            |buffer: &mut DeviceBuffer<u8>| memset_async(buffer, 2, &Stream::legacy().unwrap()).unwrap();
        what_is_nothing_to_do_waits_by_an_event(&alone, &mut buffer, fill, |_, stream| {
            exec.launch(stream).unwrap()
        });
        assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
    }
}

#[cfg(cudart_13_0)]
#[test]
fn a_discard_proves_nothing_of_the_legacy_stream() {
    let alone = alone();
    // It contains some whole blocks, wherever it begins.
    let mut buffer = ManagedBuffer::<u8>::alloc(4 << 20).unwrap();
    let fill = |buffer: &mut ManagedBuffer<u8>| memset_async(buffer, 2, &Stream::legacy().unwrap()).unwrap();
    what_is_nothing_to_do_waits_by_an_event(&alone, &mut buffer, fill, |buffer, stream| {
        PrefetchBatch::new().discard(&mut buffer.as_slice_mut()).enqueue(stream).unwrap();
    });
}

#[test]
fn the_event_of_a_blocking_stream_comes_after_the_legacy_stream_s_work() {
    let alone = alone();
    let (legacy, blocking) = (Stream::legacy().unwrap(), Stream::new().unwrap());
    let other = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let event = Event::without_timing().unwrap();
    let gate = Gate::on(&alone, &legacy);
    memset_async(&mut buffer, 1, &legacy).unwrap();
    event.record(&blocking).unwrap();
    assert!(!event.is_done().unwrap());
    other.wait(&event).unwrap();
    let waits = added(|| memset_async(&mut buffer, 2, &other).unwrap());
    assert_eq!(waits, 0, "the event says it all");
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [2; 64]);
}

#[test]
fn a_program_that_orders_its_work_pays_for_no_wait() {
    let _alone = alone();
    let (a, b) = two();
    let mut buffer = DeviceBuffer::<u32>::alloc(256).unwrap();
    let mut back = PinnedBuffer::<u32>::alloc(256).unwrap();
    let event = Event::without_timing().unwrap();
    let waits = added(|| {
        for round in 0..10 {
            memset_async(&mut buffer, round, &a).unwrap();
            event.record(&a).unwrap();
            b.wait(&event).unwrap();
            memcpy_async(&mut back, &buffer, &b).unwrap();
            event.record(&b).unwrap();
            a.wait(&event).unwrap();
        }
        a.synchronize().unwrap();
        b.synchronize().unwrap();
        assert_eq!(back.host().unwrap()[255], 0x0909_0909);
    });
    assert_eq!(waits, 0);
}

#[test]
fn what_is_read_after_an_event_was_recorded_may_still_be_read_by_who_waits_for_the_event() {
    let _alone = alone();
    let (a, b) = two();
    let mut buffer = DeviceBuffer::<u8>::alloc(64).unwrap();
    let (mut first, mut second) =
        (PinnedBuffer::<u8>::alloc(64).unwrap(), PinnedBuffer::<u8>::alloc(64).unwrap());
    let event = Event::without_timing().unwrap();
    let waits = added(|| {
        memset_async(&mut buffer, 1, &a).unwrap();
        event.record(&a).unwrap();
        memcpy_async(&mut first, &buffer, &a).unwrap();
        b.wait(&event).unwrap();
        memcpy_async(&mut second, &buffer, &b).unwrap();
    });
    assert_eq!(waits, 0);
    // A writer must wait for both readers.
    let c = Stream::non_blocking().unwrap();
    assert_eq!(added(|| memset_async(&mut buffer, 2, &c).unwrap()), 2);
}

#[test]
fn chunks_of_one_buffer_are_independent() {
    let _alone = alone();
    let streams: Vec<Stream> = (0..4).map(|_| Stream::non_blocking().unwrap()).collect();
    let mut buffer = DeviceBuffer::<u8>::alloc(64 * 100).unwrap();
    let waits = added(|| {
        for round in 0..3 {
            for chunk in 0..64 {
                let mut part = buffer.slice_mut(chunk * 100..(chunk + 1) * 100).unwrap();
                memset_async(&mut part, round, &streams[chunk % 4]).unwrap();
            }
        }
    });
    assert_eq!(waits, 0);
    // An access to the whole buffer concerns all four.
    let fifth = Stream::non_blocking().unwrap();
    assert_eq!(added(|| memset_async(&mut buffer, 9, &fifth).unwrap()), 4);
    assert!(buffer.to_vec().unwrap().iter().all(|byte| *byte == 9));
}

#[test]
fn two_readers_are_both_waited_for() {
    let alone = alone();
    let (a, b) = two();
    let writer = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&[1_u8; 4096]).unwrap();
    let (mut x, mut y) = (PinnedBuffer::<u8>::alloc(4096).unwrap(), PinnedBuffer::<u8>::alloc(4096).unwrap());
    // Only one gate: the runtime may run all host functions on one thread.
    let gate = Gate::on(&alone, &a);
    memcpy_async(&mut x, &buffer, &a).unwrap();
    memcpy_async(&mut y, &buffer, &b).unwrap();
    memset_async(&mut buffer, 2, &writer).unwrap();
    b.synchronize().unwrap();
    assert!(!writer.is_done().unwrap(), "the first reader still holds the writer");
    gate.open();
    assert_eq!(x.host().unwrap()[4095], 1);
    assert_eq!(y.host().unwrap()[4095], 1);
}

#[test]
fn the_legacy_stream_orders_blocking_streams_without_a_wait() {
    let _alone = alone();
    let (a, b) = (Stream::new().unwrap(), Stream::new().unwrap());
    let legacy = Stream::legacy().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(4096).unwrap();
    let mut other = DeviceBuffer::<u8>::alloc(4096).unwrap();
    let waits = added(|| {
        memset_async(&mut buffer, 1, &a).unwrap();
        memset_async(&mut buffer, 2, &legacy).unwrap();
        memset_async(&mut buffer, 3, &b).unwrap();
        // The middle operation uses another buffer. Still, a's work comes before b's.
        memset_async(&mut buffer, 4, &a).unwrap();
        memset_async(&mut other, 1, &legacy).unwrap();
    });
    // Only the added wait orders b after a.
    assert_eq!(waits, 1);
    assert_eq!(added(|| memset_async(&mut buffer, 5, &b).unwrap()), 0);
    b.synchronize().unwrap();
    assert_eq!(buffer.to_vec().unwrap(), [5; 4096]);
}

#[test]
fn a_blocking_copy_and_a_stream_that_does_not_wait_for_it_are_ordered() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(1 << 16).unwrap();
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 1, &stream).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    // From pageable memory: the copy comes after the stream's earlier work and before its later work.
    memcpy(&mut buffer, &vec![2_u8; 1 << 16]).unwrap();
    let mut back = PinnedBuffer::<u8>::alloc(1 << 16).unwrap();
    memcpy_async(&mut back, &buffer, &stream).unwrap();
    assert!(back.host().unwrap().iter().all(|byte| *byte == 2));
    opener.join().unwrap();
}

#[test]
fn a_blocking_copy_sees_what_was_put_raw_on_a_blocking_stream() {
    let alone = alone();
    let stream = Stream::new().unwrap();
    let mut buffer = DeviceBuffer::from_slice(&[1_u8; 1 << 20]).unwrap();
    let gate = Gate::on(&alone, &stream);
    let (raw, address) = (stream.as_raw(), buffer.as_mut_ptr());
    // Hidden from the tracker, as a kernel of another library would be.
    // SAFETY: the bytes belong to the buffer, and nothing accesses them until the copy below has waited for
    // the fill.
    unsafe { check!(cudaMemsetAsync(address.cast(), 2, 1 << 20, raw)) }.unwrap();
    let opener = std::thread::spawn(move || gate.open());
    assert!(buffer.to_vec().unwrap().iter().all(|byte| *byte == 2));
    opener.join().unwrap();
}

#[test]
fn raw_work_on_rows_and_layers_is_ordered_by_the_accesses_of_their_owners() {
    let alone = alone();
    let (first, second) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
    let mut rows = PitchedBuffer::<u8>::alloc(8, 3).unwrap();
    let mut layers = PitchedVolume::<u8>::alloc(8, 3, 2).unwrap();
    let put = |stream: &Stream, accesses: &[hazard::Access<'_>]| {
        let waits = hazard::added_waits();
        // SAFETY: the closure puts a host function that accesses no memory on the stream.
        unsafe { stream.enqueue(accesses, cuda_testing::put_nothing) }.unwrap();
        hazard::added_waits() - waits
    };
    let gate = Gate::on(&alone, &first);
    // The last row and the last layer: the owners' accesses cover all the memory.
    memset_2d_async(&mut rows.plane_mut().rows_mut(2..).unwrap(), 1, &first).unwrap();
    memset_3d_async(&mut layers.volume_mut().layers_mut(1..).unwrap(), 2, &first).unwrap();
    assert_eq!(put(&second, &[rows.access()]), 1, "a read comes after the fill");
    assert_eq!(put(&second, &[layers.access_mut()]), 0, "and so does what comes after that");
    let third = Stream::non_blocking().unwrap();
    assert_eq!(put(&third, &[layers.access()]), 1, "a read comes after the write");
    assert_eq!(put(&first, &[rows.access_mut()]), 1, "a write comes after the read");
    gate.open();
    assert_eq!(rows.to_vec().unwrap()[16..], [1; 8]);
    assert_eq!(layers.to_vec().unwrap()[24..], [2; 24]);
}

#[test]
fn memory_lent_to_the_host_is_refused_to_who_reaches_it_without_a_borrow() {
    let _alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let mut buffer = PinnedBuffer::<u8>::alloc(64).unwrap();
    // Like a graph: an access that the borrow checker does not see. The access history outlives it here.
    let touch = |access: cuda_safe::hazard::Access<'_>| {
        // SAFETY: the closure puts a host function that accesses no memory on the stream.
        unsafe { stream.enqueue(&[access.unborrowed()], cuda_testing::put_nothing) }
    };
    let reader = buffer.host().unwrap();
    touch(buffer.access()).unwrap();
    std::mem::forget(reader);
    touch(buffer.access()).unwrap();
    let error = touch(buffer.access_mut()).unwrap_err();
    assert_eq!(error.detail(), &Detail::HOST_BORROWED, "a forgotten guard refuses for ever");
    let mut other = PinnedBuffer::<u8>::alloc(64).unwrap();
    std::mem::forget(other.host_mut().unwrap());
    assert_eq!(touch(other.access()).unwrap_err().detail(), &Detail::HOST_BORROWED);
    // With the borrow it continues as before.
    memset_async(&mut other, 1, &stream).unwrap();
    assert_eq!(other.host().unwrap()[0], 1);
}

#[test]
fn a_buffer_dropped_with_work_pending_on_a_dropped_stream_waits_for_it() {
    let alone = alone();
    let stream = Stream::non_blocking().unwrap();
    let event = Event::without_timing().unwrap();
    let mut buffer = DeviceBuffer::<u8>::alloc(1 << 16).unwrap();
    let gate = Gate::on(&alone, &stream);
    memset_async(&mut buffer, 1, &stream).unwrap();
    event.record(&stream).unwrap();
    drop(stream);
    let opener = std::thread::spawn(move || gate.open());
    drop(buffer);
    assert!(event.is_done().unwrap(), "memory was freed while work was using it");
    opener.join().unwrap();
}

#[test]
fn a_stream_put_in_the_pool_is_still_waited_for() {
    let alone = alone();
    let (a, b) = two();
    let mut buffer = DeviceBuffer::<u8>::alloc(4096).unwrap();
    let gate = Gate::on(&alone, &a);
    memset_async(&mut buffer, 1, &a).unwrap();
    drop(a);
    assert_eq!(added(|| memset_async(&mut buffer, 2, &b).unwrap()), 1);
    assert!(!b.is_done().unwrap());
    gate.open();
    assert_eq!(buffer.to_vec().unwrap(), [2; 4096]);
}

#[test]
fn off_and_on_again_leaves_nothing_unknown() {
    let alone = alone();
    let (a, b) = two();
    let mut buffer = DeviceBuffer::<u8>::alloc(4096).unwrap();
    assert_eq!(hazard::policy(), Policy::Order);
    hazard::set_policy(Policy::Off).unwrap_err();
    // SAFETY: `a` is the only stream that is used before the tracker is on again, and the host does not
    // access the memory.
    unsafe { hazard::set_policy_off() }.unwrap();
    let gate = Gate::on(&alone, &a);
    memset_async(&mut buffer, 1, &a).unwrap();
    let opener = std::thread::spawn(move || gate.open());
    hazard::set_policy(Policy::Order).unwrap();
    assert!(a.is_done().unwrap(), "what was done without books has to be over");
    opener.join().unwrap();
    assert_eq!(added(|| memset_async(&mut buffer, 2, &b).unwrap()), 0);
    assert_eq!(buffer.to_vec().unwrap(), [2; 4096]);
}
