//! Streams, events and the queue of asynchronous work.
//!
//! Every operation on a stream is an entry of one [`Queue`]: a graph of operations and their dependencies.
//! Streams and events only remember entries. A thread that waits for an entry runs its pending work, in
//! bounded steps under the machine's lock. A background thread runs work that has been pending for long
//! enough ([`drive`]).
//!
//! To put work on a stream: [`submit()`], which is all that a launch needs.

mod accesses;
pub(crate) mod condition;
mod copy;
mod device_env;
mod drive;
mod early;
mod event;
mod fill;
mod flags;
mod grid;
mod host;
pub(crate) mod local;
mod names;
mod nested;
mod queue;
mod shared_counters;
mod submit;
mod table;
#[cfg(test)]
mod tests;
mod work;

pub(crate) use copy::{Copy, End, Memory, Volume};
pub(crate) use device_env::access;
pub(crate) use drive::{before_free, query, synchronize, synchronize_device};
pub(crate) use early::{submit_past_fill, taken_early};
pub(crate) use event::{Events, Mark};
pub(crate) use fill::Fill;
pub(crate) use host::{Caller, HostCall};
pub(crate) use names::{OperationId, StreamId};
pub(crate) use queue::Queue;
pub(crate) use shared_counters::SharedCounters;
#[allow(unused_imports, reason = "launches are what it is for")]
pub(crate) use submit::{submit, submit_after, submit_all, submit_aside, submit_everywhere, submit_kernel};
pub(crate) use table::{Stream, Streams};
pub(crate) use work::{Expansion, Part, Record, Work};
