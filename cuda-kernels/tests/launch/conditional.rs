//! Conditional nodes of graphs: kernels decide what runs.
//!
//! Not under memcheck, initcheck: conditional nodes lose the context at random there, in C++ too.
//!
//! Without a report, the C++ program `examples/shortest_paths` failed in 7 and 5 of 12 runs on an H200 under
//! these tools, and in none of 40 without a tool.
#![allow(unsafe_code, reason = "adds kernels that have no safe function to graphs")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_kernels::kernels::linked::{add_amount, count_down, set_condition};
use cuda_safe::error::Detail;
use cuda_safe::graph::{Body, Condition, Conditional, Node, NodeKind, node};
use cuda_safe::{DeviceBuffer, Error, Graph, PinnedBuffer, Result, Stream, launch, memcpy, memset_async};
use cuda_testing::alone;

/// A buffer of one number.
fn number(value: u32) -> Result<DeviceBuffer<u32>> {
    DeviceBuffer::from_slice(&[value])
}

/// Adds a node that adds to a number.
fn adds(body: &mut Body<'_>, to: &mut DeviceBuffer<u32>, amount: u32) -> Result<()> {
    // SAFETY: one thread, and memory of one number, here and below.
    unsafe { body.add(&[], node::kernel(&add_amount, (1, 1), (to, amount))) }?;
    Ok(())
}

/// Adds a loop that adds 10 to `sum` until `left` is counted down.
fn adds_while(
    graph: &mut Graph,
    again: &Condition,
    left: &mut DeviceBuffer<u32>,
    sum: &mut DeviceBuffer<u32>,
) -> Result<Node> {
    graph.add(
        &[],
        node::conditional(again, Conditional::While, |_, body| {
            adds(body, sum, 10)?;
            // SAFETY: as in `adds`.
            unsafe { body.add(&[], node::kernel(&count_down, (1, 1), (again, &mut *left))) }?;
            Ok(())
        }),
    )
}

fn nothing(_: usize, _: &mut Body<'_>) -> Result<()> {
    Ok(())
}

/// Checks that the crate refuses something, in these words.
#[track_caller]
fn assert_refused<T>(result: Result<T>, words: &str) {
    let error = result.err().map_or_else(String::new, |error| format!("{} {error}", error.is_refused()));
    assert!(error.starts_with("true ") && error.contains(words), "{error}");
}

#[test]
fn a_loop_runs_until_a_kernel_of_its_body_ends_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (mut left, mut sum) = (number(5)?, number(0)?);
    let mut graph = Graph::new()?;
    let again = graph.condition(1)?;
    let node = adds_while(&mut graph, &again, &mut left, &mut sum)?;
    assert_eq!(graph.node_kind(node)?, NodeKind::CONDITIONAL);
    let mut exec = graph.instantiate()?;
    // The executable form needs neither.
    drop((graph, again));
    exec.launch(&stream)?;
    assert_eq!((left.to_vec()?, sum.to_vec()?), (vec![0], vec![50]));
    // Each launch begins with the condition's first value.
    memcpy(&mut left, &[2])?;
    exec.launch(&stream)?;
    assert_eq!((left.to_vec()?, sum.to_vec()?), (vec![0], vec![70]));
    Ok(())
}

#[test]
fn one_of_two_bodies_runs_and_the_kernel_that_decides_comes_before() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (mut choice, mut yes, mut no) = (number(0)?, number(0)?, number(0)?);
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    // SAFETY: as in `adds`.
    let decides = unsafe { graph.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &choice))) }?;
    let node = graph.add(
        &[],
        node::conditional(&condition, Conditional::IfElse, |at, body| match at {
            0 => adds(body, &mut yes, 1),
            _ => adds(body, &mut no, 1),
        }),
    )?;
    let mut host = PinnedBuffer::<u32>::alloc(1)?;
    let copy = graph.add(&[], node::memcpy(&mut host, &yes))?;
    // The condition orders the first two, and the memory the last two.
    assert_eq!(graph.edges()?, [(decides, node), (node, copy)]);
    let mut exec = graph.instantiate()?;
    for (value, expected) in [(0, (0, 1)), (7, (1, 1)), (1, (2, 1)), (0, (2, 2))] {
        memcpy(&mut choice, &[value])?;
        exec.launch(&stream)?;
        assert_eq!((host.host()?[0], no.to_vec()?[0]), expected, "{value}");
    }
    Ok(())
}

