//! Captures with branches: forks and joins, C++'s form with events, and the order of branches that conflict.
#![allow(clippy::unwrap_used, reason = "tests")]
#![allow(unsafe_code, reason = "makes a call that ends another thread's capture")]

use std::sync::Arc;
use std::sync::mpsc::channel;

use cuda_safe::error::Detail;
use cuda_safe::graph::{NodeKind, node};
use cuda_safe::memory::{Plane, PlaneMut, Volume, VolumeMut};
use cuda_safe::{
    AsStream as _, Device, DeviceBuffer, Event, Graph, PinnedBuffer, PitchedBuffer, PitchedVolume, Result,
    Stream, memcpy_async, memset_async, sys,
};
use cuda_testing::{Gate, alone};

fn detail<T>(answer: Result<T>) -> Detail {
    answer.err().unwrap().detail().clone()
}

/// Returns the number of edges between captured nodes.
fn edges(graph: &Graph) -> usize {
    let path = std::env::temp_dir().join(format!("cuda-safe-branches-{}.dot", std::process::id()));
    graph.write_dot(&path).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    text.matches("->").count()
}

#[test]
fn a_fork_runs_beside_the_stream_and_what_follows_its_join_comes_after_both() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut buffers = [(); 3].map(|()| DeviceBuffer::<u8>::alloc(64));
    let [x, y, z] = &mut buffers;
    let (x, y, z) = (x.as_mut().unwrap(), y.as_mut().unwrap(), z.as_mut().unwrap());
    let graph = stream.capture(|s| {
        memset_async(z, 1, s)?;
        let side = s.fork()?;
        memset_async(x, 2, s)?;
        memset_async(y, 3, &side)?;
        let inner = side.fork()?;
        assert!(inner.as_stream().is_capturing() && side.device() == s.device());
        memcpy_async(z, y, &inner)?;
        side.join(inner)?;
        s.join(side)?;
        memcpy_async(y, x, s)
    })?;
    // A fill, two branches after it, a copy at the end of one, and a copy after all.
    let (nodes, edges) = (graph.node_count()?, edges(&graph));
    assert!(nodes == 5 && (5..=6).contains(&edges), "{nodes} nodes, {edges} edges");
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!((x.to_vec()?, y.to_vec()?, z.to_vec()?), (vec![2; 64], vec![2; 64], vec![3; 64]));
    Ok(())
}

#[test]
fn branches_are_really_branches() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut x, mut y) = (DeviceBuffer::<u8>::alloc(64)?, DeviceBuffer::<u8>::alloc(64)?);
    let (ran, runs) = channel();
    let graph = stream.capture(|s| {
        let side = s.fork()?;
        let on_side = ran.clone();
        side.host_fn(move || on_side.send("side").unwrap())?;
        memset_async(&mut x, 1, &side)?;
        memset_async(&mut y, 1, s)?;
        s.join(side)?;
        s.host_fn(move || ran.send("after").unwrap())
    })?;
    // The function and the fill of one branch, the fill of the other, and the function after both fills.
    assert_eq!((graph.node_count()?, edges(&graph)), (4, 3), "no edge joins the branches before the end");
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!(runs.try_iter().collect::<Vec<_>>(), ["side", "after"]);
    Ok(())
}

