//! Compiles the library with the toolkit's nvcc, and links it. `cuda-sys` links libcudart.

use std::path::Path;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=build.rs");
    for file in ["axpy.cu", "axpy.h"] {
        println!("cargo::rerun-if-changed={file}");
    }
    // From the build script of `cuda-sys`, which found the toolkit.
    println!("cargo::rerun-if-env-changed=DEP_CUDART_NVCC");
    let (Some(nvcc), Some(out)) = (std::env::var_os("DEP_CUDART_NVCC"), std::env::var_os("OUT_DIR")) else {
        println!("cargo::error=the toolkit has no nvcc, which compiles axpy.cu");
        return ExitCode::FAILURE;
    };
    // PTX, which every device from compute capability 7.5 on takes.
    let built = Command::new(nvcc)
        .args(["--lib", "-O2", "-std=c++17", "-Xcompiler", "-fPIC", "-gencode"])
        .args(["arch=compute_75,code=compute_75", "axpy.cu", "-o"])
        .arg(Path::new(&out).join("libaxpy.a"))
        .status();
    if !built.is_ok_and(|status| status.success()) {
        println!("cargo::error=nvcc has not compiled axpy.cu");
        return ExitCode::FAILURE;
    }
    println!("cargo::rustc-link-search=native={}", Path::new(&out).display());
    println!("cargo::rustc-link-lib=static=axpy");
    // What nvcc makes of a kernel's launch is C++.
    println!("cargo::rustc-link-lib=dylib=stdc++");
    ExitCode::SUCCESS
}
