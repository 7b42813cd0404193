//! Compiles a template from source while the program runs, and launches it.
//!
//! `cuda-nvrtc` loads NVRTC. The PTX is a `Library`, whose kernel takes typed arguments, and each launch is
//! proven from it. Without NVRTC, the program starts and says so.
use std::process::ExitCode;

use cuda_nvrtc::{ErrorKind, Nvrtc, Options, Source};
use cuda_safe::{Device, DeviceBuffer, Library, Stream, launch};

const SOURCE: &str = "
template <typename T> __global__ void axpy(T a, const T* x, T* y, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}";

fn main() -> anyhow::Result<ExitCode> {
    let nvrtc = match Nvrtc::get() {
        Ok(nvrtc) => nvrtc,
        Err(_) => {
            eprintln!("not run: no NVRTC");
            return Ok(ExitCode::from(77));
        }
    };
    let options = Options::new(Device::current()?.compute_capability()?);
    let compiled = nvrtc.compile(&Source::new("axpy.cu", SOURCE).name("axpy<float>"), &options)?;
    let (library, name) = (Library::from_ptx(compiled.ptx())?, compiled.lowered("axpy<float>")?);
    let axpy = library.checked_kernel::<(f32, *const f32, *mut f32, u32)>(name)?;
    println!("{name}");

    let n = 1000_u32;
    let stream = Stream::new()?;
    let x = DeviceBuffer::from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = DeviceBuffer::from_slice(&vec![1.0_f32; 1000])?;
    launch!(axpy<<<n.div_ceil(256), 256, 0, &stream>>>(2.0, &x, &mut y, n))?; // proven, as nvcc's are
    println!("y[999] = {}", y.to_vec()?[999]);

    // A wrong source: NVRTC's messages have its lines.
    let wrong = Source::new("wrong.cu", "__global__ void wrong() { y[0] = 1; }");
    if let Err(error) = nvrtc.compile(&wrong, &options)
        && let ErrorKind::Compile(log) = error.kind()
    {
        println!("{log}");
    }
    Ok(ExitCode::SUCCESS)
}
