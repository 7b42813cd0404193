//! Compiles the kernels and generates their handles. The published package has them compiled, for users
//! without nvcc: `ci/test packages` writes the files, and git ignores them.

fn main() {
    let names =
        ["vector", "fill", "matrix", "points", "heap", "gate", "copy_many", "convolution", "image", "tensor"];
    cuda_kernels_build::Build::new()
        .files(names.map(|name| format!("kernels/{name}.cu")))
        .headers(names.map(|name| format!("kernels/{name}.cuh")))
        .include("kernels")
        .prebuilt("prebuilt/cuda_kernels.fatbin")
        .compile("cuda_kernels");
    // Clusters need newer devices than the other kernels.
    cuda_kernels_build::Build::new()
        .file("kernels/cluster.cu")
        .header("kernels/cluster.cuh")
        .include("kernels")
        .archs(["sm_90", "compute_90"])
        .prebuilt("prebuilt/cuda_clusters.fatbin")
        .compile("cuda_clusters");
}
