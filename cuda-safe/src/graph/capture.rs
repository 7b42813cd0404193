//! [`Stream::capture`]: a graph of what a closure puts on a stream.
#![expect(unsafe_code, reason = "begins and ends captures of raw streams")]

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::Location;

use super::graph::Graph;
use super::host::HostFunction;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::memory::relax;
use crate::stream::{AsStream, Recorder, Stream, StreamRef, sealed};
use crate::{check, stream, sys};

/// The stream that [`Stream::capture`] lends to its closure: what it is given becomes part of the graph and does not run.
#[derive(Debug)]
pub struct Capture<'c> {
    stream: StreamRef<'c>,
    functions: &'c RefCell<Vec<HostFunction>>,
}

impl Capture<'_> {
    /// The device that the graph is for.
    #[must_use]
    pub fn device(&self) -> Device {
        self.stream.device()
    }

    /// The raw handle of the captured stream. What is put on it behind the crate's back, the graph does not know of.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaStream_t {
        self.stream.as_raw()
    }

    /// Has every launch of the graph call a function on the host, after what was captured before.
    ///
    /// The function belongs to the graph and may run several times, on any thread of the runtime; it may not call CUDA, nor wait for
    /// what does. A panic in it is reported by the next synchronisation of a stream of the device, or of the device. Stands for
    /// [`cudaLaunchHostFunc`](sys::cudaLaunchHostFunc) on a captured stream.
    ///
    /// # Errors
    /// What the runtime fails with; a refusal inside a host function.
    #[doc(alias = "cudaLaunchHostFunc")]
    #[doc(alias = "cudaUserObjectCreate")]
    #[doc(alias = "cudaUserObjectRelease")]
    #[doc(alias = "cudaGraphRetainUserObject")]
    #[track_caller]
    pub fn host_fn(&self, f: impl Fn() + Send + Sync + 'static) -> Result<()> {
        stream::ensure_idle("Capture::host_fn")?;
        let place = Location::caller();
        let function = HostFunction::new(self.device(), f)?;
        let (call, data) = function.parts();
        let launch = |raw| {
            // SAFETY: the stream is live, and captured: the function is called only by the graph, which owns it.
            unsafe { check!(cudaLaunchHostFunc(raw, call, data)) }.map_err(|error| error.at(place))
        };
        // Kept before there is a node, and whatever comes of that. Nobody else has the list: no code of the program's runs while it
        // is borrowed.
        match self.functions.try_borrow_mut() {
            Ok(mut functions) => functions.push(function),
            Err(_) => return Err(Error::refused("Capture::host_fn", Detail::Nested)),
        }
        // SAFETY: the function reaches no memory that streams use.
        unsafe { self.stream.enqueue_at(&[], place, launch) }
    }
}

impl sealed::Sealed for Capture<'_> {}

impl AsStream for Capture<'_> {
    fn as_stream(&self) -> StreamRef<'_> {
        self.stream
    }
}

/// A capture that has begun, on a stream that nobody else has.
struct OpenCapture {
    stream: ManuallyDrop<Stream>,
    ended: bool,
}

impl OpenCapture {
    #[track_caller]
    fn begin(stream: Stream) -> Result<Self> {
        let mode = sys::cudaStreamCaptureModeThreadLocal;
        stream.set_apart(true);
        // SAFETY: the stream is live, and nobody else puts anything on it.
        if let Err(error) = unsafe { check!(cudaStreamBeginCapture(stream.as_raw(), mode)) } {
            stream.set_apart(false);
            return Err(error);
        }
        Ok(Self { stream: ManuallyDrop::new(stream), ended: false })
    }

    #[track_caller]
    fn end(&mut self) -> Result<sys::cudaGraph_t> {
        self.ended = true;
        let mut graph = std::ptr::null_mut();
        // SAFETY: the capture of the stream was begun on this thread; the pointer is to a live variable, which the call fills.
        unsafe { check!(cudaStreamEndCapture(self.stream.as_raw(), &raw mut graph)) }?;
        Ok(graph)
    }

    /// Whether the stream can be given to somebody else.
    fn is_over(&self) -> bool {
        let mut status = sys::cudaStreamCaptureStatusActive;
        // SAFETY: the stream is live; the pointer is to a live variable, which the call fills.
        let code = unsafe { sys::cudaStreamIsCapturing(self.stream.as_raw(), &raw mut status) };
        code == sys::cudaSuccess && status == sys::cudaStreamCaptureStatusNone
    }
}

impl Drop for OpenCapture {
    /// Ends the capture, also when a panic passes through. A stream whose capture did not end is never used again.
    fn drop(&mut self) {
        if !self.ended
            && let Ok(graph) = self.end()
        {
            // SAFETY: the graph was just made and nobody else has it.
            let _ = unsafe { sys::cudaGraphDestroy(graph) };
        }
        if self.is_over() {
            self.stream.set_apart(false);
            // SAFETY: the stream is not used any more, and dropped only here.
            unsafe { ManuallyDrop::drop(&mut self.stream) };
        }
    }
}

impl Stream {
    /// Makes a graph of what `f` puts on the stream it is given, which does not run.
    ///
    /// The stream that `f` is given stands for this one: it has its device and priority. `self` is borrowed so that nothing is put on
    /// it by mistake. Memory is borrowed only for the call, as on any stream, and the graph holds on to it.
    ///
    /// Stands for [`cudaStreamBeginCapture`](sys::cudaStreamBeginCapture), in thread-local mode, and
    /// [`cudaStreamEndCapture`](sys::cudaStreamEndCapture).
    ///
    /// # Errors
    /// What `f` fails with. Otherwise what the runtime says: `cudaErrorStreamCaptureInvalidated` where a call that a capture does not
    /// permit has spoiled it. A refusal inside a host function.
    ///
    /// # Panics
    /// If `f` does, once the capture has ended.
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
        stream::ensure_idle("Stream::capture")?;
        relax()?;
        let device = self.device();
        let hidden = Stream::builder().device(device).non_blocking().priority(self.priority()?).build()?;
        // Dropped after the capture and its graph, in this order.
        let functions = RefCell::default();
        let recorder = Recorder::default();
        let mut open = OpenCapture::begin(hidden)?;
        let stream = StreamRef::captured(open.stream.as_stream(), &recorder);
        f(&Capture { stream, functions: &functions })?;
        let raw = open.end()?;
        drop(open);
        if raw.is_null() {
            return Err(Error::refused("Stream::capture", Detail::Capturing));
        }
        Graph::captured(raw, device, recorder.into_uses(), functions.into_inner())
    }
}
