//! The tracker of this process, and the policy that it begins with.

use cuda_hazard::Tracker;

use crate::hazard::Policy;
use crate::sys;

/// The tracker of this process.
pub(crate) static TRACKER: Tracker = Tracker::new(initial);

/// The number that the runtime knows the legacy stream of the current device by, whatever the program was
/// compiled for.
pub(super) const LEGACY_NUMBER: usize = 1;

/// The same as a handle.
pub(super) const LEGACY: sys::cudaStream_t = std::ptr::without_provenance_mut(LEGACY_NUMBER);

/// The environment variable that chooses the policy: `order` or `error`.
const VARIABLE: &str = "CUDA_SAFE_HAZARDS";

/// The policy before anybody sets one.
fn initial() -> Policy {
    let Some(value) = std::env::var_os(VARIABLE) else { return Policy::Order };
    let named = value.to_str().and_then(Policy::named);
    named.unwrap_or_else(|| {
        eprintln!("cuda-safe: {VARIABLE}={} is not known; use order or error", value.to_string_lossy());
        Policy::Order
    })
}
