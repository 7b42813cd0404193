//! [`Graph`]: nodes and what they come after.
#![expect(unsafe_code, reason = "calls the runtime's graph functions")]

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::attributes::InstantiateFlags;
use super::executable::GraphExec;
use super::handle::{Handle, Raw};
use super::host::HostFunction;
use super::steps::{Step, Steps};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::Uses;
use crate::{check, stream, sys};

/// Work that is described and does not run: nodes, and which comes after which.
///
/// Made by [`Stream::capture`](crate::Stream::capture), or with [`new`](Self::new) and the `add_` methods. All of it is for one
/// device. It holds the memory that its nodes use.
///
/// # Examples
/// ```
/// use cuda_safe::{DeviceBuffer, Graph, PinnedBuffer, Stream};
///
/// # fn main() -> cuda_safe::Result<()> {
/// let stream = Stream::new()?;
/// let mut device = DeviceBuffer::<u8>::alloc(4)?;
/// let mut host = PinnedBuffer::<u8>::alloc(4)?;
/// let mut graph = Graph::new()?;
/// let fill = graph.add_memset(&[], &mut device, 7)?;
/// graph.add_memcpy(&[fill], &mut host, &device)?;
/// let mut exec = graph.instantiate()?;
/// exec.launch(&stream)?;
/// assert_eq!(*host.host()?, [7; 4]); // waits
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[doc(alias = "cudaGraphDestroy")]
#[doc(alias = "cudaGraph_t")]
pub struct Graph {
    /// Destroyed before the memory is let go.
    _owner: Handle,
    raw: sys::cudaGraph_t,
    device: Device,
    /// Tells its nodes from those of other graphs.
    pub(super) number: u64,
    pub(super) steps: Steps,
    pub(super) uses: Uses,
    /// Whether a launch is sure to give the device something to do. One of empty nodes is none of the stream's operations: an H200 does
    /// not put a blocking stream behind the legacy one for it.
    pub(super) acts: bool,
    /// The graph that it is a copy of, and how many nodes that had then.
    pub(super) original: Option<(u64, usize)>,
    /// Held by its executable forms, too, where there may be only one.
    made: Arc<()>,
}

// SAFETY: the handles in it are names that the runtime takes from any thread, one at a time: a graph is not `Sync`.
unsafe impl Send for Graph {}

