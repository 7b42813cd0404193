//! Graphs: captured and built ones, the order of launches, the retained memory, and the refusals.
#![expect(unsafe_code, reason = "asks the runtime about an address")]
#![allow(clippy::unwrap_used, clippy::mem_forget, reason = "tests, of what is forgotten too")]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;

use cuda_safe::error::{Detail, ErrorKind};
use cuda_safe::graph::node;
use cuda_safe::hazard::{Access, AccessHistory};
use cuda_safe::{
    AsStream as _, Device, DeviceBuffer, Event, Graph, GraphExec, PinnedBuffer, Registered, Result, Stream,
    check, memcpy, memcpy_async, memset, memset_async, sys,
};
use cuda_testing::{Gate, alone};

/// A graph that fills 4 bytes of device memory and copies them to the host.
fn fill_and_fetch(
    stream: &mut Stream,
    device: &mut DeviceBuffer<u8>,
    host: &mut PinnedBuffer<u8>,
    value: u8,
) -> Result<Graph> {
    stream.capture(|s| {
        memset_async(device, value, s)?;
        memcpy_async(host, device, s)
    })
}

fn detail<T: std::fmt::Debug>(answer: Result<T>) -> Detail {
    answer.unwrap_err().detail().clone()
}

#[test]
fn what_is_captured_runs_at_each_launch_and_not_before() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut device = DeviceBuffer::<u8>::from_slice(&[1; 4])?;
    let mut host = PinnedBuffer::from_slice(&[0_u8; 4])?;
    let graph = fill_and_fetch(&mut stream, &mut device, &mut host, 7)?;
    assert_eq!(graph.node_count()?, 2);
    assert_eq!((device.to_vec()?, host.host()?.to_vec()), (vec![1; 4], vec![0; 4]));
    let mut exec = graph.instantiate()?;
    exec.upload(&stream)?;
    for _ in 0..3 {
        memset(&mut device, 1)?;
        host.host_mut()?.fill(0);
        exec.launch(&stream)?;
        assert_eq!(*host.host()?, [7; 4]);
    }
    Ok(())
}

#[test]
fn a_graph_keeps_the_memory_of_buffers_that_are_dropped() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::alloc(32 << 20)?;
    let mut host = PinnedBuffer::<u8>::alloc(4)?;
    let address = device.as_ptr();
    let is_memory = || {
        let mut attributes = std::mem::MaybeUninit::<sys::cudaPointerAttributes>::zeroed();
        // SAFETY: the pointer is to a live structure, which the call fills. Any address may be queried.
        unsafe { check!(cudaPointerGetAttributes(attributes.as_mut_ptr(), address.cast())) }.unwrap();
        // SAFETY: the call has filled it.
        unsafe { attributes.assume_init() }.type_ == sys::cudaMemoryTypeDevice
    };
    let graph = stream.capture(|s| {
        memset_async(&mut device, 7, s)?;
        memcpy_async(&mut host, &device.slice(..4)?, s)
    })?;
    device.free()?;
    let mut exec = graph.instantiate()?;
    drop(graph);
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [7; 4]);
    assert!(is_memory());
    drop(exec);
    assert!(!is_memory(), "the last who held the memory has freed it");
    Ok(())
}

#[test]
fn memory_of_a_launch_under_way_is_freed_only_after_it() -> Result<()> {
    let alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let mut exec = fill_and_fetch(&mut stream, &mut device, &mut host, 7)?.instantiate()?;
    let event = Event::without_timing()?;
    let gate = Gate::on(&alone, &stream);
    GraphExec::launch(&mut exec, &stream)?;
    event.record(&stream)?;
    let opener = std::thread::spawn(move || gate.open());
    drop((exec, device, host));
    assert!(event.is_done()?, "memory was freed while a launch was using it");
    opener.join().unwrap();
    Ok(())
}

