//! Compiles the kernels, or uses those that were compiled before.

fn main() {
    let build = cuda_kernels_build::Build::new().folder("kernels");
    build.prebuilt("kernels/kernels.fatbin").compile("my_kernels");
}
