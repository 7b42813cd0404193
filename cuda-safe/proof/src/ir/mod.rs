//! The slice: what is left of a kernel, its control flow, and its bytes.

mod cfg;
mod encode;
mod inst;
mod kernel;
mod verify;

pub(crate) use cfg::{Graph, Loop};
pub use encode::NotASlice;
pub(crate) use inst::{Effect, Loaded, Op, Operand, Origin, Space, Special, Step};
pub(crate) use kernel::{Clusters, Object};
pub use kernel::{Kernel, Parameter};
