//! [`GraphExec`]: a graph that can be launched.
#![expect(unsafe_code, reason = "launches graphs on raw streams")]

use std::collections::BTreeSet;
use std::panic::Location;
use std::sync::Arc;

use cuda_hazard::Operation;

use super::graph::Graph;
use super::handle::{Handle, Raw};
use super::host;
use super::steps::Steps;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Listed, Uses};
use crate::stream::{AsStream, Call};
use crate::{check, stream, sys};

/// A graph that can be launched, any number of times. It holds the memory that its nodes use.
///
/// Dropping it stops no launch: the runtime keeps what launches under way still need, and memory is freed only after them.
#[derive(Debug)]
#[doc(alias = "cudaGraphExecDestroy")]
#[doc(alias = "cudaGraphExec_t")]
pub struct GraphExec {
    /// Destroyed before the memory is let go.
    _owner: Handle,
    raw: sys::cudaGraphExec_t,
    device: Device,
    /// Whether a launch is sure to give the device something to do.
    acts: bool,
    uses: Listed,
    /// The host functions that were taken over with a graph.
    taken: Uses,
    /// Whether launches may skip nodes of which nothing is known any more.
    skips: bool,
    /// The graph that it was made of, and what has become of its nodes; none where those of another graph were taken over.
    pub(super) origin: Option<Origin>,
    /// What tells the graph that it has an executable form, where there may be only one. Dropped after the form is destroyed.
    _token: Option<Arc<()>>,
}

/// The graph that an executable one was made of.
#[derive(Debug)]
pub(super) struct Origin {
    /// Which one.
    pub(super) graph: u64,
    /// Its nodes, as they are here.
    pub(super) steps: Steps,
    /// Those that launches skip.
    pub(super) disabled: BTreeSet<usize>,
}

impl Origin {
    fn of(graph: &Graph) -> Self {
        Self { graph: graph.number, steps: graph.steps.clone(), disabled: BTreeSet::new() }
    }
}

// SAFETY: the handles in it are names that the runtime takes from any thread, one at a time: an executable graph is not `Sync`. Lists that it
// has in common with its graph are not changed.
unsafe impl Send for GraphExec {}

impl GraphExec {
    /// The owner of what was just instantiated from a graph.
    pub(super) fn of(raw: sys::cudaGraphExec_t, graph: &Graph, token: Option<Arc<()>>) -> Self {
        let (device, uses) = (graph.device(), Listed::of(graph.uses.clone()));
        let origin = Some(Origin::of(graph));
        Self {
            _owner: Handle::new(Raw::Exec(raw)),
            raw,
            device,
            acts: graph.acts,
            uses,
            taken: Uses::default(),
            skips: false,
            origin,
            _token: token,
        }
    }

    /// The device that the graph is for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Gives a stream all of the graph, and returns.
    ///
    /// Stands for [`cudaGraphLaunch`](sys::cudaGraphLaunch).
    ///
    /// # Ordering
    /// As one operation: in the order of the stream, after conflicting work that other streams were given before, and after the
    /// former launch.
    ///
    /// # Errors
    /// `HostBorrowed` while a guard lends memory of the graph to the host that it conflicts with; `DeviceMismatch` if the stream is
    /// of another device; `Capturing` on a captured stream: [`Graph::add_graph`] puts one graph into another; a refusal inside a host
    /// function. Otherwise what the runtime says, which may be the failure of earlier work.
    #[doc(alias = "cudaGraphLaunch")]
    #[track_caller]
    pub fn launch(&mut self, stream: &impl AsStream) -> Result<()> {
        let place = Location::caller();
        let stream = stream.as_stream();
        stream.ensure_not_captured("GraphExec::launch")?;
        self.ensure_device("GraphExec::launch", stream.device())?;
        // The nodes may be nothing for the device to do, though the graph has accesses: by a copy that was refused while it was captured, or
        // for a node that launches may skip.
        let accesses = self.uses.accesses();
        let operation = if self.acts { Operation::new(accesses) } else { Operation::mark(accesses) };
        // SAFETY: the accesses are all that the nodes touch of tracked memory, which the graph keeps until the tracker says that the
        // launch is over; what else they touch is the duty of who made the nodes with unsafe code.
        let submission = unsafe { stream.begin(operation, place) }?;
        if self.uses.fills() {
            stream.note_fill();
        }
        // SAFETY: graph and stream are live while they are borrowed, and nobody launches the graph meanwhile.
        let code = unsafe { sys::cudaGraphLaunch(self.raw, stream.as_raw()) };
        submission.commit(code == sys::cudaSuccess);
        Call { api: "cudaGraphLaunch", place, bytes: 0 }.check(code)
    }

