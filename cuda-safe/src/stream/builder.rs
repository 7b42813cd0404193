//! How a stream is made: on which device, with which priority, in step with the legacy stream or not.
#![expect(unsafe_code, reason = "calls cudaStreamCreateWithPriority")]

use super::owned::Stream;
use super::{busy, deferred, pool};
use crate::device::Device;
use crate::error::Result;
use crate::{check, sys};
use cuda_hazard::Kind;

/// The flags of a stream that waits for the legacy stream.
const BLOCKING: u32 = 0;

/// What a stream is to be like. Made by [`Stream::builder`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is made before `build`"]
pub struct StreamBuilder {
    device: Option<Device>,
    kind: Kind,
    priority: i32,
}

impl StreamBuilder {
    /// A blocking stream of the current device with the default priority.
    pub(super) fn new() -> Self {
        Self { device: None, kind: Kind::Blocking, priority: 0 }
    }

    /// The stream's device. Without this, the current one.
    pub fn device(mut self, device: Device) -> Self {
        self.device = Some(device);
        self
    }

    /// The stream does not wait for the legacy stream, nor the legacy stream for it.
    #[doc(alias = "cudaStreamNonBlocking")]
    pub fn non_blocking(mut self) -> Self {
        self.kind = Kind::NonBlocking;
        self
    }

    /// The stream's priority: smaller numbers go first. Numbers outside
    /// [`Device::stream_priority_range`] are taken as its nearest end.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Makes the stream.
    ///
    /// Stands for [`cudaStreamCreateWithPriority`](sys::cudaStreamCreateWithPriority). A dropped stream of
    /// the same kind whose work is done is used again.
    ///
    /// # Errors
    /// Where the device cannot be made current or has no room for another stream; a refusal inside a host
    /// function.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Device, Stream};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let urgent = Device::current()?.stream_priority_range()?.greatest;
    /// let stream = Stream::builder().non_blocking().priority(urgent).build()?;
    /// assert_eq!((stream.priority()?, stream.is_blocking()), (urgent, false));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamCreate")]
    #[doc(alias = "cudaStreamCreateWithFlags")]
    #[doc(alias = "cudaStreamCreateWithPriority")]
    #[track_caller]
    pub fn build(self) -> Result<Stream> {
        busy::ensure_idle("StreamBuilder::build")?;
        deferred::run();
        let device = match self.device {
            Some(device) => device,
            None => Device::current()?,
        };
        if let Some((number, slot)) = pool::stream(device, self.kind, self.priority) {
            return Ok(Stream::of(pool::raw_stream(number), slot, self.priority));
        }
        let flags = if self.kind == Kind::NonBlocking { sys::cudaStreamNonBlocking } else { BLOCKING };
        let mut raw = std::ptr::null_mut();
        {
            let _current = device.switch()?;
            // SAFETY: the pointer is to a live variable of ours, which the call fills.
            unsafe { check!(cudaStreamCreateWithPriority(&raw mut raw, flags, self.priority)) }?;
        }
        let enrolled = pool::enrol(device, self.kind, raw);
        if enrolled.is_err() {
            // SAFETY: the stream was made above and nobody else has seen it.
            let _ = unsafe { sys::cudaStreamDestroy(raw) };
        }
        Ok(Stream::of(raw, enrolled?, self.priority))
    }
}
