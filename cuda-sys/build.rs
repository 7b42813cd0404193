//! Finds the toolkit, generates the bindings and links libcudart: see `cuda-sys-build`.

fn main() {
    if let Err(error) = cuda_sys_build::build() {
        error.report();
    }
}