    /// Prepares the next launch, so that it costs less. Only a hint: nothing runs.
    ///
    /// Stands for [`cudaGraphUpload`](sys::cudaGraphUpload).
    ///
    /// # Errors
    /// As for [`launch`](Self::launch), but for guards.
    #[doc(alias = "cudaGraphUpload")]
    #[track_caller]
    pub fn upload(&mut self, stream: &impl AsStream) -> Result<()> {
        let place = Location::caller();
        let stream = stream.as_stream();
        stream.ensure_not_captured("GraphExec::upload")?;
        self.ensure_device("GraphExec::upload", stream.device())?;
        let raw = self.raw;
        let call = |stream| {
            // SAFETY: graph and stream are live while they are borrowed.
            unsafe { check!(cudaGraphUpload(raw, stream)) }.map_err(|error| error.at(place))
        };
        // SAFETY: an upload touches no memory of the program's.
        unsafe { stream.submit(Operation::new(&[]), place, call) }
    }

    /// Takes over what the nodes of another graph of the same shape do. Launches under way do not notice.
    ///
    /// Stands for [`cudaGraphExecUpdate`](sys::cudaGraphExecUpdate). Host functions are taken over with the nodes that call them, and held in
    /// common with the other graph, which may be dropped: each is dropped some time after the last launch that calls it, as one of
    /// [`set_host_fn`](Self::set_host_fn). Nodes can be given other work afterwards only where it was the graph that the executable one was
    /// made of, and has all nodes and edges that it had then, and no other ones.
    ///
    /// # Errors
    /// `cudaErrorGraphExecUpdateFailure` where the shape or the kind of a node is another one, with what is different and where
    /// ([`Detail::Update`]); `Unsupported` for another graph with memory of its own; `DeviceMismatch`; a refusal inside a host function.
    /// What was executable before, still is.
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
        self.ensure_device("GraphExec::update", graph.device())?;
        if self.origin.as_ref().is_none_or(|origin| origin.graph != graph.number) {
            graph.ensure_no_memory("GraphExec::update")?;
        }
        let taken = host::taken("GraphExec::update", &graph.steps.functions())?;
        let mut then = graph.uses.clone();
        then.add_all(&taken);
        // If it fails half-way, both graphs' memory and functions may be used.
        let mut both = self.uses.uses().clone();
        both.add_all(&then);
        self.uses = Listed::of(both);
        self.acts &= graph.acts;
        let before = self.origin.take();
        let disabled = before.as_ref().map(|origin| origin.disabled.clone()).unwrap_or_default();
        self.skips |= !disabled.is_empty();
        let mut found = sys::cudaGraphExecUpdateResultInfo::default();
        // SAFETY: both graphs are live, nobody launches this one meanwhile, and the pointer is to room for the answer.
        let done = unsafe { check!(cudaGraphExecUpdate(self.raw, graph.as_raw(), &raw mut found)) };
        done.map_err(|error| different(error, graph, &found))?;
        // A node that launches skip may be all that the graph has to do.
        (self.uses, self.acts) = (Listed::of(then), graph.acts && !self.skips);
        self.taken = taken;
        // The runtime pairs nodes by their order. Of a graph with other nodes or edges than it had, nobody knows which is which afterwards.
        let same =
            before.filter(|origin| origin.graph == graph.number && origin.steps.have_shape_of(&graph.steps));
        self.origin = same.map(|_| Origin { disabled, ..Origin::of(graph) });
        Ok(())
    }

    /// Has launches use what its nodes use now, and these bytes besides.
    pub(super) fn list(&mut self, besides: Option<&Uses>) {
        let Some(origin) = &self.origin else { return };
        let mut all = origin.steps.uses();
        all.add_all(&self.taken);
        if let Some(besides) = besides {
            all.add_all(besides);
        }
        let mut enabled =
            origin.steps.list.iter().enumerate().filter(|(at, _)| !origin.disabled.contains(at));
        self.acts = !self.skips && enabled.any(|(_, step)| step.acts);
        self.uses = Listed::of(all);
    }

    #[track_caller]
    fn ensure_device(&self, api: &'static str, found: Device) -> Result<()> {
        if found == self.device {
            return Ok(());
        }
        let (found, needed) = (found.ordinal(), self.device.ordinal());
        Err(Error::refused(api, Detail::DeviceMismatch { what: "the stream or graph", found, needed }))
    }

    /// The raw handle, which stays the executable graph's.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaGraphExec_t {
        self.raw
    }
}

/// The error of a graph that was not taken over, with what is different and at which node.
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
            "a node has parameters that it cannot change to: another kind of memory or another device, for instance"
        }
        sys::cudaGraphExecUpdateErrorAttributesChanged => "a node has other attributes",
        sys::cudaGraphExecUpdateErrorNotSupported => "a node is of a kind that is not taken over",
        _ => return error,
    };
    let mut nodes = graph.steps.list.iter().flat_map(|step| step.raws.iter());
    let node = nodes.position(|raw| *raw == found.errorNode);
    error.with_detail(Detail::Update { why, node })
}
