//! From where to where a copy goes.

use super::operand::Side;
use crate::device::Device;
use crate::sys;

/// From where to where, as the runtime has to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    HostToHost,
    HostToDevice(Device),
    DeviceToHost(Device),
    DeviceToDevice(Device),
    Peer {
        destination: Device,
        source: Device,
    },
    /// Between managed memory and any other: the runtime looks up where it is. On this device's legacy stream where no stream
    /// is named.
    Managed(Device),
}

impl Direction {
    #[inline]
    pub(super) fn of(destination: Side, source: Side) -> Self {
        match (destination, source) {
            (Side::Device(to), Side::Device(from)) if to == from => Self::DeviceToDevice(to),
            (Side::Device(destination), Side::Device(source)) => Self::Peer { destination, source },
            (Side::Device(device), Side::Managed(_)) | (Side::Managed(_), Side::Device(device)) => {
                Self::Managed(device)
            }
            (Side::Managed(device), _) | (_, Side::Managed(device)) => Self::Managed(device),
            (Side::Device(to), _) => Self::HostToDevice(to),
            (_, Side::Device(from)) => Self::DeviceToHost(from),
            _ => Self::HostToHost,
        }
    }

    /// Which of the ways it is that disturb each other in a batch.
    #[inline]
    pub(super) fn heading(self) -> Heading {
        match self {
            Self::HostToDevice(_) => Heading::Up,
            Self::DeviceToHost(_) => Heading::Down,
            _ => Heading::Other,
        }
    }

    /// C's constant; none where the call takes devices instead.
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

/// Which way copies go, as far as it matters for batches: those up and down take turns at the device's engines, and changing costs more
/// than a small copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heading {
    /// From the host to a device.
    Up,
    /// From a device to the host.
    Down,
    /// Within a device, between devices, from or to managed memory, within the host.
    Other,
}

/// One of something for each heading.
#[derive(Debug, Default)]
pub(super) struct ByHeading<T> {
    up: T,
    down: T,
    other: T,
}

impl<T> ByHeading<T> {
    #[inline]
    pub(super) fn of(&mut self, heading: Heading) -> &mut T {
        match heading {
            Heading::Up => &mut self.up,
            Heading::Down => &mut self.down,
            Heading::Other => &mut self.other,
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Heading, &T)> + Clone {
        [(Heading::Up, &self.up), (Heading::Down, &self.down), (Heading::Other, &self.other)].into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::{Direction, Side};
    use crate::device::Device;

    #[test]
    fn the_direction_follows_from_where_the_operands_are() {
        let (zero, one) = (Device::from_ordinal(0), Device::from_ordinal(1));
        let of = Direction::of;
        assert_eq!(of(Side::Device(zero), Side::Pageable), Direction::HostToDevice(zero));
        assert_eq!(of(Side::Pinned(zero), Side::Device(one)), Direction::DeviceToHost(one));
        assert_eq!(of(Side::Device(one), Side::Device(one)), Direction::DeviceToDevice(one));
        assert_eq!(
            of(Side::Device(one), Side::Device(zero)),
            Direction::Peer { destination: one, source: zero }
        );
        assert_eq!(of(Side::Pinned(zero), Side::Pageable), Direction::HostToHost);
        assert_eq!(of(Side::Managed(zero), Side::Device(one)), Direction::Managed(one));
        assert_eq!(of(Side::Device(one), Side::Managed(zero)), Direction::Managed(one));
        assert_eq!(of(Side::Pageable, Side::Managed(one)), Direction::Managed(one));
    }
}