#[test]
fn the_form_of_c_with_events_and_streams_of_the_program() -> Result<()> {
    let alone = alone();
    let (mut stream, side, other) = (Stream::new()?, Stream::new()?, Stream::non_blocking()?);
    let [fork, join] = [(); 2].map(|()| Event::without_timing());
    let (fork, join) = (fork?, join?);
    let (mut x, mut y) = (DeviceBuffer::from_slice(&[0_u8; 64])?, DeviceBuffer::from_slice(&[0_u8; 64])?);
    // The side stream has real work, and the event a real record.
    let gate = Gate::on(&alone, &side);
    join.record(&side)?;
    let view = side.as_stream();
    let graph = stream.capture(|s| {
        memset_async(&mut x, 1, s)?;
        assert!(!view.is_capturing());
        assert_eq!(detail(memset_async(&mut y, 2, &side)), Detail::OUTSIDE_CAPTURE);
        fork.record(s)?;
        side.wait(&fork)?;
        assert!(view.is_capturing() && !other.as_stream().is_capturing());
        memset_async(&mut y, 2, &side)?;
        // A view from before the capture stands for the branch as well.
        memcpy_async(&mut x.slice_mut(32..)?, &y.slice(32..)?, &view)?;
        assert_eq!(detail(side.synchronize()), Detail::CAPTURING);
        assert_eq!(detail(fork.is_done()), Detail::CAPTURING);
        // On another thread the stream is what it always is.
        std::thread::scope(|threads| {
            threads.spawn(|| side.is_done()).join().unwrap().map(|done| assert!(!done))
        })?;
        join.record(&side)?;
        s.wait(&join)?;
        memset_async(&mut x.slice_mut(..16)?, 3, s)
    })?;
    assert!(!view.is_capturing());
    assert!(!join.is_done()?, "the event stands for its record before the capture");
    gate.open();
    join.synchronize()?;
    assert!(join.is_done()? && fork.is_done()?, "the other one was never recorded outside");
    assert_eq!(graph.node_count()?, 4);
    assert_eq!(x.to_vec()?, [0; 64], "nothing has run");
    graph.instantiate()?.launch(&stream)?;
    let expected = [[3; 16], [1; 16], [2; 16], [2; 16]].concat();
    assert_eq!((x.to_vec()?, y.to_vec()?), (expected, vec![2; 64]));
    memset_async(&mut y, 9, &side)?;
    assert_eq!(y.to_vec()?, [9; 64]);
    Ok(())
}

#[test]
fn branches_that_conflict_are_ordered() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut x = DeviceBuffer::<u8>::alloc(1 << 20)?;
    let mut host = PinnedBuffer::<u8>::alloc(1 << 20)?;
    let graph = stream.capture(|s| {
        let event = Event::without_timing()?;
        event.record(s)?;
        // Before there is a second branch, and after the event at which it begins.
        memset_async(&mut x, 4, s)?;
        let side = Stream::non_blocking()?;
        side.wait(&event)?;
        memcpy_async(&mut host, &x, &side)?;
        memset_async(&mut x, 5, s)?;
        event.record(&side)?;
        s.wait(&event)
    })?;
    // The copy comes after the first fill and the second fill after the copy.
    assert_eq!(graph.node_count()?, 3);
    assert!(edges(&graph) >= 2, "the copy would run beside the fills");
    let mut exec = graph.instantiate()?;
    for _ in 0..3 {
        exec.launch(&stream)?;
    }
    assert_eq!((host.host()?[..] == vec![4; 1 << 20], x.to_vec()? == vec![5; 1 << 20]), (true, true));
    Ok(())
}

#[test]
fn a_branch_that_is_not_joined_fails_the_capture_and_its_streams_work_again() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let (mut x, side, event) = (DeviceBuffer::<u8>::alloc(64)?, Stream::new()?, Event::new()?);
    for by_fork in [true, false] {
        let line = line!() + if by_fork { 3 } else { 6 };
        let failed = stream.capture(|s| {
            if by_fork {
                return memset_async(&mut x, 1, &s.fork()?);
            }
            event.record(s)?;
            side.wait(&event)?;
            memset_async(&mut x, 1, &side)
        });
        let failed = failed.unwrap_err();
        assert_eq!(failed.code(), sys::cudaErrorStreamCaptureUnjoined);
        let begun = format!("the branch that began at {}:{line}:", file!());
        assert!(
            failed.to_string().contains(&begun) && failed.to_string().contains("Capture::join"),
            "{failed}"
        );
        let _ = cuda_safe::error::take_last();
        memset_async(&mut x, 2, &side)?;
        assert_eq!(x.to_vec()?, [2; 64]);
    }
    let unwound = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let _ = stream.capture(|s| {
            let _side = s.fork()?;
            panic!("as planned")
        });
    }));
    assert!(unwound.is_err());
    let graph = stream.capture(|s| {
        let side = s.fork()?;
        memset_async(&mut x, 3, &side)?;
        s.join(side)
    })?;
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(x.to_vec()?, [3; 64]);
    Ok(())
}

