//! [`GraphExec`]: a graph that can be launched.
#![expect(unsafe_code, reason = "launches graphs on raw streams")]

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use bitflags::bitflags;
use cuda_hazard::Operation;

use super::conditional::ensure_older;
use super::graph::Graph;
use super::handle::{GraphHandle, Raw};
use super::host;
use super::steps::Steps;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{self, GraphAccesses, Policy, RetainedAccesses};
use crate::launch::settle;
use crate::stream::{AsStream, Call, Event, EventFlags, StreamRef};
use crate::{check, stream, sys};

bitflags! {
    /// Options for [`Graph::instantiate_with_flags`].
    ///
    /// Three of C's flags are left out: memory that no node frees ([`Graph::instantiate`] refuses such
    /// graphs), launches by kernels, and an immediate upload ([`GraphExec::upload`] does this).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[doc(alias = "cudaGraphInstantiateFlags")]
    pub struct InstantiateFlags: u32 {
        /// Kernels run with the priorities of their nodes instead of the stream's priority.
        #[doc(alias = "cudaGraphInstantiateFlagUseNodePriority")]
        const USE_NODE_PRIORITY = sys::cudaGraphInstantiateFlagUseNodePriority.0;
    }
}

/// A graph that can be launched any number of times. It retains the memory that its nodes use.
///
/// Dropping it does not stop launches. The runtime retains what running launches need, and memory is freed
/// only after they are complete.
#[derive(Debug)]
#[doc(alias = "cudaGraphExecDestroy")]
#[doc(alias = "cudaGraphExec_t")]
pub struct GraphExec {
    /// Destroyed before the retained memory is released.
    _owner: GraphHandle,
    raw: sys::cudaGraphExec_t,
    device: Device,
    /// Whether each launch is known to give the device work.
    pub(super) acts: bool,
    /// The accesses of a launch.
    uses: GraphAccesses,
    /// The host functions that were taken over from another graph.
    taken: RetainedAccesses,
    /// Whether launches may skip nodes whose identity is no longer known.
    pub(super) skips: bool,
    /// The graph that this was made from, with the current state of its nodes. `None` after the nodes of
    /// another graph were taken over.
    pub(super) origin: Option<Origin>,
    /// Recorded after the last launch, under `Policy::Error`.
    last_launch: Option<Event>,
    /// Tells the graph that an executable form exists, if it may have only one. Dropped after the form is
    /// destroyed.
    _token: Option<Arc<()>>,
}

/// The graph that an executable graph was made from.
#[derive(Debug)]
pub(super) struct Origin {
    /// The number of the graph.
    pub(super) graph: u64,
    /// The graph's nodes in their state here.
    pub(super) steps: Arc<Steps>,
    /// The number of the newest condition then.
    pub(super) newest_condition: u64,
    /// The nodes that launches skip.
    pub(super) disabled: BTreeSet<usize>,
    /// The nodes that were changed after the last launch. They are not disabled: see
    /// [`GraphExec::set_enabled`].
    pub(super) unlaunched: BTreeSet<usize>,
}

impl Origin {
    fn of(graph: &Graph) -> Self {
        let (steps, newest_condition) = (Arc::clone(&graph.steps), graph.newest_condition);
        let (disabled, unlaunched) = (BTreeSet::new(), BTreeSet::new());
        Self { graph: graph.number, steps, newest_condition, disabled, unlaunched }
    }
}

// SAFETY: the handles are names that the runtime accepts on any thread, one thread at a time: an executable
// graph is not `Sync`. Lists that it shares with its graph are not modified.
unsafe impl Send for GraphExec {}

impl Graph {
    /// Makes the graph executable. Later changes to the graph do not affect the executable form.
    ///
    /// Stands for [`cudaGraphInstantiate`](sys::cudaGraphInstantiate).
    ///
    /// # Errors
    /// `Unsupported` if the graph has memory of its own that no node frees, if it has memory or conditions of
    /// its own and already an executable form, or if adding a node failed half-way. Otherwise returns the
    /// runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphInstantiate")]
    #[track_caller]
    pub fn instantiate(&self) -> Result<GraphExec> {
        self.instantiate_with_flags(InstantiateFlags::empty())
    }