#[test]
fn a_launch_is_ordered_after_work_of_other_streams_and_their_work_after_it() -> Result<()> {
    let alone = alone();
    let (mut stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let graph = stream.capture(|s| memcpy_async(&mut host, &device, s))?;
    let mut exec = graph.instantiate()?;
    let gate = Gate::on(&alone, &other);
    memset_async(&mut device, 3, &other)?;
    exec.launch(&stream)?;
    assert!(!stream.is_done()?, "the launch did not wait for what fills its source");
    memset_async(&mut device, 4, &other)?;
    gate.open();
    assert_eq!(*host.host()?, [3; 4]);
    assert_eq!(device.to_vec()?, [4; 4]);
    Ok(())
}

#[test]
fn graphs_that_use_parts_of_one_buffer_in_turn_are_ordered_only_where_they_share_a_byte() -> Result<()> {
    const PARTS: usize = 100;
    let _alone = alone();
    let (mut one, mut other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let mut bytes = DeviceBuffer::from_slice(&[0_u8; 4 * PARTS])?;
    let mut fill = |stream: &mut Stream, first: usize, value| {
        let graph = stream.capture(|s| {
            (first..PARTS)
                .step_by(2)
                .try_for_each(|part| memset_async(&mut bytes.slice_mut(4 * part..4 * part + 4)?, value, s))
        });
        graph?.instantiate()
    };
    let (mut even, mut odd) = (fill(&mut one, 0, 1)?, fill(&mut other, 1, 2)?);
    Device::current()?.synchronize()?;
    let waits = cuda_safe::hazard::added_waits();
    for _ in 0..3 {
        even.launch(&one)?;
        odd.launch(&other)?;
    }
    assert_eq!(cuda_safe::hazard::added_waits(), waits, "they share no byte");
    even.launch(&other)?;
    assert_eq!(cuda_safe::hazard::added_waits(), waits + 1, "the same graph on another stream");
    let found = bytes.to_vec()?;
    assert!(found.chunks(8).all(|pair| pair == [1, 1, 1, 1, 2, 2, 2, 2]), "{found:?}");
    Ok(())
}

#[test]
fn a_replay_while_a_host_guard_lives_is_refused() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut device, mut host) =
        (DeviceBuffer::<u8>::from_slice(&[5; 4])?, PinnedBuffer::from_slice(&[1; 4])?);
    let mut writes = stream.capture(|s| memcpy_async(&mut host, &device, s))?.instantiate()?;
    let mut reads = stream.capture(|s| memcpy_async(&mut device, &host, s))?.instantiate()?;
    {
        let guard = host.host()?;
        assert_eq!(detail(writes.launch(&stream)), Detail::HOST_BORROWED);
        reads.launch(&stream)?;
        assert_eq!(*guard, [1; 4]);
    }
    {
        let _guard = host.host_mut()?;
        assert_eq!(detail(reads.launch(&stream)), Detail::HOST_BORROWED);
    }
    memset_async(&mut device, 6, &stream)?;
    writes.launch(&stream)?;
    assert_eq!(*host.host()?, [6; 4], "a guard that is asked for after a launch waits for it");
    std::mem::forget(host.host()?);
    assert_eq!(detail(writes.launch(&stream)), Detail::HOST_BORROWED);
    Ok(())
}

#[test]
fn two_threads_that_launch_graphs_over_two_buffers_in_either_order_get_through() -> Result<()> {
    const ROUNDS: usize = 200;
    let _alone = alone();
    let mut streams = [Stream::non_blocking()?, Stream::non_blocking()?];
    let (mut x, mut y) =
        (DeviceBuffer::<u8>::from_slice(&[0; 64])?, DeviceBuffer::<u8>::from_slice(&[1; 64])?);
    let first = streams[0].capture(|s| {
        memset_async(&mut x, 2, s)?;
        memcpy_async(&mut y, &x, s)
    })?;
    let second = streams[1].capture(|s| {
        memset_async(&mut y, 3, s)?;
        memcpy_async(&mut x, &y, s)
    })?;
    let execs = [first.instantiate()?, second.instantiate()?];
    std::thread::scope(|threads| {
        for (mut exec, stream) in execs.into_iter().zip(&streams) {
            threads.spawn(move || {
                for _ in 0..ROUNDS {
                    exec.launch(stream).unwrap();
                }
            });
        }
    });
    let (x, y) = (x.to_vec()?, y.to_vec()?);
    assert!(x == y && (x == [2; 64] || x == [3; 64]), "two launches ran into each other: {x:?} {y:?}");
    Ok(())
}

