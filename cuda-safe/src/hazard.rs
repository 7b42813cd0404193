//! Hazard tracking: orders conflicting work that the program does not order.
//!
//! Two operations conflict if they access the same bytes and one of them writes. The tracker knows, for
//! every allocation, which stream last read or wrote which bytes, and for every stream, which epochs it
//! is ordered after. If nothing orders an operation after one that it conflicts with, the tracker adds
//! the missing wait ([`Policy::Order`]) or refuses the operation ([`Policy::Error`]). If the host
//! requests memory, it waits for the work that still uses it. A program that orders its own work costs
//! no extra CUDA call. Nothing here blocks, except [`set_policy`] if the policy was `Off`.
//!
//! An added wait covers everything submitted to the other stream so far. For exact overlap, a program
//! records an event of its own after the producer, as in C++, and then nothing is added.
//! [`recent_waits`] lists where waits were added and why.
//!
//! [`cuda_hazard`] is the tracker itself, without CUDA: its pages have the model and the proof.
//! [`hazard_programs`](crate::soundness::hazard_programs) lists programs that try to break it, their
//! results, and the tests that show them.
#![expect(unsafe_code, reason = "changes what the tracker may be relied on for")]

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::stream::{self, TRACKER};

pub use cuda_hazard::{Access, AccessHistory, AddedWait, Mode, Policy};
pub(crate) use cuda_hazard::{GraphAccesses, GraphHistories, RetainedAccesses, SortedAccesses};

/// Returns the policy of the process.
#[must_use]
pub fn policy() -> Policy {
    TRACKER.policy()
}

/// Sets the policy of the process, from the next operation on.
///
/// The environment variable `CUDA_SAFE_HAZARDS` (`order` or `error`) selects the initial policy. If the
/// policy was `Policy::Off`, this waits for all devices, because the tracker has not recorded the work
/// since.
///
/// # Errors
/// Refuses `Policy::Off`, which [`set_policy_off`] sets, and any call inside a host function or an
/// operation. If the policy was `Off`, returns the failure of any work; the policy is then unchanged.
#[track_caller]
pub fn set_policy(policy: Policy) -> Result<()> {
    stream::ensure_idle("hazard::set_policy")?;
    if policy == Policy::Off {
        return Err(Error::refused(
            "hazard::set_policy",
            Detail::unsupported("Policy::Off as a safe choice"),
        ));
    }
    // SAFETY: the policy is not `Off`. If it was `Off` before, all devices are waited for below.
    if unsafe { TRACKER.set_policy(policy) } != Some(Policy::Off) {
        return Ok(());
    }
    // The tracker did not record what was submitted under `Off`, so that must be complete.
    for device in TRACKER.devices() {
        if let Err(error) = stream::wait_device(Device::from_ordinal(device)) {
            // SAFETY: this restores the previous policy, which the program chose.
            unsafe { TRACKER.set_policy(Policy::Off) };
            return Err(error);
        }
    }
    Ok(())
}

/// Switches the tracker off for the whole process, to measure its cost.
///
/// # Errors
/// Refused inside a host function or an operation.
///
/// # Safety
/// Until [`set_policy`] has returned:
///
/// - The program itself orders every pair of conflicting operations.
/// - It neither accesses nor frees memory from the host while the device uses it.
/// - It does not drop a texture, a surface, an executable graph, or the last reference to a library, its
///   kernels and its variables, and does not give a node another host function, while the device may
///   still use them.
#[track_caller]
pub unsafe fn set_policy_off() -> Result<()> {
    stream::ensure_idle("hazard::set_policy_off")?;
    // SAFETY: the caller takes over the ordering of conflicting work.
    unsafe { TRACKER.set_policy(Policy::Off) };
    Ok(())
}

/// Returns the number of waits that the tracker has added in the process so far. It stays 0 in a program
/// that orders its work itself.
#[must_use]
pub fn added_waits() -> u64 {
    TRACKER.added_waits()
}

/// Returns the last 256 waits that the tracker added, oldest first, with the reason of each. Waits that
/// several threads added at the same time may be in any order.
#[must_use]
pub fn recent_waits() -> Vec<AddedWait> {
    TRACKER.recent_waits()
}

/// Registers a guard that lends bytes of an allocation to the host. Called before the wait for the work
/// on them. Guards exclude every access that no borrow stands for, regardless of the bytes that they
/// lend.
#[track_caller]
pub(crate) fn lend(history: &AccessHistory, mode: Mode) -> Result<()> {
    if history.add_host_guard(mode) {
        Ok(())
    } else {
        Err(Error::refused("host access", Detail::HOST_BORROWED))
    }
}
