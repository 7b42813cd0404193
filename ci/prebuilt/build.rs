//! Compiles the kernels, or uses those that were compiled before.

fn main() {
    cuda_kernels_build::Build::new().folder("kernels").prebuilt("kernels/kernels.fatbin").compile("my_kernels");
}
