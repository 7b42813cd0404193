//! The attachment of managed memory to streams.
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

/// The streams that managed memory is attached to.
///
/// This is a hint that forbids nothing: the crate has managed memory only if all devices have concurrent
/// managed access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Attachment {
    /// All streams of all devices.
    #[doc(alias = "cudaMemAttachGlobal")]
    Global,
    /// No stream: the host uses it.
    #[doc(alias = "cudaMemAttachHost")]
    Host,
    /// One stream.
    #[doc(alias = "cudaMemAttachSingle")]
    Single,
}

impl Attachment {
    /// Returns C's number.
    pub(super) fn to_raw(self) -> u32 {
        match self {
            Self::Global => sys::cudaMemAttachGlobal,
            Self::Host => sys::cudaMemAttachHost,
            Self::Single => sys::cudaMemAttachSingle,
        }
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Attaches the buffer in stream order: to the stream, to the host, or to all streams.
    ///
    /// Stands for [`cudaStreamAttachMemAsync`](sys::cudaStreamAttachMemAsync). If the length is 0, does
    /// nothing.
    ///
    /// # Ordering
    /// Stream-ordered, and after all earlier work of other streams on the buffer.
    ///
    /// # Errors
    /// Returns the runtime's error.
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
        let call_site = Location::caller();
        let access = [span.access(Mode::Write)];
        let pointer = span.pointer().cast();
        let call = |raw| {
            // SAFETY: the pointer is to a live managed allocation, and the length 0 stands for all of it.
            // The stream is live.
            unsafe { check!(cudaStreamAttachMemAsync(raw, pointer, 0, attachment.to_raw())) }
                .map_err(|error| error.at(call_site))
        };
        // SAFETY: the operation is put on this stream. It uses the buffer and nothing else.
        unsafe { stream.as_stream().submit(Operation::mark(&access), call_site, call) }
    }
}
