//! Copies and fills as nodes of a graph: checked as the calls are, and handed to nobody yet.

use super::checked::{CheckedCopy, Direction};
use super::operand::{Operand, Special};
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode};
use crate::sys;

impl Operand<'_> {
    /// The operand of a node of the graph with this number: memory of a graph's own is one of that graph's
    /// nodes only.
    #[track_caller]
    pub(crate) fn in_graph(self, graph: u64) -> Result<Self> {
        match self.special {
            Special::Graph(of) if of != graph => Err(of_another_graph("Graph")),
            _ => Ok(self),
        }
    }
}

/// The refusal of memory of a graph's own where nobody else's memory will do.
#[cold]
#[track_caller]
pub(crate) fn of_another_graph(api: &'static str) -> Error {
    let what = "memory of a graph's own anywhere but in nodes of that graph";
    Error::refused(api, Detail::Unsupported { what })
}

/// A copy of elements in a row.
pub(crate) struct LinearNode<'a> {
    pub(crate) to: *mut u8,
    pub(crate) from: *const u8,
    pub(crate) bytes: usize,
    pub(crate) kind: sys::cudaMemcpyKind,
    pub(crate) accesses: Vec<Access<'a>>,
}

impl<'a> LinearNode<'a> {
    /// Checks a copy. Returns `None` if there are no elements.
    #[track_caller]
    pub(crate) fn new(
        api: &'static str,
        destination: &Operand<'a>,
        source: &Operand<'a>,
    ) -> Result<Option<Self>> {
        let Some(copy) = CheckedCopy::check(api, *destination, *source)? else { return Ok(None) };
        if let Direction::Peer { .. } = copy.direction {
            return Err(Error::refused(
                api,
                Detail::Unsupported { what: "a copy between devices in a graph" },
            ));
        }
        let accesses = [destination.access(Mode::Write), source.access(Mode::Read)];
        Ok(Some(Self {
            to: destination.pointer,
            from: source.pointer.cast_const(),
            bytes: copy.shape.bytes(),
            kind: sys::cudaMemcpyDefault,
            accesses: accesses.into_iter().flatten().collect(),
        }))
    }
}

/// A fill of elements in a row.
pub(crate) struct FillNode<'a> {
    pub(crate) to: *mut u8,
    pub(crate) bytes: usize,
    pub(crate) access: Access<'a>,
}

impl<'a> FillNode<'a> {
    /// Checks a fill. Returns `None` if there are no elements.
    pub(crate) fn new(destination: &Operand<'a>) -> Option<Self> {
        let access = destination.filled().filter(|access| !access.is_empty())?;
        Some(Self { to: destination.pointer, bytes: destination.bytes(), access })
    }
}
