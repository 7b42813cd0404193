//! The machine that cargo builds for.

use crate::{Env, Error, Result};

/// Checks that CUDA's library is there for the target of cargo's build: Linux on x86-64 or aarch64, or
/// Windows on x86-64.
///
/// # Errors
/// It is another one, or a program for it has no glibc as a shared library (musl, `crt-static`). Outside of a
/// build script it is the machine that this was compiled for.
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
    let target = part("TARGET", &format!("{arch}-{system}"));
    if system == "linux" {
        let is_static = part("CARGO_CFG_TARGET_FEATURE", "").split(',').any(|it| it == "crt-static");
        let why = match part("CARGO_CFG_TARGET_ENV", "gnu").as_str() {
            "gnu" if !is_static => None,
            "gnu" => Some("the target feature crt-static makes a program without one".to_owned()),
            other => Some(format!("the target {target} has another one, {other}")),
        };
        if let Some(why) = why {
            return Err(Error::new(format!(
                "CUDA's libraries need glibc as a shared library, and {why}: build for \
                 {arch}-unknown-linux-gnu, without -C target-feature=+crt-static."
            )));
        }
    }
    if processors.contains(&arch.as_str()) && width == "64" {
        return Ok(());
    }
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
        let check_libc = |env: &str, features: &str| {
            let vars =
                [("TARGET", HOST.1), ("CARGO_CFG_TARGET_ARCH", "x86_64"), ("CARGO_CFG_TARGET_OS", "linux")];
            let libc = [("CARGO_CFG_TARGET_ENV", env), ("CARGO_CFG_TARGET_FEATURE", features)];
            check_target(&Env::from_vars(vars.into_iter().chain(libc)))
        };
        assert!(check_libc("gnu", "fxsr,sse").is_ok());
        for (env, features, expected) in [("gnu", "crt-static,sse", "crt-static"), ("musl", "sse", "musl")] {
            let said = check_libc(env, features).unwrap_err().to_string();
            assert!(said.contains(expected) && said.contains("x86_64-unknown-linux-gnu"), "{said}");
        }
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