#[test]
fn the_body_with_the_conditions_number_runs_if_there_is_one() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (mut choice, mut sum) = (number(0)?, number(0)?);
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    // SAFETY: as in `adds`.
    unsafe { graph.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &choice))) }?;
    graph.add(
        &[],
        node::conditional(&condition, Conditional::Switch(3), |at, body| {
            adds(body, &mut sum, [1, 10, 100][at])
        }),
    )?;
    let mut exec = graph.instantiate()?;
    for (value, expected) in [(2, 100), (0, 101), (3, 101), (1, 111)] {
        memcpy(&mut choice, &[value])?;
        exec.launch(&stream)?;
        assert_eq!(sum.to_vec()?, [expected], "{value}");
    }
    Ok(())
}

#[test]
fn more_bodies_than_a_node_has_are_refused_before_any_is_filled() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    for many in [Conditional::MOST_BODIES + 1, u32::MAX] {
        let fill = |_: usize, _: &mut Body<'_>| unreachable!("a body of a node that is refused");
        let refused = graph.add(&[], node::conditional(&condition, Conditional::Switch(many), fill));
        assert_refused(refused, &format!("the number of bodies is {many}, at most 65536 is possible"));
    }
    // Nothing has been added, and the condition is free.
    graph.add(&[], node::conditional(&condition, Conditional::Switch(3), nothing))?;
    assert_eq!(graph.node_count()?, 1);
    graph.instantiate()?.launch(&Stream::new()?)
}

#[test]
fn a_body_has_conditional_nodes_and_sets_the_condition_of_the_loop_around_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (mut outer, mut inner, mut sum) = (number(3)?, number(0)?, number(0)?);
    let four = number(4)?;
    let mut graph = Graph::new()?;
    let again = graph.condition(1)?;
    graph.add(
        &[],
        node::conditional(&again, Conditional::While, |_, body| {
            let more = body.condition(1)?;
            body.add(&[], node::memcpy(&mut inner, &four))?;
            body.add(
                &[],
                node::conditional(&more, Conditional::While, |_, body| {
                    adds(body, &mut sum, 1)?;
                    // SAFETY: as in `adds`.
                    unsafe { body.add(&[], node::kernel(&count_down, (1, 1), (&more, &mut inner))) }?;
                    Ok(())
                }),
            )?;
            let always = body.condition(1)?;
            body.add(
                &[],
                node::conditional(&always, Conditional::If, |_, body| {
                    // SAFETY: as in `adds`.
                    unsafe { body.add(&[], node::kernel(&count_down, (1, 1), (&again, &mut outer))) }?;
                    Ok(())
                }),
            )?;
            Ok(())
        }),
    )?;
    graph.instantiate()?.launch(&stream)?;
    // `more` has its first value at the beginning of the launch, and 0 from the first inner loop on.
    assert_eq!((sum.to_vec()?, outer.to_vec()?), (vec![4], vec![0]));
    Ok(())
}

#[test]
fn a_launch_is_ordered_by_what_any_body_accesses() -> Result<()> {
    let _alone = alone();
    let [first, second] = [Stream::non_blocking()?, Stream::non_blocking()?];
    let (mut left, mut sum) = (number(4)?, number(77)?);
    let mut graph = Graph::new()?;
    let again = graph.condition(1)?;
    adds_while(&mut graph, &again, &mut left, &mut sum)?;
    let mut exec = graph.instantiate()?;
    memset_async(&mut sum, 0, &first)?;
    exec.launch(&second)?;
    // SAFETY: as in `adds`.
    unsafe { launch!(add_amount.unchecked()<<<1, 1, 0, &first>>>(&mut sum, 2_u32)) }?;
    // A form that is made after the other one was dropped starts after its launches: both set the condition.
    drop(exec);
    let mut exec = graph.instantiate()?;
    // SAFETY: as in `adds`.
    unsafe { launch!(add_amount.unchecked()<<<1, 1, 0, &first>>>(&mut left, 3_u32)) }?;
    exec.launch(&first)?;
    drop(graph);
    assert_eq!(sum.to_vec()?, [72]);
    Ok(())
}

