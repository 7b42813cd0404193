//! Compiles the kernels of a folder, two libraries whose device code is linked, and kernels beside all
//! names and declarations.

mod names;

fn main() {
    let own = cuda_kernels_build::Build::new().folder("kernels");
    // `CUDA_KERNELS_PREBUILT=write cargo test -p cuda-kernels-build-test` tests the files in place of the
    // objects. git ignores them.
    own.prebuilt("prebuilt/own_kernels.fatbin").compile("own_kernels");
    cuda_kernels_build::Build::new().folder("kernels/linked").relocatable().compile("own_linked");
    cuda_kernels_build::Build::new().folder("kernels/other").relocatable().compile("own_other");
    names::compile("own_kernels");
    let declarations = cuda_kernels_build::Build::new().folder("declarations/with").archs(["compute_90"]);
    declarations.flag("--extended-lambda").flag("-w").compile("declarations");
}
