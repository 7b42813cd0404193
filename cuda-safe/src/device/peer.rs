//! Direct access of a device to another device's memory.
#![expect(unsafe_code, reason = "calls the runtime's peer access functions")]

use super::Device;
use super::peer_access::{self, Fact};
use crate::error::Result;
use crate::{check, sys};

/// A property of the link between two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
#[non_exhaustive]
pub enum PeerAttribute {
    /// The link's rank among the links of the machine; 0 is the fastest.
    PerformanceRank = sys::cudaDevP2PAttrPerformanceRank.0,
    /// 1 if direct access is supported.
    AccessSupported = sys::cudaDevP2PAttrAccessSupported.0,
    /// 1 if atomic operations over the link are native.
    NativeAtomicSupported = sys::cudaDevP2PAttrNativeAtomicSupported.0,
    /// 1 if arrays can be accessed over the link.
    ArrayAccessSupported = sys::cudaDevP2PAttrCudaArrayAccessSupported.0,
}

impl Device {
    /// Returns whether this device can access the memory of `peer` directly. A device is not its own peer.
    ///
    /// Stands for [`cudaDeviceCanAccessPeer`](sys::cudaDeviceCanAccessPeer).
    ///
    /// # Errors
    /// No error is known for devices that exist.
    #[doc(alias = "cudaDeviceCanAccessPeer")]
    #[track_caller]
    pub fn can_access_peer(self, peer: &Self) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills. The runtime checks the
        // ordinals.
        unsafe { check!(cudaDeviceCanAccessPeer(&raw mut can, self.as_raw(), peer.as_raw())) }?;
        Ok(can != 0)
    }

    /// Enables direct access of this device to the memory of `peer`. Kernels of this device may then use
    /// its pointers, and copies between the two no longer go through the host, which makes them about ten
    /// times faster over NVLink.
    ///
    /// Access is enabled in one direction only; call this on `peer` for the other. Enabling access twice is
    /// not an error. The first copy between the two devices, or launch with memory of the other one, enables
    /// access in both directions, unless that is disabled by
    /// [`set_automatic_peer_access`](crate::device::set_automatic_peer_access).
    ///
    /// Stands for [`cudaDeviceEnablePeerAccess`](sys::cudaDeviceEnablePeerAccess).
    ///
    /// # Errors
    /// - `cudaErrorPeerAccessUnsupported` if [`can_access_peer`](Self::can_access_peer) returns false.
    /// - `cudaErrorTooManyPeers` if the device has too many peers.
    /// - `cudaErrorInvalidDevice` if `peer` is the device itself.
    #[doc(alias = "cudaDeviceEnablePeerAccess")]
    #[track_caller]
    pub fn enable_peer_access(self, peer: &Self) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes an ordinal, which the runtime checks, and flags, which must be 0.
        let enabled = unsafe { check!(cudaDeviceEnablePeerAccess(peer.as_raw(), 0)) };
        match enabled {
            Err(error) if error.code() == sys::cudaErrorPeerAccessAlreadyEnabled => {
                // SAFETY: the call takes no arguments and only clears the thread's last error, which is
                // this code.
                let _ = unsafe { sys::cudaGetLastError() };
            }
            other => other?,
        }
        peer_access::record(Fact::Enabled, self, *peer, true);
        Ok(())
    }

    /// Disables the access that [`enable_peer_access`](Self::enable_peer_access) or a copy enabled. Later
    /// copies go through the host and do not enable it again.
    ///
    /// Stands for [`cudaDeviceDisablePeerAccess`](sys::cudaDeviceDisablePeerAccess).
    ///
    /// # Errors
    /// Returns `cudaErrorPeerAccessNotEnabled` if the access was not enabled.
    ///
    /// # Safety
    /// - No kernel of this device that uses memory of `peer` is running.
    /// - No such kernel is launched afterwards.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (device, peer) = (Device::new(0)?, Device::new(1)?);
    /// device.enable_peer_access(&peer)?;
    /// device.synchronize()?;
    /// // SAFETY: no kernel that uses the peer's memory is running, and none is launched below.
    /// unsafe { device.disable_peer_access(&peer) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceDisablePeerAccess")]
    #[track_caller]
    pub unsafe fn disable_peer_access(self, peer: &Self) -> Result<()> {
        peer_access::record(Fact::Decided, self, *peer, true);
        peer_access::record(Fact::Enabled, self, *peer, false);
        let _current = self.switch()?;
        // SAFETY: the runtime checks the ordinal. The caller guarantees that no kernel uses the peer's
        // memory.
        unsafe { check!(cudaDeviceDisablePeerAccess(peer.as_raw())) }
    }

    /// Returns a property of the link from this device to `peer`.
    ///
    /// Stands for [`cudaDeviceGetP2PAttribute`](sys::cudaDeviceGetP2PAttribute).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidDevice` if `peer` is the device itself.
    #[doc(alias = "cudaDeviceGetP2PAttribute")]
    #[track_caller]
    pub fn peer_attribute(self, peer: &Self, attribute: PeerAttribute) -> Result<i32> {
        let mut value = 0;
        let attribute = sys::cudaDeviceP2PAttr(attribute as u32);
        // SAFETY: the pointer is to a live local integer, which the call fills. The runtime checks the
        // ordinals.
        unsafe {
            check!(cudaDeviceGetP2PAttribute(&raw mut value, attribute, self.as_raw(), peer.as_raw()))
        }?;
        Ok(value)
    }
}
