//! A copy whose sides agree, and its direction, determined once for every verb.

use super::operand::{Dimensions, Operand};
use super::overlap::Area;
use crate::device::{Device, peer_access};
use crate::error::{Detail, Error, Result};
use crate::memory::memory_type::sealed::Tag;
use crate::memory::size;
use crate::sys;

/// A copy between two sides that have the same extent, have elements, and share no byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CheckedCopy<'a> {
    pub(super) to: Operand<'a>,
    pub(super) from: Operand<'a>,
    pub(super) direction: CopyDirection,
}

impl<'a> CheckedCopy<'a> {
    /// Checks a copy. Returns `None` if there are no elements. If this is the first copy between two
    /// devices, enables access between them.
    ///
    /// # Errors
    /// Refused if the lengths or extents differ, or if the sides share a byte.
    #[expect(clippy::inline_always, reason = "as `check`")]
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(api: &'static str, to: Operand<'a>, from: Operand<'a>) -> Result<Option<Self>> {
        let copy = Self::check(api, to, from)?;
        if let Some(Self { direction: CopyDirection::Peer { destination, source }, .. }) = copy {
            peer_access::ensure(destination, source);
        }
        Ok(copy)
    }

    /// [`new`](Self::new) without peer access, for a node of a graph.
    #[expect(
        clippy::inline_always,
        reason = "measured: checks that follow from the types of the two sides then cost nothing"
    )]
    #[inline(always)]
    #[track_caller]
    pub(crate) fn check(api: &'static str, to: Operand<'a>, from: Operand<'a>) -> Result<Option<Self>> {
        if !to.pairs_with(&from) {
            refuse_unlike(api, to, from)?;
        }
        if to.layout.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { to, from, direction: CopyDirection::new(to.memory, from.memory) }))
    }

    /// Returns the bytes of each side, without bytes between rows.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.to.layout.bytes()
    }

    /// Returns whether the copy is between two devices.
    pub(crate) fn is_between_devices(&self) -> bool {
        matches!(self.direction, CopyDirection::Peer { .. })
    }

    /// Returns whether a blocking verb must wait for the copy itself, because the runtime makes no
    /// promise: between host memory and managed memory, which may be anywhere. A slice may also be
    /// managed memory that a guard lends. Other copies of managed memory remain in the tracker.
    pub(super) fn settles(&self) -> bool {
        let host = self.to.is_host() || self.from.is_host();
        let managed = matches!(self.direction, CopyDirection::Managed(_)) && host;
        managed || self.to.may_be_lent_managed() || self.from.may_be_lent_managed()
    }

    /// Returns whether `cudaMemcpy` and its 2D and 3D forms return only when the copy is complete. From
    /// pageable memory they may return after reading the source, and between devices at once; both
    /// remain in the tracker.
    pub(super) fn waits(&self) -> bool {
        match self.direction {
            CopyDirection::DeviceToHost(_) => true,
            CopyDirection::HostToDevice(_) => self.from.is_host() && self.from.memory.is_some(),
            _ => false,
        }
    }
}

/// Refuses a copy whose sides differ in extent, or share a byte.
#[cold]
#[inline(never)]
#[track_caller]
fn refuse_unlike(api: &'static str, to: Operand<'_>, from: Operand<'_>) -> Result<()> {
    if let Dimensions::One = to.dimensions {
        size::same_length(api, to.len, from.len)?;
    } else if to.extent() != from.extent() {
        let (destination, source) = (to.extent(), from.extent());
        return Err(Error::refused(api, Detail::extent_mismatch(destination, source)));
    }
    // Host and devices share one address space, so this also finds bytes that two owners of the same
    // memory share.
    if to.layout.is_empty() || !Area::from_operand(&to).shares(&Area::from_operand(&from)) {
        return Ok(());
    }
    // Two owners of the same memory, and slices, can only be located by address.
    let (destination, source) = match (to.tracked(), from.tracked()) {
        (Some((one, to)), Some((other, from))) if std::ptr::eq(one, other) => (to.start, from.start),
        _ => (to.pointer.addr(), from.pointer.addr()),
    };
    Err(Error::refused(api, Detail::overlapping(destination, source, to.layout.bytes())))
}

