//! Peer access between devices, enabled when it first helps.
//!
//! The first copy between two devices enables access to each other's memory if the hardware can. Copies
//! then use the link between the two instead of host memory, which makes them about ten times faster.
//! Access is enabled once for each pair of devices; later copies check one flag. A launch with memory of
//! another device does the same, and is refused if its kernel could not access the memory.
//! [`set_automatic_peer_access`] disables this for the process.
//!
//! If access cannot be enabled, copies work all the same. Memory of pools is not affected, because it
//! has its own permissions.

#![expect(unsafe_code, reason = "asks the runtime whether a raw call has enabled access")]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Device;
use crate::error::{Detail, Error, Result, quietly, take_last};
use crate::thread_state::in_callback;
use crate::{check, sys};

static AUTOMATIC: AtomicBool = AtomicBool::new(true);

/// For each pair of devices, whether the decision is made (access is enabled, impossible, or left to the
/// program), and what is known to be enabled.
static PAIRS: OnceLock<Pairs> = OnceLock::new();

/// Whether the first copy between two devices, or launch with memory of another device, enables access
/// between them. On by default.
#[must_use]
pub fn automatic_peer_access() -> bool {
    AUTOMATIC.load(Ordering::Relaxed)
}

/// Sets whether the first copy between two devices, or launch with memory of another device, enables access
/// between them, in both directions, as [`Device::enable_peer_access`] does. Applies to the whole process,
/// from the next copy on. Access that is enabled stays enabled.
///
/// Disable it if a faulty kernel must not reach another device's memory, or to measure its benefit.
///
/// # Examples
/// ```
/// use cuda_safe::device::{automatic_peer_access, set_automatic_peer_access};
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
pub(crate) fn ensure(a: Device, b: Device) {
    // A host function must not call CUDA. The copy itself is refused there.
    if !automatic_peer_access() || in_callback() {
        return;
    }
    if let Some(decided) = flag(Fact::Decided, a, b)
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

/// Refuses memory of `owner` that a kernel of `device`, another one, cannot access. Enables access first, as
/// for a copy.
#[cold]
#[inline(never)]
#[track_caller]
pub(crate) fn ensure_accessible(device: Device, owner: Device) -> Result<()> {
    // A host function must not call CUDA. The launch itself is refused there.
    if in_callback() || is_so(Fact::Enabled, device, owner) {
        return Ok(());
    }
    ensure(device, owner);
    if is_so(Fact::Enabled, device, owner) || is_enabled_elsewhere(device, owner) {
        return Ok(());
    }
    let (found, needed) = (owner.ordinal(), device.ordinal());
    let detail = Detail::not_accessible(found, needed, "Device::enable_peer_access");
    Err(Error::refused("launch", detail))
}

/// Returns whether the program itself has enabled access, by a raw call. The runtime only reports that when
/// access is enabled again; access that this enables is disabled at once.
fn is_enabled_elsewhere(device: Device, owner: Device) -> bool {
    let enable = || -> Result<bool> {
        let _current = device.switch()?;
        // SAFETY: the call takes an ordinal, which the runtime checks, and flags, which must be 0.
        match unsafe { check!(cudaDeviceEnablePeerAccess(owner.as_raw(), 0)) } {
            Err(error) if error.code() == sys::cudaErrorPeerAccessAlreadyEnabled => {
                let _ = take_last();
                record(Fact::Enabled, device, owner, true);
                Ok(true)
            }
            enabled => {
                enabled?;
                // SAFETY: access was enabled just now, so no kernel uses it.
                unsafe { check!(cudaDeviceDisablePeerAccess(owner.as_raw())) }.map(|()| false)
            }
        }
    };
    quietly(enable()).unwrap_or(false)
}

/// What is known about two devices.
#[derive(Clone, Copy)]
pub(crate) enum Fact {
    /// Whether the decision about both is made, in either order.
    Decided,
    /// Whether this crate has enabled access of the first to the memory of the second.
    Enabled,
    /// The same for some pool of the second.
    Pool,
}

/// Returns whether this is known to be so.
pub(crate) fn is_so(fact: Fact, device: Device, owner: Device) -> bool {
    flag(fact, device, owner).is_some_and(|flag| flag.load(Ordering::Acquire))
}

/// Records whether it is so from now on.
pub(crate) fn record(fact: Fact, device: Device, owner: Device, is_so: bool) {
    if let Some(flag) = flag(fact, device, owner) {
        flag.store(is_so, Ordering::Release);
    }
}

/// Forgets what is known about a device that was reset, because the reset disables access.
pub(crate) fn forget(device: Device) {
    let Some(pairs) = PAIRS.get() else { return };
    for other in (0..pairs.count).filter_map(|other| i32::try_from(other).ok()).map(Device::from_ordinal) {
        for fact in [Fact::Decided, Fact::Enabled, Fact::Pool] {
            record(fact, device, other, false);
            record(fact, other, device, false);
        }
    }
}

/// The facts about all pairs of devices.
struct Pairs {
    count: usize,
    /// For each [`Fact`], a flag for each pair.
    flags: [Box<[AtomicBool]>; 3],
}

/// Returns the flag of a fact about two devices.
fn flag(fact: Fact, a: Device, b: Device) -> Option<&'static AtomicBool> {
    let pairs = match PAIRS.get() {
        Some(pairs) => pairs,
        None => {
            let count = Device::count().ok()?;
            let flags = || std::iter::repeat_with(AtomicBool::default).take(count * count).collect();
            PAIRS.get_or_init(|| Pairs { count, flags: [flags(), flags(), flags()] })
        }
    };
    let [a, b] = [a, b].map(|device| Some(device.ordinal()).filter(|at| *at < pairs.count));
    let (a, b) = if let Fact::Decided = fact { (a.min(b)?, a.max(b)?) } else { (a?, b?) };
    pairs.flags[fact as usize].get(a * pairs.count + b)
}
