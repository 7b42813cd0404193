//! The machine that cargo builds for.

use crate::{Env, Error, Result};

/// Checks that CUDA's library is there for the target of cargo's build: Linux on x86-64 or aarch64, or
/// Windows on x86-64.
///
/// # Errors
/// It is another one. Outside of a build script it is the machine that this was compiled for.
pub fn check_target(env: &Env) -> Result<()> {
    let part = |name, own: &str| {
        let value = env.cargo(name).map(|value| value.to_string_lossy().into_owned());
        value.unwrap_or_else(|_| own.to_owned())
    };
    let arch = part("CARGO_CFG_TARGET_ARCH", std::env::consts::ARCH);
    let system = part("CARGO_CFG_TARGET_OS", std::env::consts::OS);
    let width = part("CARGO_CFG_TARGET_POINTER_WIDTH", "64");
    let processors: &[&str] = match system.as_str() {
        "linux" => &["x86_64", "aarch64"],
        "windows" => &["x86_64"],
        _ => &[],
    };
    if processors.contains(&arch.as_str()) && width == "64" {
        return Ok(());
    }
    let target = part("TARGET", &format!("{arch}-{system}"));
    Err(Error::new(format!(
        "the supported targets are Linux on x86-64 and on aarch64, and Windows on x86-64, with pointers of \
         64 bits, and the target of this build is {target}: build for x86_64-unknown-linux-gnu, \
         aarch64-unknown-linux-gnu, x86_64-pc-windows-msvc or x86_64-pc-windows-gnu."
    )))
}

/// Returns whether cargo builds for Windows. There libcudart is only loaded, and no object of nvcc is linked.
#[must_use]
pub fn is_windows(env: &Env) -> bool {
    env.cargo("CARGO_CFG_TARGET_OS").map_or(cfg!(windows), |system| system == "windows")
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: (&str, &str) = ("HOST", "x86_64-unknown-linux-gnu");
    const ARM: &str = "aarch64-unknown-linux-gnu";

    #[test]
    fn targets_without_cuda_are_refused_by_name() {
        let check = |target, arch, system, width| {
            check_target(&Env::from_vars([
                ("TARGET", target),
                ("CARGO_CFG_TARGET_ARCH", arch),
                ("CARGO_CFG_TARGET_OS", system),
                ("CARGO_CFG_TARGET_POINTER_WIDTH", width),
            ]))
        };
        for (target, arch, system) in [
            (HOST.1, "x86_64", "linux"),
            (ARM, "aarch64", "linux"),
            ("x86_64-pc-windows-msvc", "x86_64", "windows"),
        ] {
            assert!(check(target, arch, system, "64").is_ok(), "{target}");
        }
        assert!(check_target(&Env::from_vars([("TARGET", ARM)])).is_ok());
        for (target, arch, system, width) in [
            ("aarch64-pc-windows-msvc", "aarch64", "windows", "64"),
            ("i686-pc-windows-msvc", "x86", "windows", "32"),
            ("aarch64-apple-darwin", "aarch64", "macos", "64"),
            ("aarch64-linux-android", "aarch64", "android", "64"),
            ("x86_64-unknown-linux-gnux32", "x86_64", "linux", "32"),
            ("riscv64gc-unknown-linux-gnu", "riscv64", "linux", "64"),
        ] {
            let said = check(target, arch, system, width).unwrap_err().to_string();
            assert!(said.contains(&format!("is {target}:")) && said.contains("Linux on x86-64"), "{said}");
        }
    }
}
