//! Sets cfgs for the functions of the toolkit's headers: CUDA 12 declares some functions that `overhead`
//! calls differently. Compiles the kernels that only `scale` launches.

fn main() {
    if let Err(error) = cuda_sys_build::emit_version_cfgs() {
        error.report();
    }
    cuda_kernels_build::Build::new()
        .file("scale/buffers.cu")
        .header("scale/buffers.cuh")
        .compile("bench_kernels");
}
