//! Places: whose memory an access is to, and whether kernels of a device can access it.
//!
//! An operation receives accesses, which borrow an allocation's access history and do not name its owner. So
//! the access history has the allocation's place.

use super::pool;
use crate::device::Device;
use crate::device::peer_access;
use crate::error::Result;
use crate::hazard::Access;

/// The place of an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place(u32);

impl Place {
    /// Memory that kernels of all devices can access, or that no access policy is about.
    pub(super) const ANYWHERE: Self = Self(0);

    /// Memory of a device, of a pool or not.
    #[inline]
    pub(super) fn on(device: Device, is_pooled: bool) -> Self {
        Self(((device.as_raw().cast_unsigned() + 1) << 1) | u32::from(is_pooled))
    }

    /// Returns the number to store in the access history.
    #[inline]
    pub(super) fn number(self) -> u32 {
        self.0
    }

    /// Returns the place of the memory of an access.
    #[inline]
    fn of(access: &Access<'_>) -> Self {
        Self(access.history().place())
    }

    /// Returns the device, and whether the memory is of a pool, or `None` for memory that is anywhere.
    #[inline]
    fn device(self) -> Option<(Device, bool)> {
        let ordinal = (self.0 >> 1).checked_sub(1)?;
        Some((Device::from_ordinal(ordinal.cast_signed()), self.0 & 1 == 1))
    }
}

/// Refuses accesses to memory that kernels of a device cannot access. Enables peer access first, as for a
/// copy. All memory that is declared for a kernel comes here, whether an argument declares it or not.
#[inline]
#[track_caller]
pub(crate) fn ensure_accessible(device: Device, accesses: &[Access<'_>]) -> Result<()> {
    for access in accesses {
        if let Some((owner, is_pooled)) = Place::of(access).device()
            && owner != device
            && !access.range().is_empty()
        {
            if is_pooled {
                pool::ensure_accessible(device, owner)?;
            } else {
                peer_access::ensure_accessible(device, owner)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_its_device_and_whether_it_is_a_pools() {
        assert_eq!(Place::ANYWHERE.device(), None);
        for ordinal in [0, 1, 7, 63] {
            let device = Device::from_ordinal(ordinal);
            for is_pooled in [false, true] {
                assert_eq!(Place::on(device, is_pooled).device(), Some((device, is_pooled)));
            }
        }
    }
}