#[test]
fn what_cannot_be_captured_is_refused_and_spoils_nothing() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut device = DeviceBuffer::<u8>::from_slice(&[1; 4])?;
    let (other, recorded, event) = (Stream::new()?, Event::new()?, Event::new()?);
    let before = other.as_stream();
    recorded.record(&stream)?;
    let mut inner = stream.capture(|s| memset_async(&mut device, 1, s))?.instantiate()?;
    let [pool, freed] = [(); 2].map(|()| DeviceBuffer::<u8>::alloc_async(4, &stream));
    let (pool, freed) = (pool?, freed?);
    let mut ran = false;
    let graph = stream.capture(|s| {
        let view = s.as_stream();
        assert!(view.is_capturing());
        assert_eq!(detail(view.synchronize()), Detail::CAPTURING);
        assert_eq!(detail(view.is_done()), Detail::CAPTURING);
        assert_eq!(detail(view.wait(&recorded)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(view.wait(&event)), Detail::OUTSIDE_CAPTURE, "it was never recorded");
        assert_eq!(detail(view.launch_host_fn(|| ())), Detail::CAPTURING);
        assert_eq!(detail(view.scope(|_| ran = true)), Detail::CAPTURING);
        assert_eq!(detail(inner.launch(s)), Detail::CAPTURING);
        assert_eq!(detail(DeviceBuffer::<u8>::alloc_async(4, s)), Detail::CAPTURING);
        assert_eq!(detail(freed.free_async(s)), Detail::CAPTURING);
        // Blocking verbs, and work on other streams: they would run at once and be missing in the graph.
        assert_eq!(detail(memset(&mut device, 2)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(device.to_vec()), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(DeviceBuffer::<u8>::from_slice(&[3; 1 << 16])), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(memset_async(&mut device, 2, &other)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(memset_async(&mut device, 2, &before)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(other.synchronize()), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(recorded.record(&other)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(recorded.synchronize()), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(inner.launch(&other)), Detail::OUTSIDE_CAPTURE);
        assert_eq!(detail(s.device().synchronize()), Detail::OUTSIDE_CAPTURE);
        // What puts nothing on a stream continues.
        drop(DeviceBuffer::<u8>::alloc(1 << 16)?);
        drop(PinnedBuffer::<u8>::alloc(1 << 16)?);
        drop(pool);
        assert!(recorded.is_done()?);
        memset_async(&mut device, 9, s)
    })?;
    assert!(!ran);
    assert_eq!(graph.node_count()?, 1);
    memset_async(&mut device, 8, &before)?;
    assert_eq!(device.to_vec()?, [8; 4], "afterwards the streams are as before");
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(device.to_vec()?, [9; 4]);
    Ok(())
}

#[test]
fn a_wait_for_the_device_spoils_the_capture_and_nothing_else() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::from_slice(&[1; 4])?;
    let spoiled = stream.capture(|s| {
        assert!(s.device().synchronize().is_err(), "refused");
        // SAFETY: the call takes no arguments.
        assert!(unsafe { check!(cudaDeviceSynchronize()) }.is_err());
        Ok(())
    });
    assert_eq!(spoiled.unwrap_err().code(), sys::cudaErrorStreamCaptureInvalidated);
    Device::current()?.synchronize()?;
    let graph = stream.capture(|s| memset_async(&mut device, 2, s))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(device.to_vec()?, [2; 4]);
    Ok(())
}

#[test]
fn a_closure_that_fails_or_panics_ends_its_capture() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::from_slice(&[1; 4])?;
    let counted = Arc::new(());
    for panics in [false, true] {
        let held = Arc::clone(&counted);
        let capture = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            stream.capture(|s| {
                memset_async(&mut device, 2, s)?;
                s.host_fn(move || drop(Arc::clone(&held)))?;
                assert!(!panics, "as planned");
                device.slice(7..).map(drop)
            })
        }));
        assert_eq!(capture.is_err(), panics);
        if let Ok(answer) = capture {
            assert!(detail(answer).as_str().contains("range 7.."));
        }
        stream.synchronize()?;
        // The runtime drops the function on one of its threads.
        Device::current()?.synchronize()?;
        while Arc::strong_count(&counted) > 1 {
            std::thread::yield_now();
        }
    }
    memset_async(&mut device, 3, &stream)?;
    assert_eq!(device.to_vec()?, [3; 4]);
    let graph = stream.capture(|s| memset_async(&mut device, 4, s))?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(device.to_vec()?, [4; 4]);
    Ok(())
}

