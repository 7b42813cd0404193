//! Compiles the kernels of a folder.

fn main() {
    cuda_kernels_build::Build::new().folder("kernels").compile("own_kernels");
}
