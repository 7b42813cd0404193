//! Hints about how a copy is made.

use crate::memory::MemoryLocation;
#[cfg(cudart_12_8)]
use crate::sys;

/// The largest copy in bytes that gains by running beside kernels. Larger copies within a device are
/// several times slower this way.
const SMALL: usize = 128 << 10;

/// Hints about how a copy is made. They affect its speed, not its effect.
///
/// Stands for `cudaMemcpyAttributes`. A source is read in the order of the stream unless the attributes are
/// made with [`read_in_any_order`](Self::read_in_any_order), or unless
/// [`copy_during_call`](super::CopyBatch::copy_during_call) adds the copy. Before CUDA 12.8, attributes have
/// no effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "cudaMemcpyAttributes")]
pub struct CopyAttributes {
    overlap: Overlap,
    source_hint: Option<MemoryLocation>,
    destination_hint: Option<MemoryLocation>,
    any_order: bool,
}

impl CopyAttributes {
    /// Makes attributes without hints.
    #[must_use]
    pub const fn new() -> Self {
        Self { overlap: Overlap::Never, source_hint: None, destination_hint: None, any_order: false }
    }

    /// Sets which copies leave the multiprocessors to kernels.
    #[must_use]
    pub const fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    /// Sets where the source is to be read. It affects managed memory, and pageable memory that the
    /// device can access.
    #[must_use]
    pub const fn source_hint(self, hint: MemoryLocation) -> Self {
        Self { source_hint: Some(hint), ..self }
    }

    /// Sets where the destination is to be written. It affects managed memory, and pageable memory that
    /// the device can access.
    #[must_use]
    pub const fn destination_hint(self, hint: MemoryLocation) -> Self {
        Self { destination_hint: Some(hint), ..self }
    }

    /// Has the source be read at any time from the call on, before earlier work of the stream has run
    /// (`cudaMemcpySrcAccessOrderAny`). Some machines copy faster this way.
    ///
    /// # Safety
    /// For each copy with these attributes: no work that was submitted to any stream before the copy, and is
    /// not complete when the copy is submitted, writes the source.
    #[must_use]
    pub const unsafe fn read_in_any_order(self) -> Self {
        Self { any_order: true, ..self }
    }

    /// Returns when a source is read.
    pub(super) fn order(self) -> ReadOrder {
        if self.any_order { ReadOrder::Any } else { ReadOrder::Stream }
    }

    /// Returns the attributes of one copy of `bytes` bytes.
    pub(in crate::copy) fn of_copy(self, bytes: usize, order: ReadOrder) -> SingleAttributes {
        let overlap = match self.overlap {
            Overlap::Never => false,
            Overlap::Small => bytes <= SMALL,
            Overlap::Always => true,
        };
        SingleAttributes {
            order,
            overlap,
            source_hint: self.source_hint,
            destination_hint: self.destination_hint,
        }
    }
}

/// Selects copies that leave the multiprocessors to kernels (`cudaMemcpyFlagPreferOverlapWithCompute`).
///
/// The runtime then uses a copy engine. Within a device, that is far slower than its default (on an
/// H200, 32 MiB at 87 instead of 1627 GiB/s), so the hint suits small copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// No copies: the runtime chooses what is fastest for the copy alone.
    #[default]
    Never,
    /// Copies of at most 128 KiB.
    Small,
    /// All copies.
    Always,
}

/// When a source is read (`cudaMemcpySrcAccessOrder`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::copy) enum ReadOrder {
    /// In the order of the stream.
    Stream,
    /// Before the call returns.
    DuringCall,
    /// At any time from the call on.
    Any,
}

/// The attributes of one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::copy) struct SingleAttributes {
    pub(in crate::copy) order: ReadOrder,
    overlap: bool,
    source_hint: Option<MemoryLocation>,
    destination_hint: Option<MemoryLocation>,
}

#[cfg(cudart_12_8)]
impl SingleAttributes {
    /// Returns C's attributes for copies of one row.
    pub(in crate::copy) fn to_raw(self) -> sys::cudaMemcpyAttributes {
        sys::cudaMemcpyAttributes {
            srcAccessOrder: self.raw_order(),
            srcLocHint: location(self.source_hint),
            dstLocHint: location(self.destination_hint),
            flags: self.flags(),
        }
    }

    /// Returns C's constant for the time when the source is read.
    fn raw_order(self) -> sys::cudaMemcpySrcAccessOrder {
        match self.order {
            ReadOrder::Stream => sys::cudaMemcpySrcAccessOrderStream,
            ReadOrder::DuringCall => sys::cudaMemcpySrcAccessOrderDuringApiCall,
            ReadOrder::Any => sys::cudaMemcpySrcAccessOrderAny,
        }
    }

    fn flags(self) -> u32 {
        if self.overlap { sys::cudaMemcpyFlagPreferOverlapWithCompute.0 } else { 0 }
    }

    /// Sets the attributes in a copy of layers. Sides get the hints if they are memory with addresses.
    pub(in crate::copy) fn enter(self, op: &mut sys::cudaMemcpy3DBatchOp) {
        op.srcAccessOrder = self.raw_order();
        op.flags = self.flags();
        for (side, hint) in [(&mut op.src, self.source_hint), (&mut op.dst, self.destination_hint)] {
            if side.type_ == sys::cudaMemcpyOperandTypePointer {
                side.op.ptr.locHint = location(hint);
            }
        }
    }
}

/// Returns C's location, or its value for no location.
#[cfg(cudart_12_8)]
fn location(hint: Option<MemoryLocation>) -> sys::cudaMemLocation {
    let none = || sys::cudaMemLocation { type_: sys::cudaMemLocationTypeInvalid, ..Default::default() };
    hint.map_or_else(none, MemoryLocation::to_raw)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;

    #[test]
    fn only_small_copies_overlap_where_that_is_asked_for() {
        let overlaps =
            |overlap, bytes| CopyAttributes::new().overlap(overlap).of_copy(bytes, ReadOrder::Stream).overlap;
        assert_eq!([1, SMALL, SMALL + 1].map(|bytes| overlaps(Overlap::Small, bytes)), [true, true, false]);
        assert!(!overlaps(Overlap::Never, 1) && overlaps(Overlap::Always, usize::MAX));
        assert_eq!(CopyAttributes::new(), CopyAttributes::default());
    }

    #[cfg(cudart_12_8)]
    #[test]
    fn attributes_become_the_ones_of_c() {
        let device = Device::from_ordinal(3);
        let attributes = CopyAttributes::new()
            .overlap(Overlap::Small)
            .source_hint(MemoryLocation::HostNuma(2))
            .destination_hint(MemoryLocation::Device(device));
        let raw = attributes.of_copy(1, ReadOrder::DuringCall).to_raw();
        assert_eq!(raw.srcAccessOrder, sys::cudaMemcpySrcAccessOrderDuringApiCall);
        assert_eq!(raw.flags, sys::cudaMemcpyFlagPreferOverlapWithCompute.0);
        assert_eq!(raw.srcLocHint.type_, sys::cudaMemLocationTypeHostNuma);
        assert_eq!(raw.dstLocHint.type_, sys::cudaMemLocationTypeDevice);
        #[cfg(not(cudart_13_3))]
        assert_eq!((raw.srcLocHint.id, raw.dstLocHint.id), (2, 3));
        let none = CopyAttributes::new().of_copy(1, ReadOrder::Any).to_raw();
        assert_eq!((none.srcAccessOrder, none.flags), (sys::cudaMemcpySrcAccessOrderAny, 0));
        assert_eq!(none.srcLocHint.type_, sys::cudaMemLocationTypeInvalid);
    }
}
