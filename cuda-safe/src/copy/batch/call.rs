//! The calls that a batch becomes.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use super::CopyBatch;
use super::attributes::Order;
use crate::copy::copies::Copies;
use crate::error::Result;
use crate::stream::StreamRef;
use crate::{check, sys};

impl Copies for CopyBatch<'_> {
    const API: &'static str = "CopyBatch::enqueue";
    #[cfg(cudart_12_8)]
    const FUNCTION: &'static str = "cudaMemcpyBatchAsync";

    #[cfg(cudart_12_8)]
    #[inline]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        self.at_once(stream, raw, |raw| match self.attributes.as_slice() {
            // As a rule all copies have the same. C may write its lists, so it gets copies of them.
            [(start, attributes)] => self.call_with(&mut [*start], &mut [attributes.to_raw()], raw),
            _ => self.call_with_many(raw),
        })
    }

    /// On the legacy stream, copies whose source is to be read during the call are done as `cudaMemcpy`
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

    fn any_during_call(&self) -> bool {
        self.attributes.iter().any(|(_, attributes)| attributes.order == Order::DuringCall)
    }
}

impl CopyBatch<'_> {
    /// [`hand_over`](Copies::hand_over), compiled once: in a program's own code it would be spread over more lines of it.
    pub(super) fn call(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        self.hand_over(stream, raw)
    }

    /// The call where the copies differ in their attributes.
    #[cfg(cudart_12_8)]
    #[inline(never)]
    fn call_with_many(&self, raw: sys::cudaStream_t) -> sys::cudaError_t {
        self.starts.with(|starts| {
            starts.extend(self.attributes.iter().map(|(start, _)| *start));
            self.raw_attributes.with(|attributes| {
                attributes.extend(self.attributes.iter().map(|(_, attributes)| attributes.to_raw()));
                self.call_with(starts, attributes, raw)
            })
        })
    }

    /// The call, with the attributes of the copies from these ones on.
    #[cfg(cudart_12_8)]
    #[inline]
    fn call_with(
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
