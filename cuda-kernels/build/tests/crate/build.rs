//! Compiles the kernels of a folder, and a C++ library without kernels.

fn main() {
    cuda_kernels_build::Build::new().folder("kernels").compile("own_kernels");
    cuda_kernels_build::Build::new().file("src/library.cu").compile("own_library");
}
