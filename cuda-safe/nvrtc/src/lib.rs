//! NVRTC: CUDA C++ that is compiled to PTX while a program runs.
//!
//! libnvrtc is loaded at its first use. A program with this crate is built without it, starts without it, and
//! gets [`ErrorKind::Missing`] when it compiles. No GPU and no toolkit is needed, and no other crate of CUDA:
//! the result is text, which `cuda_safe::Library` and others load.
//!
//! | C | here |
//! |---|---|
//! | `nvrtcCreateProgram` | [`Source::new`], [`Source::header`] |
//! | `nvrtcAddNameExpression`, `nvrtcGetLoweredName` | [`Source::name`], [`Compiled::lowered`] |
//! | `nvrtcCompileProgram` | [`Nvrtc::compile`], [`Nvrtc::compile_cached`], with [`Options`] |
//! | `nvrtcGetPTX` | [`Compiled::ptx`] |
//! | `nvrtcGetProgramLog` | [`Compiled::log`], or [`ErrorKind::Compile`] |
//! | `nvrtcVersion`, `nvrtcGetSupportedArchs` | [`Nvrtc::version`], [`Nvrtc::architectures`] |
//!
//! # Examples
//! ```no_run
//! use cuda_nvrtc::{Cache, Nvrtc, Options, Source};
//! use cuda_safe::{Device, DeviceBuffer, Library, Stream, launch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let source = Source::new("scale.cu", "
//!     template <typename T> __global__ void scale(T* data, T by, unsigned n) {
//!         unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
//!         if (i < n) data[i] *= by;
//!     }
//! ").name("scale<float>");
//! let options = Options::new(Device::current()?.compute_capability()?).line_info();
//! let compiled = Nvrtc::get()?.compile_cached(&source, &options, &Cache::of_user()?)?;
//!
//! let library = Library::from_ptx(compiled.ptx())?;
//! let scale = library.checked_kernel::<(*mut f32, f32, u32)>(compiled.lowered("scale<float>")?)?;
//! let mut data = DeviceBuffer::from_slice(&[1.0_f32; 1000])?;
//! launch!(scale<<<4, 256, 0, &Stream::new()?>>>(&mut data, 2.0, 1000))?; // proven from the PTX
//! # Ok(())
//! # }
//! ```
//!
//! # Which library
//! The folder `lib64` or `lib` of `NVRTC_PATH` if that is set, and no other place. Otherwise
//! `libnvrtc.so.13`, then `libnvrtc.so.12`, each first where the loader looks, then in the toolkits of
//! `CUDA_PATH`, `CUDA_HOME`, `CUDA_ROOT`, `CUDA_TOOLKIT_ROOT_DIR`, `/usr/local/cuda` and `/opt/cuda`. A
//! driver accepts PTX of its own version of CUDA and of older ones: name an older NVRTC for an older driver.

// The unit tests.
// Not under sanitizers: they use no GPU.

mod cache;
mod compile;
mod compiled;
mod error;
mod includes;
mod options;
mod raw;
mod source;

pub use cache::Cache;
pub use compile::Nvrtc;
pub use compiled::Compiled;
pub use error::{Error, ErrorKind, Result};
pub use options::{Options, Standard};
pub use source::Source;
