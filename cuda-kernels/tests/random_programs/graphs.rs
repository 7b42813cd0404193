//! Random graphs: nodes, captures, graphs within graphs and conditional nodes are added, changed, destroyed,
//! cloned, updated and launched between other work on the same memory. The results must be those of a
//! sequential execution, in which a graph runs its nodes in the order in which they were added.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_kernels::kernels::{add_one, add_step};
use cuda_safe::graph::{Conditional, Node, node};
use cuda_safe::{
    DeviceBuffer, Graph, GraphExec, PinnedBuffer, Result, Stream, launch, memcpy_async, memset_async,
};

use super::draw::Dice;

const DEVICE_BUFFERS: usize = 4;
/// The last one is pinned memory, for copies and host functions.
const BUFFERS: usize = DEVICE_BUFFERS + 1;
const STREAMS: usize = 3;
const LEN: usize = 12;
const MOST_NODES: usize = 12;
/// The actions of a program.
const ACTIONS: usize = 60;
/// How many different actions there are.
pub(crate) const KINDS: usize = 18;

/// A few elements of a buffer.
#[derive(Clone, Copy, Debug)]
struct Part {
    buffer: usize,
    start: usize,
    len: usize,
}

impl Part {
    fn draw(dice: &mut Dice, buffer: usize, len: usize) -> Self {
        Self { buffer, start: dice.below(LEN - len + 1), len }
    }

    fn range(self) -> Range<usize> {
        self.start..self.start + self.len
    }

    fn is_pinned(self) -> bool {
        self.buffer == DEVICE_BUFFERS
    }
}

/// An operation on a stream, in a capture, or of a node.
#[derive(Clone, Copy, Debug)]
enum Work {
    Fill(Part, u8),
    Copy(Part, Part),
    AddOne(Part),
    AddStep(Part, Part),
    /// A host function.
    Double(Part),
}

impl Work {
    fn draw(dice: &mut Dice) -> Self {
        let len = 1 + dice.below(6);
        let to = dice.below(DEVICE_BUFFERS);
        let (other, any) = (to + 1 + dice.below(DEVICE_BUFFERS - 1), to + 1 + dice.below(BUFFERS - 1));
        match dice.below(6) {
            0 => Self::Fill(Part::draw(dice, to, len), dice.byte()),
            1 => Self::Copy(Part::draw(dice, to, len), Part::draw(dice, any % BUFFERS, len)),
            2 => Self::Copy(Part::draw(dice, any % BUFFERS, len), Part::draw(dice, to, len)),
            3 => Self::AddOne(Part::draw(dice, to, len)),
            4 => Self::Double(Part::draw(dice, DEVICE_BUFFERS, len)),
            _ => Self::AddStep(Part::draw(dice, to, len), Part::draw(dice, other % DEVICE_BUFFERS, 1)),
        }
    }

    fn draw_some(dice: &mut Dice) -> Vec<Self> {
        (0..1 + dice.below(4)).map(|_| Self::draw(dice)).collect()
    }

    /// Returns whether a node with this operation can get another one.
    fn can_become(self, other: Self) -> bool {
        let is_kernel = |work| matches!(work, Self::AddOne(_) | Self::AddStep(..));
        match (self, other) {
            (Self::Fill(..), Self::Fill(..)) | (Self::Double(_), Self::Double(_)) => true,
            (Self::Copy(to, from), Self::Copy(new_to, new_from)) => {
                to.is_pinned() == new_to.is_pinned() && from.is_pinned() == new_from.is_pinned()
            }
            _ => is_kernel(self) && is_kernel(other),
        }
    }
}

/// The memory of the program.
struct Buffers {
    device: [DeviceBuffer<i32>; DEVICE_BUFFERS],
    pinned: PinnedBuffer<i32>,
}

