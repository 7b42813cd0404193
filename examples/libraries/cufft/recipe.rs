//! Fourier transforms of cuFFT.

use cuda_safe::{AsStream, DeviceBuffer, DeviceSlice, DeviceSliceMut};

use crate::raw::*;
use crate::shared::checked;

pub(crate) struct Plan(cufftHandle, DeviceBuffer<u8>, usize);

impl Plan {
    /// Makes a plan for `n` complex numbers. The work area is this crate's memory, not cuFFT's.
    pub(crate) fn new(n: u16) -> anyhow::Result<Self> {
        let (mut plan, mut bytes) = (0, 0);
        // SAFETY: the pointer is to a live variable.
        checked("cufftCreate", unsafe { cufftCreate(&raw mut plan) })?;
        // SAFETY: the plan is live.
        checked("cufftSetAutoAllocation", unsafe { cufftSetAutoAllocation(plan, 0) })?;
        // SAFETY: the plan is live, and the pointer is to a live variable.
        let status = unsafe { cufftMakePlan1d(plan, n.into(), CUFFT_C2C, 1, &raw mut bytes) };
        checked("cufftMakePlan1d", status)?;
        Ok(Self(plan, DeviceBuffer::alloc(bytes.max(1))?, n.into()))
    }

    /// Transforms `from` into `to`. Transforms of two streams follow each other, because both write the work
    /// area.
    pub(crate) fn forward(
        &mut self,
        from: &DeviceSlice<'_, [f32; 2]>,
        to: &mut DeviceSliceMut<'_, [f32; 2]>,
        stream: &impl AsStream,
    ) -> anyhow::Result<()> {
        let Self(plan, area, n) = self;
        assert!(from.len() == *n && to.len() == *n, "the plan is for {n} numbers");
        let call = |raw, (from, to, area): (*const [f32; 2], *mut [f32; 2], *mut u8)| {
            // SAFETY: the plan is live, and the exclusive borrow keeps other threads away.
            checked("cufftSetStream", unsafe { cufftSetStream(*plan, raw) })?;
            // SAFETY: the area has the bytes that the plan asked for, and lives as long as its work.
            checked("cufftSetWorkArea", unsafe { cufftSetWorkArea(*plan, area.cast()) })?;
            let (from, to) = (from.cast_mut().cast(), to.cast());
            // SAFETY: both have the plan's numbers. A transform to another place leaves its input as it is.
            checked("cufftExecC2C", unsafe { cufftExecC2C(*plan, from, to, CUFFT_FORWARD) })
        };
        // SAFETY: the call reads `from`, writes `to` and the work area, and uses this stream alone.
        unsafe { stream.as_stream().call((from, to, area), call) }
    }
}

impl Drop for Plan {
    fn drop(&mut self) {
        // SAFETY: the plan is live, and nobody uses it any more. It has no device memory that work uses.
        let _ = unsafe { cufftDestroy(self.0) };
    }
}
