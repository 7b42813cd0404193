//! Graphs: their nodes and edges, what was instantiated from them, and streams that are captured into them.
//!
//! A [`Graph`] is a list of [`Node`]s with what each comes after. An executable one is a flat copy of it, whose child
//! graphs are laid out in place; launching it puts every node on the queue. While a stream is captured, what is put on
//! it becomes a node instead ([`capture`]).

pub(crate) mod capture;
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
pub(crate) use node::{Act, AttributeValue, KernelNode, kind};
pub(crate) use table::Graphs;
pub(crate) use user::Users;