#[test]
fn what_is_not_of_the_capture_is_refused_in_it() -> Result<()> {
    let _alone = alone();
    let (mut stream, mut second) = (Stream::new()?, Stream::new()?);
    let (event, legacy, own) = (Event::new()?, Stream::legacy()?, Stream::per_thread()?);
    let mut x = DeviceBuffer::<u8>::alloc(64)?;
    let graph = stream.capture(|s| {
        event.record(s)?;
        assert_eq!(detail(legacy.wait(&event)), Detail::OUTSIDE_CAPTURE, "it cannot be captured");
        own.wait(&event)?;
        memset_async(&mut x, 1, &own)?;
        event.record(&own)?;
        s.wait(&event)?;
        // A capture within the capture has nothing of the outer one.
        let inner = second.capture(|t| {
            assert_eq!(detail(memset_async(&mut x, 2, s)), Detail::OUTSIDE_CAPTURE);
            assert_eq!(detail(t.as_stream().wait(&event)), Detail::OUTSIDE_CAPTURE);
            assert!(!own.as_stream().is_capturing());
            memset_async(&mut x, 3, t)
        })?;
        assert_eq!(inner.node_count()?, 1);
        memset_async(&mut x.slice_mut(..8)?, 4, s)
    })?;
    assert_eq!(graph.node_count()?, 2);
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(x.to_vec()?, [[4; 8].as_slice(), &[1; 56]].concat());
    memset_async(&mut x, 5, &own)?;
    assert_eq!(x.to_vec()?, [5; 64]);
    Ok(())
}