/// Makes the call of an operation, with views of its parts.
macro_rules! call {
    (
        $work:expr, $buffers:expr,
        fill: |$fd:ident, $value:ident| $fill:expr,
        copy: |$cd:ident, $cs:ident| $copy:expr,
        add_one: |$od:ident, $on:ident| $one:expr,
        add_step: |$sd:ident, $ss:ident, $sn:ident| $step:expr,
        double: |$h:ident| $double:expr $(,)?
    ) => {{
        let Buffers { device, pinned } = $buffers;
        match $work {
            Work::Fill(to, $value) => {
                let $fd = &mut device[to.buffer].slice_mut(to.range())?;
                $fill
            }
            Work::Copy(to, from) if to.is_pinned() => {
                let ($cd, $cs) =
                    (&mut pinned.slice_mut(to.range())?, &device[from.buffer].slice(from.range())?);
                $copy
            }
            Work::Copy(to, from) if from.is_pinned() => {
                let ($cd, $cs) =
                    (&mut device[to.buffer].slice_mut(to.range())?, &pinned.slice(from.range())?);
                $copy
            }
            Work::Copy(to, from) => {
                let [d, s] = device.get_disjoint_mut([to.buffer, from.buffer]).unwrap();
                let ($cd, $cs) = (&mut d.slice_mut(to.range())?, &s.slice(from.range())?);
                $copy
            }
            Work::AddOne(to) => {
                let ($od, $on) = (&mut device[to.buffer].slice_mut(to.range())?, to.len);
                $one
            }
            Work::AddStep(to, by) => {
                let [d, s] = device.get_disjoint_mut([to.buffer, by.buffer]).unwrap();
                let ($sd, $ss, $sn) = (&mut d.slice_mut(to.range())?, &s.slice(by.range())?, to.len);
                $step
            }
            Work::Double(to) => {
                let $h = &mut pinned.slice_mut(to.range())?;
                $double
            }
        }
    }};
}

fn double(numbers: &mut [i32]) {
    numbers.iter_mut().for_each(|number| *number = number.wrapping_mul(2));
}

/// Adds a node with an operation to a graph, or to a body, which takes no host functions.
macro_rules! add {
    ($graph:expr, $after:expr, $work:expr, $buffers:expr) => {
        add!($graph, $after, $work, $buffers, |h| $graph.add($after, node::host_fn_with(h, double)))
    };
    ($graph:expr, $after:expr, $work:expr, $buffers:expr, |$h:ident| $double:expr) => {
        call!($work, $buffers,
            fill: |d, value| $graph.add($after, node::memset(d, value)),
            copy: |d, s| $graph.add($after, node::memcpy(d, s)),
            // SAFETY: the kernel touches the elements of its parts, and no others.
            add_one: |d, n| unsafe { $graph.add($after, node::kernel(&add_one, (1, 32), (d, n))) },
            // SAFETY: as above.
            add_step: |d, s, n| unsafe { $graph.add($after, node::kernel(&add_step, (1, 32), (d, s, n, 2))) },
            double: |$h| $double,
        )
    };
}

impl Buffers {
    /// Returns a graph with these operations.
    fn graph(&mut self, works: &[Work]) -> Result<Graph> {
        let mut graph = Graph::new()?;
        for work in works {
            add!(graph, &[], *work, &mut *self)?;
        }
        Ok(graph)
    }
}

/// Enqueues an operation on a stream or in a capture, which have different names for host functions.
macro_rules! enqueue {
    ($stream:expr, $work:expr, $buffers:expr, $host_fn:ident) => {
        call!($work, $buffers,
            fill: |d, value| memset_async(d, value, $stream),
            copy: |d, s| memcpy_async(d, s, $stream),
            add_one: |d, n| launch!(add_one<<<1, 32, 0, $stream>>>(d, n)),
            add_step: |d, s, n| launch!(add_step<<<1, 32, 0, $stream>>>(d, s, n, 2)),
            double: |h| $stream.$host_fn(h, double),
        )
    };
}

/// The memory that each buffer had when an operation was given: the program replaces buffers, and graphs
/// retain theirs.
type Former = [usize; BUFFERS];

/// The sequential machine: the contents of all memory that there ever was.
#[derive(Default)]
struct Sequential {
    now: Former,
    contents: Vec<[i32; LEN]>,
}

impl Sequential {
    fn run(&mut self, work: Work, memory: Former) {
        match work {
            Work::Fill(to, value) => {
                self.contents[memory[to.buffer]][to.range()].fill(i32::from_ne_bytes([value; 4]));
            }
            Work::Copy(to, from) => {
                let source = self.contents[memory[from.buffer]];
                self.contents[memory[to.buffer]][to.range()].copy_from_slice(&source[from.range()]);
            }
            Work::AddOne(to) => self.add(to, memory, 1),
            Work::Double(to) => double(&mut self.contents[memory[to.buffer]][to.range()]),
            Work::AddStep(to, by) => {
                let step = self.contents[memory[by.buffer]][by.start];
                self.add(to, memory, step.wrapping_mul(2));
            }
        }
    }

    fn add(&mut self, to: Part, memory: Former, number: i32) {
        for element in &mut self.contents[memory[to.buffer]][to.range()] {
            *element = element.wrapping_add(number);
        }
    }

