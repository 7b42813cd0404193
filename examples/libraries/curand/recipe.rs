//! Random numbers of cuRAND.

use std::ptr;

use cuda_safe::{AsStream, DeviceBuffer, DeviceSliceMut};

use crate::raw::*;
use crate::shared::checked;

/// A generator. The byte stands for its state on the device, which belongs to cuRAND.
pub(crate) struct Generator(curandGenerator_t, DeviceBuffer<u8>);

impl Generator {
    pub(crate) fn new(seed: u64) -> anyhow::Result<Self> {
        let mut generator = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        let status = unsafe { curandCreateGenerator(&raw mut generator, CURAND_RNG_PSEUDO_PHILOX4_32_10) };
        checked("curandCreateGenerator", status)?;
        let generator = Self(generator, DeviceBuffer::alloc(1)?);
        // SAFETY: the generator is live.
        let status = unsafe { curandSetPseudoRandomGeneratorSeed(generator.0, seed) };
        checked("curandSetPseudoRandomGeneratorSeed", status)?;
        Ok(generator)
    }

    /// Fills memory with numbers above 0 and up to 1. Calls on two streams follow each other, because both
    /// write the state.
    pub(crate) fn uniform(
        &mut self,
        to: &mut DeviceSliceMut<'_, f32>,
        stream: &impl AsStream,
    ) -> anyhow::Result<()> {
        let (generator, len) = (self.0, to.len());
        let call = |raw, (to, _): (*mut f32, *mut u8)| {
            // SAFETY: the generator is live, and the exclusive borrow keeps other threads away.
            checked("curandSetStream", unsafe { curandSetStream(generator, raw) })?;
            // SAFETY: the same, and the memory has `len` numbers.
            checked("curandGenerateUniform", unsafe { curandGenerateUniform(generator, to, len) })
        };
        // SAFETY: the call writes `to` and the state, and uses this stream alone.
        unsafe { stream.as_stream().call((to, &mut self.1), call) }
    }
}

impl Drop for Generator {
    fn drop(&mut self) {
        // The state must not be freed under work that uses it.
        let _ = self.1.to_vec();
        // SAFETY: the generator is live, and nobody uses it any more.
        let _ = unsafe { curandDestroyGenerator(self.0) };
    }
}
