//! Advice about managed memory: how it will be used, and where it should be.
#![expect(unsafe_code, reason = "hands a managed range to the runtime")]

use bytemuck::AnyBitPattern;

use super::super::location::MemoryLocation;
use super::super::place::Managed;
use super::super::slice::Slice;
use super::ManagedBuffer;
use crate::check;
use crate::error::Result;
use crate::sys;

/// How managed memory will be used. Pages that a range only touches are advised too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Advice {
    /// Mostly read: each device that reads a page gets a copy of its own, and a write does away with the copies.
    #[doc(alias = "cudaMemAdviseSetReadMostly")]
    SetReadMostly,
    /// No longer mostly read.
    #[doc(alias = "cudaMemAdviseUnsetReadMostly")]
    UnsetReadMostly,
    /// Best kept here: pages stay, as long as they can be reached from where they are used.
    #[doc(alias = "cudaMemAdviseSetPreferredLocation")]
    SetPreferredLocation(MemoryLocation),
    /// Best kept wherever they are used.
    #[doc(alias = "cudaMemAdviseUnsetPreferredLocation")]
    UnsetPreferredLocation,
    /// Used from here: pages are mapped there, so that using them from there never faults.
    #[doc(alias = "cudaMemAdviseSetAccessedBy")]
    SetAccessedBy(MemoryLocation),
    /// No longer used from here.
    #[doc(alias = "cudaMemAdviseUnsetAccessedBy")]
    UnsetAccessedBy(MemoryLocation),
}

impl Advice {
    /// As C has it; advice without a place has the host's.
    fn to_raw(self) -> (sys::cudaMemoryAdvise, sys::cudaMemLocation) {
        let nowhere = MemoryLocation::Host;
        let (advice, place) = match self {
            Self::SetReadMostly => (sys::cudaMemAdviseSetReadMostly, nowhere),
            Self::UnsetReadMostly => (sys::cudaMemAdviseUnsetReadMostly, nowhere),
            Self::SetPreferredLocation(place) => (sys::cudaMemAdviseSetPreferredLocation, place),
            Self::UnsetPreferredLocation => (sys::cudaMemAdviseUnsetPreferredLocation, nowhere),
            Self::SetAccessedBy(place) => (sys::cudaMemAdviseSetAccessedBy, place),
            Self::UnsetAccessedBy(place) => (sys::cudaMemAdviseUnsetAccessedBy, place),
        };
        (advice, place.to_raw())
    }
}

impl<T: AnyBitPattern> Slice<'_, T, Managed> {
    /// Says how this part will be used. At once, whatever work is pending on it. No elements, no call.
    ///
    /// Stands for [`cudaMemAdvise`](sys::cudaMemAdvise).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a place that cannot be meant, such as a node where only devices can.
    #[doc(alias = "cudaMemAdvise")]
    #[doc(alias = "cudaMemAdvise_v2")]
    #[track_caller]
    pub fn advise(&self, advice: Advice) -> Result<()> {
        let span = self.span();
        if span.bytes() == 0 {
            return Ok(());
        }
        let (advice, place) = advice.to_raw();
        let _current = span.device().switch()?;
        let (pointer, bytes) = (span.pointer().cast_const().cast(), span.bytes());
        #[cfg(cudart_13_0)]
        // SAFETY: the range is borrowed managed memory; advice changes nothing but where its pages are.
        let advised = unsafe { check!(cudaMemAdvise(pointer, bytes, advice, place)) };
        #[cfg(not(cudart_13_0))]
        // SAFETY: as above.
        let advised = unsafe { check!(cudaMemAdvise_v2(pointer, bytes, advice, place)) };
        advised
    }
}

impl<T: AnyBitPattern> ManagedBuffer<T> {
    /// Says how the buffer will be used. At once, whatever work is pending on it. No elements, no call.
    ///
    /// Stands for [`cudaMemAdvise`](sys::cudaMemAdvise).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a place that cannot be meant, such as a node where only devices can.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::Device;
    /// use cuda_safe::memory::managed::Advice;
    /// use cuda_safe::memory::{ManagedBuffer, MemoryLocation};
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let table = ManagedBuffer::from_slice(&[1.0_f32; 1024])?;
    /// table.advise(Advice::SetReadMostly)?;
    /// table.slice(..512)?.advise(Advice::SetPreferredLocation(MemoryLocation::Device(Device::current()?)))?;
    /// assert!(table.range_attributes()?.read_mostly);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaMemAdvise")]
    #[doc(alias = "cudaMemAdvise_v2")]
    #[track_caller]
    pub fn advise(&self, advice: Advice) -> Result<()> {
        self.as_slice().advise(advice)
    }
}
