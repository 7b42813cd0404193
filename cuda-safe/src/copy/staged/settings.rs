//! What the program wants of the engine: on or off, from which size on, how many threads, how much pinned memory.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{NEVER, quick};

/// How large blocking copies between pageable memory and a device are made.
///
/// Whatever is left at `None` the crate chooses for the machine. The environment sets what the program starts with:
/// `CUDA_SAFE_STAGED` is `off`, `on`, or the `threshold` in bytes; `CUDA_SAFE_STAGED_PINNED` is `pinned` in bytes.
///
/// # Examples
/// ```
/// use cuda_safe::copy::staged::{self, Settings};
///
/// // At most four threads, the calling one included, and 16 MiB of pinned memory.
/// staged::configure(Settings { threads: Some(4), pinned: 16 << 20, ..Settings::default() });
/// // All copies by `cudaMemcpy` itself.
/// staged::configure(Settings { enabled: false, ..Settings::default() });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "written with `..Settings::default()`")]
pub struct Settings {
    /// Whether the engine is used at all. Without it every copy is one `cudaMemcpy`, straight to the program's memory.
    pub enabled: bool,
    /// The number of bytes from which on a copy is staged. `None`: where that is faster, and once a program has copied
    /// enough to make up for pinning memory; small ones down then go by way of one pinned slot of 1 MiB.
    pub threshold: Option<usize>,
    /// How many threads work on a copy, the calling one included. `None`: no more than the process may use processors.
    pub threads: Option<usize>,
    /// The most bytes that the device copies at a time, to or from one chunk of pinned memory. A copy has up to eight of those.
    pub chunk: Option<usize>,
    /// How many bytes of pinned memory the engine may hold, all devices together. Less than two chunks is none, and no copy is
    /// staged.
    pub pinned: usize,
}

impl Default for Settings {
    /// Everything chosen for the machine, and at most 64 MiB of pinned memory.
    fn default() -> Self {
        Self { enabled: true, threshold: None, threads: None, chunk: None, pinned: 64 << 20 }
    }
}

impl Settings {
    /// Notes from which size on copies are looked at. Called under the lock, so that the last settings are those noted.
    fn remember(&self) {
        let lowest = if self.enabled { self.threshold.unwrap_or(NEVER) } else { usize::MAX };
        LOWEST.store(lowest, Ordering::Relaxed);
        quick::remember(self);
    }

    /// What the environment says.
    fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let mut settings = Self::default();
        if let Some(value) = get(VARIABLE) {
            match value.parse() {
                Ok(bytes) => settings.threshold = Some(bytes),
                Err(_) if value.eq_ignore_ascii_case("off") => settings.enabled = false,
                Err(_) if value.eq_ignore_ascii_case("on") => {}
                Err(_) => {
                    eprintln!("cuda-safe: {VARIABLE}={value} is not known; use off, on, or a number of bytes")
                }
            }
        }
        if let Some(value) = get(PINNED) {
            match value.parse() {
                Ok(bytes) => settings.pinned = bytes,
                Err(_) => eprintln!("cuda-safe: {PINNED}={value} is not a number of bytes"),
            }
        }
        settings
    }
}

/// The environment variable that switches the engine off, or says from which size on it is used.
const VARIABLE: &str = "CUDA_SAFE_STAGED";

/// The environment variable that says how much pinned memory it may hold.
const PINNED: &str = "CUDA_SAFE_STAGED_PINNED";

/// The settings of the process, once anybody has asked.
fn current() -> &'static Mutex<Settings> {
    static CURRENT: OnceLock<Mutex<Settings>> = OnceLock::new();
    CURRENT.get_or_init(|| Mutex::new(Settings::from_environment(|name| std::env::var(name).ok())))
}

/// Copies of fewer bytes are not staged whatever else is the case; 0 until the settings were first asked for.
static LOWEST: AtomicUsize = AtomicUsize::new(0);

/// Whether a copy is too small to be staged, as far as that is known without the settings.
#[inline]
pub(crate) fn never(bytes: usize) -> bool {
    bytes < LOWEST.load(Ordering::Relaxed)
}

/// How large blocking copies are made now.
#[must_use]
pub fn settings() -> Settings {
    let current = current().lock().unwrap_or_else(PoisonError::into_inner);
    current.remember();
    *current
}

/// Changes how large blocking copies are made, from the next one on; those under way go on as they began.
///
/// Pinned memory beyond a lower bound is given back with [`release`](super::release).
pub fn configure(settings: Settings) {
    let mut current = current().lock().unwrap_or_else(PoisonError::into_inner);
    *current = settings;
    current.remember();
}

#[cfg(test)]
mod tests {
    use super::Settings;

    fn with(pairs: &[(&str, &str)]) -> Settings {
        Settings::from_environment(|name| {
            pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
        })
    }

    #[test]
    fn the_environment_switches_it_off_and_sets_sizes() {
        assert_eq!(with(&[]), Settings::default());
        assert!(!with(&[("CUDA_SAFE_STAGED", "OFF")]).enabled);
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "on")]), Settings::default());
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "65536")]).threshold, Some(65536));
        assert_eq!(with(&[("CUDA_SAFE_STAGED_PINNED", "1048576")]).pinned, 1 << 20);
    }

    #[test]
    fn what_the_environment_does_not_mean_changes_nothing() {
        assert_eq!(with(&[("CUDA_SAFE_STAGED", "perhaps")]), Settings::default());
        assert_eq!(with(&[("CUDA_SAFE_STAGED_PINNED", "-1")]), Settings::default());
    }
}
