//! Copies that the runtime takes all at once, where it takes that, and one by one where it does not.
//!
//! What a batch is, [`CopyBatch`](super::CopyBatch) tells, and where there is none. Nothing here blocks but what has to on the legacy stream.
#![expect(unsafe_code, reason = "asks and tells the runtime what else a stream has to do")]

use crate::error::{Detail, Error, Result};
use crate::stream::StreamRef;
use crate::{check, sys};

/// Copies that are to be handed to the runtime together; or one, by a call that is refused where batches are.
pub(super) trait Copies {
    /// What the program called.
    const API: &'static str;

    /// The C function that takes all of them.
    #[cfg(cudart_12_8)]
    const FUNCTION: &'static str;

    /// One call for all copies, by [`at_once`](Self::at_once), on a stream that may well take that.
    #[cfg(cudart_12_8)]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()>;

    /// A call for each copy. On the `legacy` stream, one of a source that is to be read during the call returns when it has read it.
    fn one_by_one(&self, raw: sys::cudaStream_t, legacy: bool) -> Result<()>;

    /// Whether a source is to be read during the call.
    fn any_during_call(&self) -> bool {
        false
    }

    /// Hands all copies to the runtime: in one call where it takes that, in a loop where it does not.
    ///
    /// To be called in the closure of an `enqueue` with all accesses of the copies.
    #[inline]
    fn hand_over(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_12_8)]
        if !stream.is_legacy() && !stream.is_capturing() {
            return self.together(stream, raw);
        }
        self.otherwise(stream, raw)
    }

    /// Hands them over on a stream that takes no batches.
    #[cold]
    #[inline(never)]
    fn otherwise(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        if stream.is_legacy() {
            return self.one_by_one(raw, true);
        }
        let reason = if stream.is_capturing() || is_capturing(raw)? {
            Detail::Capturing
        } else {
            Detail::Unsupported { what: "a source read during the call, before CUDA 12.8," }
        };
        self.in_turn(raw, reason)
    }

    /// What the `call` comes to that is given all copies. The stream's device is current in it, for nothing says that it need not be, as it
    /// need not for others.
    #[cfg(cudart_12_8)]
    #[inline]
    fn at_once(
        &self,
        stream: StreamRef<'_>,
        raw: sys::cudaStream_t,
        call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
    ) -> Result<()> {
        let _current = stream.device().switch()?;
        behind_fills(stream, raw)?;
        let code = call(raw);
        if code == sys::cudaSuccess { Ok(()) } else { self.refused(code, raw) }
    }

    /// What becomes of copies that the runtime has refused: a capture of which this crate does not know, because raw calls have begun it, it
    /// refuses so, and lets it go on. To ask before the call would cost every call.
    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn refused(&self, code: sys::cudaError_t, raw: sys::cudaStream_t) -> Result<()> {
        if !refuses_captured(code, raw) {
            return Err(Error::from_code(Self::FUNCTION, code));
        }
        self.in_turn(raw, Detail::Capturing)
    }

    /// A call for each copy, elsewhere than on the legacy stream: for `reason`, no source can be read during the call.
    fn in_turn(&self, raw: sys::cudaStream_t, reason: Detail) -> Result<()> {
        if self.any_during_call() {
            return Err(Error::refused(Self::API, reason));
        }
        self.one_by_one(raw, false)
    }
}

/// Keeps a batch behind a fill of pinned memory that may be the last thing on the stream. To be called by what an `enqueue` calls.
///
/// On an H200 (driver 580) a batch reads pinned memory that `cudaMemset` fills with less than 2,048 bytes just before it without
/// waiting for that. Anything in between makes it wait, an event aside.
#[cfg(cudart_12_8)]
#[inline]
pub(super) fn behind_fills(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    if stream.take_fill() { behind_fill(stream, raw) } else { Ok(()) }
}

#[cfg(cudart_12_8)]
#[cold]
#[inline(never)]
fn behind_fill(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    /// Does nothing.
    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    let captured = is_capturing(raw);
    if captured != Ok(false) {
        // What goes into a graph does not follow the fill, but the next batch may.
        stream.note_fill();
        return captured.map(drop);
    }
    // SAFETY: the stream is live, and the function may be called at any time.
    let between = unsafe { check!(cudaLaunchHostFunc(raw, Some(nothing), std::ptr::null_mut())) };
    // The next batch still has to.
    between.inspect_err(|_| stream.note_fill())
}

/// Whether a batch was refused because its stream is captured. The runtime then has taken no copy, and lets the capture go on.
#[cfg(cudart_12_8)]
fn refuses_captured(code: sys::cudaError_t, raw: sys::cudaStream_t) -> bool {
    let captured = code == sys::cudaErrorStreamCaptureUnsupported && is_capturing(raw) == Ok(true);
    if captured {
        // It is no error of the program's, which would find it by raw calls.
        // SAFETY: the call takes nothing.
        let _ = unsafe { sys::cudaGetLastError() };
    }
    captured
}

/// Whether what is given to a stream goes into a graph, also one that raw calls began to capture.
pub(super) fn is_capturing(raw: sys::cudaStream_t) -> Result<bool> {
    let mut status = sys::cudaStreamCaptureStatusNone;
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    unsafe { check!(cudaStreamIsCapturing(raw, &raw mut status)) }?;
    Ok(status != sys::cudaStreamCaptureStatusNone)
}
