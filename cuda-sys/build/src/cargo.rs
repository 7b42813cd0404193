//! The lines that a build script prints for cargo.

use std::fmt::Display;
use std::path::Path;

use crate::{Env, KNOWN_VERSIONS, Version};

/// Makes cargo run the build script again when one of the variables that were read changes.
pub(crate) fn watch(env: &Env) {
    for name in env.asked() {
        println!("cargo::rerun-if-env-changed={name}");
    }
}

/// Makes cargo run the build script again when the file changes.
pub(crate) fn watch_file(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Shows a warning to the person who builds.
pub(crate) fn warn(message: impl Display) {
    println!("cargo::warning={message}");
}

/// Exports `DEP_CUDART_<key>` to the build scripts of direct dependents.
pub(crate) fn export(key: &str, value: impl Display) {
    println!("cargo::metadata={key}={value}");
}

/// Sets `cudart_<major>_<minor>` for every known version up to this one, and declares the others.
pub(crate) fn cfgs(version: Version) {
    for known in KNOWN_VERSIONS {
        println!("cargo::rustc-check-cfg=cfg({})", known.cfg());
        if known <= version {
            println!("cargo::rustc-cfg={}", known.cfg());
        }
    }
}
