//! Hazard tracking.
#![expect(unsafe_code, reason = "declares a function that is unsafe to call")]

pub(crate) mod books;
mod sync;

use std::ops::Range;

use crate::error::{Detail, Error, Result};
use crate::stream;

pub use books::{Access, AddedWait, Ledger, Mode, Policy};

/// The policy of the process.
#[must_use]
pub fn policy() -> Policy {
    stream::policy()
}

/// Changes the policy of the process, from the next operation on.
///
/// Before that, the environment variable `CUDA_SAFE_HAZARDS` (`order` or `error`) chooses. Coming from `Policy::Off`, this
/// waits for all devices, as what was done meanwhile is on no books.
///
/// # Errors
/// `Policy::Off`, which [`set_policy_off`] is for; a refusal inside a host function or an operation; coming from `Off`, the
/// failure of any work, the policy then being unchanged.
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
/// Until [`set_policy`] has returned, the program itself orders every pair of conflicting operations, and neither reaches
/// nor frees memory from the host while the device uses it.
#[track_caller]
pub unsafe fn set_policy_off() -> Result<()> {
    stream::set_policy_off()
}

/// How many waits the tracker has added so far, in the whole process. A program that orders its work itself stays at 0.
#[must_use]
pub fn added_waits() -> u64 {
    stream::added_waits()
}

/// "Why did you wait here?": the last waits that the tracker added, oldest first.
#[must_use]
pub fn recent_waits() -> Vec<AddedWait> {
    stream::recent_waits()
}

impl Ledger {
    /// Counts a guard in that lends bytes of the allocation to the host. To be called before waiting for the work on
    /// them. The range does not matter: guards stand against every access that no borrow stands for.
    #[track_caller]
    pub(crate) fn lend(&self, _range: Range<usize>, mode: Mode) -> Result<()> {
        if self.host_enters(mode) { Ok(()) } else { Err(Error::refused("host access", Detail::HostBorrowed)) }
    }

    /// Counts a guard out.
    pub(crate) fn give_back(&self, _range: Range<usize>, mode: Mode) {
        self.host_leaves(mode);
    }
}
