//! Pages of Linux.
#![expect(unsafe_code, reason = "gives the system advice about pages")]

/// Requests large pages for memory that is still untouched. The system may ignore this.
pub(crate) fn advise_large_pages(start: *mut u8, len: usize) {
    /// The size of a large page, of the smallest if there are several sizes.
    const LARGE: usize = 2 << 20;
    let Some((start, len)) = inner(start, len, LARGE) else { return };
    // SAFETY: advice about pages within memory of the caller. It changes no contents.
    let _ = unsafe { libc::madvise(start.cast(), len, libc::MADV_HUGEPAGE) };
}

/// Makes the system provide all pages within `len` bytes now, instead of one by one at the first store.
/// Pages keep their contents. If the system cannot, the pages come one by one.
pub(crate) fn populate(start: *mut u8, len: usize) {
    // SAFETY: it reads a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let Some((start, len)) = inner(start, len, page) else { return };
    // SAFETY: advice about pages within memory that the caller may write. It changes no contents.
    let _ = unsafe { libc::madvise(start.cast(), len, libc::MADV_POPULATE_WRITE) };
}

/// Returns the whole pages within some bytes.
fn inner(start: *mut u8, len: usize, page: usize) -> Option<(*mut u8, usize)> {
    let skipped = start.addr().wrapping_neg() % page;
    let whole = len.checked_sub(skipped)? / page * page;
    (whole > 0).then(|| (start.wrapping_add(skipped), whole))
}

#[cfg(test)]
mod tests {
    use super::{advise_large_pages, inner, populate};

    #[test]
    fn only_whole_pages_are_advised() {
        let at = std::ptr::without_provenance_mut::<u8>;
        assert_eq!(inner(at(4096), 4096, 4096), Some((at(4096), 4096)));
        assert_eq!(inner(at(4095), 4097, 4096), Some((at(4096), 4096)));
        assert_eq!(inner(at(4097), 8190, 4096), None);
        assert_eq!(inner(at(1), 10_000, 4096), Some((at(4096), 4096)));
        assert_eq!(inner(at(1), 10, 4096), None);
        assert_eq!(inner(at(8192), 0, 4096), None);
    }

    #[test]
    fn populated_pages_keep_what_they_hold() {
        let mut bytes = vec![7_u8; 8 << 20];
        advise_large_pages(bytes.as_mut_ptr(), bytes.len());
        populate(bytes.as_mut_ptr(), bytes.len());
        assert!(bytes.iter().all(|&byte| byte == 7));
    }
}