/// A scope's stream that becomes a branch: the scope promises the end of its own work, not that of a graph.
#[test]
fn a_scope_lends_nothing_to_a_graph_if_its_stream_becomes_a_branch() -> Result<()> {
    let _alone = alone();
    let (mut stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let (event, joined) = (Event::without_timing()?, Event::without_timing()?);
    let mut device = DeviceBuffer::from_slice(&[7_u8; 64])?;
    let mut plane = PitchedBuffer::<u8>::alloc(8, 8)?;
    let mut volume = PitchedVolume::<u8>::alloc(4, 4, 4)?;
    let (mut kept, from) = (PinnedBuffer::from_slice(&[0_u8; 64])?, [1_u8; 64]);
    let mut local = [(); 3].map(|()| vec![0_u8; 64]);
    let [line, rows, layers] = &mut local;
    let graph = other.as_stream().scope(|s| {
        stream.capture(|c| {
            event.record(c)?;
            other.wait(&event)?;
            assert!(s.stream().is_capturing());
            let refused = [
                s.memcpy_async(&mut device, &from),
                s.memcpy_async(line, &device),
                s.memcpy_2d_async(&mut plane, Plane::from_slice(&from, 8, 8)?),
                s.memcpy_2d_async(PlaneMut::from_slice(rows, 8, 8)?, &plane),
                s.memcpy_3d_async(&mut volume, Volume::from_slice(&from, 4, 4, 4)?),
                s.memcpy_3d_async(VolumeMut::from_slice(layers, 4, 4, 4)?, &volume),
            ];
            for refused in refused {
                assert_eq!(detail(refused), Detail::NOT_RETAINED);
            }
            // What an owner keeps alive is kept by the graph, too.
            s.memcpy_async(&mut kept, &device)?;
            joined.record(&other)?;
            c.wait(&joined)
        })
    })??;
    assert_eq!(graph.node_count()?, 1, "nothing of the scope's is in the graph");
    drop(local);
    graph.instantiate()?.launch(&stream)?;
    assert_eq!(kept.host()?[..], [7; 64]);
    Ok(())
}

#[test]
fn a_capture_into_a_graph_comes_after_the_nodes_that_it_names_and_those_that_it_conflicts_with() -> Result<()>
{
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut buffers = [(); 4].map(|()| DeviceBuffer::from_slice(&[0_u8; 64]).unwrap());
    let [x, y, z, w] = &mut buffers;
    let mut graph = Graph::new()?;
    let [fill_x, fill_y] = [graph.add(&[], node::memset(x, 1))?, graph.add(&[], node::memset(y, 2))?];
    let (beside, empty) = (graph.add(&[], node::memset(w, 3))?, graph.add(&[], node::empty())?);
    let (mut graph, captured) = stream.capture_to_graph(graph, &[empty, fill_x], |s| {
        let side = s.fork()?;
        memcpy_async(z, x, s)?;
        memset_async(y, 4, &side)?;
        s.join(side)
    })?;
    // Nothing but the conflict over `y` orders the second fill, and nothing the third.
    assert_eq!(graph.edges()?, [(fill_x, captured), (fill_y, captured), (empty, captured)]);
    assert_eq!((graph.node_count()?, graph.root_nodes()?), (6, vec![fill_x, fill_y, beside, empty]));
    // Each of the three before both branches.
    assert_eq!(edges(&graph), 6);
    let copy = graph.add(&[], node::memcpy(w, y))?;
    assert_eq!(graph.dependencies(copy)?, [beside, captured]);
    // A second capture into the same graph, and nodes before that may no longer conflict with it.
    let (mut graph, second) = stream.capture_to_graph(graph, &[], |s| memset_async(z, 5, s))?;
    assert_eq!(graph.dependencies(second)?, [captured]);
    assert_eq!(detail(graph.set(beside, node::memset(z, 6))).as_str(), cuda_testing::nodes_unordered(4));
    graph.instantiate()?.launch(&stream)?;
    let filled = [x, y, z, w].map(|buffer| buffer.to_vec().unwrap()[63]);
    assert_eq!(filled, [1, 4, 5, 4]);
    Ok(())
}

#[test]
fn a_capture_of_nothing_into_a_graph_adds_an_empty_node() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let mut graph = Graph::new()?;
    let first = graph.add(&[], node::empty())?;
    let (graph, none) = stream.capture_to_graph(graph, &[first], |_| Ok(()))?;
    assert_eq!((graph.edges()?, graph.node_kind(none)?), (vec![(first, none)], NodeKind::EMPTY));
    Ok(())
}

#[test]
fn host_functions_that_are_captured_into_a_graph_belong_to_it() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let (ran, runs) = channel();
    let mut graph = Graph::new()?;
    let first = ran.clone();
    graph.add(&[], node::host_fn(move || first.send("first").unwrap()))?;
    let (added, captured) = (graph.nodes(), move || ran.send("captured").unwrap());
    let (graph, _) = stream.capture_to_graph(graph, &added, |s| s.host_fn(captured))?;
    let mut exec = graph.try_clone()?.instantiate()?;
    drop(graph);
    exec.launch(&stream)?;
    exec.launch(&stream)?;
    stream.synchronize()?;
    assert_eq!(runs.try_iter().collect::<Vec<_>>(), ["first", "captured"].repeat(2));
    drop(exec);
    assert!(runs.recv().is_err(), "the functions are dropped");
    Ok(())
}

