//! Peer access between devices, enabled when it first helps.
//!
//! The first copy between two devices enables access to each other's memory if the hardware can. Copies
//! then use the link between the two instead of host memory, which makes them about ten times faster.
//! Access is enabled once for each pair of devices; later copies check one flag.
//! [`set_automatic_peer_access`] disables this for the process.
//!
//! If access cannot be enabled, copies work all the same. Memory of pools is not affected, because it
//! has its own permissions.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::Device;
use crate::error::{Result, quietly};
use crate::stream::in_callback;
#[cfg(doc)]
use crate::sys;

static AUTOMATIC: AtomicBool = AtomicBool::new(true);

/// For each pair of devices, whether the decision is made: access is enabled, impossible, or left to the
/// program.
static DECIDED: OnceLock<Pairs> = OnceLock::new();

/// Whether the first copy between two devices enables access between them. On by default.
#[must_use]
pub fn automatic_peer_access() -> bool {
    AUTOMATIC.load(Ordering::Relaxed)
}

/// Sets whether the first copy between two devices enables access between them, in both directions, as
/// [`Device::enable_peer_access`] does. Applies to the whole process, from the next copy on. Access that
/// is enabled stays enabled.
///
/// Disable it if a faulty kernel must not reach another device's memory, or to measure its benefit.
///
/// # Examples
/// ```
/// use cuda_safe::copy::{automatic_peer_access, set_automatic_peer_access};
///
/// assert!(automatic_peer_access());
/// set_automatic_peer_access(false);
/// ```
#[doc(alias = "cudaDeviceEnablePeerAccess")]
pub fn set_automatic_peer_access(automatic: bool) {
    AUTOMATIC.store(automatic, Ordering::Relaxed);
}

/// Enables access between two devices, unless that is already decided.
#[cold]
#[inline(never)]
pub(super) fn ensure(a: Device, b: Device) {
    // A host function must not call CUDA. The copy itself is refused there.
    if !automatic_peer_access() || in_callback() {
        return;
    }
    if let Some(decided) = pair(a, b)
        && !decided.load(Ordering::Acquire)
    {
        // If two threads do this at once, the second one finds access enabled, which is no error.
        for (device, peer) in [(a, b), (b, a)] {
            quietly(enable(device, peer));
        }
        decided.store(true, Ordering::Release);
    }
}

fn enable(device: Device, peer: Device) -> Result<()> {
    if device.can_access_peer(&peer)? { device.enable_peer_access(&peer) } else { Ok(()) }
}

/// Records that the program itself has decided about two devices.
pub(crate) fn decided(a: Device, b: Device) {
    if let Some(decided) = pair(a, b) {
        decided.store(true, Ordering::Release);
    }
}

/// Forgets the decisions about a device that was reset, because the reset disables access.
pub(crate) fn forget(device: Device) {
    if let Some(pairs) = DECIDED.get() {
        for other in 0..pairs.count {
            if let Some(flag) = index(device).and_then(|device| pairs.flag(device, other)) {
                flag.store(false, Ordering::Release);
            }
        }
    }
}

/// Flags for pairs of devices.
struct Pairs {
    count: usize,
    flags: Box<[AtomicBool]>,
}

impl Pairs {
    /// Returns the flag of a pair, in either order.
    fn flag(&self, a: usize, b: usize) -> Option<&AtomicBool> {
        let (low, high) = if a <= b { (a, b) } else { (b, a) };
        self.flags.get(low * self.count + high).filter(|_| high < self.count)
    }
}

fn index(device: Device) -> Option<usize> {
    usize::try_from(device.ordinal()).ok()
}

fn pair(a: Device, b: Device) -> Option<&'static AtomicBool> {
    let pairs = match DECIDED.get() {
        Some(pairs) => pairs,
        None => {
            let count = usize::try_from(Device::count().ok()?).ok()?;
            let flags = std::iter::repeat_with(AtomicBool::default).take(count * count).collect();
            DECIDED.get_or_init(|| Pairs { count, flags })
        }
    };
    pairs.flag(index(a)?, index(b)?)
}
