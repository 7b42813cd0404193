//! Wishes about how a copy is done.

use crate::memory::MemoryLocation;
#[cfg(cudart_12_8)]
use crate::sys;

/// The largest copy that gains by running beside kernels. Larger ones within a device are several times
/// slower so.
const SMALL: usize = 128 << 10;

/// Wishes about how a copy is done. They change how fast it is, and not what it does.
///
/// Stands for `cudaMemcpyAttributes`, without the order of the source, which is not a matter of taste: that
/// is which method of [`CopyBatch`](super::CopyBatch) or [`CopyBatch3d`](crate::copy::CopyBatch3d) adds the
/// copy. Before CUDA 12.8 nobody hears them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[doc(alias = "cudaMemcpyAttributes")]
pub struct CopyAttributes {
    overlap: Overlap,
    source_hint: Option<MemoryLocation>,
    destination_hint: Option<MemoryLocation>,
}

impl CopyAttributes {
    /// No wishes.
    #[must_use]
    pub const fn new() -> Self {
        Self { overlap: Overlap::Never, source_hint: None, destination_hint: None }
    }

    /// Which copies should leave the multiprocessors to kernels.
    #[must_use]
    pub const fn overlap(self, overlap: Overlap) -> Self {
        Self { overlap, ..self }
    }

    /// Where the source should be read: heard for managed memory, and for pageable memory that the device can
    /// reach.
    #[must_use]
    pub const fn source_hint(self, hint: MemoryLocation) -> Self {
        Self { source_hint: Some(hint), ..self }
    }

    /// Where the destination should be written: heard for managed memory, and for pageable memory that the
    /// device can reach.
    #[must_use]
    pub const fn destination_hint(self, hint: MemoryLocation) -> Self {
        Self { destination_hint: Some(hint), ..self }
    }

    /// What this comes to for a copy of so many bytes.
    pub(in crate::copy) fn of_copy(self, bytes: usize, order: ReadOrder) -> Attributes {
        let overlap = match self.overlap {
            Overlap::Never => false,
            Overlap::Small => bytes <= SMALL,
            Overlap::Always => true,
        };
        Attributes { order, overlap, source_hint: self.source_hint, destination_hint: self.destination_hint }
    }
}

/// Which copies should leave the multiprocessors to kernels (`cudaMemcpyFlagPreferOverlapWithCompute`).
///
/// The runtime then uses a copy engine. Within a device that is far slower than what it does otherwise (on an
/// H200, 32 MiB at 87 instead of 1627 GiB/s), so the wish is for small copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Overlap {
    /// None: the runtime does what is fastest for the copy alone.
    #[default]
    Never,
    /// Those of at most 128 KiB.
    Small,
    /// All.
    Always,
}

/// When a source is read.
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
pub(in crate::copy) struct Attributes {
    pub(in crate::copy) order: ReadOrder,
    overlap: bool,
    source_hint: Option<MemoryLocation>,
    destination_hint: Option<MemoryLocation>,
}

#[cfg(cudart_12_8)]
impl Attributes {
    /// As C has them for copies of one row.
    pub(in crate::copy) fn to_raw(self) -> sys::cudaMemcpyAttributes {
        sys::cudaMemcpyAttributes {
            srcAccessOrder: self.raw_order(),
            srcLocHint: location(self.source_hint),
            dstLocHint: location(self.destination_hint),
            flags: self.flags(),
        }
    }

    /// When the source is read, as C has it.
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

    /// Enters them in a copy of layers, whose sides have the hints where they are memory with addresses.
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

/// A place as C has it, or none.
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