#[test]
fn a_capture_into_a_graph_that_fails_ends_and_drops_the_graph() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let mut x = DeviceBuffer::<u8>::alloc(64)?;
    let held = Arc::new(());
    let graph = || {
        let (mut graph, held) = (Graph::new()?, Arc::clone(&held));
        let node = graph.add(&[], node::host_fn(move || drop(Arc::clone(&held))))?;
        Result::Ok((graph, node))
    };
    let (first, foreign) = graph()?;
    let refused = stream.capture_to_graph(graph()?.0, &[foreign], |_| unreachable!());
    assert!(detail(refused).as_str().contains(" is not supported"));
    drop(first);
    if Device::count()? > 1 {
        let there = Device::new(1)?.with_current(Graph::new)?;
        let refused = stream.capture_to_graph(there, &[], |_| unreachable!());
        assert!(detail(refused).as_str().contains("belongs to device 1, device 0 is needed"));
    }
    let (into, node) = graph()?;
    let unjoined = stream.capture_to_graph(into, &[node], |s| memset_async(&mut x, 1, &s.fork()?));
    assert_eq!(unjoined.err().unwrap().code(), sys::cudaErrorStreamCaptureUnjoined);
    let last = cuda_safe::error::take_last().unwrap_err();
    assert_eq!(last.code(), sys::cudaErrorStreamCaptureUnjoined, "the graph is destroyed once");
    for panics in [false, true] {
        let (into, node) = graph()?;
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let failed = stream.capture_to_graph(into, &[node], |s| {
                memset_async(&mut x, 2, s)?;
                let held = Arc::clone(&held);
                s.host_fn(move || drop(Arc::clone(&held)))?;
                assert!(!panics, "as planned");
                x.slice(65..).map(drop)
            });
            assert!(detail(failed).as_str().contains("range 65.."));
        }));
        assert_eq!(failed.is_err(), panics);
        assert_eq!(cuda_safe::error::take_last(), Ok(()), "the graph is destroyed once");
    }
    // The runtime drops the functions on one of its threads.
    while Arc::strong_count(&held) > 1 {
        std::thread::yield_now();
    }
    let (into, node) = graph()?;
    let (into, _) = stream.capture_to_graph(into, &[node], |s| memset_async(&mut x, 3, s))?;
    into.instantiate()?.launch(&stream)?;
    assert_eq!(x.to_vec()?, [3; 64]);
    Ok(())
}

#[test]
fn all_streams_of_a_capture_have_its_number_and_no_other_has() -> Result<()> {
    let _alone = alone();
    let (mut stream, mut second) = (Stream::new()?, Stream::new()?);
    let (side, event) = (Stream::non_blocking()?, Event::without_timing()?);
    let mut seen = Vec::new();
    for _ in 0..2 {
        stream.capture(|s| {
            let id = s.as_stream().capture_id()?;
            assert_eq!(side.as_stream().capture_id()?, None);
            event.record(s)?;
            side.wait(&event)?;
            assert_eq!(side.as_stream().capture_id()?, id);
            second.capture(|t| {
                assert_eq!(side.as_stream().capture_id()?, None, "it is not part of the inner capture");
                seen.push(t.as_stream().capture_id()?.unwrap());
                Ok(())
            })?;
            seen.push(id.unwrap());
            event.record(&side)?;
            s.wait(&event)
        })?;
    }
    let two = stream.capture_to_graph(Graph::new()?, &[], |s| {
        seen.extend(s.as_stream().capture_id()?);
        Ok(())
    })?;
    assert_eq!(two.0.node_count()?, 1);
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), 5, "{seen:?}");
    let legacy = Stream::legacy()?;
    let streams = [stream.as_stream(), side.as_stream(), legacy.as_stream()];
    assert_eq!(streams.map(|stream| stream.capture_id()), [Ok(None), Ok(None), Ok(None)]);
    Ok(())
}

