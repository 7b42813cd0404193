//! Compiles the package's own kernel: with those of `cuda-kernels`, the program has kernels of two crates.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_CUDARC").is_some() {
        cuda_kernels_build::Build::new().folder("kernels").compile("with_cudarc");
    }
}
