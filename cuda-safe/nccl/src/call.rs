//! What one rank asks of NCCL, in a form that ranks of one process can compare.

use std::ffi::c_int;
use std::fmt;

use crate::element::Reduction;
use crate::raw;

/// One rank's part of an operation, without its memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Call {
    pub(crate) api: &'static str,
    pub(crate) count: usize,
    pub(crate) data_type: raw::ncclDataType_t,
    /// The name of the element type, for messages.
    pub(crate) element: &'static str,
    pub(crate) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce(Reduction),
    Reduce(Reduction, c_int),
    Broadcast(c_int),
    ReduceScatter(Reduction),
    AllGather,
    Send(c_int),
    Recv(c_int),
}

impl Call {
    /// Returns the sender and the receiver if a rank enqueues a transfer.
    pub(crate) fn transfer(&self, rank: u32) -> Option<(u32, u32)> {
        match self.kind {
            Kind::Send(to) => Some((rank, to.cast_unsigned())),
            Kind::Recv(from) => Some((from.cast_unsigned(), rank)),
            _ => None,
        }
    }

    /// Returns whether two ranks can enqueue these for each other.
    pub(crate) fn fits(&self, other: &Self) -> bool {
        let is_transfer = |call: &Self| matches!(call.kind, Kind::Send(_) | Kind::Recv(_));
        let same_kind = self.kind == other.kind || is_transfer(self) && is_transfer(other);
        same_kind && self.count == other.count && self.data_type == other.data_type
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api, count, element, kind, .. } = self;
        write!(f, "{api} of {count} {element}")?;
        match kind {
            Kind::AllReduce(op) | Kind::ReduceScatter(op) => write!(f, ", {op:?}"),
            Kind::Reduce(op, root) => write!(f, ", {op:?} to rank {root}"),
            Kind::Broadcast(rank) | Kind::Recv(rank) => write!(f, " from rank {rank}"),
            Kind::Send(rank) => write!(f, " to rank {rank}"),
            Kind::AllGather => Ok(()),
        }
    }
}
