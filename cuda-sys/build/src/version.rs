//! Versions of the CUDA runtime: parses them from a header, and names their cfgs.

use std::fmt;
use std::path::Path;

use crate::{Error, Result};

/// A version of the runtime API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version {
    /// The major version: 13 in 13.2.
    pub major: u32,
    /// The minor version: 2 in 13.2.
    pub minor: u32,
}

/// The versions that have a cfg, oldest first. There is no 12.7.
pub const KNOWN_VERSIONS: [Version; 11] = [
    Version::new(12, 4),
    Version::new(12, 5),
    Version::new(12, 6),
    Version::new(12, 8),
    Version::new(12, 9),
    Version::new(13, 0),
    Version::new(13, 1),
    Version::new(13, 2),
    Version::new(13, 3),
    Version::new(13, 4),
    Version::new(13, 5),
];

impl Version {
    /// The oldest supported version.
    pub(crate) const OLDEST: Self = Self::new(12, 0);
    /// The newest version that has a cfg.
    pub(crate) const NEWEST_KNOWN: Self = KNOWN_VERSIONS[KNOWN_VERSIONS.len() - 1];

    /// Returns the version with these numbers.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Self {
        Self { major, minor }
    }

    /// Returns the version of a number in the format of `CUDART_VERSION`: 13020 is 13.2.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        Self::new(number / 1000, number % 1000 / 10)
    }

    /// Returns the number in the format of `CUDART_VERSION`: 13.2 is 13020.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.major * 1000 + self.minor * 10
    }

    /// Returns the name of the cfg that is set for this version and every newer one.
    #[must_use]
    pub fn cfg(self) -> String {
        format!("cudart_{}_{}", self.major, self.minor)
    }

    /// Parses the version in a `cuda_runtime_api.h`.
    pub(crate) fn of_header(header: &Path) -> Result<Self> {
        let bytes = std::fs::read(header).map_err(|error| Error::io("read", header, &error))?;
        let number = Self::define(&String::from_utf8_lossy(&bytes));
        number
            .map(Self::from_number)
            .ok_or_else(|| Error::new(format!("{} defines no CUDART_VERSION", header.display())))
    }

    fn define(text: &str) -> Option<u32> {
        text.lines().find_map(|line| {
            let mut words = line.trim_start().strip_prefix('#')?.split_whitespace();
            let found = words.next()? == "define" && words.next()? == "CUDART_VERSION";
            found.then(|| words.next()?.parse().ok()).flatten()
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_versions_are_the_same_thing() {
        assert_eq!(Version::from_number(13020), Version::new(13, 2));
        for known in KNOWN_VERSIONS {
            assert_eq!(Version::from_number(known.number()), known);
        }
        assert_eq!(Version::new(12, 9).cfg(), "cudart_12_9");
        assert_eq!(Version::new(12, 9).to_string(), "12.9");
    }

    #[test]
    fn known_versions_rise() {
        assert!(KNOWN_VERSIONS.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn the_define_is_found_among_others() {
        let text =
            "#define CUDART_VERSIONED 1\n// #define CUDART_VERSION 1\n # define  CUDART_VERSION   12040\n";
        assert_eq!(Version::define(text), Some(12040));
        assert_eq!(Version::define("#define CUDART_VERSION x"), None);
        assert_eq!(Version::define(""), None);
    }
}
