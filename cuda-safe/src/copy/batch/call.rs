//! The calls that a batch becomes.
#![expect(unsafe_code, reason = "hands the operands' pointers to the runtime")]

use super::CopyBatch;
use super::attributes::Order;
use super::lane::Copy;
use crate::copy::copies::Copies;
#[cfg(cudart_12_8)]
use crate::error::Error;
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
        let (mut is_first, mut late) = (true, Ok(()));
        self.at_once(stream, raw, |raw| {
            let mut first = sys::cudaSuccess;
            let mut taken = |code| {
                let was_first = std::mem::replace(&mut is_first, false);
                if code != sys::cudaSuccess {
                    // A refusal of the first call may be one of the stream, which takes the copies in another way then.
                    if was_first { first = code } else { late = Err(Error::from_code(Self::FUNCTION, code)) }
                }
                code == sys::cudaSuccess
            };
            self.lanes.iter().all(|(way, lane)| lane.hand_over(way, &self.lists, raw, &mut taken));
            first
        })?;
        late
    }

    /// On the legacy stream, copies whose source is to be read during the call are done as `cudaMemcpy`
    /// does them there: it returns when it has read pageable memory. Where managed memory is on either side, as a slice that a
    /// guard has lent may be, that is not promised, nor what the order is where both sides are the host's: the stream is waited for.
    fn one_by_one(&self, raw: sys::cudaStream_t, legacy: bool) -> Result<()> {
        let copies =
            self.lanes.iter().flat_map(|(_, lane)| lane.copies().enumerate().map(move |it| (lane, it)));
        for (lane, (at, Copy { destination, source, bytes })) in copies {
            if legacy && lane.order(at) == Order::DuringCall {
                self.settle(raw)?;
                // SAFETY: both are memory of so many bytes, borrowed by the batch; the source is read when the call
                // returns, and the owner of the destination waits for the copy before it frees.
                unsafe { check!(cudaMemcpy(destination, source, bytes, sys::cudaMemcpyDefault)) }?;
                self.settle(raw)?;
            } else {
                // SAFETY: both are memory of so many bytes that outlives the copy, and the stream is live. Addresses are of
                // one space, from which the runtime finds the direction.
                unsafe { check!(cudaMemcpyAsync(destination, source, bytes, sys::cudaMemcpyDefault, raw)) }?;
            }
        }
        Ok(())
    }

    fn any_during_call(&self) -> bool {
        self.lanes.iter().any(|(_, lane)| lane.any_during_call())
    }
}

impl CopyBatch<'_> {
    /// [`hand_over`](Copies::hand_over), compiled once: in a program's own code it would be spread over more lines of it.
    pub(super) fn call(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        self.hand_over(stream, raw)
    }

    /// Waits for a stream whose device is current, where that is needed around blocking copies.
    fn settle(&self, raw: sys::cudaStream_t) -> Result<()> {
        // SAFETY: the stream is live.
        if self.settles { unsafe { check!(cudaStreamSynchronize(raw)) } } else { Ok(()) }
    }
}
