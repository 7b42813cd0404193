//! Provisional: replaced by the toolkit search and generator.
use std::path::PathBuf;

/// Generates `bindings.rs` from the toolkit at `CUDA_PATH` and links libcudart.
#[allow(clippy::unwrap_used, reason = "provisional")]
pub fn provisional() {
    println!("cargo:rerun-if-env-changed=CUDA_PATH");
    let root = PathBuf::from(std::env::var("CUDA_PATH").unwrap());
    let out = PathBuf::from(std::env::var("OUT_DIR").unwrap());
    let cc = std::process::Command::new("cc").arg("-print-file-name=include").output().unwrap();
    let header = root.join("include/cuda_runtime_api.h");
    bindgen::Builder::default()
        .header(header.to_str().unwrap())
        .clang_arg(format!("-I{}", root.join("include").display()))
        .clang_arg("-isystem")
        .clang_arg(String::from_utf8(cc.stdout).unwrap().trim())
        .allowlist_item("cuda.*|CUDA.*|CU.*|dim3|uint3|int[1-4]|float[1-4]")
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: true })
        .prepend_enum_name(false)
        .derive_default(false)
        .derive_debug(true)
        .generate()
        .unwrap()
        .write_to_file(out.join("bindings.rs"))
        .unwrap();
    let lib = out.join("lib");
    std::fs::create_dir_all(&lib).unwrap();
    let _ = std::fs::remove_file(lib.join("libcudart.so"));
    std::os::unix::fs::symlink(root.join("lib/libcudart.so.13"), lib.join("libcudart.so")).unwrap();
    println!("cargo:rustc-link-search=native={}", lib.display());
    println!("cargo:rustc-link-lib=dylib=cudart");
}
