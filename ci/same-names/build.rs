//! The build script of all three packages. Their sources are the same, and the number of the package's
//! version makes the difference.

use cuda_kernels_build::Build;

fn main() {
    let package = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    let file = |name: &str| format!("../{name}");
    println!("cargo::rustc-check-cfg=cfg(package, values(\"1\", \"2\", \"3\"))");
    println!("cargo::rustc-cfg=package=\"{package}\"");

    let build = |number: &str| Build::new().define("NUMBER", number).archs(["compute_75"]);
    let mut kernels = build(&package)
        .kernels(file("kernels/ops.cu"))
        .file(file("kernels/more.cu"))
        .define("PACKAGE", package.as_str())
        .export(&format!("ops_{package}"))
        .export(&format!("launch_{package}"));
    // A library without handles.
    let mut host = build(&package).file(file("kernels/host.cu")).export("host_*");
    let clash = std::env::var_os("CARGO_FEATURE_CLASH").is_some();
    if clash {
        kernels = kernels.export("saxpy");
        host = host.export("_Z6helperv");
    }
    kernels.compile("kernels");
    host.compile("host");
    if clash {
        return; // Nothing runs.
    }
    build(&format!("1{package}")).kernels(file("kernels/ops.cu")).compile("again");
    build(&package).folder(file("kernels/linked")).relocatable().compile("linked");

    // C++ that takes a kernel by its name.
    println!("cargo::rerun-if-changed={}", file("caller.cpp"));
    cc::Build::new().cpp(true).file(file("caller.cpp")).define("PACKAGE", package.as_str()).compile("caller");
}