#[test]
fn captured_work_copies_and_fills_run_in_bodies() -> Result<()> {
    let _alone = alone();
    let mut stream = Stream::new()?;
    let (mut left, mut sum, mut copy) = (number(3)?, number(0)?, number(0)?);
    // SAFETY: as in `adds`.
    let captured =
        stream.capture(|s| unsafe { launch!(add_amount.unchecked()<<<1, 1, 0, s>>>(&mut sum, 5_u32)) })?;
    let mut graph = Graph::new()?;
    let again = graph.condition(1)?;
    graph.add(
        &[],
        node::conditional(&again, Conditional::While, |_, body| {
            let clears = body.add(&[], node::memset(&mut copy, 0))?;
            let adds = body.add(&[], node::child_graph(&captured))?;
            let both = body.add(&[clears, adds], node::empty())?;
            body.add(&[both], node::memcpy(&mut copy, &sum))?;
            // SAFETY: as in `adds`.
            unsafe { body.add(&[], node::kernel(&count_down, (1, 1), (&again, &mut left))) }?;
            Ok(())
        }),
    )?;
    drop(captured);
    graph.instantiate()?.launch(&stream)?;
    assert_eq!((sum.to_vec()?, copy.to_vec()?), (vec![15], vec![15]));
    Ok(())
}

#[test]
fn nodes_beside_the_conditional_one_are_set_and_taken_over() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (zero, one, mut sum) = (number(0)?, number(1)?, number(0)?);
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    // SAFETY: as in `adds`.
    let decides = unsafe { graph.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &zero))) }?;
    graph.add(&[], node::conditional(&condition, Conditional::If, |_, body| adds(body, &mut sum, 1)))?;
    let mut exec = graph.instantiate()?;
    exec.launch(&stream)?;
    assert_eq!(sum.to_vec()?, [0]);
    // SAFETY: as in `adds`.
    unsafe { exec.set(&graph, decides, node::kernel(&set_condition, (1, 1), (&condition, &one))) }?;
    exec.launch(&stream)?;
    assert_eq!(sum.to_vec()?, [1]);
    exec.update(&graph)?;
    exec.launch(&stream)?;
    assert_eq!(sum.to_vec()?, [1]);
    // SAFETY: as in `adds`.
    unsafe { graph.set(decides, node::kernel(&set_condition, (1, 1), (&condition, &one))) }?;
    exec.update(&graph)?;
    exec.launch(&stream)?;
    assert_eq!(sum.to_vec()?, [2]);
    Ok(())
}

#[test]
fn a_condition_is_set_only_in_its_graph_and_has_one_node() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let one = number(1)?;
    let (mut graph, mut other) = (Graph::new()?, Graph::new()?);
    let condition = graph.condition(0)?;
    // SAFETY: as in `adds`, here and below.
    assert_refused(
        unsafe { launch!(set_condition.unchecked()<<<1, 1, 0, &stream>>>(&condition, &one)) },
        "a condition anywhere but in nodes of its graph",
    );
    // SAFETY: as above.
    assert_refused(
        unsafe { other.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &one))) },
        "a condition anywhere but in nodes of its graph",
    );
    assert_refused(
        other.add(&[], node::conditional(&condition, Conditional::If, nothing)),
        "a condition anywhere but in nodes of its graph",
    );
    let of_other = other.condition(0)?;
    other.add(
        &[],
        node::conditional(&of_other, Conditional::If, |_, body| {
            // SAFETY: as above.
            assert_refused(
                unsafe { body.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &one))) },
                "a condition anywhere but in nodes of its graph",
            );
            Ok(())
        }),
    )?;
    other.instantiate()?.launch(&stream)?;
    let after = other.add(&[], node::empty())?;
    assert_refused(
        graph.add(&[after], node::conditional(&condition, Conditional::If, nothing)),
        "a node of another graph",
    );
    graph.add(&[], node::conditional(&condition, Conditional::If, nothing))?;
    assert_refused(
        graph.add(&[], node::conditional(&condition, Conditional::If, nothing)),
        "a condition that has a node",
    );
    graph.instantiate()?.launch(&stream)?;
    stream.synchronize()
}

#[test]
fn an_executable_form_that_is_older_than_a_condition_does_not_set_it() -> Result<()> {
    let _alone = alone();
    let stream = Stream::new()?;
    let (one, mut sum) = (number(1)?, number(0)?);
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    // SAFETY: as in `adds`, here and below.
    let decides = unsafe { graph.add(&[], node::kernel(&set_condition, (1, 1), (&condition, &one))) }?;
    graph.add(&[], node::conditional(&condition, Conditional::If, |_, body| adds(body, &mut sum, 1)))?;
    let mut exec = graph.instantiate()?;
    let newer = graph.condition(0)?;
    assert_refused(
        // SAFETY: as above.
        unsafe { exec.set(&graph, decides, node::kernel(&set_condition, (1, 1), (&newer, &one))) },
        "a condition that is newer than the executable graph",
    );
    // SAFETY: as above.
    unsafe { graph.set(decides, node::kernel(&set_condition, (1, 1), (&newer, &one))) }?;
    assert_refused(exec.update(&graph), "a condition that is newer than the executable graph");
    exec.launch(&stream)?;
    assert_eq!(sum.to_vec()?, [1]);
    Ok(())
}

