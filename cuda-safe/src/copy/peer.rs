//! Access between devices, enabled when it first helps.
//!
//! The first copy between two devices lets each reach the other's memory, where the hardware can: copies then
//! go over the link between the two and not through the host, which makes them about ten times faster. It is
//! asked for once for each pair of devices; later copies look at one flag. [`set_automatic_peer_access`]
//! switches that off for the process.
//!
//! Where it cannot be enabled, copies work all the same. Memory of pools is not concerned: it has permissions
//! of its own.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::device::Device;
use crate::error::{Result, quietly};
use crate::stream::in_callback;
#[cfg(doc)]
use crate::sys;

static AUTOMATIC: AtomicBool = AtomicBool::new(true);

/// For each pair of devices, whether it is decided: enabled, found impossible, or left to the program.
static DECIDED: OnceLock<Pairs> = OnceLock::new();

/// Whether the first copy between two devices enables access between them, which it does unless told
/// otherwise.
#[must_use]
pub fn automatic_peer_access() -> bool {
    AUTOMATIC.load(Ordering::Relaxed)
}

/// Says whether the first copy between two devices enables access between them, both ways, as by
/// [`Device::enable_peer_access`]. For the whole process, from the next copy on; what is enabled stays so.
///
/// Switch it off where a kernel that goes astray must not reach another device's memory, or to measure what
/// it brings.
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

/// Lets two devices reach each other, if that has not been decided yet.
#[cold]
#[inline(never)]
pub(super) fn ensure(a: Device, b: Device) {
    // A host function may not call CUDA; the copy itself is refused there.
    if !automatic_peer_access() || in_callback() {
        return;
    }
    if let Some(decided) = pair(a, b)
        && !decided.load(Ordering::Acquire)
    {
        // Whoever comes second at the same moment finds it enabled already, which is no error.
        for (device, peer) in [(a, b), (b, a)] {
            quietly(enable(device, peer));
        }
        decided.store(true, Ordering::Release);
    }
}

fn enable(device: Device, peer: Device) -> Result<()> {
    if device.can_access_peer(&peer)? { device.enable_peer_access(&peer) } else { Ok(()) }
}

/// The program has decided about two devices itself.
pub(crate) fn decided(a: Device, b: Device) {
    if let Some(decided) = pair(a, b) {
        decided.store(true, Ordering::Release);
    }
}

/// A device was reset, and what was enabled is no more.
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
    /// The flag of a pair, in either order.
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