    /// [`instantiate`](Self::instantiate) with flags.
    ///
    /// Stands for [`cudaGraphInstantiateWithFlags`](sys::cudaGraphInstantiateWithFlags).
    ///
    /// # Errors
    /// Those of [`instantiate`](Self::instantiate).
    #[doc(alias = "cudaGraphInstantiateWithFlags")]
    #[doc(alias = "cudaGraphInstantiateWithParams")]
    #[track_caller]
    pub fn instantiate_with_flags(&self, flags: InstantiateFlags) -> Result<GraphExec> {
        let api = "Graph::instantiate";
        stream::ensure_idle(api)?;
        self.ensure_complete(api)?;
        if !self.steps.lives.all_end() {
            let what = "making a graph executable with memory of its own that no node frees (node::free)";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        let token =
            (!self.steps.lives.is_empty() || self.newest_condition > 0).then(|| Arc::clone(&self.made));
        if token.is_some() && Arc::strong_count(&self.made) > 2 {
            let what = "a second executable form of a graph with memory or conditions of its own, \
                        before the first one is dropped,";
            return Err(Error::refused(api, Detail::unsupported(what)));
        }
        let _current = self.device().switch()?;
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphInstantiate(&raw mut exec, self.as_raw(), flags.bits().into())) }?;
        Ok(GraphExec {
            _owner: GraphHandle::new(Raw::Exec(exec)),
            raw: exec,
            device: self.device(),
            acts: self.acts,
            uses: GraphAccesses::new(self.steps.uses()),
            taken: RetainedAccesses::default(),
            skips: false,
            origin: Some(Origin::of(self)),
            last_launch: None,
            _token: token,
        })
    }
}

impl GraphExec {
    /// Returns the device of the graph.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Submits the graph to a stream and returns.
    ///
    /// Stands for [`cudaGraphLaunch`](sys::cudaGraphLaunch).
    ///
    /// # Ordering
    /// The launch is one operation of the stream. It runs in stream order, after conflicting work that was
    /// submitted to other streams before, and after the previous launch.
    ///
    /// # Errors
    /// - `InUse` while a guard lends memory to the host with which the launch conflicts.
    /// - `Device` if the stream belongs to another device.
    /// - `Capture` if the stream is captured; [`node::child_graph`](crate::graph::node::child_graph) adds one
    ///   graph to another.
    /// - Refused inside a host function.
    /// - Otherwise the runtime's error, which may be the failure of earlier work.
    #[doc(alias = "cudaGraphLaunch")]
    #[track_caller]
    pub fn launch(&mut self, stream: &impl AsStream) -> Result<()> {
        let call_site = Location::caller();
        let stream = stream.as_stream();
        stream.ensure_not_captured("GraphExec::launch")?;
        stream.device().ensure_is(self.device, "GraphExec::launch", "the stream or graph")?;
        let orders = hazard::policy() == Policy::Error;
        if orders {
            self.follow_last_launch(stream)?;
        }
        // The nodes may give the device no work although the graph has accesses. Such accesses remain after
        // a copy that was refused during capture, and for a node that launches may skip.
        let accesses = self.uses.accesses();
        let operation = if self.acts { Operation::new(accesses) } else { Operation::mark(accesses) };
        // SAFETY: the accesses cover all tracked memory that the nodes use. The graph retains it until the
        // tracker knows that the launch is complete. Callers that made nodes with unsafe code are
        // responsible for all other memory.
        let submission = unsafe { stream.begin(operation, call_site) }?;
        // The graph may end with a fill of pinned memory.
        stream.note_fill();
        // SAFETY: graph and stream are borrowed and therefore live. The mutable borrow excludes other
        // launches of the graph.
        let code = unsafe { sys::cudaGraphLaunch(self.raw, stream.as_raw()) };
        submission.commit(code == sys::cudaSuccess);
        Call { api: "cudaGraphLaunch", call_site, bytes: 0 }.check(code)?;
        if let Some(origin) = &mut self.origin {
            origin.unlaunched.clear();
        }
        if orders {
            self.mark_launch(stream)?;
        }
        settle("GraphExec::launch", stream, call_site)
    }

