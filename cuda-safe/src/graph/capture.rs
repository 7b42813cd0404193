//! [`Stream::capture`] and [`Stream::capture_to_graph`]: make a graph, or a part of one, from the operations
//! that a closure puts on a stream.
#![expect(unsafe_code, reason = "begins and ends captures of raw streams")]

use std::cell::RefCell;
use std::fmt;
use std::panic::Location;

use cuda_hazard::Operation;

use super::graph::Graph;
use super::host::HostFunction;
use super::identity::Node;
use crate::device::Device;
use crate::error::{Detail, Error, ErrorKind, Result};
use crate::hazard::{Access, RetainedAccesses};
use crate::stream::relax;
use crate::stream::{
    Accesses, AsStream, CaptureTurn, Event, HiddenStream, HostFnArgument, Recorder, Stream, StreamRef, sealed,
};
use crate::{check, stream, sys};

/// The stream that [`Stream::capture`] passes to its closure, or a [`fork`](Self::fork) of it. Its operations
/// become nodes of the graph and do not run.
pub struct Capture<'c> {
    stream: StreamRef<'c>,
    functions: &'c RefCell<Vec<HostFunction>>,
    recorder: &'c Recorder,
}

impl<'c> Capture<'c> {
    /// Begins a branch of the graph: its operations come after those that this stream has been given so far,
    /// and beside those that it is given later. Conflicting operations of branches are ordered, as those of
    /// streams are.
    ///
    /// [`join`](Self::join) ends the branch. Stands for [`cudaEventRecord`](sys::cudaEventRecord) on this
    /// stream and [`cudaStreamWaitEvent`](sys::cudaStreamWaitEvent) on another one.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, Stream, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// let (mut x, mut y) = (DeviceBuffer::<u8>::alloc(4)?, DeviceBuffer::<u8>::alloc(4)?);
    /// let graph = stream.capture(|s| {
    ///     let side = s.fork()?;
    ///     memset_async(&mut x, 1, s)?;
    ///     memset_async(&mut y, 2, &side)?; // beside the other one
    ///     s.join(side)
    /// })?;
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!((x.to_vec()?, y.to_vec()?), (vec![1; 4], vec![2; 4]));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaEventRecord")]
    #[doc(alias = "cudaStreamWaitEvent")]
    #[track_caller]
    pub fn fork(&self) -> Result<Self> {
        Ok(Self { stream: self.recorder.fork(self.stream)?, ..*self })
    }