#[test]
fn host_functions_of_a_graph_run_at_each_launch_and_are_dropped_after_the_last() -> Result<()> {
    let alone = alone();
    let mut stream = Stream::non_blocking()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let (captured, added) = (Arc::clone(&calls), Arc::clone(&calls));
    let mut graph = stream.capture(|s| {
        s.host_fn(move || {
            captured.fetch_add(1, Ordering::SeqCst);
        })
    })?;
    graph.add(
        &[],
        node::host_fn(move || {
            added.fetch_add(10, Ordering::SeqCst);
        }),
    )?;
    let mut exec = graph.instantiate()?;
    let copy = graph.try_clone()?;
    drop(graph);
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    drop((exec, copy));
    assert_eq!(Arc::strong_count(&calls), 3, "launches under way still need the functions");
    gate.open();
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 22);
    while Arc::strong_count(&calls) > 1 {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn a_panic_in_a_host_function_of_a_graph_is_reported_at_each_launch() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let line = line!() + 1;
    let graph = stream.capture(|s| s.host_fn(|| panic!("as planned")))?;
    let mut exec = graph.instantiate()?;
    for _ in 0..2 {
        exec.launch(&stream)?;
        let launched = format!("the host function launched at {}:{line}:", file!());
        assert!(detail(stream.synchronize()).as_str().starts_with(&launched));
        stream.synchronize()?;
    }
    Ok(())
}

#[test]
fn cuda_is_refused_in_a_host_function_of_a_graph() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let inner = Stream::non_blocking()?;
    let (tell, told) = channel();
    let graph = stream.capture(|s| {
        s.host_fn(move || {
            tell.send((detail(inner.synchronize()), detail(Graph::new()))).unwrap();
        })
    })?;
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!(told.recv().unwrap(), (Detail::IN_CALLBACK, Detail::IN_CALLBACK));
    Ok(())
}

#[test]
fn graphs_dropped_in_a_host_function_are_destroyed_later() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let graph = fill_and_fetch(&mut stream, &mut device, &mut host, 7)?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    drop(device);
    stream.launch_host_fn(move || drop((graph, exec)))?;
    stream.synchronize()?;
    assert_eq!(*host.host()?, [7; 4]);
    Ok(())
}

#[test]
fn nodes_that_conflict_are_ordered_and_others_only_as_they_say() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let (mut a, mut b) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    let mut host = PinnedBuffer::<u8>::alloc(64)?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::memset(&mut a, 1))?;
    graph.add(&[], node::memset(&mut b, 2))?;
    graph.add(&[], node::memcpy(&mut a.slice_mut(..32)?, &b.slice(..32)?))?;
    graph.add(&[], node::memcpy(&mut host, &a))?;
    let last = graph.add(&[], node::memset(&mut a, 9))?;
    let end = graph.add(&[last], node::empty())?;
    let empty = graph.add(&[end], node::memcpy(&mut a.slice_mut(..0)?, &b.slice(..0)?))?;
    assert_eq!(graph.node_count()?, 7);
    let mut exec = graph.instantiate()?;
    for _ in 0..2 {
        exec.launch(&stream)?;
        let host = host.host()?;
        assert_eq!((&host[..32], &host[32..]), (&[2; 32][..], &[1; 32][..]));
    }
    assert_eq!(a.to_vec()?, [9; 64]);
    let mut other = Graph::new()?;
    assert!(detail(other.add(&[empty], node::empty())).as_str().contains(" is not supported"));
    Ok(())
}

#[test]
fn a_graph_within_a_graph_runs_in_its_place_and_its_memory_is_kept() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let inner = stream.capture(|s| memset_async(&mut device, 5, s))?;
    let mut graph = Graph::new()?;
    graph.add(&[], node::memset(&mut device, 1))?;
    graph.add(&[], node::child_graph(&inner))?;
    graph.add(&[], node::memcpy(&mut host, &device))?;
    drop((inner, device));
    let mut exec = graph.instantiate()?;
    drop(graph);
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [5; 4]);
    Ok(())
}

