//! Architectures for which nvcc generates machine code and PTX.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// One target architecture, written as nvcc writes it: `sm_90` or `compute_75`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arch {
    /// Machine code for one generation (`sm_90`). A letter at the end selects features of that generation
    /// only.
    Machine(String),
    /// PTX for this generation and all newer ones (`compute_75`).
    Ptx(String),
}

impl FromStr for Arch {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let text = text.trim();
        let (number, make): (&str, fn(String) -> Self) = if let Some(number) = text.strip_prefix("sm_") {
            (number, Self::Machine)
        } else if let Some(number) = text.strip_prefix("compute_") {
            (number, Self::Ptx)
        } else {
            return Err(Error::Arch(text.to_owned()));
        };
        let digits = number.trim_end_matches(['a', 'f']);
        let plain = digits.len() >= 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain && number.len() - digits.len() <= 1 {
            Ok(make(number.to_owned()))
        } else {
            Err(Error::Arch(text.to_owned()))
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(number) => write!(f, "sm_{number}"),
            Self::Ptx(number) => write!(f, "compute_{number}"),
        }
    }
}

/// Returns the default architectures.
pub(crate) fn default_archs() -> Vec<Arch> {
    vec![Arch::Machine("90".to_owned()), Arch::Ptx("75".to_owned())]
}

/// Parses a list such as `sm_80,sm_90,compute_80`.
pub(crate) fn parse_list(text: &str) -> Result<Vec<Arch>, Error> {
    text.split([',', ';', ' ']).filter(|item| !item.trim().is_empty()).map(str::parse).collect()
}

/// Adds PTX of the oldest generation in the list if the list has machine code only.
pub(crate) fn with_ptx(mut archs: Vec<Arch>) -> Vec<Arch> {
    if archs.is_empty() {
        return default_archs();
    }
    if !archs.iter().any(|arch| matches!(arch, Arch::Ptx(_))) {
        let oldest = archs
            .iter()
            .filter_map(|(Arch::Machine(number) | Arch::Ptx(number))| {
                number.trim_end_matches(['a', 'f']).parse::<u32>().ok()
            })
            .min();
        archs.extend(oldest.map(|number| Arch::Ptx(number.to_string())));
    }
    archs
}

/// Returns the nvcc flags for these architectures.
pub(crate) fn flags(archs: &[Arch]) -> Vec<String> {
    archs
        .iter()
        .map(|arch| {
            let (Arch::Machine(number) | Arch::Ptx(number)) = arch;
            format!("-gencode=arch=compute_{number},code={arch}")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_in_any_separation() {
        let archs = parse_list("sm_80, sm_90a;compute_75 ").unwrap();
        assert_eq!(archs, [Arch::Machine("80".into()), Arch::Machine("90a".into()), Arch::Ptx("75".into())]);
    }

    #[test]
    fn what_is_not_an_architecture_is_named_in_the_error() {
        for wrong in ["90", "sm90", "sm_", "sm_9x", "sm_90aa", "compute_", "lto_90"] {
            let error = wrong.parse::<Arch>().unwrap_err().to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn ptx_is_always_made() {
        let made = with_ptx(parse_list("sm_100,sm_80").unwrap());
        assert_eq!(made.last(), Some(&Arch::Ptx("80".into())));
        assert_eq!(with_ptx(made.clone()), made);
        assert_eq!(with_ptx(Vec::new()), default_archs());
    }

    #[test]
    fn flags_pair_machine_code_with_its_virtual_architecture() {
        let made = flags(&default_archs());
        assert_eq!(made, ["-gencode=arch=compute_90,code=sm_90", "-gencode=arch=compute_75,code=compute_75"]);
    }
}
