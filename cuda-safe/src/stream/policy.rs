//! The policy of the process: how it is chosen, and changing it.
#![expect(unsafe_code, reason = "changes what the tracker may be relied on for")]

use super::tracker::TRACKER;
use super::{busy, port};
use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::hazard::{AddedWait, Policy};

pub(crate) fn policy() -> Policy {
    TRACKER.policy()
}

#[track_caller]
pub(crate) fn set_policy(policy: Policy) -> Result<()> {
    busy::ensure_idle("hazard::set_policy")?;
    if policy == Policy::Off {
        return Err(Error::refused(
            "hazard::set_policy",
            Detail::Unsupported { what: "Policy::Off as a safe choice" },
        ));
    }
    // SAFETY: it is not `Off`; coming from that, all devices are waited for below.
    if unsafe { TRACKER.set_policy(policy) } != Some(Policy::Off) {
        return Ok(());
    }
    // What was done without tracker is on none: it has to be over.
    for device in TRACKER.devices() {
        if let Err(error) = port::wait_device(Device::from_ordinal(device)) {
            // SAFETY: as it was before, which was the program's choice.
            unsafe { TRACKER.set_policy(Policy::Off) };
            return Err(error);
        }
    }
    Ok(())
}

#[track_caller]
pub(crate) fn set_policy_off() -> Result<()> {
    busy::ensure_idle("hazard::set_policy_off")?;
    // SAFETY: `hazard::set_policy_off`, the only caller, asks for the same.
    unsafe { TRACKER.set_policy(Policy::Off) };
    Ok(())
}

pub(crate) fn added_waits() -> u64 {
    TRACKER.added_waits()
}

pub(crate) fn recent_waits() -> Vec<AddedWait> {
    TRACKER.recent_waits()
}
