//! CUDA kernels with typed handles.

/// The handles, one for each kernel of the headers.
pub mod kernels {
    cuda_safe::include_kernels!("cuda_kernels");
}