#[test]
fn an_executable_graph_takes_over_another_one_of_its_shape() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    let mut exec = fill_and_fetch(&mut stream, &mut device, &mut host, 1)?.instantiate()?;
    let (mut device, mut host) = (DeviceBuffer::<u8>::alloc(4)?, PinnedBuffer::<u8>::alloc(4)?);
    exec.update(&fill_and_fetch(&mut stream, &mut device, &mut host, 2)?)?;
    drop(device);
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [2; 4]);
    let mut more = Graph::new()?;
    more.add(&[], node::empty())?;
    let error = exec.update(&more).unwrap_err();
    assert_eq!(error.code(), sys::cudaErrorGraphExecUpdateFailure);
    assert!(error.to_string().contains("cannot be taken over: it has other nodes or edges"), "{error}");
    let mut device = DeviceBuffer::<u8>::alloc(4)?;
    let other = stream.capture(|s| {
        memset_async(&mut device, 3, s)?;
        memset_async(&mut device, 4, s)
    })?;
    let error = exec.update(&other).unwrap_err();
    let detail = "the graph cannot be taken over: a node is of another kind, at its node 1 \
                  (0 is the first); instantiate it instead";
    assert_eq!((error.detail().as_str(), error.detail().kind()), (detail, ErrorKind::Update));
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [2; 4]);
    Ok(())
}

/// A graph that counts its launches, in steps of this size.
fn counting(stream: &mut Stream, calls: &Arc<AtomicUsize>, by: usize) -> Result<Graph> {
    let calls = Arc::clone(calls);
    stream.capture(|s| {
        s.host_fn(move || {
            calls.fetch_add(by, Ordering::SeqCst);
        })
    })
}

#[test]
fn host_functions_are_taken_over_and_dropped_after_the_last_launch_that_calls_them() -> Result<()> {
    let alone = alone();
    let mut stream = Stream::non_blocking()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let mut exec = counting(&mut stream, &calls, 1)?.instantiate()?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    let other = counting(&mut stream, &calls, 10)?;
    exec.update(&other)?;
    drop(other);
    exec.launch(&stream)?;
    exec.update(&counting(&mut stream, &calls, 100)?)?;
    exec.launch(&stream)?;
    drop(exec);
    assert_eq!(Arc::strong_count(&calls), 4, "launches under way still need the functions");
    gate.open();
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 111);
    // Functions that are no longer used are dropped when another one is set.
    let mut exec = counting(&mut stream, &calls, 0)?.instantiate()?;
    exec.update(&counting(&mut stream, &calls, 0)?)?;
    drop(exec);
    while Arc::strong_count(&calls) > 1 {
        std::thread::yield_now();
    }
    Ok(())
}

#[test]
fn host_functions_taken_over_from_the_graph_itself_stay_when_a_node_is_changed() -> Result<()> {
    let _alone = alone();
    let stream = Stream::non_blocking()?;
    let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    let calls = Arc::new(AtomicUsize::new(0));
    let count = |by: usize| {
        let calls = Arc::clone(&calls);
        move || _ = calls.fetch_add(by, Ordering::SeqCst)
    };
    let mut graph = Graph::new()?;
    let fill = graph.add(&[], node::memset(&mut bytes, 1))?;
    let call = graph.add(&[], node::host_fn(count(1)))?;
    let mut exec = graph.instantiate()?;
    graph.set(call, node::host_fn(count(10)))?;
    exec.update(&graph)?;
    exec.set(&graph, fill, node::memset(&mut bytes, 2))?;
    // The graph releases its second function, and when it is dropped, the third.
    graph.set(call, node::host_fn(count(100)))?;
    drop(graph);
    exec.launch(&stream)?;
    assert_eq!(bytes.to_vec()?, [2; 4]);
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 10);
    Ok(())
}

