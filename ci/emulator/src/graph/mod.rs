//! Graphs: their nodes and edges, executable graphs, and streams that are captured into graphs.
//!
//! A `Graph` is a list of `Node`s with their dependencies. An executable graph is a flat copy of it,
//! whose child graphs are laid out in place. A launch puts every node on the queue. While a stream is
//! captured, its work becomes nodes instead ([`capture`]).

pub(crate) mod capture;
pub(crate) mod conditional;
mod executable;
mod launch;
mod memory;
mod node;
mod table;
mod user;

pub(crate) use capture::Captures;
pub(crate) use executable::{Exec, Mismatch};
pub(crate) use launch::{launch, release};
pub(crate) use memory::GraphMemory;
pub(crate) use node::{AttributeValue, KernelNode, NodeOp, is_stale, kind};
pub(crate) use table::{Graph, Graphs, number};
pub(crate) use user::Users;
