//! Finds the libraries, generates bindings to their headers and links them. A program without its library
//! only says so.

use std::path::PathBuf;

/// The libraries, their headers, and the functions that the programs use.
const LIBRARIES: [(&str, &str, &str); 4] = [
    ("cufft", "cufft.h", "cufft(Create|Destroy|SetAutoAllocation|MakePlan1d|SetStream|SetWorkArea|ExecC2C)"),
    (
        "curand",
        "curand.h",
        "curand(Create|Destroy)Generator|curandSet(PseudoRandomGeneratorSeed|Stream)|curandGenerateUniform",
    ),
    ("cusolver", "cusolverDn.h", "cusolverDn(Create|Destroy|SetStream|Spotrf_bufferSize|Spotrf|Spotrs)"),
    (
        "cusparse",
        "cusparse.h",
        "cusparse(Create|Destroy|SetStream|CreateConstCsr|DestroySpMat|CreateDnVec|CreateConstDnVec|\
         DestroyDnVec|SpMV|SpMV_bufferSize)",
    ),
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    let clang = cuda_sys_build::prepare_libclang(&cuda_sys_build::Env::from_process());
    for (name, header, functions) in LIBRARIES {
        println!("cargo::rustc-check-cfg=cfg({name})");
        let Ok(library) = cuda_sys_build::link(name) else { continue };
        let Some(header) = library.header(header) else { continue };
        bindgen::builder()
            .header(header.display().to_string())
            .clang_args(["-x", "c++"])
            .clang_args(library.includes().iter().map(|folder| format!("-I{}", folder.display())))
            .clang_args(clang.as_ref().map_err(ToString::to_string)?)
            .allowlist_function(functions)
            .allowlist_var("CUFFT_FORWARD")
            .blocklist_type("cudaStream_t|CUstream_st")
            .raw_line("use cuda_safe::sys::cudaStream_t;")
            .prepend_enum_name(false)
            .layout_tests(false)
            .generate()?
            .write_to_file(PathBuf::from(std::env::var("OUT_DIR")?).join(format!("{name}.rs")))?;
        println!("cargo::rustc-cfg={name}");
    }
    Ok(())
}
