//! The tracker of this process, and its initial policy.

use cuda_hazard::Tracker;

use crate::hazard::Policy;
use crate::sys;

/// The tracker of this process.
pub(crate) static TRACKER: Tracker = Tracker::new(initial);

/// The runtime's constant for the legacy stream of the current device, independent of how the program
/// was compiled.
pub(super) const LEGACY_NUMBER: usize = 1;

/// The legacy stream's constant as a handle.
pub(super) const LEGACY: sys::cudaStream_t = std::ptr::without_provenance_mut(LEGACY_NUMBER);

/// The environment variable that selects the policy: `order` or `error`.
const VARIABLE: &str = "CUDA_SAFE_HAZARDS";

/// Returns the policy that applies until the program sets one.
fn initial() -> Policy {
    let Some(value) = std::env::var_os(VARIABLE) else { return Policy::Order };
    let named = value.to_str().and_then(Policy::named);
    named.unwrap_or_else(|| {
        eprintln!("cuda-safe: {VARIABLE}={} is not known; use order or error", value.to_string_lossy());
        Policy::Order
    })
}