    /// Ends a branch: operations that this stream is given later come after all of the branch.
    ///
    /// Every branch must be joined. Otherwise the capture fails with `cudaErrorStreamCaptureUnjoined`, as in
    /// C++.
    ///
    /// # Errors
    /// Returns the runtime's error; `Capture` for a branch of another capture. Refused inside a host
    /// function.
    #[doc(alias = "cudaStreamWaitEvent")]
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "a branch that is joined has ended")]
    pub fn join(&self, side: Self) -> Result<()> {
        self.recorder.join(self.stream, side.stream)
    }

    /// Makes later operations of this branch come after those that an event stands for, which was recorded in
    /// this capture.
    ///
    /// # Errors
    /// Returns the runtime's error; `Capture` for another event. Refused inside a host function.
    #[doc(alias = "cudaStreamWaitEvent")]
    #[track_caller]
    pub fn wait(&self, event: &Event) -> Result<()> {
        self.stream.wait(event)
    }

    /// Returns the device of the graph.
    #[must_use]
    pub fn device(&self) -> Device {
        self.stream.device()
    }

    /// Adds a host function, which runs in every launch of the graph after the operations that were
    /// captured before.
    ///
    /// The function belongs to the graph. It may run several times, on any thread of the runtime. It must
    /// not call CUDA, or wait for code that does. The next synchronization of a stream of the device, or of
    /// the device, reports a panic in the function. Stands for
    /// [`cudaLaunchHostFunc`](sys::cudaLaunchHostFunc) on a captured stream.
    ///
    /// # Errors
    /// Returns the runtime's error. Refused inside a host function.
    #[doc(alias = "cudaLaunchHostFunc")]
    #[doc(alias = "cudaUserObjectCreate")]
    #[doc(alias = "cudaUserObjectRelease")]
    #[doc(alias = "cudaGraphRetainUserObject")]
    #[track_caller]
    pub fn host_fn(&self, f: impl Fn() + Send + Sync + 'static) -> Result<()> {
        // SAFETY: the function accesses no memory that streams use.
        unsafe { self.put_host("Capture::host_fn", &[], f) }
    }

    /// [`host_fn`](Self::host_fn) with memory, which the function receives as slices. `&memory` is read and
    /// `&mut memory` is written. The graph retains the memory.
    ///
    /// # Errors
    /// Those of [`host_fn`](Self::host_fn); `Argument` if the graph cannot retain the memory.
    #[doc(alias = "cudaLaunchHostFunc")]
    #[track_caller]
    pub fn host_fn_with<A: HostFnArgument>(
        &self,
        memory: A,
        f: impl Fn(A::Slices<'_>) + Send + Sync + 'static,
    ) -> Result<()> {
        let mut accesses = Accesses::default();
        let parts = memory.parts(&mut accesses);
        // SAFETY: only launches call the function. They have these accesses, and the graph retains the
        // memory. Launches and nodes that conflict are ordered. `launch_host_fn_with` says why the slices are
        // valid then.
        let run = move || f(unsafe { A::slices(parts) });
        // SAFETY: the function accesses the memory of these accesses and no other.
        unsafe { self.put_host("Capture::host_fn_with", &accesses.0, run) }
    }

    /// [`host_fn`](Self::host_fn) for a function with accesses.
    ///
    /// # Safety
    /// The function accesses no memory of this crate except the bytes in `accesses`.
    #[track_caller]
    unsafe fn put_host(
        &self,
        api: &'static str,
        accesses: &[Access<'_>],
        f: impl Fn() + Send + Sync + 'static,
    ) -> Result<()> {
        stream::ensure_idle(api)?;
        let call_site = Location::caller();
        let function = HostFunction::new(self.device(), f)?;
        let (call, data) = function.parts();
        let launch = |raw| {
            // SAFETY: the stream is live and captured, so only the graph calls the function, and the graph
            // owns it.
            unsafe { check!(cudaLaunchHostFunc(raw, call, data)) }
        };
        // Retained before the node exists, even if the call fails. The list has no other user: no code of
        // the program runs while it is borrowed.
        match self.functions.try_borrow_mut() {
            Ok(mut functions) => functions.push(function),
            Err(_) => return Err(Error::refused(api, Detail::NESTED)),
        }
        // SAFETY: the caller guarantees the accesses.
        unsafe { self.stream.submit(Operation::new(accesses), call_site, launch) }
    }
}

impl sealed::SealedStream for Capture<'_> {}

impl AsStream for Capture<'_> {
    fn as_stream(&self) -> StreamRef<'_> {
        self.stream
    }
}

impl fmt::Debug for Capture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Capture").field("stream", &self.stream).finish_non_exhaustive()
    }
}

/// Returns the error of a capture's end with the branch that nothing joins, if it is about one.
#[cold]
fn explained(error: Error, recorder: &Recorder) -> Error {
    let begun = if error.code() == sys::cudaErrorStreamCaptureUnjoined { recorder.unjoined() } else { None };
    let Some(begun) = begun else { return error };
    let text = format!(
        "nothing comes after the last work of the branch that began at {begun}: join it by Capture::join, or \
         record an event behind that work and have the stream of the closure wait for it"
    );
    error.with_detail(Detail::new(ErrorKind::Capture, text))
}

/// A graph that a capture continues, and the raw nodes that the capture begins after.
type Continued<'g> = (&'g mut Graph, &'g [sys::cudaGraphNode_t]);

/// An active capture, by the hidden stream that it began with. The stream lives longer.
struct OpenCapture<'g> {
    stream: sys::cudaStream_t,
    /// The graph that the capture continues. Otherwise the capture makes a graph.
    into: Option<&'g mut Graph>,
    ended: bool,
    /// Dropped after the capture has ended.
    _turn: CaptureTurn,
}

