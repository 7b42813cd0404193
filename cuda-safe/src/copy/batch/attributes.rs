//! Wishes about how a copy is done.

use crate::device::Device;
#[cfg(cudart_12_8)]
use crate::sys;

/// The largest copy that gains by running beside kernels. Larger ones within a device are several times slower so.
const SMALL: usize = 128 << 10;

/// Wishes about how a copy is done. They change how fast it is, and not what it does.
///
/// Stands for `cudaMemcpyAttributes`, without the order of the source, which is not a matter of taste: that is which method
/// of [`CopyBatch`](super::CopyBatch) adds the copy. Before CUDA 12.8 nobody hears them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CopyAttributes {
    overlap: Overlap,
    source_hint: Option<CopyHint>,
    destination_hint: Option<CopyHint>,
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

    /// Where the source should be read: heard for managed memory, and for pageable memory that the device can reach.
    #[must_use]
    pub const fn source_hint(self, hint: CopyHint) -> Self {
        Self { source_hint: Some(hint), ..self }
    }

    /// Where the destination should be written: heard for managed memory, and for pageable memory that the device can reach.
    #[must_use]
    pub const fn destination_hint(self, hint: CopyHint) -> Self {
        Self { destination_hint: Some(hint), ..self }
    }

    /// What this comes to for a copy of so many bytes.
    pub(super) fn of_copy(self, bytes: usize, order: Order) -> Attributes {
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
/// The runtime then uses a copy engine. Within a device that is far slower than what it does otherwise (on an H200, 32 MiB
/// at 87 instead of 1627 GiB/s), so the wish is for small copies.
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

/// A place to read or write managed memory at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CopyHint {
    /// A device.
    Device(Device),
    /// The host.
    Host,
    /// A NUMA node of the host.
    HostNuma(i32),
}

/// When a source is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// In the order of the stream.
    Stream,
    /// Before the call returns.
    DuringCall,
    /// At any time from the call on.
    Any,
}

/// The attributes of one copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Attributes {
    pub(super) order: Order,
    overlap: bool,
    source_hint: Option<CopyHint>,
    destination_hint: Option<CopyHint>,
}

#[cfg(cudart_12_8)]
impl Attributes {
    /// As C has them.
    pub(super) fn to_raw(self) -> sys::cudaMemcpyAttributes {
        sys::cudaMemcpyAttributes {
            srcAccessOrder: match self.order {
                Order::Stream => sys::cudaMemcpySrcAccessOrderStream,
                Order::DuringCall => sys::cudaMemcpySrcAccessOrderDuringApiCall,
                Order::Any => sys::cudaMemcpySrcAccessOrderAny,
            },
            srcLocHint: location(self.source_hint),
            dstLocHint: location(self.destination_hint),
            flags: if self.overlap { sys::cudaMemcpyFlagPreferOverlapWithCompute.0 } else { 0 },
        }
    }
}

/// A place as C has it.
#[cfg(cudart_12_8)]
fn location(hint: Option<CopyHint>) -> sys::cudaMemLocation {
    let (type_, id) = match hint {
        None => (sys::cudaMemLocationTypeInvalid, 0),
        Some(CopyHint::Device(device)) => (sys::cudaMemLocationTypeDevice, device.ordinal()),
        Some(CopyHint::Host) => (sys::cudaMemLocationTypeHost, 0),
        Some(CopyHint::HostNuma(node)) => (sys::cudaMemLocationTypeHostNuma, node),
    };
    let mut location = sys::cudaMemLocation { type_, ..Default::default() };
    // From 13.3 on the number is one of several things that it can be.
    #[cfg(not(cudart_13_3))]
    {
        location.id = id;
    }
    #[cfg(cudart_13_3)]
    {
        location.__bindgen_anon_1.id = id;
    }
    location
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_small_copies_overlap_where_that_is_asked_for() {
        let overlaps =
            |overlap, bytes| CopyAttributes::new().overlap(overlap).of_copy(bytes, Order::Stream).overlap;
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
            .source_hint(CopyHint::HostNuma(2))
            .destination_hint(CopyHint::Device(device));
        let raw = attributes.of_copy(1, Order::DuringCall).to_raw();
        assert_eq!(raw.srcAccessOrder, sys::cudaMemcpySrcAccessOrderDuringApiCall);
        assert_eq!(raw.flags, sys::cudaMemcpyFlagPreferOverlapWithCompute.0);
        assert_eq!(raw.srcLocHint.type_, sys::cudaMemLocationTypeHostNuma);
        assert_eq!(raw.dstLocHint.type_, sys::cudaMemLocationTypeDevice);
        #[cfg(not(cudart_13_3))]
        assert_eq!((raw.srcLocHint.id, raw.dstLocHint.id), (2, 3));
        let none = CopyAttributes::new().of_copy(1, Order::Any).to_raw();
        assert_eq!((none.srcAccessOrder, none.flags), (sys::cudaMemcpySrcAccessOrderAny, 0));
        assert_eq!(none.srcLocHint.type_, sys::cudaMemLocationTypeInvalid);
    }
}
