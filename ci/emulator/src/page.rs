//! The system's pages: their size, 4 KiB on x86-64 and up to 64 KiB on ARM, and what this process has mapped.
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

/// A range of addresses of this process.
#[derive(Debug)]
pub(crate) struct Mapping {
    pub(crate) low: u64,
    pub(crate) high: u64,
    pub(crate) writable: bool,
    /// The file, or `[heap]` and the like; may be empty.
    pub(crate) name: String,
}

/// What this process has mapped, in ascending order; `None` if the system does not say it.
pub(crate) fn mappings() -> Option<Vec<Mapping>> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let read = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (low, high) = words.next()?.split_once('-')?;
        let rights = words.next().filter(|rights| rights.starts_with('r'))?;
        let (low, high) = (u64::from_str_radix(low, 16).ok()?, u64::from_str_radix(high, 16).ok()?);
        Some(Mapping {
            low,
            high,
            writable: rights.starts_with("rw"),
            name: words.nth(3).unwrap_or("").to_owned(),
        })
    };
    Some(maps.lines().filter_map(read).collect())
}

/// Names the host's memory at an address that no call of CUDA has made or registered.
pub(crate) fn host_memory(address: u64) -> String {
    let found = mappings().map(|all| all.into_iter().find(|it| it.low <= address && address < it.high));
    match found {
        Some(None) => "an address without memory".to_owned(),
        Some(Some(it)) if it.name == "[stack]" => "pageable host memory (the stack)".to_owned(),
        Some(Some(it)) if it.name == "[heap]" => "pageable host memory (the heap)".to_owned(),
        Some(Some(it)) if it.name.starts_with('/') => format!("pageable host memory (of {})", it.name),
        _ => "pageable host memory".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_the_host_is_named_by_what_it_is_of() {
        static OF_THE_PROGRAM: [u8; 3] = [1, 2, 3];
        let of_program = host_memory(OF_THE_PROGRAM.as_ptr().addr() as u64);
        assert!(of_program.starts_with("pageable host memory (of /"), "{of_program}");
        let boxed = Box::new(1_u8);
        let heap = host_memory((&raw const *boxed).addr() as u64);
        assert!(heap.starts_with("pageable host memory"), "{heap}");
        assert_eq!(host_memory(16), "an address without memory");
    }
}
