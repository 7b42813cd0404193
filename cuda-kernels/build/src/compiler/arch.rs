//! Architectures for which nvcc generates machine code and PTX.

use std::fmt;
use std::path::Path;
use std::process::Command;
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

/// Parses a list such as `sm_80,native,compute_80`. `gpus` returns what `native` stands for.
pub(crate) fn parse_list(
    text: &str,
    gpus: impl Fn() -> Result<Vec<Arch>, String>,
) -> Result<Vec<Arch>, Error> {
    let mut archs: Vec<Arch> = Vec::new();
    for item in text.split([',', ';', ' ']).map(str::trim).filter(|item| !item.is_empty()) {
        let found = if item == "native" { gpus().map_err(Error::NoGpu)? } else { vec![item.parse()?] };
        for arch in found {
            if !archs.contains(&arch) {
                archs.push(arch);
            }
        }
    }
    Ok(archs)
}

/// Returns the machine code of the GPUs of this machine, or the reason why there is none.
pub(crate) fn of_gpus() -> Result<Vec<Arch>, String> {
    let said = said_by(Path::new("nvidia-smi"), &["--query-gpu=compute_cap", "--format=csv,noheader"])?;
    of_capabilities(&said)
}

/// Returns the machine code for a list of compute capabilities such as `9.0`, one a line.
fn of_capabilities(lines: &str) -> Result<Vec<Arch>, String> {
    let arch =
        |line: &str| format!("sm_{}", line.trim().replace('.', "")).parse().map_err(|_| line.to_owned());
    let archs: Vec<Arch> = lines
        .lines()
        .map(arch)
        .collect::<Result<_, _>>()
        .map_err(|line: String| format!("nvidia-smi printed `{line}`"))?;
    if archs.is_empty() { Err("nvidia-smi lists none".to_owned()) } else { Ok(archs) }
}

/// Adds the machine code of the GPUs of this machine, if any, that this nvcc can make.
pub(crate) fn add_gpus(archs: &mut Vec<Arch>, nvcc: &Path) {
    let Ok(gpus) = of_gpus() else { return };
    let mut known = None;
    for gpu in gpus {
        let known = known.get_or_insert_with(|| said_by(nvcc, &["--list-gpu-code"]).unwrap_or_default());
        if !archs.contains(&gpu) && known.lines().any(|line| line.trim() == gpu.to_string()) {
            archs.push(gpu);
        }
    }
}

/// Returns what a program prints, or why it fails.
fn said_by(program: &Path, arguments: &[&str]) -> Result<String, String> {
    let name = program.display();
    let output =
        Command::new(program).args(arguments).output().map_err(|error| format!("{name}: {error}"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(said);
    }
    Err(format!("{name}: {}", said.lines().next().unwrap_or("no answer")))
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

    fn none() -> Result<Vec<Arch>, String> {
        Err("nvidia-smi: not found".to_owned())
    }

    #[test]
    fn a_list_is_read_in_any_separation() {
        let archs = parse_list("sm_80, sm_90a;compute_75 ", none).unwrap();
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
    fn native_is_the_machine_code_of_the_gpus() {
        let spelled = |text| {
            let archs = with_ptx(parse_list(text, || of_capabilities("9.0\n9.0\n8.6\n")).unwrap());
            archs.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(spelled("native"), ["sm_90", "sm_86", "compute_86"]);
        assert_eq!(spelled("compute_75,native,sm_86"), ["compute_75", "sm_90", "sm_86"]);
    }

    #[test]
    fn native_without_a_gpu_is_an_error_with_the_reason_and_the_remedy() {
        let error = parse_list("native", none).unwrap_err().to_string();
        for part in ["`native`", "nvidia-smi: not found", "sm_90"] {
            assert!(error.contains(part), "{error}");
        }
        assert!(of_capabilities("").unwrap_err().contains("none"));
        assert!(of_capabilities("[N/A]\n").unwrap_err().contains("[N/A]"));
    }

    #[test]
    fn ptx_is_always_made() {
        let made = with_ptx(parse_list("sm_100,sm_80", none).unwrap());
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