    /// Gives a buffer new memory.
    fn renew(&mut self, buffer: usize, contents: [i32; LEN]) {
        self.now[buffer] = self.contents.len();
        self.contents.push(contents);
    }
}

/// A node, with all that it does in a launch.
#[derive(Clone)]
struct Step {
    node: Node,
    work: Vec<(Work, Former)>,
    kind: Kind,
    is_enabled: bool,
    /// Whether it was changed after the last launch.
    is_changed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// A copy, a fill or a kernel.
    Single,
    /// A graph within the graph.
    Graph,
    /// Operations that were captured together, or the bodies of a conditional node.
    Fixed,
}

/// An executable graph.
struct Executable {
    exec: GraphExec,
    steps: Vec<Step>,
    /// The graph that it was made from, and its shape then. `None` if its nodes can no longer be named.
    origin: Option<(usize, usize)>,
}

/// How often each action was taken, and how often it was refused because two nodes would have no order or
/// another shape.
pub(crate) type Counts = BTreeMap<&'static str, (usize, usize)>;

struct Program {
    buffers: Buffers,
    streams: Vec<Stream>,
    graph: Graph,
    steps: Vec<Step>,
    has_conditions: bool,
    /// Changes with the graph.
    identity: usize,
    /// Changes with the nodes and edges.
    shape: usize,
    exec: Option<Executable>,
    sequential: Sequential,
    taken: Counts,
    log: Vec<String>,
}

/// Turns the refusal of a change that would leave two nodes without an order into `None`.
fn unless_unordered<T>(result: Result<T>) -> Result<Option<T>> {
    match result {
        Err(error) if error.detail().as_str().contains(", and nothing orders the two: name one") => Ok(None),
        other => other.map(Some),
    }
}

impl Program {
    fn new(dice: &mut Dice) -> Result<Self> {
        let mut sequential = Sequential::default();
        let mut draw = |buffer| {
            let contents: [i32; LEN] = std::array::from_fn(|_| i32::from(dice.byte()));
            sequential.renew(buffer, contents);
            contents
        };
        let device = [
            DeviceBuffer::from_slice(&draw(0))?,
            DeviceBuffer::from_slice(&draw(1))?,
            DeviceBuffer::from_slice(&draw(2))?,
            DeviceBuffer::from_slice(&draw(3))?,
        ];
        let pinned = PinnedBuffer::from_slice(&draw(DEVICE_BUFFERS))?;
        Ok(Self {
            buffers: Buffers { device, pinned },
            streams: vec![Stream::new()?, Stream::non_blocking()?, Stream::non_blocking()?],
            graph: Graph::new()?,
            steps: Vec::new(),
            has_conditions: false,
            identity: 0,
            shape: 0,
            exec: None,
            sequential,
            taken: Counts::new(),
            log: Vec::new(),
        })
    }

    fn note(&mut self, action: &'static str, is_done: bool, what: impl Debug) {
        let counts = self.taken.entry(action).or_default();
        *(if is_done { &mut counts.0 } else { &mut counts.1 }) += 1;
        self.log.push(format!("{action}{}: {what:?}", if is_done { "" } else { ", refused" }));
    }

    fn now(&self, work: impl IntoIterator<Item = Work>) -> Vec<(Work, Former)> {
        work.into_iter().map(|work| (work, self.sequential.now)).collect()
    }

    fn push(&mut self, node: Node, kind: Kind, work: Vec<(Work, Former)>) {
        self.steps.push(Step { node, work, kind, is_enabled: true, is_changed: false });
        self.shape += 1;
    }

    /// Draws nodes that a new one names.
    fn after(&self, dice: &mut Dice) -> Vec<Node> {
        self.steps.iter().filter(|_| dice.below(4) == 0).map(|step| step.node).collect()
    }