    /// Makes the stream wait for the previous launch, for `Policy::Error`. The runtime does so itself, but
    /// the tracker would refuse the launch: an event shows it the order.
    #[cold]
    #[track_caller]
    fn follow_last_launch(&self, stream: StreamRef<'_>) -> Result<()> {
        match &self.last_launch {
            Some(event) => stream.wait(event),
            None => Ok(()),
        }
    }

    /// Records the event for [`follow_last_launch`](Self::follow_last_launch).
    #[cold]
    #[track_caller]
    fn mark_launch(&mut self, stream: StreamRef<'_>) -> Result<()> {
        let event = match self.last_launch.take() {
            Some(event) => event,
            None => Event::with_device(self.device, EventFlags::DISABLE_TIMING)?,
        };
        event.record(&stream)?;
        self.last_launch = Some(event);
        Ok(())
    }

    /// Prepares the next launch so that it costs less. Only a hint: nothing runs.
    ///
    /// Stands for [`cudaGraphUpload`](sys::cudaGraphUpload).
    ///
    /// # Errors
    /// Those of [`launch`](Self::launch) except `InUse`.
    #[doc(alias = "cudaGraphUpload")]
    #[track_caller]
    pub fn upload(&mut self, stream: &impl AsStream) -> Result<()> {
        let call_site = Location::caller();
        let stream = stream.as_stream();
        stream.ensure_not_captured("GraphExec::upload")?;
        stream.device().ensure_is(self.device, "GraphExec::upload", "the stream or graph")?;
        let raw = self.raw;
        // SAFETY: graph and stream are borrowed and therefore live.
        let call = |stream| unsafe { check!(cudaGraphUpload(raw, stream)) };
        // SAFETY: an upload accesses no memory of the program.
        unsafe { stream.submit(Operation::new(&[]), call_site, call) }
    }

    /// Takes over the operations of another graph of the same shape. Running launches are not affected.
    ///
    /// Stands for [`cudaGraphExecUpdate`](sys::cudaGraphExecUpdate). Host functions are taken over with the
    /// nodes that call them. Both graphs share them, and the other graph may be dropped. Each function is
    /// dropped some time after the last launch that calls it, as in
    /// [`node::host_fn`](crate::graph::node::host_fn). Nodes can be changed afterwards only if `graph` is the
    /// graph that this was made from and has the same nodes and edges as then.
    ///
    /// # Errors
    /// - `cudaErrorGraphExecUpdateFailure` if the shape or the kind of a node differs. `ErrorKind::Update`
    ///   tells the difference and the node.
    /// - `Unsupported` if `graph` is another graph and has memory or conditions of its own, if it has got a
    ///   condition since this was made, or if adding a node to it failed half-way.
    /// - `Device` if the graph is for another device.
    /// - Refused inside a host function.
    ///
    /// After an error the executable graph can still be launched.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Stream, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// let mut bytes = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut exec = stream.capture(|s| memset_async(&mut bytes, 1, s))?.instantiate()?;
    /// exec.launch(&stream)?;
    /// let other = stream.capture(|s| memset_async(&mut bytes, 2, s))?;
    /// if exec.update(&other).is_err() {
    ///     exec = other.instantiate()?; // of another shape
    /// }
    /// exec.launch(&stream)?;
    /// assert_eq!(bytes.to_vec()?, [2; 4]);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaGraphExecUpdate")]
    #[track_caller]
    pub fn update(&mut self, graph: &Graph) -> Result<()> {
        stream::ensure_idle("GraphExec::update")?;
        graph.ensure_complete("GraphExec::update")?;
        graph.device().ensure_is(self.device, "GraphExec::update", "the stream or graph")?;
        match &self.origin {
            Some(origin) if origin.graph == graph.number => {
                ensure_older(graph.newest_condition, origin.newest_condition, "GraphExec::update")?;
            }
            _ => graph.ensure_can_be_copied("GraphExec::update")?,
        }
        let taken = host::taken("GraphExec::update", &graph.steps.functions())?;
        let mut then = graph.steps.uses();
        then.add_all(&taken);
        let is_same = self.uses.uses().is_same_as(&then);
        // If the call fails half-way, launches may use memory and functions of both graphs.
        if !is_same {
            self.uses.uses_mut().add_all(&then);
        }
        self.acts &= graph.acts;
        let before = self.origin.take();
        let disabled = before.as_ref().map(|origin| origin.disabled.clone()).unwrap_or_default();
        self.skips |= !disabled.is_empty();
        let mut found = sys::cudaGraphExecUpdateResultInfo::default();
        // SAFETY: both graphs are live, and the mutable borrow excludes launches. The pointer is to a live
        // variable for the result.
        let done = unsafe { check!(cudaGraphExecUpdate(self.raw, graph.as_raw(), &raw mut found)) };
        done.map_err(|error| different(error, graph, &found))?;
        if !is_same {
            self.uses = GraphAccesses::new(then);
        }
        // A skipped node may be the graph's only work for the device.
        self.acts = graph.acts && !self.skips;
        self.taken = taken;
        // The runtime pairs nodes by their order. If the graph's nodes or edges differ from before, the
        // pairs are unknown afterwards.
        let same =
            before.filter(|origin| origin.graph == graph.number && origin.steps.have_shape_of(&graph.steps));
        let unlaunched = (0..graph.steps.list.len()).collect();
        self.origin = same.map(|_| Origin { disabled, unlaunched, ..Origin::of(graph) });
        Ok(())
    }

