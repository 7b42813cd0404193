//! Streams, events, host functions and scopes: everything that submits work to a device in order.
//!
//! Work submitted to one stream runs in order. Different streams run concurrently, and [`Event`]s and
//! the tracker ([`hazard`](crate::hazard)) order work between them. Submitting work does not block. The
//! `synchronize` functions block, and so does the end of [`Stream::scope`]; nothing else in this module
//! does. Explicit streams and events remember their device, so it does not matter which device is
//! current.

mod attributes;
mod branch;
mod call;
mod device_wait;
mod done;
mod enqueue;
mod enqueue_all;
mod event;
#[cfg(cudart_13_1)]
mod execution;
mod foreign;
mod host;
mod host_function;
mod host_function_with;
mod ipc;
mod legacy;
mod memory_argument;
mod methods;
mod owned;
mod ownership;
mod per_thread;
mod pool;
mod port;
mod recorder;
mod relaxed;
mod renewal;
mod scope;
mod synchronized;
mod tracker;
mod view;
mod wait;

pub(crate) use attributes::Attribute;
pub use attributes::{
    AccessPolicy, AccessProperty, MemSyncDomain, MemSyncDomainMap, StreamAttribute, StreamAttributes,
    SyncPolicy,
};
pub use done::Done;
pub use enqueue_all::enqueue_all;
pub use event::{Event, EventFlags, RecordFlags};
#[cfg(cudart_13_1)]
pub use execution::{ExecutionContext, SmGroup, SmResource};
pub use foreign::ForeignStream;
#[cfg(cudart_13_2)]
pub use host_function::HostTaskSync;
pub use ipc::IpcEventHandle;
pub use legacy::LegacyStream;
pub use memory_argument::{CallArgument, HostFnArgument};
pub use owned::{Stream, StreamBuilder};
pub use per_thread::PerThreadStream;
pub use scope::Scope;
pub use synchronized::Synchronized;
pub use view::{AsStream, StreamRef};

pub(crate) use crate::busy::ensure_idle;
pub(crate) use crate::callback::defer;
pub(crate) use crate::thread_state::{enter_callback, in_callback};
pub(crate) use branch::HiddenStream;
pub(crate) use device_wait::{CaptureTurn, wait_device};
pub(crate) use enqueue::{Call, StreamSubmission, enqueue_free};
pub(crate) use host::{is_quiet, synchronize_device, wait_host};
pub(crate) use host_function::guarded;
pub(crate) use memory_argument::Accesses;
pub(crate) use pool::abandon;
#[cfg(test)]
pub(crate) use port::CAPTURE_OR_WAIT;
pub(crate) use recorder::Recorder;
pub(crate) use relaxed::relax;
pub(crate) use tracker::TRACKER;
pub(crate) use view::sealed;
