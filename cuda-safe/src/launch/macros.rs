//! `include_kernels!`.

/// Includes the handles that `cuda-kernels-build` generated under this name in the crate's build script.
///
/// Best written inside of a module, since it brings one `static` for each kernel, named as in C.
///
/// # Examples
/// ```ignore
/// mod kernels {
///     cuda_safe::include_kernels!("my_kernels");
/// }
/// ```
#[macro_export]
macro_rules! include_kernels {
    ($name:literal) => {
        include!(concat!(env!("OUT_DIR"), "/", $name, ".rs"));
    };
}
