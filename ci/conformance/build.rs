//! Compiles the kernels and symbols that the cases use, and lists the functions that the toolkit's headers
//! have.

fn main() {
    // The emulator reads PTX, and finds clusters only in PTX for devices that have clusters.
    cuda_kernels_build::Build::new()
        .file("src/device.cu")
        .file("src/drawn.cu")
        .file("src/image.cu")
        .file("src/image_gradient.cu")
        .file("src/instructions.cu")
        .export("case_*")
        .export("ins_*")
        .archs(["sm_90", "compute_75", "compute_90"])
        .compile("conformance_device");
    if let Err(error) = cuda_sys_build::emit_version_cfgs() {
        error.report();
    }
}
