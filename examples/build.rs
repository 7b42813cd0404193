//! Compiles the kernels that only examples use, and generates their handles.

fn main() {
    let names = ["reduce", "stream", "transformer"];
    cuda_kernels_build::Build::new()
        .files(names.map(|name| format!("kernels/{name}.cu")))
        .headers(names.map(|name| format!("kernels/{name}.cuh")))
        .include("kernels")
        .compile("example_kernels");
    // Kernels that set conditions of graphs.
    cuda_kernels_build::Build::new()
        .file("kernels/linked/paths.cu")
        .header("kernels/linked/paths.cuh")
        .relocatable()
        .compile("example_linked");
}
