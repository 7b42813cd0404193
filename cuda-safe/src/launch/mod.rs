//! Kernels: typed handles, launch dimensions, and [`launch!`](crate::launch!), which reads as in CUDA C++.
//!
//! A [`Kernel`] carries its parameter list in its type. A launch takes a tuple of arguments, each of which must be a
//! [`KernelArg`] for its parameter: another number of arguments, or a wrong type, does not compile. Handles come
//! from `cuda-kernels-build`, which reads them off the header that declares the kernels, and enter a crate through
//! [`include_kernels!`](crate::include_kernels).
//!
//! A launch is stream-ordered and never blocks, unless the device's queue is full. It goes through the stream's
//! `enqueue`, with one access for each buffer among its arguments (a read for `const T*`, a write for `T*`), so the
//! order between streams is kept like that of copies; so is that of the `__device__`, `__constant__` and `__managed__`
//! variables that a kernel uses, as its handle says (see [`Module`]). Handles may be used from any thread.
//!
//! C functions: `cudaLaunchKernel`, `cudaLaunchCooperativeKernel`, `cudaLaunchKernelExC`, `cudaFuncGetAttributes`, `cudaFuncSetAttribute`,
//! `cudaFuncSetCacheConfig`, `cudaFuncGetName`, `cudaFuncGetParamInfo`, `cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`,
//! `cudaOccupancyMaxActiveBlocksPerMultiprocessor`, `cudaOccupancyAvailableDynamicSMemPerBlock`, `cudaOccupancyMaxActiveClusters`,
//! `cudaOccupancyMaxPotentialClusterSize`, `cudaKernelSetAttributeForDevice`, `cudaGetKernel`, `cudaGetFuncBySymbol`.

mod argument;
mod arguments;
mod attributes;
mod clusters;
mod dimensions;
mod extended;
mod interop;
mod kernel;
mod macros;
mod memory;
mod module;
mod object;
mod occupancy;
mod pitched;
mod refusal;
mod run;
#[cfg(cudart_12_8)]
mod setting;
mod using;
mod value;
mod way;

pub use argument::KernelArg;
pub use arguments::{Arguments, Parameters};
pub use attributes::{KernelAttributes, Parameter};
pub use dimensions::{Dim3, LaunchConfig};
pub use extended::{ClusterScheduling, LaunchAttributes};
pub use kernel::Kernel;
pub use memory::{KernelInput, KernelOutput};
pub use module::{Module, Space, Use, Uses};
pub use object::{SurfaceObject, TextureObject};
pub use occupancy::OccupancyFlags;
pub use pitched::PitchedParameter;
#[cfg(cudart_12_8)]
pub use setting::KernelSetting;
pub use value::ByValue;
