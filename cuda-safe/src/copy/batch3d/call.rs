//! The calls that a batch becomes.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use super::super::batch::attributes::Order;
use super::super::call;
use super::super::copies::Copies;
#[cfg(cudart_12_8)]
use super::super::copies::is_capturing;
use super::super::direction::Direction;
#[cfg(cudart_12_8)]
use super::super::operand::{Operand, Side};
use super::super::transfer::must_settle;
use super::{CopyBatch3d, Entry};
#[cfg(cudart_12_8)]
use crate::device::Device;
#[cfg(cudart_12_8)]
use crate::error::Detail;
use crate::error::Result;
use crate::stream::StreamRef;
use crate::{check, sys};

impl Copies for CopyBatch3d<'_> {
    const API: &'static str = "CopyBatch3d::enqueue";
    #[cfg(cudart_12_8)]
    const FUNCTION: &'static str = "cudaMemcpy3DBatchAsync";

    /// One call for all copies but those of other devices' arrays, which have one each: about arrays, the batch's documentation
    /// does not speak of devices.
    #[cfg(cudart_12_8)]
    #[inline]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        if self.arrays {
            return self.together_or_alone(stream, raw);
        }
        self.scratch.with(|ops| {
            self.add_all(ops);
            self.call_with(ops, stream, raw)
        })
    }

    fn one_by_one(&self, raw: sys::cudaStream_t, legacy: bool) -> Result<()> {
        let copy =
            |entry: &Entry<'_>| if legacy { entry.on_the_legacy_stream(raw) } else { entry.copy(Some(raw)) };
        self.entries.iter().try_for_each(copy)
    }

    fn any_during_call(&self) -> bool {
        self.entries.iter().any(|entry| entry.attributes.order == Order::DuringCall)
    }
}

impl CopyBatch3d<'_> {
    /// [`hand_over`](Copies::hand_over), compiled once: in a program's own code it would be spread over more lines of it.
    pub(super) fn call(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        self.hand_over(stream, raw)
    }

    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn together_or_alone(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        let device = stream.device();
        let is_beyond = |entry: &Entry<'_>| entry.has_array_beyond(device);
        let beyond = self.entries.iter().any(is_beyond);
        // Before some of the copies are made and the others refused.
        if beyond && is_capturing(raw)? {
            return self.in_turn(raw, Detail::Capturing);
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
                self.add_all(ops);
            }
            if ops.is_empty() { Ok(()) } else { self.call_with(ops, stream, raw) }
        })
    }

    /// All copies, those that go one way together.
    #[cfg(cudart_12_8)]
    #[inline]
    fn add_all(&self, ops: &mut Vec<sys::cudaMemcpy3DBatchOp>) {
        for (_, some) in self.ops.iter() {
            ops.extend_from_slice(some);
        }
    }

    /// The call for these copies.
    #[cfg(cudart_12_8)]
    #[inline]
    fn call_with(
        &self,
        ops: &mut [sys::cudaMemcpy3DBatchOp],
        stream: StreamRef<'_>,
        raw: sys::cudaStream_t,
    ) -> Result<()> {
        self.at_once(stream, raw, move |raw| {
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
            code
        })
    }
}

impl Entry<'_> {
    pub(super) fn direction(&self) -> Direction {
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