    /// Takes one random action.
    fn act(&mut self, dice: &mut Dice) -> Result<()> {
        let action = dice.below(28);
        if action < 8 && self.steps.len() >= MOST_NODES {
            (self.graph, self.steps, self.has_conditions) = (Graph::new()?, Vec::new(), false);
            self.identity += 1;
        }
        match action {
            0..4 => {
                let (work, after) = (Work::draw(dice), self.after(dice));
                let node = add!(self.graph, &after, work, &mut self.buffers)?;
                let memory = self.now([work]);
                self.push(node, Kind::Single, memory);
                self.note("add a node", true, (work, after));
            }
            4 => {
                let (works, after) = (Work::draw_some(dice), self.after(dice));
                let small = self.buffers.graph(&works)?;
                let node = self.graph.add(&after, node::child_graph(&small))?;
                let memory = self.now(works.clone());
                self.push(node, Kind::Graph, memory);
                self.note("add a graph", true, (works, after));
            }
            5 => self.add_conditional(dice)?,
            6 | 7 => self.capture(dice)?,
            8 | 14 => self.set(dice)?,
            9 if !self.steps.is_empty() => {
                let at = dice.below(self.steps.len());
                let done = self.graph.destroy_node(self.steps[at].node);
                let is_done = self.steps[at].kind != Kind::Fixed;
                assert_eq!(done.is_ok(), is_done, "{done:?}");
                if is_done {
                    self.steps.remove(at);
                    self.shape += 1;
                }
                self.note("destroy a node", is_done, at);
            }
            10 if self.steps.len() > 1 => {
                let to = 1 + dice.below(self.steps.len() - 1);
                let edge = (self.steps[dice.below(to)].node, self.steps[to].node);
                if !self.graph.dependencies(edge.1)?.contains(&edge.0) {
                    self.graph.add_dependencies(&[edge])?;
                    self.shape += 1;
                    self.note("add an edge", true, edge);
                }
            }
            11 => {
                let edges = self.graph.edges()?;
                if !edges.is_empty() {
                    let edge = edges[dice.below(edges.len())];
                    let done = unless_unordered(self.graph.remove_dependencies(&[edge]))?;
                    self.shape += 1;
                    self.note("remove an edge", done.is_some(), edge);
                }
            }
            12 if !self.has_conditions => {
                let clone = self.graph.try_clone()?;
                for step in &mut self.steps {
                    step.node = clone.find_in_clone(step.node)?;
                }
                self.graph = clone;
                self.identity += 1;
                self.note("clone", true, ());
            }
            13 => {
                // A graph with conditions has one executable form at a time.
                self.exec = None;
                let (exec, origin) = (self.graph.instantiate()?, Some((self.identity, self.shape)));
                self.exec = Some(Executable { exec, steps: self.steps.clone(), origin });
                self.note("instantiate", true, ());
            }
            15..19 => self.set_executable(dice)?,
            19 => self.update()?,
            20 | 21 => {
                let work = Work::draw(dice);
                let stream = &self.streams[dice.below(STREAMS)];
                enqueue!(stream, work, &mut self.buffers, launch_host_fn_with)?;
                self.sequential.run(work, self.sequential.now);
                self.note("work on a stream", true, work);
            }
            22 => {
                let buffer = dice.below(BUFFERS);
                self.read(buffer)?;
                self.note("read", true, buffer);
            }
            23 => {
                let buffer = dice.below(DEVICE_BUFFERS);
                let contents = std::array::from_fn(|_| i32::from(dice.byte()));
                self.buffers.device[buffer] = DeviceBuffer::from_slice(&contents)?;
                self.sequential.renew(buffer, contents);
                self.note("replace a buffer", true, buffer);
            }
            _ => {
                let Some(Executable { exec, steps, .. }) = &mut self.exec else { return Ok(()) };
                exec.launch(&self.streams[dice.below(STREAMS)])?;
                for step in steps {
                    step.is_changed = false;
                    for (work, memory) in step.work.iter().filter(|_| step.is_enabled) {
                        self.sequential.run(*work, *memory);
                    }
                }
                self.note("launch", true, ());
            }
        }
        Ok(())
    }

    fn add_conditional(&mut self, dice: &mut Dice) -> Result<()> {
        let (kind, bodies) = match dice.below(3) {
            0 => (Conditional::If, 1),
            1 => (Conditional::IfElse, 2),
            _ => (Conditional::Switch(3), 3),
        };
        let (first, after) = (dice.below(4), self.after(dice));
        let mut works: Vec<_> = (0..bodies).map(|_| Work::draw_some(dice)).collect();
        works.iter_mut().for_each(|works| works.retain(|work| !matches!(work, Work::Double(_))));
        let condition = self.graph.condition(u32::try_from(first).unwrap())?;
        let buffers = &mut self.buffers;
        let node = self.graph.add(
            &after,
            node::conditional(&condition, kind, |number, body| {
                for work in &works[number] {
                    add!(body, &[], *work, &mut *buffers, |_h| unreachable!())?;
                }
                Ok(())
            }),
        )?;
        let runs = match kind {
            Conditional::If => (first != 0).then_some(0),
            Conditional::IfElse => Some(usize::from(first == 0)),
            _ => Some(first).filter(|body| *body < bodies),
        };
        let memory = runs.map(|body| self.now(works[body].iter().copied())).unwrap_or_default();
        self.push(node, Kind::Fixed, memory);
        self.has_conditions = true;
        self.note("add a conditional node", true, (kind, first, works, after));
        Ok(())
    }

