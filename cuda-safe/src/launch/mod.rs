//! Kernels: typed handles, launch dimensions, and [`launch!`](crate::launch!) with the syntax of CUDA C++.
//!
//! A [`Kernel`] has its parameter list in its type. A launch takes a tuple of arguments, each of which must
//! be a [`KernelArg`] for its parameter. A wrong number of arguments or a wrong type does not compile.
//! `cuda-kernels-build` generates the handles from the header that declares the kernels, and
//! [`include_kernels!`](crate::include_kernels) includes them in a crate.
//!
//! The launch of a [`Checked`] handle is proven to stay within its arguments, or refused. That of a
//! [`Kernel`], and of [`unchecked`](Kernel::unchecked) handles, is `unsafe`.
//!
//! A launch is stream-ordered and does not block, unless the device's queue is full. It uses the stream's
//! `enqueue` with one access for each buffer among its arguments: a read for `const T*`, a write for `T*`. A
//! launch that is proven declares the bytes that it needs instead ([`Checked::needs`]).
//! The tracker therefore orders launches between streams like copies. It also orders them by the
//! `__device__`, `__constant__` and `__managed__` variables that a kernel uses, which its handle declares
//! (see [`Module`]). Handles may be used from any thread.

mod access_list;
mod argument;
mod arguments;
mod attribute_set;
mod attributes;
mod blocking;
mod checked;
mod checked_parameter;
mod config;
mod contract;
mod dimensions;
#[doc(hidden)]
pub mod fatbinary;
mod function;
mod kernel;
mod macros;
mod memory;
mod module;
mod need;
#[doc(hidden)]
pub mod passing;
mod proof;
mod read_only;
mod run;
mod scalar;
#[doc(hidden)]
pub mod sixteen_bits;
mod symbol;
mod timing;
mod unchecked;

pub(crate) use access_list::AccessList;
pub use argument::{ByValue, CheckedArg, ConditionalHandle, KernelArg, SurfaceObject, TextureObject};
pub(crate) use argument::{Named, Target};
pub use arguments::{Arguments, CheckedArguments, CheckedParameters, Parameters, Scalars};
pub use attribute_set::ClusterScheduling;
#[cfg(cudart_12_8)]
pub use attributes::KernelSetting;
pub use attributes::{KernelAttributes, OccupancyFlags, Parameter};
pub use blocking::set_blocking;
pub(crate) use blocking::settle;
pub use checked::Checked;
pub use checked_parameter::{CheckedParameter, PlainValue};
pub use contract::{Clause, Op, Relation};
pub use dimensions::{AxisSize, Dim3, LaunchConfig};

pub use kernel::Kernel;
pub use memory::{Components, KernelInput, KernelOutput, PitchedParameter};
pub use module::{Module, Space, VariableAccess, VariableAccesses};
pub use need::Need;
pub use proof::KernelProof;
pub use read_only::ReadOnlyMemory;
pub(crate) use read_only::read_only;
pub use scalar::Scalar;
pub use symbol::{Symbol, SymbolSlice};
pub use timing::time_kernel;
pub use unchecked::Unchecked;
