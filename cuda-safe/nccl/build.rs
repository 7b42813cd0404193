//! Generates bindings to the installed `nccl.h`. Without one, and on docs.rs, the signatures in `snapshot/`
//! serve: the library itself is loaded at run time.

use std::path::{Path, PathBuf};

use cuda_sys_build::{Env, Library, Search};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=snapshot/nccl.rs");
    let env = Env::from_process();
    let out = PathBuf::from(std::env::var("OUT_DIR")?).join("nccl.rs");
    let snapshot = env.get("DOCS_RS").is_some() || env.get("CUDA_SYS_SNAPSHOT").is_some();
    let installed = if snapshot { None } else { Search::new(&env).library("nccl").ok() };
    let header = installed.as_ref().and_then(|nccl| Some((nccl, nccl.header("nccl.h")?)));
    match header {
        Some((nccl, header)) => generate(&env, nccl, &header, &out)?,
        None => {
            std::fs::copy("snapshot/nccl.rs", &out)?;
        }
    }
    for variable in env.asked() {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    Ok(())
}

/// Writes what the crate calls, as functions that are loaded at run time.
fn generate(env: &Env, nccl: &Library, header: &Path, out: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let functions = "GetVersion|GetUniqueId|CommInitRank|CommInitAll|CommDestroy|CommAbort|CommGetAsyncError\
                     |GetLastError|AllReduce|Broadcast|Reduce|ReduceScatter|AllGather\
                     |Send|Recv|GroupStart|GroupEnd";
    bindgen::builder()
        .header(header.display().to_string())
        .clang_args(["-x", "c++"])
        .clang_args(nccl.includes().iter().map(|folder| format!("-I{}", folder.display())))
        .clang_args(cuda_sys_build::prepare_libclang(env)?)
        .dynamic_library_name("Nccl")
        .dynamic_link_require_all(true)
        .allowlist_function(format!("nccl({functions})"))
        .blocklist_type("cudaStream_t|CUstream_st")
        .raw_line("use cuda_safe::sys::cudaStream_t;")
        .default_enum_style(bindgen::EnumVariation::NewType { is_bitfield: false, is_global: true })
        .prepend_enum_name(false)
        .generate_comments(false)
        .layout_tests(false)
        .disable_header_comment()
        .generate()?
        .write_to_file(out)?;
    Ok(())
}
