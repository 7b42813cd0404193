//! The slice: what is left of a kernel, its control flow, and its bytes.

mod cfg;
mod inst;

pub(crate) use inst::{
    Clusters, Effect, Graph, Loaded, Loop, Object, Op, Operand, Origin, Space, Special, Step,
};
pub use inst::{Kernel, NotASlice, Parameter};
