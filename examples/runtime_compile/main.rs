//! Compiles a template from source while the program runs, and launches it.
//!
//! `build.rs` finds NVRTC, and `nvrtc.rs` is the safe layer. The PTX is a `Library`, whose kernel takes typed
//! arguments. Without NVRTC, the program is built and says so.
#![cfg_attr(nvrtc, expect(unsafe_code, reason = "calls NVRTC, and launches a kernel"))]
use std::process::ExitCode;

#[cfg(nvrtc)]
mod nvrtc;

#[cfg(not(nvrtc))]
fn main() -> ExitCode {
    eprintln!("not run: no NVRTC");
    ExitCode::from(77)
}

#[cfg(nvrtc)]
fn main() -> anyhow::Result<ExitCode> {
    use cuda_safe::{Device, DeviceBuffer, Library, Stream, launch};

    const SOURCE: &str = "
template <typename T> __global__ void axpy(T a, const T* x, T* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}";

    let capability = Device::current()?.properties()?.compute_capability();
    let architecture = format!("--gpu-architecture=compute_{}{}", capability.0, capability.1);
    let (ptx, name) = nvrtc::compile(SOURCE, "axpy<float>", &[&architecture])?;
    let library = Library::from_ptx(ptx)?;
    // SAFETY: the parameters are those of the source.
    let axpy = unsafe { library.kernel::<(f32, *const f32, *mut f32, u32)>(&name) }?;
    println!("{name}");

    let n = 1000_u32;
    let stream = Stream::new()?;
    let x = DeviceBuffer::from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = DeviceBuffer::from_slice(&vec![1.0_f32; 1000])?;
    // SAFETY: both buffers have `n` elements.
    unsafe { launch!(axpy<<<n.div_ceil(256), 256, 0, &stream>>>(2.0, &x, &mut y, n)) }?;
    println!("y[999] = {}", y.to_vec()?[999]);

    // A wrong source: NVRTC's messages have its lines.
    if let Err(error) = nvrtc::compile("__global__ void wrong() { y[0] = 1; }", "wrong", &[&architecture]) {
        println!("{error}");
    }
    Ok(ExitCode::SUCCESS)
}
