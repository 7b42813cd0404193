//! Hazard tracking: what orders conflicting work where the program did not.
//!
//! Two operations conflict if they touch the same bytes and one of them writes. The tracker knows, for every
//! allocation, which stream last read or wrote which bytes, and for every stream what it is already ordered
//! after. When an operation conflicts with one that nothing orders it after, the missing wait is added
//! ([`Policy::Order`]) or the operation refused ([`Policy::Error`]); when the host asks for memory, it waits
//! for the work that still uses it. A program that orders its own work costs no extra CUDA call. Nothing here
//! blocks, but [`set_policy`] on the way back from `Off`.
//!
//! An added wait covers all that the other stream has been given so far. A program that wants exact overlap
//! records an event of its own after the producer, as in C++, and nothing is added. [`recent_waits`] tells
//! where waits were added and why.
//!
//! [`cuda_hazard`] is the tracker itself, without CUDA: its pages have the model and why it holds.
//! [`hazard_programs`](crate::soundness::hazard_programs) lists what programs could try, what becomes of
//! each, and the test that shows it.
#![expect(unsafe_code, reason = "declares a function that is unsafe to call")]

use crate::error::{Detail, Error, Result};
use crate::stream;

pub use cuda_hazard::{Access, AccessHistory, AddedWait, Mode, Policy};
pub(crate) use cuda_hazard::{GraphAccesses, RetainedAccesses, SortedAccesses};

/// The policy of the process.
#[must_use]
pub fn policy() -> Policy {
    stream::policy()
}

/// Changes the policy of the process, from the next operation on.
///
/// Before that, the environment variable `CUDA_SAFE_HAZARDS` (`order` or `error`) chooses. Coming from
/// `Policy::Off`, this waits for all devices, as what was done meanwhile is on no tracker.
///
/// # Errors
/// `Policy::Off`, which [`set_policy_off`] is for; a refusal inside a host function or an operation; coming
/// from `Off`, the failure of any work, the policy then being unchanged.
#[track_caller]
pub fn set_policy(policy: Policy) -> Result<()> {
    stream::set_policy(policy)
}

/// Switches the tracker off for the whole process, for measuring what it costs.
///
/// # Errors
/// A refusal inside a host function or an operation.
///
/// # Safety
/// Until [`set_policy`] has returned, the program itself orders every pair of conflicting operations, and
/// neither reaches nor frees memory from the host while the device uses it. Nor does it drop a texture, a
/// surface, an executable graph, or the last of a library, its kernels and its variables, or give a node
/// another host function, while the device may still use what that had.
#[track_caller]
pub unsafe fn set_policy_off() -> Result<()> {
    stream::set_policy_off()
}

/// How many waits the tracker has added so far, in the whole process. A program that orders its work itself
/// stays at 0.
#[must_use]
pub fn added_waits() -> u64 {
    stream::added_waits()
}

/// "Why did you wait here?": the last 256 waits that the tracker added, oldest first. Those that several
/// threads added at the same time may be in any order.
#[must_use]
pub fn recent_waits() -> Vec<AddedWait> {
    stream::recent_waits()
}

/// Counts a guard in that lends bytes of an allocation to the host. To be called before waiting for the work
/// on them. Guards stand against every access that no borrow stands for, whatever bytes they lend.
#[track_caller]
pub(crate) fn lend(history: &AccessHistory, mode: Mode) -> Result<()> {
    if history.add_host_guard(mode) {
        Ok(())
    } else {
        Err(Error::refused("host access", Detail::HostBorrowed))
    }
}
