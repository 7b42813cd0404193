//! The calls that a batch becomes.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use super::CopyBatch;
use super::attributes::Order;
use crate::error::{Detail, Error, Result};
use crate::stream::StreamRef;
use crate::{check, sys};

impl CopyBatch<'_> {
    /// Hands all copies to the runtime: in one call where it takes that, in a loop where it does not.
    ///
    /// To be called in the closure of an `enqueue` with all accesses of the batch.
    pub(super) fn call(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_12_8)]
        if !stream.is_legacy() && !stream.is_capturing() {
            return self.at_once(stream, raw);
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
        if stream.is_capturing() || is_capturing(raw)? {
            self.refuse_during_call(Detail::Capturing)?;
        } else {
            self.refuse_during_call(Detail::Unsupported {
                what: "a source read during the call, before CUDA 12.8,",
            })?;
        }
        self.one_by_one(raw, false)
    }

    /// What becomes of a batch that the runtime has refused: a capture of which this crate does not know, because raw calls have begun it, it
    /// refuses so, and lets it go on.
    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn refused(&self, code: sys::cudaError_t, raw: sys::cudaStream_t) -> Result<()> {
        if !refuses_captured(code, raw) {
            return Err(Error::from_code("cudaMemcpyBatchAsync", code));
        }
        self.refuse_during_call(Detail::Capturing)?;
        self.one_by_one(raw, false)
    }

    /// Refuses copies whose source is to be read during the call.
    fn refuse_during_call(&self, detail: Detail) -> Result<()> {
        if self.attributes.iter().any(|(_, attributes)| attributes.order == Order::DuringCall) {
            return Err(Error::refused("CopyBatch::enqueue", detail));
        }
        Ok(())
    }

    /// One call for all copies.
    #[cfg(cudart_12_8)]
    #[inline]
    fn at_once(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        // Nothing says that the stream's device need not be current for this call, as it need not for others.
        let _current = stream.device().switch()?;
        behind_fills(stream, raw)?;
        let code = match self.attributes.as_slice() {
            // As a rule all copies have the same. C may write its lists, so it gets copies of them.
            [(start, attributes)] => self.hand_over(&mut [*start], &mut [attributes.to_raw()], raw),
            _ => self.hand_over_many(raw),
        };
        if code == sys::cudaSuccess { Ok(()) } else { self.refused(code, raw) }
    }

    /// The call where the copies differ in their attributes.
    #[cfg(cudart_12_8)]
    #[inline(never)]
    fn hand_over_many(&self, raw: sys::cudaStream_t) -> sys::cudaError_t {
        self.starts.with(|starts| {
            starts.extend(self.attributes.iter().map(|(start, _)| *start));
            self.raw_attributes.with(|attributes| {
                attributes.extend(self.attributes.iter().map(|(_, attributes)| attributes.to_raw()));
                self.hand_over(starts, attributes, raw)
            })
        })
    }

    /// The call, with the attributes of the copies from these ones on.
    #[cfg(cudart_12_8)]
    #[inline]
    fn hand_over(
        &self,
        starts: &mut [usize],
        attributes: &mut [sys::cudaMemcpyAttributes],
        raw: sys::cudaStream_t,
    ) -> sys::cudaError_t {
        let count = self.sizes.len();
        #[cfg(cudart_13_0)]
        // SAFETY: the three lists have `count` elements, the next two as many as is said; each destination and source is
        // memory of its size that outlives the copy, or is read during the call; the stream is live.
        unsafe {
            sys::cudaMemcpyBatchAsync(
                self.destinations.as_ptr(),
                self.sources.as_ptr(),
                self.sizes.as_ptr(),
                count,
                attributes.as_mut_ptr(),
                starts.as_mut_ptr(),
                starts.len(),
                raw,
            )
        }
        #[cfg(not(cudart_13_0))]
        {
            // CUDA 12 declares what it only reads as if it wrote it, and says which copy is wrong.
            let mut destinations = self.destinations.clone();
            let mut sources: Vec<*mut std::ffi::c_void> =
                self.sources.iter().map(|source| source.cast_mut()).collect();
            let mut sizes = self.sizes.clone();
            let mut failed = usize::MAX;
            // SAFETY: as above, and the index is a live variable, which the call may fill.
            unsafe {
                sys::cudaMemcpyBatchAsync(
                    destinations.as_mut_ptr(),
                    sources.as_mut_ptr(),
                    sizes.as_mut_ptr(),
                    count,
                    attributes.as_mut_ptr(),
                    starts.as_mut_ptr(),
                    starts.len(),
                    &raw mut failed,
                    raw,
                )
            }
        }
    }

    /// A call for each copy. On the legacy stream, those whose source is to be read during the call are done as `cudaMemcpy`
    /// does them there: it returns when it has read pageable memory. Where managed memory is on either side, as a slice that a
    /// guard has lent may be, that is not promised, nor what the order is where both sides are the host's: the stream is waited for.
    fn one_by_one(&self, raw: sys::cudaStream_t, legacy: bool) -> Result<()> {
        let copies = self.destinations.iter().zip(&self.sources).zip(&self.sizes).enumerate();
        for (at, ((destination, source), bytes)) in copies {
            if legacy && self.order(at) == Order::DuringCall {
                self.settle(raw)?;
                // SAFETY: both are memory of so many bytes, borrowed by the batch; the source is read when the call
                // returns, and the owner of the destination waits for the copy before it frees.
                unsafe { check!(cudaMemcpy(*destination, *source, *bytes, sys::cudaMemcpyDefault)) }?;
                self.settle(raw)?;
            } else {
                // SAFETY: both are memory of so many bytes that outlives the copy, and the stream is live. Addresses are of
                // one space, from which the runtime finds the direction.
                unsafe {
                    check!(cudaMemcpyAsync(*destination, *source, *bytes, sys::cudaMemcpyDefault, raw))
                }?;
            }
        }
        Ok(())
    }

    /// Waits for a stream whose device is current, where that is needed around blocking copies.
    fn settle(&self, raw: sys::cudaStream_t) -> Result<()> {
        // SAFETY: the stream is live.
        if self.settles { unsafe { check!(cudaStreamSynchronize(raw)) } } else { Ok(()) }
    }

    /// The order of a copy's source.
    fn order(&self, copy: usize) -> Order {
        let next = self.attributes.partition_point(|(start, _)| *start <= copy);
        self.attributes.get(next.wrapping_sub(1)).map_or(Order::Stream, |(_, attributes)| attributes.order)
    }
}

