//! [`Stream::capture`]: makes a graph from the operations that a closure puts on a stream.
#![expect(unsafe_code, reason = "begins and ends captures of raw streams")]

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::panic::Location;

use cuda_hazard::Operation;

use super::graph::Graph;
use super::host::HostFunction;
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::Access;
use crate::memory::relax;
use crate::stream::{AsStream, Recorder, Stream, StreamRef, sealed};
use crate::{check, stream, sys};

/// The stream that [`Stream::capture`] passes to its closure. Its operations become nodes of the graph and
/// do not run.
#[derive(Debug)]
pub struct Capture<'c> {
    stream: StreamRef<'c>,
    functions: &'c RefCell<Vec<HostFunction>>,
}

impl Capture<'_> {
    /// Returns the device of the graph.
    #[must_use]
    pub fn device(&self) -> Device {
        self.stream.device()
    }

    /// Returns the raw handle of the captured stream. The crate does not see operations that raw calls add
    /// through it: their memory is neither tracked nor retained.
    #[must_use]
    pub fn as_raw(&self) -> sys::cudaStream_t {
        self.stream.as_raw()
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

    /// [`host_fn`](Self::host_fn) for a function with accesses.
    ///
    /// # Safety
    /// The function accesses no memory of this crate except the bytes in `accesses`.
    #[track_caller]
    pub(super) unsafe fn put_host(
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
            unsafe { check!(cudaLaunchHostFunc(raw, call, data)) }.map_err(|error| error.at(call_site))
        };
        // Retained before the node exists, even if the call fails. The list has no other user: no code of
        // the program runs while it is borrowed.
        match self.functions.try_borrow_mut() {
            Ok(mut functions) => functions.push(function),
            Err(_) => return Err(Error::refused(api, Detail::Nested)),
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

/// An active capture of a stream that has no other user.
struct OpenCapture {
    stream: ManuallyDrop<Stream>,
    ended: bool,
}

impl OpenCapture {
    #[track_caller]
    fn begin(stream: Stream) -> Result<Self> {
        let mode = sys::cudaStreamCaptureModeThreadLocal;
        stream.set_apart(true);
        // SAFETY: the stream is live, and no other code puts work on it.
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
        // SAFETY: the capture began on this thread. The pointer is to a live variable, which the call
        // fills.
        unsafe { check!(cudaStreamEndCapture(self.stream.as_raw(), &raw mut graph)) }?;
        Ok(graph)
    }

    /// Returns whether the stream can be used again.
    fn is_over(&self) -> bool {
        let mut status = sys::cudaStreamCaptureStatusActive;
        // SAFETY: the stream is live. The pointer is to a live variable, which the call fills.
        let code = unsafe { sys::cudaStreamIsCapturing(self.stream.as_raw(), &raw mut status) };
        code == sys::cudaSuccess && status == sys::cudaStreamCaptureStatusNone
    }
}

/// Ends the capture, also during a panic. A stream whose capture did not end is never used again.
impl Drop for OpenCapture {
    fn drop(&mut self) {
        if !self.ended
            && let Ok(graph) = self.end()
        {
            // SAFETY: the graph was just made and has no other owner.
            let _ = unsafe { sys::cudaGraphDestroy(graph) };
        }
        if self.is_over() {
            self.stream.set_apart(false);
            // SAFETY: the stream is not used afterwards, and only this function drops it.
            unsafe { ManuallyDrop::drop(&mut self.stream) };
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
    /// Stands for [`cudaStreamBeginCapture`](sys::cudaStreamBeginCapture), in thread-local mode, and
    /// [`cudaStreamEndCapture`](sys::cudaStreamEndCapture).
    ///
    /// # Errors
    /// Returns the error of `f`, or the runtime's error: `cudaErrorStreamCaptureInvalidated` if a call that
    /// is not permitted during a capture has invalidated it. Refused inside a host function.
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
        stream::ensure_idle("Stream::capture")?;
        relax()?;
        let device = self.device();
        let hidden = Stream::builder().device(device).non_blocking().priority(self.priority()?).build()?;
        // Declared before the capture, so that they drop after it and its graph.
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
        Graph::captured(raw, device, recorder.into_accesses(), functions.into_inner())
    }
}
