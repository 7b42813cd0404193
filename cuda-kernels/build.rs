//! Compiles the kernels and generates their handles.

fn main() {
    let names = [
        "vector",
        "fill",
        "matrix",
        "points",
        "heap",
        "gate",
        "copy_many",
        "stream",
        "fault",
        "arguments",
        "convolution",
        "variables",
    ];
    cuda_kernels_build::Build::new()
        .files(names.map(|name| format!("kernels/{name}.cu")))
        .headers(names.map(|name| format!("kernels/{name}.cuh")))
        .include("kernels")
        .compile("cuda_kernels");
}
