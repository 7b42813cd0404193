//! Whether a device reaches another's memory directly, and switching that on and off.
#![expect(unsafe_code, reason = "calls the runtime's peer access functions")]

use super::Device;
use crate::error::Result;
use crate::{check, copy, sys};

/// What can be asked about the link between two devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PeerAttribute {
    /// How the link compares with others of the machine: 0 is the fastest.
    PerformanceRank,
    /// 1 where direct access works.
    AccessSupported,
    /// 1 where atomic operations over the link are native.
    NativeAtomicSupported,
    /// 1 where arrays can be reached over the link.
    ArrayAccessSupported,
}

impl PeerAttribute {
    /// C's constant.
    fn as_raw(self) -> sys::cudaDeviceP2PAttr {
        match self {
            Self::PerformanceRank => sys::cudaDevP2PAttrPerformanceRank,
            Self::AccessSupported => sys::cudaDevP2PAttrAccessSupported,
            Self::NativeAtomicSupported => sys::cudaDevP2PAttrNativeAtomicSupported,
            Self::ArrayAccessSupported => sys::cudaDevP2PAttrCudaArrayAccessSupported,
        }
    }
}

impl Device {
    /// Whether this device can reach the memory of `peer` directly. A device is not its own peer.
    ///
    /// Stands for [`cudaDeviceCanAccessPeer`](sys::cudaDeviceCanAccessPeer).
    ///
    /// # Errors
    /// None is known for devices that exist.
    #[doc(alias = "cudaDeviceCanAccessPeer")]
    #[track_caller]
    pub fn can_access_peer(self, peer: &Self) -> Result<bool> {
        let mut can = 0;
        // SAFETY: the pointer is to a live integer of ours, which the call fills; the runtime checks the ordinals.
        unsafe { check!(cudaDeviceCanAccessPeer(&raw mut can, self.ordinal(), peer.ordinal())) }?;
        Ok(can != 0)
    }

    /// Lets this device reach the memory of `peer` directly: kernels of this device may use its pointers, and copies
    /// between the two no longer go through the host, which makes them about ten times faster over NVLink.
    ///
    /// One way only; call it on `peer` too for the other. Enabling what is enabled already is no error. The first copy between
    /// the two does it both ways, unless
    /// [`set_automatic_peer_access`](crate::copy::set_automatic_peer_access) says otherwise.
    ///
    /// Stands for [`cudaDeviceEnablePeerAccess`](sys::cudaDeviceEnablePeerAccess).
    ///
    /// # Errors
    /// `cudaErrorPeerAccessUnsupported` where [`can_access_peer`](Self::can_access_peer) says no,
    /// `cudaErrorTooManyPeers`, `cudaErrorInvalidDevice` for the device itself.
    #[doc(alias = "cudaDeviceEnablePeerAccess")]
    #[track_caller]
    pub fn enable_peer_access(self, peer: &Self) -> Result<()> {
        let _current = self.switch()?;
        // SAFETY: the call takes an ordinal, which the runtime checks, and flags, which must be 0.
        let enabled = unsafe { check!(cudaDeviceEnablePeerAccess(peer.ordinal(), 0)) };
        match enabled {
            Err(error) if error.code() == sys::cudaErrorPeerAccessAlreadyEnabled => {
                // SAFETY: takes nothing; it only clears the thread's slot, where the call left this code.
                let _ = unsafe { sys::cudaGetLastError() };
                Ok(())
            }
            other => other,
        }
    }

    /// Ends what [`enable_peer_access`](Self::enable_peer_access), or a copy, began. Copies go on to work, through the host, and
    /// do not enable it again.
    ///
    /// Stands for [`cudaDeviceDisablePeerAccess`](sys::cudaDeviceDisablePeerAccess).
    ///
    /// # Errors
    /// `cudaErrorPeerAccessNotEnabled` where it was not enabled.
    ///
    /// # Safety
    /// No kernel of this device that uses memory of `peer` may be under way, or be launched afterwards.
    ///
    /// # Examples
    /// ```no_run
    /// use cuda_safe::Device;
    ///
    /// # fn main() -> cuda_safe::Result<()> {
    /// let (device, peer) = (Device::new(0)?, Device::new(1)?);
    /// device.enable_peer_access(&peer)?;
    /// device.synchronize()?;
    /// // SAFETY: no kernel that uses the peer's memory is under way, nor launched below.
    /// unsafe { device.disable_peer_access(&peer) }?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceDisablePeerAccess")]
    #[track_caller]
    pub unsafe fn disable_peer_access(self, peer: &Self) -> Result<()> {
        copy::peer::decided(self, *peer);
        let _current = self.switch()?;
        // SAFETY: the runtime checks the ordinal; the caller answers for kernels that use the peer's memory.
        unsafe { check!(cudaDeviceDisablePeerAccess(peer.ordinal())) }
    }

    /// What the link from this device to `peer` can do.
    ///
    /// Stands for [`cudaDeviceGetP2PAttribute`](sys::cudaDeviceGetP2PAttribute).
    ///
    /// # Errors
    /// `cudaErrorInvalidDevice` for the device itself.
    #[doc(alias = "cudaDeviceGetP2PAttribute")]
    #[track_caller]
    pub fn peer_attribute(self, peer: &Self, attribute: PeerAttribute) -> Result<i32> {
        let mut value = 0;
        let attribute = attribute.as_raw();
        // SAFETY: the pointer is to a live integer of ours, which the call fills; the runtime checks the ordinals.
        unsafe {
            check!(cudaDeviceGetP2PAttribute(&raw mut value, attribute, self.ordinal(), peer.ordinal()))
        }?;
        Ok(value)
    }
}
