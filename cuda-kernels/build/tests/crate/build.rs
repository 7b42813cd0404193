//! Compiles the kernels of a folder, and two libraries whose device code is linked.

fn main() {
    let own = cuda_kernels_build::Build::new().folder("kernels");
    // `CUDA_KERNELS_PREBUILT=write cargo test -p cuda-kernels-build-test` tests the files in place of the
    // objects. git ignores them.
    own.prebuilt("prebuilt/own_kernels.fatbin").compile("own_kernels");
    cuda_kernels_build::Build::new().folder("kernels/linked").relocatable().compile("own_linked");
    cuda_kernels_build::Build::new().folder("kernels/other").relocatable().compile("own_other");
}
