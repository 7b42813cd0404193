//! Passes the cfgs on that say which functions the toolkit's headers have: `cudart_12_4` and so on. Tells
//! the tests where the headers are.

fn main() {
    let include = std::env::var("DEP_CUDART_INCLUDE").unwrap_or_default();
    println!("cargo::rustc-env=CUDART_INCLUDE={include}");
    println!("cargo::rerun-if-env-changed=DEP_CUDART_INCLUDE");
    if let Err(error) = cuda_sys_build::emit_version_cfgs() {
        error.report();
    }
}