/// Keeps a batch behind a fill of pinned memory that may be the last thing on the stream. To be called by what an `enqueue` calls.
///
/// On an H200 (driver 580) a batch reads pinned memory that `cudaMemset` fills with less than 2,048 bytes just before it without
/// waiting for that. Anything in between makes it wait, an event aside.
#[cfg(cudart_12_8)]
#[inline]
pub(in crate::copy) fn behind_fills(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    if stream.take_fill() { behind_fill(stream.copied(), raw) } else { Ok(()) }
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
pub(in crate::copy) fn refuses_captured(code: sys::cudaError_t, raw: sys::cudaStream_t) -> bool {
    let captured = code == sys::cudaErrorStreamCaptureUnsupported && is_capturing(raw) == Ok(true);
    if captured {
        // It is no error of the program's, which would find it by raw calls.
        // SAFETY: the call takes nothing.
        let _ = unsafe { sys::cudaGetLastError() };
    }
    captured
}

/// Whether what is given to a stream goes into a graph, also one that raw calls began to capture.
pub(in crate::copy) fn is_capturing(raw: sys::cudaStream_t) -> Result<bool> {
    let mut status = sys::cudaStreamCaptureStatusNone;
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    unsafe { check!(cudaStreamIsCapturing(raw, &raw mut status)) }?;
    Ok(status != sys::cudaStreamCaptureStatusNone)
}
