//! Finds NVRTC and links it. Without NVRTC, the program only says so.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(nvrtc)");
    if cuda_sys_build::link("nvrtc").is_ok() {
        println!("cargo::rustc-cfg=nvrtc");
    }
}
