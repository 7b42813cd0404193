//! Host functions.
#![expect(unsafe_code, reason = "adds nodes to raw graphs, changes them, and makes the slices of a function")]

use super::{ExecOp, Graph, GraphExec, Node, NodeOp, SetOp, retain_all, sealed};
use crate::error::{Error, Result};
use crate::graph::host::{self, HostFunction};
use crate::hazard::RetainedAccesses;
use crate::stream::{Accesses, HostFnArgument};
use crate::{check, sys};

/// A host function. See [`host_fn`].
#[derive(Debug)]
pub struct HostFn<'a, F> {
    accesses: Accesses<'a>,
    function: F,
}

/// Describes a host function, which every launch calls.
///
/// The function belongs to the graph, as in [`Capture::host_fn`](crate::graph::Capture::host_fn). If a node
/// gets another function, this one is dropped when no executable graph and no launch uses it. A function of
/// an executable graph is dropped some time after the last launch that calls it: when that launch is known to
/// be complete and another function is set or dropped.
///
/// Stands for [`cudaGraphAddHostNode`](sys::cudaGraphAddHostNode),
/// [`cudaGraphHostNodeSetParams`](sys::cudaGraphHostNodeSetParams) and
/// [`cudaGraphExecHostNodeSetParams`](sys::cudaGraphExecHostNodeSetParams).
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::{Graph, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut graph = Graph::new()?;
/// let node = graph.add(&[], node::host_fn(|| println!("first")))?;
/// let mut exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// exec.set(&graph, node, node::host_fn(|| println!("second")))?;
/// exec.launch(&stream)?;
/// stream.synchronize()?;
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddHostNode")]
#[doc(alias = "cudaGraphHostNodeSetParams")]
#[doc(alias = "cudaGraphExecHostNodeSetParams")]
#[doc(alias = "cudaGraphReleaseUserObject")]
#[must_use]
pub fn host_fn<F: Fn() + Send + Sync + 'static>(f: F) -> HostFn<'static, F> {
    HostFn { accesses: Accesses::default(), function: f }
}

/// [`host_fn`] with memory, which the function receives as slices: `&memory` is read and `&mut memory` is
/// written. The graph retains the memory, and launches are ordered with all other uses of it.
///
/// # Examples
/// ```
/// use cuda_safe::graph::node;
/// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let device = DeviceBuffer::from_slice(&[1.0_f64, 2.0, 4.0])?;
/// let mut sums = PinnedBuffer::<f64>::alloc(3)?;
/// let mut graph = Graph::new()?;
/// let copy = graph.add(&[], node::memcpy(&mut sums, &device))?;
/// let sum = node::host_fn_with(&mut sums, |sums: &mut [f64]| sums[0] = sums.iter().sum());
/// graph.add(&[copy], sum)?;
/// let mut exec = graph.instantiate()?;
/// for _ in 0..2 {
///     exec.launch(&stream)?;
///     assert_eq!(sums.host()?[0], 7.0); // waits for the function
/// }
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaGraphAddHostNode")]
#[doc(alias = "cudaGraphHostNodeSetParams")]
#[doc(alias = "cudaGraphExecHostNodeSetParams")]
#[must_use]
pub fn host_fn_with<'a, A: HostFnArgument + 'a, F: Fn(A::Slices<'_>) + Send + Sync + 'static>(
    memory: A,
    f: F,
) -> HostFn<'a, impl Fn() + Send + Sync + 'static + use<A, F>> {
    let mut accesses = Accesses::default();
    let parts = memory.parts(&mut accesses);
    // SAFETY: `HostFn` borrows the memory until a node gets the function, and only launches call it. They
    // have these accesses, and the graph retains the memory. Launches and nodes that conflict are ordered.
    // `launch_host_fn_with` says why the slices are valid then.
    let function = move || f(unsafe { A::slices(parts) });
    HostFn { accesses, function }
}

impl<F> sealed::Sealed for HostFn<'_, F> {}

impl<F> HostFn<'_, F> {
    /// Returns the function and its accesses, with their memory retained.
    #[track_caller]
    fn retained(self) -> Result<(F, RetainedAccesses)> {
        Ok((self.function, retain_all("node::host_fn_with", self.accesses.0)?))
    }
}

impl<F: Fn() + Send + Sync + 'static> NodeOp for HostFn<'_, F> {
    type Added = Node;

    fn add_to(self, graph: &mut Graph, after: &[Node]) -> Result<Node> {
        let (function, uses) = self.retained()?;
        let function = HostFunction::new(graph.device(), function)?;
        let (fn_, data) = function.parts();
        // Owned before the node exists, even if the call fails.
        let object = function.give_to(graph.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        let added = graph.add_node(after, uses, true, |new| {
            let parameters = &raw const parameters;
            // SAFETY: the invariants of `NewNode`. The graph owns the function, and the parameters are live.
            unsafe { check!(cudaGraphAddHostNode(new.node, new.graph, new.before, new.count, parameters)) }
        });
        let node = graph.or_let_go(added, object)?;
        if let Some(step) = graph.steps_mut().list.get_mut(node.at()) {
            step.more_mut().function = Some(object);
        }
        Ok(node)
    }
}

impl<F: Fn() + Send + Sync + 'static> SetOp for HostFn<'_, F> {
    fn set_in(self, graph: &mut Graph, node: Node) -> Result<()> {
        let (at, _) = graph.steps.added("Graph::set", graph.number, node)?;
        let (function, uses) = self.retained()?;
        let function = HostFunction::new(graph.device(), function)?;
        let (fn_, data) = function.parts();
        // Owned before the node uses it, even if the call fails.
        let object = function.give_to(graph.as_raw())?;
        let parameters = sys::cudaHostNodeParams { fn_, userData: data };
        let set = graph.set_node(node, uses, |node| {
            // SAFETY: the node belongs to a live graph, which is borrowed mutably and owns the function.
            unsafe { check!(cudaGraphHostNodeSetParams(node, &raw const parameters)) }
        });
        graph.or_let_go(set, object)?;
        let step = graph.steps_mut().list.get_mut(at);
        let before = step.and_then(|step| step.more_mut().function.replace(object));
        before.map_or(Ok(()), |before| graph.let_go(before))
    }
}

impl<F: Fn() + Send + Sync + 'static> ExecOp for HostFn<'_, F> {
    fn set_in_exec(self, exec: &mut GraphExec, graph: &Graph, node: Node) -> Result<()> {
        let (function, memory) = self.retained()?;
        let (parameters, mut uses) = host::given("GraphExec::set", exec.device(), function)?;
        uses.add_all(&memory);
        exec.set_node(graph, node, uses, |exec, node| {
            // SAFETY: the executable graph, and the node of the graph that it was made from, are live. The
            // mutable borrow excludes launches. The function is retained until no launch calls it.
            unsafe { check!(cudaGraphExecHostNodeSetParams(exec, node, &raw const parameters)) }
        })
    }
}

impl Graph {
    /// Releases a function if its node was refused before the call. After an error of the call a node may
    /// have it.
    #[track_caller]
    fn or_let_go<T>(&self, done: Result<T>, object: sys::cudaUserObject_t) -> Result<T> {
        if done.as_ref().is_err_and(Error::is_refused) {
            self.let_go(object)?;
        }
        done
    }

    /// Releases a function that no node of the graph calls any more.
    #[track_caller]
    pub(in crate::graph) fn let_go(&self, object: sys::cudaUserObject_t) -> Result<()> {
        // SAFETY: the graph is live and has one reference to the object, for the node that called the
        // function.
        unsafe { check!(cudaGraphReleaseUserObject(self.as_raw(), object, 1)) }
    }
}