    /// Captures operations of two branches into the graph.
    fn capture(&mut self, dice: &mut Dice) -> Result<()> {
        let (works, after) = (Work::draw_some(dice), self.after(dice));
        let graph = std::mem::replace(&mut self.graph, Graph::new()?);
        let buffers = &mut self.buffers;
        let (graph, node) = self.streams[0].capture_to_graph(graph, &after, |stream| {
            let side = stream.fork()?;
            for work in &works {
                let branch = if dice.below(2) == 0 { stream } else { &side };
                enqueue!(branch, *work, &mut *buffers, host_fn_with)?;
            }
            stream.join(side)
        })?;
        self.graph = graph;
        let memory = self.now(works.clone());
        self.push(node, Kind::Fixed, memory);
        self.note("capture", true, (works, after));
        Ok(())
    }

    /// Changes a node of the graph.
    fn set(&mut self, dice: &mut Dice) -> Result<()> {
        let singles: Vec<_> =
            (0..self.steps.len()).filter(|at| self.steps[*at].kind == Kind::Single).collect();
        if singles.is_empty() {
            return Ok(());
        }
        let step = &mut self.steps[singles[dice.below(singles.len())]];
        let work = Work::draw(dice);
        if !step.work[0].0.can_become(work) {
            return Ok(());
        }
        let (graph, node) = (&mut self.graph, step.node);
        let done = call!(work, &mut self.buffers,
            fill: |d, value| graph.set(node, node::memset(d, value)),
            copy: |d, s| graph.set(node, node::memcpy(d, s)),
            // SAFETY: the kernel touches the elements of its parts, and no others.
            add_one: |d, n| unsafe { graph.set(node, node::kernel(&add_one, (1, 32), (d, n))) },
            // SAFETY: as above.
            add_step: |d, s, n| unsafe { graph.set(node, node::kernel(&add_step, (1, 32), (d, s, n, 2))) },
            double: |h| graph.set(node, node::host_fn_with(h, double)),
        );
        let done = unless_unordered(done)?;
        if done.is_some() {
            step.work = vec![(work, self.sequential.now)];
        }
        self.note("set a node", done.is_some(), (node, work));
        Ok(())
    }

    /// Changes a node of the executable graph, or switches it on or off.
    fn set_executable(&mut self, dice: &mut Dice) -> Result<()> {
        let graph = &self.graph;
        let Some(Executable { exec, steps, origin: Some((identity, _)) }) = &mut self.exec else {
            return Ok(());
        };
        let is_there = |step: &&mut Step| self.steps.iter().any(|other| other.node == step.node);
        let mut named: Vec<_> = steps.iter_mut().filter(is_there).collect();
        if *identity != self.identity || named.is_empty() {
            return Ok(());
        }
        let at = dice.below(named.len());
        let step = &mut *named[at];
        let (work, node) = (Work::draw(dice), step.node);
        match step.kind {
            // Neither form has a switch for host functions.
            Kind::Single if dice.below(3) == 0 && !matches!(step.work[0].0, Work::Double(_)) => {
                let enabled = !step.is_enabled;
                // A fill is never disabled, and no node that was changed since the last launch.
                let done = exec.set_enabled(graph, node, enabled);
                let may = !matches!(step.work[0].0, Work::Fill(..)) && (enabled || !step.is_changed);
                assert_eq!(done.is_ok(), may, "{done:?}");
                if may {
                    step.is_enabled = enabled;
                }
                self.note("enable or disable a node", may, (node, enabled));
            }
            Kind::Single if step.work[0].0.can_become(work) => {
                let done = call!(work, &mut self.buffers,
                    fill: |d, value| exec.set(graph, node, node::memset(d, value)),
                    copy: |d, s| exec.set(graph, node, node::memcpy(d, s)),
                    // SAFETY: the kernel touches the elements of its parts, and no others.
                    add_one: |d, n| unsafe { exec.set(graph, node, node::kernel(&add_one, (1, 32), (d, n))) },
                    // SAFETY: as above.
                    add_step: |d, s, n| unsafe {
                        exec.set(graph, node, node::kernel(&add_step, (1, 32), (d, s, n, 2)))
                    },
                    double: |h| exec.set(graph, node, node::host_fn_with(h, double)),
                );
                let done = unless_unordered(done)?;
                if done.is_some() {
                    step.work = vec![(work, self.sequential.now)];
                    step.is_changed = true;
                }
                self.note("set a node of the executable graph", done.is_some(), (node, work));
            }
            Kind::Graph => {
                // Of the same shape, if the nodes conflict alike.
                let works: Vec<_> = step.work.iter().map(|(work, _)| *work).collect();
                let mut draw = |work: &Work| Some(Work::draw(dice)).filter(|other| work.can_become(*other));
                let works: Vec<_> = works.iter().map(|work| draw(work).unwrap_or(*work)).collect();
                let small = self.buffers.graph(&works)?;
                let done = unless_unordered(exec.set(graph, node, node::child_graph(&small)));
                let is_done = matches!(done, Ok(Some(())));
                if is_done {
                    step.work = works.iter().map(|work| (*work, self.sequential.now)).collect();
                } else if done.is_err() {
                    self.exec = None;
                }
                self.note("set a graph within", is_done, (node, works));
            }
            _ => {}
        }
        Ok(())
    }

