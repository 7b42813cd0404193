//! Compiles the kernels of a folder, and two libraries whose device code is linked.

fn main() {
    cuda_kernels_build::Build::new().folder("kernels").compile("own_kernels");
    cuda_kernels_build::Build::new().folder("kernels/linked").relocatable().compile("own_linked");
    cuda_kernels_build::Build::new().folder("kernels/other").relocatable().compile("own_other");
}
