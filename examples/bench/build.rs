//! Sets cfgs for the functions of the toolkit's headers: CUDA 12 declares some functions that
//! `overhead` calls differently.

fn main() {
    if let Err(error) = cuda_sys_build::emit_version_cfgs() {
        error.report();
    }
}