    /// Records the result of a call that gave a node an operation with other accesses.
    pub(super) fn given(&mut self, at: usize, uses: RetainedAccesses, done: bool) {
        let Some(origin) = &mut self.origin else { return };
        let steps = Arc::make_mut(&mut origin.steps);
        let before = steps.given(at, uses, done);
        steps.update(self.uses.uses_mut(), at, &before, &self.taken);
    }

    /// Returns the raw handle. The executable graph retains ownership of it.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaGraphExec_t {
        self.raw
    }

    /// Returns the flags that the graph was made executable with, as the driver reports them. The driver of
    /// an H200 (580) omits [`USE_NODE_PRIORITY`](InstantiateFlags::USE_NODE_PRIORITY).
    ///
    /// Stands for [`cudaGraphExecGetFlags`](sys::cudaGraphExecGetFlags).
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaGraphExecGetFlags")]
    #[track_caller]
    pub fn flags(&self) -> Result<InstantiateFlags> {
        stream::ensure_idle("GraphExec::flags")?;
        let mut flags = 0;
        // SAFETY: the executable graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphExecGetFlags(self.as_raw(), &raw mut flags)) }?;
        Ok(InstantiateFlags::from_bits_retain(u32::try_from(flags).unwrap_or(u32::MAX)))
    }

    /// Returns the id of the executable graph in profilers.
    ///
    /// Stands for [`cudaGraphExecGetId`](sys::cudaGraphExecGetId), since CUDA 13.1.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[cfg(cudart_13_1)]
    #[doc(alias = "cudaGraphExecGetId")]
    #[track_caller]
    pub fn id(&self) -> Result<u32> {
        stream::ensure_idle("GraphExec::id")?;
        let mut id = 0;
        // SAFETY: the executable graph is live. The pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphExecGetId(self.as_raw(), &raw mut id)) }?;
        Ok(id)
    }
}

/// Returns the error of a refused update with the difference and the node.
#[cold]
fn different(error: Error, graph: &Graph, found: &sys::cudaGraphExecUpdateResultInfo) -> Error {
    let why = match found.result {
        sys::cudaGraphExecUpdateErrorTopologyChanged => "it has other nodes or edges",
        sys::cudaGraphExecUpdateErrorNodeTypeChanged => "a node is of another kind",
        sys::cudaGraphExecUpdateErrorFunctionChanged => "a node has another kernel",
        sys::cudaGraphExecUpdateErrorUnsupportedFunctionChange => {
            "a node has a kernel that cannot stand in the place of the one before"
        }
        sys::cudaGraphExecUpdateErrorParametersChanged => {
            "a node has parameters that it cannot change to: another kind of memory \
             or another device, for instance"
        }
        sys::cudaGraphExecUpdateErrorAttributesChanged => "a node has other attributes",
        sys::cudaGraphExecUpdateErrorNotSupported => "a node is of a kind that is not taken over",
        _ => return error,
    };
    let mut nodes = graph.steps.list.iter().flat_map(|step| step.raws.iter());
    let node = nodes.position(|raw| *raw == found.errorNode);
    error.with_detail(Detail::update(why, node))
}