#[test]
fn a_graph_with_a_condition_is_not_copied_and_has_one_executable_form() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    let node = graph.add(&[], node::conditional(&condition, Conditional::If, |_, _| Ok(())))?;
    let mut other = Graph::new()?;
    let child = other.add(&[], node::child_graph(&Graph::new()?))?;
    assert_refused(graph.try_clone(), "this of a graph with a condition");
    assert_refused(other.add(&[], node::child_graph(&graph)), "this of a graph with a condition");
    let mut exec = other.instantiate()?;
    assert_refused(exec.update(&graph), "this of a graph with a condition");
    assert_refused(exec.set(&other, child, node::child_graph(&graph)), "this of a graph with a condition");
    assert_refused(graph.destroy_node(node), "destroying a conditional node");
    let first = graph.instantiate()?;
    assert_refused(graph.instantiate(), "a second executable form");
    drop(first);
    graph.instantiate()?;
    Ok(())
}

#[test]
fn bodies_refuse_what_runs_elsewhere() -> Result<()> {
    let _alone = alone();
    let mut graph = Graph::new()?;
    let condition = graph.condition(0)?;
    let mut own = graph.add(&[], node::alloc::<u32>(1))?;
    let (mut host, mut nested, mut inside) = (Graph::new()?, Graph::new()?, None);
    host.add(&[], node::host_fn(|| ()))?;
    nested.add(&[], node::child_graph(&host))?;
    graph.add(
        &[],
        node::conditional(&condition, Conditional::If, |_, body| {
            assert_refused(body.add(&[], node::child_graph(&host)), "a node in a body that is no kernel");
            assert_refused(body.add(&[], node::child_graph(&nested)), "a node in a body that is no kernel");
            assert_refused(body.add(&[], node::memset(&mut own, 0)), "memory of a graph's own");
            // SAFETY: as in `adds`.
            assert_refused(
                unsafe { body.add(&[], node::kernel(&add_amount, (1, 1), (&mut own, 1_u32))) },
                "memory of a graph's own",
            );
            inside = Some(body.add(&[], node::empty())?);
            Ok(())
        }),
    )?;
    graph.add(&[], node::free(&mut own))?;
    let inside = inside.into_iter().collect::<Vec<_>>();
    assert_refused(graph.add(&inside, node::empty()), "a node of another graph");
    Ok(())
}

#[test]
fn a_graph_whose_body_failed_does_not_run() -> Result<()> {
    let _alone = alone();
    let failure = || Err(Error::refused("test", Detail::unsupported("this test")));
    let fill_by = |fill: &dyn Fn(&mut Body<'_>) -> Result<()>| {
        let mut graph = Graph::new()?;
        let condition = graph.condition(0)?;
        let filled = catch_unwind(AssertUnwindSafe(|| {
            graph.add(&[], node::conditional(&condition, Conditional::If, |_, body| fill(body)))
        }));
        Result::Ok((filled.is_ok_and(|filled| filled.is_ok()), graph))
    };
    let (filled, graph) = fill_by(&|_| Ok(()))?;
    assert!(filled);
    graph.instantiate()?;
    let fails = |body: &mut Body<'_>| {
        body.add(&[], node::memset(&mut number(0)?, 0))?;
        failure()
    };
    let fails_inside = |body: &mut Body<'_>| {
        let inner = body.condition(0)?;
        assert!(body.add(&[], node::conditional(&inner, Conditional::If, |_, body| fails(body))).is_err());
        let another = body.condition(0)?;
        assert!(body.add(&[], node::conditional(&another, Conditional::If, nothing)).is_err());
        Ok(())
    };
    let panics = |_: &mut Body<'_>| panic!("this test");
    for fill in [&fails as &dyn Fn(&mut Body<'_>) -> Result<()>, &fails_inside, &panics] {
        let (filled, mut graph) = fill_by(fill)?;
        assert!(!filled);
        let another = graph.condition(0)?;
        let added = graph.add(&[], node::conditional(&another, Conditional::If, nothing));
        assert_refused(added, "adding a node failed half-way");
        assert_refused(graph.instantiate(), "adding a node failed half-way");
        let mut exec = Graph::new()?.instantiate()?;
        assert_refused(exec.update(&graph), "adding a node failed half-way");
    }
    Ok(())
}