#[test]
fn a_capture_that_has_failed_has_no_number() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::non_blocking()?;
    let failed = stream.capture(|s| {
        let device = s.device();
        // The crate's wait leaves the capture alone. A raw one ends it.
        // SAFETY: the call takes no arguments.
        let waits = move || (device.synchronize(), unsafe { sys::cudaDeviceSynchronize() });
        let (waited, ended) = std::thread::scope(|threads| threads.spawn(waits).join().unwrap());
        waited?;
        assert_eq!(ended, sys::cudaErrorStreamCaptureUnsupported);
        let refused = s.as_stream().capture_id().unwrap_err();
        assert_eq!(refused.code(), sys::cudaErrorStreamCaptureInvalidated);
        assert!(refused.detail().as_str().contains(" is not supported"));
        Ok(())
    });
    assert_eq!(failed.unwrap_err().code(), sys::cudaErrorStreamCaptureInvalidated);
    assert_eq!(stream.as_stream().capture_id()?, None);
    Ok(())
}

/// A random number generator.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}

#[test]
fn random_branches_do_what_their_operations_do_one_after_the_other() -> Result<()> {
    const BUFFERS: usize = 3;
    const BYTES: usize = 24;
    let _alone = alone();
    let (mut stream, streams) = (Stream::non_blocking()?, [(); 3].map(|()| Stream::non_blocking()));
    let streams = streams.into_iter().collect::<Result<Vec<_>>>()?;
    let events = [(); 2].map(|()| Event::without_timing()).into_iter().collect::<Result<Vec<_>>>()?;
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut expected = vec![vec![0_u8; BYTES]; BUFFERS];
        let mut buffers =
            expected.iter().map(|bytes| DeviceBuffer::from_slice(bytes)).collect::<Result<Vec<_>>>()?;
        let mut waits = 0;
        let graph = stream.capture(|s| {
            let mut forks = vec![s.fork()?];
            let end = Event::without_timing()?;
            for step in 1..40_u8 {
                let part = [0..BYTES, 0..8, 4..12, 16..BYTES][dice.below(4)].clone();
                let (to, from) = (dice.below(BUFFERS), dice.below(BUFFERS));
                let (fork, side) = (&forks[dice.below(forks.len())], &streams[dice.below(streams.len())]);
                let on = match dice.below(3) {
                    0 => s.as_stream(),
                    1 => fork.as_stream(),
                    _ => side.as_stream(),
                };
                let event = &events[dice.below(events.len())];
                match dice.below(10) {
                    0 if forks.len() < 4 => {
                        let more = fork.fork()?;
                        forks.push(more);
                    }
                    1 if forks.len() > 1 => {
                        let at = dice.below(forks.len());
                        s.join(forks.swap_remove(at))?;
                    }
                    // Of streams and events that are not of the capture yet, the next two are refused.
                    2 if on.is_capturing() => event.record(&on)?,
                    3 => waits += usize::from(on.wait(event).is_ok()),
                    _ if !on.is_capturing() => {}
                    4..7 => {
                        memset_async(&mut buffers[to].slice_mut(part.clone())?, step, &on)?;
                        expected[to][part].fill(step);
                    }
                    _ if to == from => {}
                    _ => {
                        let [to_bytes, from_bytes] = expected.get_disjoint_mut([to, from]).unwrap();
                        to_bytes[part.clone()].copy_from_slice(&from_bytes[part.clone()]);
                        let [to, from] = buffers.get_disjoint_mut([to, from]).unwrap();
                        memcpy_async(&mut to.slice_mut(part.clone())?, &from.slice(part)?, &on)?;
                    }
                }
            }
            for fork in forks {
                s.join(fork)?;
            }
            for side in streams.iter().filter(|side| side.as_stream().is_capturing()) {
                end.record(side)?;
                s.wait(&end)?;
            }
            Ok(())
        })?;
        assert!(buffers.iter().all(|buffer| buffer.to_vec().unwrap() == [0; BYTES]), "nothing has run");
        graph.instantiate()?.launch(&stream)?;
        let found: Vec<_> = buffers.iter().map(|buffer| buffer.to_vec().unwrap()).collect();
        assert_eq!(found, expected, "seed {seed}, {waits} waits");
    }
    Ok(())
}