/// The direction of a copy, in the runtime's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CopyDirection {
    HostToHost,
    HostToDevice(Device),
    DeviceToHost(Device),
    DeviceToDevice(Device),
    Peer {
        destination: Device,
        source: Device,
    },
    /// Between managed memory and any other: the runtime determines where the memory is. If no stream is
    /// named, the copy runs on this device's legacy stream.
    Managed(Device),
}

impl CopyDirection {
    #[inline]
    fn new(destination: Option<(Tag, Device)>, source: Option<(Tag, Device)>) -> Self {
        use Tag::{Device as OnDevice, Managed};
        match (destination, source) {
            (Some((OnDevice, to)), Some((OnDevice, from))) if to == from => Self::DeviceToDevice(to),
            (Some((OnDevice, destination)), Some((OnDevice, source))) => Self::Peer { destination, source },
            (Some((OnDevice, device)), Some((Managed, _)))
            | (Some((Managed, _)), Some((OnDevice, device))) => Self::Managed(device),
            (Some((Managed, device)), _) | (_, Some((Managed, device))) => Self::Managed(device),
            (Some((OnDevice, to)), _) => Self::HostToDevice(to),
            (_, Some((OnDevice, from))) => Self::DeviceToHost(from),
            _ => Self::HostToHost,
        }
    }

    /// Returns the device whose legacy stream runs a blocking copy, or `None` for a copy within host
    /// memory.
    pub(super) fn device(self) -> Option<Device> {
        match self {
            Self::HostToHost => None,
            Self::HostToDevice(device)
            | Self::DeviceToHost(device)
            | Self::DeviceToDevice(device)
            | Self::Managed(device)
            | Self::Peer { destination: device, .. } => Some(device),
        }
    }

