//! Execution contexts. A green context limits nothing here: its streams run like all others.

use std::collections::BTreeMap;

use crate::error::Answer;
use crate::stream::{OperationId, StreamId};
use crate::sys::cudaErrorInvalidResourceHandle;

/// A context: a device with all its multiprocessors, or a green one.
#[derive(Debug)]
pub(crate) struct ExecutionContext {
    pub(crate) device: usize,
    pub(crate) multiprocessors: u32,
    pub(crate) is_green: bool,
    pub(crate) streams: Vec<StreamId>,
    /// The stream on which events of the whole context are recorded.
    pub(crate) marks: StreamId,
    /// What later streams come after.
    pub(crate) after: Vec<OperationId>,
}

/// All contexts, and the descriptions from which green ones are made, by handle.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    last: usize,
    pub(crate) all: BTreeMap<usize, ExecutionContext>,
    /// The numbers of multiprocessors.
    pub(crate) descriptions: BTreeMap<usize, u32>,
}

impl Contexts {
    /// A number for a handle.
    pub(crate) fn number(&mut self) -> usize {
        self.last += 1;
        0x00c0_0000 + 16 * self.last
    }

    pub(crate) fn get(&mut self, handle: usize) -> Answer<&mut ExecutionContext> {
        self.all.get_mut(&handle).ok_or(cudaErrorInvalidResourceHandle)
    }
}
