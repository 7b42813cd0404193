//! The graph half: which bytes the nodes of a graph use, and in which order nodes must come.
//!
//! A graph that is not launched is in no access history, and a launch is one operation, so nothing of the
//! tracker depends on this module. The histories order the nodes of one graph while it is built. The accesses
//! of all nodes together are those of its launches.

mod histories;
mod retained;
mod segments;

pub use histories::GraphHistories;
pub use retained::{GraphAccesses, RetainedAccesses};
pub use segments::Segments;

/// A list that most often has one element, and then allocates nothing: a node of a graph has several.
pub type Few<T> = smallvec::SmallVec<[T; 1]>;