impl<'g> OpenCapture<'g> {
    #[track_caller]
    fn begin(api: &'static str, stream: sys::cudaStream_t, into: Option<Continued<'g>>) -> Result<Self> {
        let turn = CaptureTurn::begin(api)?;
        let mode = sys::cudaStreamCaptureModeThreadLocal;
        let begun = match &into {
            // SAFETY: the stream is live, and no other code puts work on it.
            None => unsafe { check!(cudaStreamBeginCapture(stream, mode)) },
            Some((graph, after)) => {
                let (graph, nodes, count) = (graph.as_raw(), after.as_ptr(), after.len());
                // SAFETY: the stream is live, and no other code puts work on it. The graph is live, and so
                // are the `count` nodes, which belong to it. Edges without data are plain ones.
                unsafe {
                    check!(cudaStreamBeginCaptureToGraph(stream, graph, nodes, std::ptr::null(), count, mode))
                }
            }
        };
        begun?;
        Ok(Self { stream, into: into.map(|(graph, _)| graph), ended: false, _turn: turn })
    }

    /// Ends the capture. If that fails, an H200 has destroyed the graph, also one that the capture continued.
    #[track_caller]
    fn end(&mut self) -> Result<sys::cudaGraph_t> {
        self.ended = true;
        let mut graph = std::ptr::null_mut();
        // SAFETY: the capture began on this thread. The pointer is to a live variable, which the call
        // fills.
        let ended = unsafe { check!(cudaStreamEndCapture(self.stream, &raw mut graph)) };
        if ended.is_err()
            && let Some(lost) = &mut self.into
        {
            lost.give_up();
        }
        ended.map(|()| graph)
    }
}

/// Ends the capture, also during a panic.
impl Drop for OpenCapture<'_> {
    fn drop(&mut self) {
        if !self.ended
            && let Ok(graph) = self.end()
            && self.into.is_none()
        {
            // SAFETY: the graph was just made and has no other owner.
            let _ = unsafe { sys::cudaGraphDestroy(graph) };
        }
    }
}