#[test]
fn the_host_functions_of_a_graph_within_a_graph_are_taken_over() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let calls = Arc::new(AtomicUsize::new(0));
    let mut outer = [Graph::new()?, Graph::new()?];
    let mut nodes = Vec::new();
    for (graph, by) in outer.iter_mut().zip([1, 10]) {
        nodes.push(graph.add(&[], node::child_graph(&counting(&mut stream, &calls, by)?))?);
    }
    let [first, second] = &outer;
    let mut exec = first.instantiate()?;
    exec.set(first, nodes[0], node::child_graph(&counting(&mut stream, &calls, 100)?))?;
    exec.launch(&stream)?;
    exec.update(second)?;
    drop(outer);
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!(calls.load(Ordering::SeqCst), 110);
    Ok(())
}

#[test]
fn memory_that_no_reference_keeps_is_refused() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let ledger = AccessHistory::new(4);
    let graph = stream.capture(|s| {
        // SAFETY: the operation accesses no memory.
        let refused =
            unsafe { s.as_stream().enqueue(&[Access::read(&ledger, 0..4)], cuda_testing::put_nothing) };
        assert_eq!(detail(refused), Detail::NOT_RETAINED);
        Ok(())
    })?;
    assert_eq!(graph.node_count()?, 0);
    Ok(())
}

#[test]
fn a_registered_container_is_given_back_only_when_no_graph_holds_it() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let device = DeviceBuffer::<u8>::from_slice(&[5; 4])?;
    let mut registered = Registered::new(vec![0_u8; 4])?;
    let mut exec = stream.capture(|s| memcpy_async(&mut registered, &device, s))?.instantiate()?;
    let (refused, registered) = registered.into_inner().unwrap_err().into_parts();
    assert_eq!(refused.detail(), &Detail::IN_GRAPH);
    exec.launch(&stream)?;
    assert_eq!(*registered.host()?, [5; 4]);
    drop(exec);
    assert_eq!(registered.into_inner()?, [5; 4]);
    Ok(())
}

#[test]
fn a_graph_is_launched_on_streams_of_its_own_device_only() -> Result<()> {
    let _alone = alone();
    if Device::count()? < 2 {
        println!("one device only: no other one to launch on");
        return Ok(());
    }
    let there = Device::new(1)?;
    let mut stream = Stream::builder().device(there).non_blocking().build()?;
    let mut host = PinnedBuffer::<u8>::alloc(4)?;
    let mut device = there.with_current(|| DeviceBuffer::<u8>::alloc(4))?;
    let graph = fill_and_fetch(&mut stream, &mut device, &mut host, 7)?;
    assert_eq!(graph.device(), there);
    let mut exec = graph.instantiate()?;
    let refused = detail(exec.launch(&Stream::non_blocking()?));
    assert!(refused.as_str().contains("belongs to device 0, device 1 is needed"));
    exec.launch(&stream)?;
    assert_eq!(*host.host()?, [7; 4]);
    Ok(())
}

#[test]
fn a_graph_is_written_in_the_language_of_graphviz() -> Result<()> {
    let _alone = alone();
    let mut device = DeviceBuffer::<u8>::alloc(4)?;
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::memset(&mut device, 1))?;
    graph.add(&[first], node::empty())?;
    let path = std::env::temp_dir().join(format!("cuda-safe-graph-{}.dot", std::process::id()));
    graph.write_dot(&path)?;
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(text.starts_with("digraph") && text.contains("->"), "{text}");
    Ok(())
}

#[test]
fn a_blocking_copy_between_pinned_buffers_keeps_graphs_away_like_a_guard() -> Result<()> {
    let alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut device = DeviceBuffer::<u8>::from_slice(&[5; 4])?;
    let (mut from, mut to) = (PinnedBuffer::from_slice(&[1; 4])?, PinnedBuffer::from_slice(&[0; 4])?);
    let mut exec: GraphExec = stream.capture(|s| memcpy_async(&mut from, &device, s))?.instantiate()?;
    let gate = Gate::on(&alone, &stream);
    exec.launch(&stream)?;
    let opener = std::thread::spawn(move || gate.open());
    memcpy(&mut to, &from)?;
    opener.join().unwrap();
    assert_eq!(*to.host()?, [5; 4], "the copy waits for the launch that writes its source");
    memset(&mut device, 6)?;
    exec.launch(&stream)?;
    assert_eq!(*from.host()?, [6; 4], "the loan has ended with the copy");
    Ok(())
}
