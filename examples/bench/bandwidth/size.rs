//! Sizes as people write them: `512MiB`, `64KiB`, `1000000`.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, ensure};

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) usize);

const UNITS: [(&str, usize); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

impl FromStr for Size {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let unit = UNITS.iter().find(|(name, _)| text.ends_with(name));
        let (number, unit) = match unit {
            Some((name, unit)) => (text.trim_end_matches(name), *unit),
            None => (text.trim_end_matches('B'), 1),
        };
        let number: usize =
            number.trim().parse().with_context(|| format!("{text} is no size such as 512MiB"))?;
        let bytes = number.checked_mul(unit).with_context(|| format!("{text} is too much"))?;
        ensure!(bytes > 0, "nothing to copy");
        Ok(Self(bytes))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, unit)| self.0.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{} {name}", self.0 / unit),
            None => write!(f, "{} B", self.0),
        }
    }
}
