//! The size of the system's pages: 4 KiB on x86-64, up to 64 KiB on ARM.
#![expect(unsafe_code, reason = "queries the system")]

use std::sync::LazyLock;

/// The bytes of a page.
pub(crate) fn page() -> u64 {
    static PAGE: LazyLock<u64> = LazyLock::new(|| {
        // SAFETY: it reads a number.
        u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
    });
    *PAGE
}
