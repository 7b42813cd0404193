//! The books: the tracker proper, without FFI, and without unsafe code but for addresses that atomics and lanes keep (`waits`, `table`).
//!
//! [`Books::enqueue`] enters an operation, [`Books::record`] and [`Books::wait`] carry knowledge from stream
//! to stream, [`Coverage`] turns synchronisations into watermarks. `hazard` has the model and why it holds.

mod access;
mod again;
mod clock;
mod device;
mod enter;
mod entered;
mod entry;
mod hosts;
mod knowledge;
mod ledger;
mod list;
mod order;
mod policy;
mod run;
mod series;
mod slot;
mod snapshot;
mod sorted;
mod table;
mod waits;
mod word;

use super::sync;

pub(crate) use access::Manner;
pub use access::{Access, Mode};
pub use ledger::Ledger;
pub use policy::Policy;
pub(crate) use series::{Repeat, Series};
pub use waits::AddedWait;

pub(crate) use again::Again;
pub(crate) use clock::{SlotId, Stamp, Tick};
pub(crate) use enter::{First, Refusal};
pub(crate) use ledger::Keeper;
pub(crate) use order::{Port, Route};
pub(crate) use slot::{Kind, Lane, Reach, Slot};
pub(crate) use snapshot::Snapshot;
pub(crate) use sorted::Sorted;
pub(crate) use sync::LockGuard;
pub(crate) use table::Books;
pub(crate) use waits::Place;