impl Graph {
    /// Makes a graph without nodes, for the current device.
    ///
    /// Stands for [`cudaGraphCreate`](sys::cudaGraphCreate).
    ///
    /// # Errors
    /// Where there is no device; a refusal inside a host function.
    #[doc(alias = "cudaGraphCreate")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        stream::ensure_idle("Graph::new")?;
        let device = Device::current()?;
        let mut raw = std::ptr::null_mut();
        // SAFETY: the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphCreate(&raw mut raw, 0)) }?;
        Ok(Self::of(raw, device))
    }

    /// The owner of a raw graph that uses nothing.
    pub(super) fn of(raw: sys::cudaGraph_t, device: Device) -> Self {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        Self {
            _owner: Handle::new(Raw::Graph(raw)),
            raw,
            device,
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            steps: Steps::default(),
            uses: Uses::default(),
            acts: false,
            original: None,
            made: Arc::default(),
        }
    }

    /// The owner of a captured graph, which uses this memory and calls these functions.
    #[track_caller]
    pub(super) fn captured(
        raw: sys::cudaGraph_t,
        device: Device,
        uses: Uses,
        functions: Vec<HostFunction>,
    ) -> Result<Self> {
        let mut graph = Self::of(raw, device);
        graph.uses = uses;
        let functions = functions.into_iter().map(|function| function.give_to(raw)).collect::<Result<_>>()?;
        let raws = graph.raw_nodes()?;
        for raw in &raws {
            graph.acts = graph.acts || acts(*raw)?;
        }
        if !raws.is_empty() {
            let step = Step::captured(raws, graph.uses.clone(), graph.acts);
            graph.steps.push(Step { functions, ..step });
        }
        Ok(graph)
    }

    /// The device that the graph is for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// How many nodes the graph has. A graph within it counts as one.
    ///
    /// Stands for [`cudaGraphGetNodes`](sys::cudaGraphGetNodes).
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaGraphGetNodes")]
    #[track_caller]
    pub fn node_count(&self) -> Result<usize> {
        stream::ensure_idle("Graph::node_count")?;
        let mut count = 0;
        // SAFETY: the graph is live; without room for them, the nodes are only counted.
        unsafe { check!(cudaGraphGetNodes(self.raw, std::ptr::null_mut(), &raw mut count)) }?;
        Ok(count)
    }

    #[track_caller]
    fn raw_nodes(&self) -> Result<Vec<sys::cudaGraphNode_t>> {
        let mut count = self.node_count()?;
        let mut nodes = vec![std::ptr::null_mut(); count];
        if count > 0 {
            // SAFETY: the graph is live, and there is room for as many nodes as the call is told.
            unsafe { check!(cudaGraphGetNodes(self.raw, nodes.as_mut_ptr(), &raw mut count)) }?;
        }
        Ok(nodes)
    }

    /// Makes the graph executable. What is done to the graph later does not change that.
    ///
    /// Stands for [`cudaGraphInstantiate`](sys::cudaGraphInstantiate).
    ///
    /// # Errors
    /// `Unsupported` for a graph with memory of its own that no node frees, or that has an executable form already. What the runtime fails with; a refusal inside a host function.
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
        if self.steps.leave_memory() {
            let what =
                "making a graph executable with memory of its own that no node frees (Graph::add_free)";
            return Err(Error::refused(api, Detail::Unsupported { what }));
        }
        let token = self.steps.have_memory().then(|| Arc::clone(&self.made));
        if token.is_some() && Arc::strong_count(&self.made) > 2 {
            let what = "a second executable form of a graph with memory of its own, before the first one is dropped,";
            return Err(Error::refused(api, Detail::Unsupported { what }));
        }
        let _current = self.device.switch()?;
        let mut exec = std::ptr::null_mut();
        // SAFETY: the graph is live, and the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaGraphInstantiate(&raw mut exec, self.raw, flags.bits().into())) }?;
        Ok(GraphExec::of(exec, self, token))
    }

    /// Writes the graph to a file, in the language of Graphviz.
    ///
    /// Stands for [`cudaGraphDebugDotPrint`](sys::cudaGraphDebugDotPrint).
    ///
    /// # Errors
    /// Where the file cannot be written, or its name has a zero byte; a refusal inside a host function.
    #[doc(alias = "cudaGraphDebugDotPrint")]
    #[track_caller]
    pub fn write_dot(&self, path: impl AsRef<Path>) -> Result<()> {
        stream::ensure_idle("Graph::write_dot")?;
        let Ok(path) = CString::new(path.as_ref().as_os_str().as_bytes()) else {
            return Err(Error::refused(
                "Graph::write_dot",
                Detail::Unsupported { what: "a zero byte in a path" },
            ));
        };
        let flags = sys::cudaGraphDebugDotFlagsVerbose.0;
        // SAFETY: the graph is live, and the path ends in a zero byte.
        unsafe { check!(cudaGraphDebugDotPrint(self.raw, path.as_ptr(), flags)) }
    }

    /// The raw handle, which stays the graph's. What is added to it behind the crate's back, the graph does not know of.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaGraph_t {
        self.raw
    }
}

/// Whether a node is something for the device to do. Of other kinds it is not asked.
#[track_caller]
fn acts(node: sys::cudaGraphNode_t) -> Result<bool> {
    let mut kind = sys::cudaGraphNodeTypeEmpty;
    // SAFETY: the node is one of a live graph, and the pointer is to a live variable, which the call fills.
    unsafe { check!(cudaGraphNodeGetType(node, &raw mut kind)) }?;
    Ok(matches!(
        kind,
        sys::cudaGraphNodeTypeKernel
            | sys::cudaGraphNodeTypeMemcpy
            | sys::cudaGraphNodeTypeMemset
            | sys::cudaGraphNodeTypeHost
    ))
}
