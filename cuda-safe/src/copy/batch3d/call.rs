//! The calls that a batch becomes.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use super::super::batch::attributes::Order;
use super::super::batch::call::is_capturing;
#[cfg(cudart_12_8)]
use super::super::batch::call::{behind_fills, refuses_captured};
use super::super::call;
#[cfg(cudart_12_8)]
use super::super::operand::{Operand, Side};
use super::super::transfer::{Direction, must_settle};
use super::{API, CopyBatch3d, Entry};
#[cfg(cudart_12_8)]
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::stream::StreamRef;
use crate::{check, sys};

impl CopyBatch3d<'_> {
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
            return self.entries.iter().try_for_each(|entry| entry.on_the_legacy_stream(raw));
        }
        if stream.is_capturing() || is_capturing(raw)? {
            self.refuse_during_call(Detail::Capturing)?;
        } else {
            self.refuse_during_call(Detail::Unsupported {
                what: "a source read during the call, before CUDA 12.8,",
            })?;
        }
        self.one_by_one(raw)
    }

    /// What becomes of a batch that the runtime has refused; as of a [`CopyBatch`](super::super::CopyBatch).
    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn refused(&self, code: sys::cudaError_t, raw: sys::cudaStream_t) -> Result<()> {
        if !refuses_captured(code, raw) {
            return Err(Error::from_code("cudaMemcpy3DBatchAsync", code));
        }
        self.refuse_during_call(Detail::Capturing)?;
        self.one_by_one(raw)
    }

    /// Refuses copies whose source is to be read during the call.
    fn refuse_during_call(&self, detail: Detail) -> Result<()> {
        if self.entries.iter().any(|entry| entry.attributes.order == Order::DuringCall) {
            return Err(Error::refused(API, detail));
        }
        Ok(())
    }

    /// One call for all copies but those of other devices' arrays, which have one each: about arrays, the batch's documentation
    /// does not speak of devices.
    #[cfg(cudart_12_8)]
    #[inline]
    fn at_once(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        if self.arrays {
            return self.at_once_or_alone(stream, raw);
        }
        self.scratch.with(|ops| {
            ops.extend_from_slice(&self.ops);
            self.hand_over(ops, stream, raw)
        })
    }

    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn at_once_or_alone(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let device = stream.device();
        let is_beyond = |entry: &Entry<'_>| entry.has_array_beyond(device);
        let beyond = self.entries.iter().any(is_beyond);
        // Before some of the copies are made and the others refused.
        if beyond && is_capturing(raw)? {
            self.refuse_during_call(Detail::Capturing)?;
            return self.one_by_one(raw);
        }
        self.scratch.with(|ops| {
            if beyond {
                for entry in &self.entries {
                    if is_beyond(entry) {
                        entry.copy(Some(raw))?;
                    } else {
                        super::op::add(ops, entry);
                    }
                }
            } else {
                ops.extend_from_slice(&self.ops);
            }
            if ops.is_empty() { Ok(()) } else { self.hand_over(ops, stream, raw) }
        })
    }

    /// The call for these copies.
    #[cfg(cudart_12_8)]
    #[inline]
    fn hand_over(
        &self,
        ops: &mut [sys::cudaMemcpy3DBatchOp],
        stream: StreamRef<'_>,
        raw: sys::cudaStream_t,
    ) -> Result<()> {
        // Nothing says that the stream's device need not be current for this call, as it need not for others.
        let _current = stream.device().switch()?;
        behind_fills(stream, raw)?;
        #[cfg(cudart_13_0)]
        // SAFETY: the list has as many elements as is said; each says places and layouts of memory that outlives the copy, or
        // is read during the call; the stream is live.
        let code = unsafe { sys::cudaMemcpy3DBatchAsync(ops.len(), ops.as_mut_ptr(), 0, raw) };
        #[cfg(not(cudart_13_0))]
        let code = {
            // CUDA 12 says which copy is wrong.
            let mut failed = usize::MAX;
            // SAFETY: as above, and the index is a live variable, which the call may fill.
            unsafe { sys::cudaMemcpy3DBatchAsync(ops.len(), ops.as_mut_ptr(), &raw mut failed, 0, raw) }
        };
        if code == sys::cudaSuccess { Ok(()) } else { self.refused(code, raw) }
    }

    /// A call for each copy.
    fn one_by_one(&self, raw: sys::cudaStream_t) -> Result<()> {
        self.entries.iter().try_for_each(|entry| entry.copy(Some(raw)))
    }
}

impl Entry<'_> {
    fn direction(&self) -> Direction {
        Direction::of(self.destination.side(), self.source.side())
    }

    /// Whether an array takes part, and memory of another device than this one.
    #[cfg(cudart_12_8)]
    pub(super) fn has_array_beyond(&self, device: Device) -> bool {
        let sides = [&self.destination, &self.source];
        let is_beyond = |side: &Operand<'_>| matches!(side.side(), Side::Device(of) if of != device);
        sides.iter().any(|side| side.array().is_some()) && sides.iter().any(|side| is_beyond(side))
    }

    /// The copy by a call of its own.
    pub(super) fn copy(&self, raw: Option<sys::cudaStream_t>) -> Result<()> {
        // SAFETY: both operands are memory of the shape that outlives the copy, or, with a call that blocks, is borrowed for
        // longer; they share no byte, the direction is theirs, and the stream is live.
        unsafe { call::copy(self.direction(), &self.destination, &self.source, self.shape, raw) }
    }

    /// The copy on the legacy stream. Where the source is to be read during the call it is done by the call that blocks, which
    /// returns when it has read pageable memory; where the runtime does not promise that, the stream is waited for.
    fn on_the_legacy_stream(&self, raw: sys::cudaStream_t) -> Result<()> {
        if self.attributes.order != Order::DuringCall {
            return self.copy(Some(raw));
        }
        let settles = must_settle(&self.destination, &self.source);
        let wait = || {
            // SAFETY: the stream is live, and its device current.
            unsafe { check!(cudaStreamSynchronize(raw)) }
        };
        // Within the host's memory the host copies, and nothing says that it waits for the stream first.
        if settles || self.direction() == Direction::HostToHost {
            wait()?;
        }
        self.copy(None)?;
        if settles { wait() } else { Ok(()) }
    }
}
