//! Finds cuBLAS, generates bindings to its header and links it. Without cuBLAS, the program only says so.

use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(cublas)");
    let Ok(cublas) = cuda_sys_build::link("cublas") else { return Ok(()) };
    let Some(header) = cublas.header("cublas_v2.h") else { return Ok(()) };
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("cublas.rs");
    generate(&cublas, &header, &out)?;
    println!("cargo::rustc-cfg=cublas");
    Ok(())
}

/// Writes the part of the header that the program uses. Streams are those of `cuda-sys`.
fn generate(
    cublas: &cuda_sys_build::Library,
    header: &Path,
    out: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let clang = cuda_sys_build::prepare_libclang(&cuda_sys_build::Env::from_process())?;
    bindgen::builder()
        .header(header.display().to_string())
        .clang_args(["-x", "c++"])
        .clang_args(cublas.includes().iter().map(|folder| format!("-I{}", folder.display())))
        .clang_args(clang)
        .allowlist_function("cublas(Create|Destroy|SetStream|SetWorkspace|Sgemm)_v2|cublasGetStatusName")
        .blocklist_type("cudaStream_t|CUstream_st")
        .raw_line("use cuda_safe::sys::cudaStream_t;")
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: true })
        .prepend_enum_name(false)
        .layout_tests(false)
        .generate()?
        .write_to_file(out)?;
    Ok(())
}
