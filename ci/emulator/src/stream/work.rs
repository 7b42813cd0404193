//! The operations of a stream.

use std::fmt;

use super::copy::Copy;
use super::fill::Fill;
use super::host::HostCall;
use super::names::OperationId;
use crate::error::Code;
use crate::exec::env::Task;
use crate::host_line::{HostLine, demangled};

/// The moment that an event marks, once it has come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) event: usize,
}

/// An operation whose parts depend on what ran before it.
pub(crate) trait Expansion: fmt::Debug + Send {
    /// The operations that run now, and before this one is asked again; `None` at its end.
    fn next(&mut self) -> Option<Vec<Part>>;
}

/// One operation.
pub(crate) enum Work {
    /// Nothing: only its place in the order matters.
    Nothing,
    /// A kernel, or anything else that runs in bounded steps.
    Task(Box<dyn Task>),
    /// A copy.
    Copy(Box<Copy>),
    /// Several copies, one after the other.
    Copies(Vec<Copy>),
    /// A memset.
    Fill(Box<Fill>),
    /// A function of the program's, on the host.
    Host(HostCall),
    /// The moment that an event marks.
    Record(Record),
    /// The end of a stream-ordered allocation.
    Free(u64),
    /// The beginning of one in memory that another one was given back before it in the order.
    Reuse(u64),
    /// The end of references to user objects.
    Release(Vec<(usize, u32)>),
    /// Operations that are known only when it runs.
    Expansion(Box<dyn Expansion>),
    /// An error that hardware finds only when it runs the operation.
    Fault(Code, String),
}

impl Work {
    /// The name of the kernel, if it is one.
    pub(super) fn kernel(&self) -> Option<String> {
        let Self::Task(task) = self else { return None };
        task.program().map(|program| demangled(&program.name))
    }

    /// Bytes of pageable memory that this holds a copy of.
    pub(crate) fn staged(&self) -> usize {
        match self {
            Self::Copy(copy) => copy.staged(),
            Self::Copies(copies) => copies.iter().map(Copy::staged).sum(),
            _ => 0,
        }
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "Nothing",
            Self::Task(_) => "Task",
            Self::Copy(_) => "Copy",
            Self::Copies(_) => "Copies",
            Self::Fill(_) => "Fill",
            Self::Host(_) => "Host",
            Self::Record(_) => "Record",
            Self::Free(_) => "Free",
            Self::Reuse(_) => "Reuse",
            Self::Release(_) => "Release",
            Self::Expansion(_) => "Expansion",
            Self::Fault(..) => "Fault",
        })
    }
}

/// One of several operations that are put on a stream together.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) device: usize,
    pub(crate) call: &'static str,
    /// Where the program made the node.
    pub(crate) line: HostLine,
    pub(crate) work: Work,
    /// The places, among the operations, of those that it comes after.
    pub(crate) before: Vec<usize>,
    /// Other operations that it comes after.
    pub(crate) and: Vec<OperationId>,
}
