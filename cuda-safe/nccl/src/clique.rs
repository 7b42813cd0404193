//! The ranks of one communicator in this process, whose operations must fit each other.
//!
//! NCCL lets a GPU access the memory of another rank of the same process directly, by the lengths of the rank
//! that accesses (`NCCL_P2P_DIRECT_DISABLE` switches that off). If such ranks enqueued different operations,
//! one would write behind the memory of the other. So each operation is compared with those of the other
//! ranks of this process before NCCL receives it. Ranks of other processes reach only NCCL's own memory,
//! because this crate registers no memory with NCCL and captures none of its work.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::call::Call;
use crate::error::{Error, Result};
use crate::rendezvous::ID_BYTES;

/// The ranks of one communicator in this process.
#[derive(Debug, Default)]
pub(crate) struct Clique(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// Each rank of this process, and the number of collectives that it has enqueued.
    members: BTreeMap<u32, u64>,
    /// The collectives that some member has not enqueued yet, and the number of the first of them.
    collectives: VecDeque<Call>,
    first: u64,
    /// Of a sender and a receiver: the transfers that only one of them has enqueued.
    transfers: BTreeMap<(u32, u32), VecDeque<Call>>,
    /// The operations of two members do not fit, or NCCL failed after they were recorded.
    broken: bool,
}

/// The cliques of ranks that join one by one.
static JOINED: Mutex<BTreeMap<[u8; ID_BYTES], Weak<Clique>>> = Mutex::new(BTreeMap::new());

impl Clique {
    /// Creates the clique of all ranks of a communicator.
    pub(crate) fn with_ranks(size: u32) -> Arc<Self> {
        let members = (0..size).map(|rank| (rank, 0)).collect();
        Arc::new(Self(Mutex::new(Inner { members, ..Inner::default() })))
    }

    /// Adds a rank that joins by an identity, before NCCL makes it wait for the others: when NCCL returns,
    /// all ranks of this process are members.
    pub(crate) fn join(id: &[u8; ID_BYTES], rank: u32) -> Arc<Self> {
        let mut joined = JOINED.lock().unwrap_or_else(PoisonError::into_inner);
        joined.retain(|_, clique| clique.strong_count() > 0);
        let found = joined.get(id).and_then(Weak::upgrade);
        // With NCCL_COMM_ID, communicators that are created one after the other have the same identity.
        let clique = found.filter(|clique| !clique.lock().members.contains_key(&rank)).unwrap_or_default();
        clique.lock().members.insert(rank, 0);
        joined.insert(*id, Arc::downgrade(&clique));
        clique
    }

    /// Removes a rank whose work is complete.
    pub(crate) fn leave(&self, rank: u32) {
        self.lock().members.remove(&rank);
    }

    /// Returns the number of ranks that have not left.
    pub(crate) fn len(&self) -> usize {
        self.lock().members.len()
    }

    /// Refuses all further operations.
    pub(crate) fn break_off(&self) {
        self.lock().broken = true;
    }

    /// Records the next operation of a rank.
    ///
    /// # Errors
    /// Refused if it does not fit the operation of another member, and from then on.
    #[track_caller]
    pub(crate) fn record(&self, rank: u32, call: Call) -> Result<()> {
        let mut inner = self.lock();
        if inner.broken {
            let why =
                "the ranks' operations did not fit or failed before: abort the communicators of all ranks";
            return Err(Error::refused(format!("{}: {why}", call.api)));
        }
        let other = match call.transfer(rank) {
            None => inner.collective(rank, call),
            Some(ends) => inner.transfer(ends, call),
        };
        match other {
            Some(other) if !call.fits(&other) => {
                inner.broken = true;
                Err(Error::refused(format!(
                    "rank {rank} enqueues {call}, where another rank enqueued {other}"
                )))
            }
            _ => Ok(()),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Counts a collective. Returns the one that another member enqueued as its collective of this number.
    fn collective(&mut self, rank: u32, call: Call) -> Option<Call> {
        let count = self.members.get_mut(&rank)?;
        let place = usize::try_from(*count - self.first).ok()?;
        *count += 1;
        let other = self.collectives.get(place).copied();
        if other.is_none() {
            self.collectives.push_back(call);
        }
        while self.members.values().all(|count| *count > self.first) {
            self.collectives.pop_front();
            self.first += 1;
        }
        other
    }

    /// Counts a send or a receive. Returns the other side of the transfer, if a member has enqueued it.
    fn transfer(&mut self, (from, to): (u32, u32), call: Call) -> Option<Call> {
        if !self.members.contains_key(&from) || !self.members.contains_key(&to) {
            return None;
        }
        let queue = self.transfers.entry((from, to)).or_default();
        if queue.front().is_some_and(|first| first.api != call.api) {
            return queue.pop_front();
        }
        queue.push_back(call);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::{Call, Clique};
    use crate::call::Kind;
    use crate::element::Reduction;
    use crate::raw;

    fn call(api: &'static str, count: usize, kind: Kind) -> Call {
        Call { api, count, data_type: raw::ncclFloat32, element: "f32", kind }
    }

    #[test]
    fn members_enqueue_the_same_collectives_at_any_time() {
        let clique = Clique::with_ranks(3);
        let sum = |count| call("ncclAllReduce", count, Kind::AllReduce(Reduction::Sum));
        for count in 1..9 {
            clique.record(0, sum(count)).unwrap();
        }
        for rank in 1..3 {
            for count in 1..9 {
                clique.record(rank, sum(count)).unwrap();
            }
        }
        assert!(clique.lock().collectives.is_empty());
        clique.record(2, sum(9)).unwrap();
        let text = clique.record(1, sum(10)).unwrap_err().to_string();
        assert!(text.contains("10") && text.contains('9') && text.contains("rank 1"), "{text}");
        assert!(clique.record(0, sum(9)).unwrap_err().to_string().contains("abort"));
    }

    #[test]
    fn types_roots_and_reductions_fit_too() {
        for other in [
            call("ncclAllReduce", 4, Kind::AllReduce(Reduction::Max)),
            call("ncclBroadcast", 4, Kind::Broadcast(0)),
            Call { data_type: raw::ncclInt8, ..call("ncclAllReduce", 4, Kind::AllReduce(Reduction::Sum)) },
        ] {
            let clique = Clique::with_ranks(2);
            clique.record(0, call("ncclAllReduce", 4, Kind::AllReduce(Reduction::Sum))).unwrap();
            assert!(clique.record(1, other).is_err());
        }
    }

    #[test]
    fn both_sides_of_a_transfer_have_one_length() {
        let clique = Clique::join(&[1; 128], 0);
        let other = Clique::join(&[1; 128], 1);
        assert_eq!((clique.len(), Clique::join(&[1; 128], 0).len()), (2, 1));
        let send = |count| call("ncclSend", count, Kind::Send(1));
        let receive = |count| call("ncclRecv", count, Kind::Recv(0));
        clique.record(0, send(4)).unwrap();
        clique.record(0, send(5)).unwrap();
        other.record(1, receive(4)).unwrap();
        other.record(1, receive(5)).unwrap();
        other.record(1, receive(6)).unwrap();
        // To a rank of another process.
        clique.record(0, call("ncclSend", 9, Kind::Send(7))).unwrap();
        assert!(clique.record(0, send(7)).is_err());
        assert!(other.record(1, receive(7)).is_err());
    }
}
