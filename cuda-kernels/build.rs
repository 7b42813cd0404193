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
        "image",
        "probe",
        "tensor",
        "reduce",
        "halves",
    ];
    cuda_kernels_build::Build::new()
        .files(names.map(|name| format!("kernels/{name}.cu")))
        .headers(names.map(|name| format!("kernels/{name}.cuh")))
        .include("kernels")
        .compile("cuda_kernels");
    // Clusters need newer devices than the other kernels.
    cuda_kernels_build::Build::new()
        .file("kernels/cluster.cu")
        .header("kernels/cluster.cuh")
        .include("kernels")
        .archs(["sm_90", "compute_90"])
        .compile("cuda_clusters");
    // Kernels that set conditions of graphs, or call functions of other sources.
    cuda_kernels_build::Build::new()
        .files(["condition", "paths", "sum"].map(|name| format!("kernels/linked/{name}.cu")))
        .headers(["condition", "paths"].map(|name| format!("kernels/linked/{name}.cuh")))
        .relocatable()
        .compile("cuda_linked");
}