impl Stream {
    /// Makes a graph from the operations that `f` puts on the stream it receives. The operations do not
    /// run.
    ///
    /// The closure receives a separate stream with this stream's device and priority. `self` is borrowed so
    /// that no operation reaches it by mistake. Memory is borrowed only during each call, as on any stream;
    /// the graph retains it.
    ///
    /// A graph has branches if the closure uses [`Capture::fork`] and [`Capture::join`], or C++'s form:
    /// an event is recorded on the stream of the closure, another stream waits for it, and so becomes
    /// part of the capture until it ends. On this thread, operations on that stream then become part of
    /// the graph. On other threads the stream is used as ever. Each such stream must be joined by an
    /// event again.
    ///
    /// Other threads may do anything meanwhile, and cannot end the capture: their
    /// [`Device::synchronize`](crate::Device::synchronize) then waits for each stream of the device by
    /// itself. A capture begins when no other thread is inside `cudaDeviceSynchronize`.
    ///
    /// Inside the closure, blocking calls and work on other streams are refused with `Capture`. C++
    /// would run some of them at once, and the graph would lack them.
    ///
    /// Stands for [`cudaStreamBeginCapture`](sys::cudaStreamBeginCapture), in thread-local mode, and
    /// [`cudaStreamEndCapture`](sys::cudaStreamEndCapture).
    ///
    /// # Errors
    /// Returns the error of `f`, or the runtime's error: `cudaErrorStreamCaptureInvalidated` if a call that
    /// is not permitted during a capture has invalidated it, `cudaErrorStreamCaptureUnjoined` for a branch
    /// that was not joined. Refused inside a host function.
    ///
    /// # Panics
    /// If `f` panics; the capture ends first.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{DeviceBuffer, PinnedBuffer, Stream, memcpy_async, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// let mut device = DeviceBuffer::<u8>::alloc(4)?;
    /// let mut host = PinnedBuffer::<u8>::alloc(4)?;
    /// let graph = stream.capture(|s| {
    ///     memset_async(&mut device, 7, s)?;
    ///     memcpy_async(&mut host, &device, s)
    /// })?;
    /// let mut exec = graph.instantiate()?;
    /// exec.launch(&stream)?;
    /// assert_eq!(*host.host()?, [7; 4]); // waits
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamBeginCapture")]
    #[doc(alias = "cudaStreamEndCapture")]
    #[doc(alias = "cudaThreadExchangeStreamCaptureMode")]
    #[track_caller]
    #[doc(alias = "cudaStreamCaptureModeGlobal")]
    #[doc(alias = "cudaStreamCaptureModeThreadLocal")]
    #[doc(alias = "cudaStreamCaptureModeRelaxed")]
    pub fn capture(&mut self, f: impl FnOnce(&Capture<'_>) -> Result<()>) -> Result<Graph> {
        // Declared before the graph, so that they drop after it.
        let functions = RefCell::default();
        let (raw, uses) = self.record("Stream::capture", None, &functions, f)?;
        Graph::captured(raw, self.device(), uses, functions.into_inner())
    }

    /// Adds the operations that `f` puts on the stream it receives to a graph, as [`capture`](Self::capture)
    /// makes a graph of them. Returns the graph, and one node that stands for all of them.
    ///
    /// The operations come after the nodes in `after`, and after every earlier node that one of them
    /// conflicts with. If there are no operations, adds an empty node. The cost grows with the number of
    /// nodes and edges of the graph.
    ///
    /// Stands for [`cudaStreamBeginCaptureToGraph`](sys::cudaStreamBeginCaptureToGraph), in thread-local mode
    /// and with edges without data, and [`cudaStreamEndCapture`](sys::cudaStreamEndCapture).
    ///
    /// # Errors
    /// - Those of [`capture`](Self::capture).
    /// - `Unsupported` if `after` names a node of another graph.
    /// - `Device` if the graph is for another device.
    ///
    /// An error drops the graph, because a capture that fails may leave some of its operations in it.
    /// [`Graph::try_clone`] makes a copy to fall back on.
    ///
    /// # Panics
    /// If `f` panics; the capture ends first.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::graph::node;
    /// use cuda_safe::{DeviceBuffer, Graph, Stream, memcpy_async, memset_async};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let mut stream = Stream::new()?;
    /// let (mut x, mut y) = (DeviceBuffer::<u8>::alloc(4)?, DeviceBuffer::<u8>::alloc(4)?);
    /// let mut graph = Graph::new()?;
    /// let first = graph.add(&[], node::memset(&mut x, 7))?;
    /// let (graph, rest) = stream.capture_to_graph(graph, &[first], |s| {
    ///     memcpy_async(&mut y, &x, s)?;
    ///     memset_async(&mut x, 8, s)
    /// })?;
    /// assert_eq!(graph.edges()?, [(first, rest)]);
    /// graph.instantiate()?.launch(&stream)?;
    /// assert_eq!((x.to_vec()?, y.to_vec()?), (vec![8; 4], vec![7; 4]));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamBeginCaptureToGraph")]
    #[doc(alias = "cudaStreamEndCapture")]
    #[track_caller]
    pub fn capture_to_graph(
        &mut self,
        graph: Graph,
        after: &[Node],
        f: impl FnOnce(&Capture<'_>) -> Result<()>,
    ) -> Result<(Graph, Node)> {
        let api = "Stream::capture_to_graph";
        stream::ensure_idle(api)?;
        graph.device().ensure_is(self.device(), api, "the graph")?;
        // Declared before the graph, so that they drop after it.
        let functions = RefCell::default();
        let mut graph = graph;
        let (known, before) = (graph.raw_nodes()?, graph.last_of(api, after)?);
        let (_, uses) = self.record(api, Some((&mut graph, &before)), &functions, f)?;
        let node = graph.add_captured(api, &known, after, uses, functions.into_inner())?;
        Ok((graph, node))
    }

    /// Captures the operations of a closure, and returns the graph that has them and what they use. If there
    /// are functions, they outlive the graph.
    #[track_caller]
    fn record(
        &mut self,
        api: &'static str,
        into: Option<Continued<'_>>,
        functions: &RefCell<Vec<HostFunction>>,
        f: impl FnOnce(&Capture<'_>) -> Result<()>,
    ) -> Result<(sys::cudaGraph_t, RetainedAccesses)> {
        stream::ensure_idle(api)?;
        relax()?;
        let recorder = Recorder::new(self.device(), self.priority()?);
        let hidden = HiddenStream::new(self.device(), recorder.priority())?;
        // SAFETY: its capture begins below.
        let stream = unsafe { hidden.into_branch(&recorder) }?;
        let mut open = OpenCapture::begin(api, stream.as_raw(), into)?;
        let active = recorder.activate();
        f(&Capture { stream, functions, recorder: &recorder })?;
        drop(active);
        let raw = match open.end() {
            Ok(raw) => raw,
            Err(error) => return Err(explained(error, &recorder)),
        };
        if raw.is_null() {
            return Err(Error::refused(api, Detail::CAPTURING));
        }
        Ok((raw, recorder.take_accesses()))
    }
}