    /// Returns C's constant. Calls between devices take the devices instead.
    #[inline]
    pub(super) fn kind(self) -> sys::cudaMemcpyKind {
        match self {
            Self::HostToHost => sys::cudaMemcpyHostToHost,
            Self::HostToDevice(_) => sys::cudaMemcpyHostToDevice,
            Self::DeviceToHost(_) => sys::cudaMemcpyDeviceToHost,
            Self::DeviceToDevice(_) | Self::Peer { .. } => sys::cudaMemcpyDeviceToDevice,
            Self::Managed(_) => sys::cudaMemcpyDefault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CheckedCopy, CopyDirection, Tag};
    use crate::copy::operand::{Destination, Operand, Planar, Source, Volumetric};
    use crate::device::Device;
    use crate::error::{Detail, Result};
    use crate::memory::{Plane, PlaneMut, Volume};

    #[test]
    fn the_direction_follows_from_where_the_operands_are() {
        let (zero, one) = (Device::from_ordinal(0), Device::from_ordinal(1));
        let of = CopyDirection::new;
        let (on_zero, on_one) = (Some((Tag::Device, zero)), Some((Tag::Device, one)));
        assert_eq!(of(on_zero, None), CopyDirection::HostToDevice(zero));
        assert_eq!(of(Some((Tag::Pinned, zero)), on_one), CopyDirection::DeviceToHost(one));
        assert_eq!(of(on_one, on_one), CopyDirection::DeviceToDevice(one));
        assert_eq!(of(on_one, on_zero), CopyDirection::Peer { destination: one, source: zero });
        assert_eq!(of(Some((Tag::Pinned, zero)), None), CopyDirection::HostToHost);
        assert_eq!(of(Some((Tag::Managed, zero)), on_one), CopyDirection::Managed(one));
        assert_eq!(of(on_one, Some((Tag::Managed, zero))), CopyDirection::Managed(one));
        assert_eq!(of(None, Some((Tag::Managed, one))), CopyDirection::Managed(one));
    }

    #[test]
    fn only_copies_that_the_header_promises_are_taken_as_complete() {
        let device = Device::from_ordinal(0);
        let bytes = [0_u8; 8];
        let between = |to, from| {
            let (mut a, mut b) = (Operand::from_slice(&bytes[..4]), Operand::from_slice(&bytes[4..]));
            (a.memory, b.memory) = (to, from);
            let copy = CheckedCopy::new("test", a, b).unwrap().unwrap();
            (copy.waits(), copy.settles())
        };
        let [on, managed, pinned] = [Tag::Device, Tag::Managed, Tag::Pinned].map(|tag| Some((tag, device)));
        assert_eq!(between(None, on), (true, false));
        assert_eq!(between(on, pinned), (true, false));
        assert_eq!(between(on, None), (false, false));
        assert_eq!(between(on, on), (false, false));
        assert_eq!(between(managed, None), (false, true));
        assert_eq!(between(pinned, managed), (false, true));
        assert_eq!(between(managed, on), (false, false));
    }

    /// The bytes a row, rows and layers of a copy, or `None` if there are no elements.
    fn shape(api: &'static str, to: Operand<'_>, from: Operand<'_>) -> Result<Option<[usize; 3]>> {
        Ok(CheckedCopy::new(api, to, from)?.map(|copy| copy.to.layout.extent()))
    }

    #[test]
    fn sides_of_different_lengths_are_refused_with_both() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 5]);
        let error = shape("memcpy", Operand::from_slice_mut(&mut a), Operand::from_slice(&b)).unwrap_err();
        assert_eq!(error.detail(), &Detail::length_mismatch(4, 5));
        assert_eq!(error.api(), "memcpy");
    }

    #[test]
    fn sides_of_one_length_share_as_many_bytes() {
        let (mut a, b) = ([0_u32; 4], [0_u32; 4]);
        let shape = shape("memcpy", Operand::from_slice_mut(&mut a), Operand::from_slice(&b)).unwrap();
        assert_eq!(shape.unwrap(), [16, 1, 1]);
    }

    #[test]
    fn memory_copied_onto_itself_is_refused() {
        let a = [0_u8; 8];
        let error =
            shape("memcpy", Operand::from_slice(&a[2..6]), Operand::from_slice(&a[4..8])).unwrap_err();
        let (destination, source) = (a[2..].as_ptr().addr(), a[4..].as_ptr().addr());
        assert_eq!(error.detail(), &Detail::overlapping(destination, source, 4));
        assert!(shape("memcpy", Operand::from_slice(&a[0..4]), Operand::from_slice(&a[4..8])).is_ok());
    }

    #[test]
    fn nothing_overlaps_nothing() {
        let a = [0_u8; 8];
        let shape = shape("memcpy", Operand::from_slice(&a[4..4]), Operand::from_slice(&a[4..4])).unwrap();
        assert_eq!(shape, None);
    }

    #[test]
    fn planes_of_different_extents_are_refused_though_they_have_as_many_elements() {
        let (mut a, b) = ([0_u16; 6], [0_u16; 6]);
        let (mut to, from) =
            (PlaneMut::from_slice(&mut a, 3, 2).unwrap(), Plane::from_slice(&b, 2, 3).unwrap());
        let to = Destination::<Planar>::operand_mut(&mut to).unwrap();
        let error = shape("memcpy_2d", to, Source::<Planar>::operand(&from).unwrap()).unwrap_err();
        let expected = Detail::extent_mismatch([3, 2, 1], [2, 3, 1]);
        assert_eq!(error.detail(), &expected);
    }

    #[test]
    fn columns_of_one_plane_that_lie_in_each_other_share_nothing() {
        let a = [0_u16; 12];
        let plane = Plane::from_slice(&a, 4, 3).unwrap();
        let columns = |range| plane.columns(range).unwrap();
        let shape = |a: Plane<'_, u16, _>, b: Plane<'_, u16, _>| {
            let side = Source::<Planar>::operand;
            shape("memcpy_2d", side(&a).unwrap(), side(&b).unwrap())
        };
        assert_eq!(shape(columns(0..2), columns(2..4)).unwrap(), Some([4, 3, 1]));
        let error = shape(columns(0..2), columns(1..3)).unwrap_err();
        assert!(error.detail().as_str().contains(" overlap: 12 bytes from byte "));
    }

    #[test]
    fn a_volume_has_layers() {
        let (a, b) = ([0_u16; 12], [0_u16; 12]);
        let (a, b) = (Volume::from_slice(&a, 3, 2, 2).unwrap(), Volume::from_slice(&b, 3, 2, 2).unwrap());
        let side = Source::<Volumetric>::operand;
        let shape = shape("memcpy_3d", side(&a).unwrap(), side(&b).unwrap()).unwrap().unwrap();
        assert_eq!(shape, [6, 2, 2]);
    }
}