    /// Updates the executable graph from the graph as it is now.
    fn update(&mut self) -> Result<()> {
        let Some(mut executable) = self.exec.take() else { return Ok(()) };
        let now = Some((self.identity, self.shape));
        let (has_shape, all) =
            (executable.origin == now, executable.steps.iter().all(|step| step.is_enabled));
        // Otherwise it is unknown which nodes are disabled then.
        if !has_shape && (!all || self.has_conditions) {
            return Ok(());
        }
        let done = executable.exec.update(&self.graph);
        assert!(done.is_ok() || !has_shape, "{done:?}");
        self.note("update", done.is_ok(), ());
        if done.is_ok() {
            let mut steps = self.steps.clone();
            for (step, before) in steps.iter_mut().zip(&executable.steps).filter(|_| has_shape) {
                (step.is_enabled, step.is_changed) = (before.is_enabled, true);
            }
            let origin = executable.origin.filter(|_| has_shape);
            self.exec = Some(Executable { steps, origin, ..executable });
        }
        Ok(())
    }

    /// Compares a buffer with the sequential machine's.
    fn read(&mut self, buffer: usize) -> Result<()> {
        let expected = self.sequential.contents[self.sequential.now[buffer]];
        let found = match self.buffers.device.get(buffer) {
            Some(device) => device.to_vec()?,
            None => self.buffers.pinned.host()?.to_vec(),
        };
        assert_eq!(found, expected, "buffer {buffer}");
        Ok(())
    }
}

/// Runs a program: one action for each seed. Returns how often each action was taken and refused, or the
/// failure and what led to it.
fn run(seed: u64, actions: &[u64]) -> std::result::Result<Counts, String> {
    let mut program = Program::new(&mut Dice(seed)).map_err(|error| error.to_string())?;
    let all = || -> Result<()> {
        for action in actions {
            program.act(&mut Dice(*action))?;
        }
        (0..BUFFERS).try_for_each(|buffer| program.read(buffer))
    };
    let why = match catch_unwind(AssertUnwindSafe(all)) {
        Ok(Ok(())) => return Ok(program.taken),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
    };
    Err(format!("{why}, after\n    {}", program.log.join("\n    ")))
}

/// Runs programs. Panics at the first failure, with the smallest program that still fails.
pub(crate) fn try_all(seeds: Range<u64>) -> Counts {
    let mut all = Counts::new();
    for seed in seeds {
        let mut dice = Dice(seed);
        let mut actions: Vec<u64> = (0..ACTIONS).map(|_| dice.roll()).collect();
        let mut why = match run(seed, &actions) {
            Ok(counts) => {
                for (action, (done, refused)) in counts {
                    let sum = all.entry(action).or_default();
                    *sum = (sum.0 + done, sum.1 + refused);
                }
                continue;
            }
            Err(why) => why,
        };
        let mut at = 0;
        while at < actions.len() {
            let mut shorter = actions.clone();
            shorter.remove(at);
            match run(seed, &shorter) {
                Err(found) => (actions, why, at) = (shorter, found, 0),
                Ok(_) => at += 1,
            }
        }
        panic!("CUDA_RANDOM_SEED={seed}: {why}");
    }
    all
}
