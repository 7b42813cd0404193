//! Which streams managed memory belongs to.
#![expect(unsafe_code, reason = "hands a managed range to the runtime")]

use std::panic::Location;

use bytemuck::AnyBitPattern;

use cuda_hazard::Operation;

use super::ManagedBuffer;
use crate::check;
use crate::error::Result;
use crate::hazard::Mode;
use crate::stream::AsStream;
use crate::sys;

/// Which streams managed memory belongs to.
///
/// On devices that this crate has managed memory for, all of them with concurrent managed access, this is a hint and forbids nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attachment {
    /// To all streams of all devices.
    #[doc(alias = "cudaMemAttachGlobal")]
    Global,
    /// To none: the host uses it.
    #[doc(alias = "cudaMemAttachHost")]
    Host,
    /// To one stream.
    #[doc(alias = "cudaMemAttachSingle")]
    Single,
}

impl Attachment {
    /// As C has it.
    pub(super) fn to_raw(self) -> u32 {
        match self {
            Self::Global => sys::cudaMemAttachGlobal,
            Self::Host => sys::cudaMemAttachHost,
            Self::Single => sys::cudaMemAttachSingle,
        }
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Gives a stream the task of attaching the buffer: to itself, to the host, or to all streams.
    ///
    /// Stands for [`cudaStreamAttachMemAsync`](sys::cudaStreamAttachMemAsync). No elements, no call.
    ///
    /// # Ordering
    /// In the order of the stream, and after all work on the buffer that other streams were given before.
    ///
    /// # Errors
    /// What the runtime fails with.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Stream;
    /// use cuda_safe::memory::ManagedBuffer;
    /// use cuda_safe::memory::managed::Attachment;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let stream = Stream::non_blocking()?;
    /// let mut buffer = ManagedBuffer::from_slice(&[1.0, 2.0])?;
    /// buffer.attach_async(Attachment::Single, &stream)?; // only this stream's kernels use it now
    /// # buffer.attach_async(Attachment::Global, &stream)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaStreamAttachMemAsync")]
    #[track_caller]
    pub fn attach_async(&mut self, attachment: Attachment, stream: &impl AsStream) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let place = Location::caller();
        let access = [span.access(Mode::Write)];
        let pointer = span.pointer().cast();
        let call = |raw| {
            // SAFETY: the pointer is to a live managed allocation, all of which is meant by 0; the stream is live.
            unsafe { check!(cudaStreamAttachMemAsync(raw, pointer, 0, attachment.to_raw())) }
                .map_err(|error| error.at(place))
        };
        // SAFETY: the operation touches the buffer and nothing else, and is put on this stream.
        unsafe { stream.as_stream().submit(Operation::mark(&access), place, call) }
    }
}
