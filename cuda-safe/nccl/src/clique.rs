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

/// The cliques of ranks that join one by one, until NCCL has formed their communicator.
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
        let mut joined = joined();
        joined.retain(|_, clique| clique.strong_count() > 0);
        let found = joined.get(id).and_then(Weak::upgrade);
        let clique = found.filter(|clique| !clique.lock().members.contains_key(&rank)).unwrap_or_default();
        clique.lock().members.insert(rank, 0);
        joined.insert(*id, Arc::downgrade(&clique));
        clique
    }

    /// Ends the joining, when NCCL returns to the first member: all members have joined. Who joins later by
    /// the same identity is of another communicator. With `NCCL_COMM_ID`, those that are created one after
    /// the other have the same one.
    pub(crate) fn formed(&self) {
        joined().retain(|_, clique| !std::ptr::eq(clique.as_ptr(), self));
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

fn joined() -> MutexGuard<'static, BTreeMap<[u8; ID_BYTES], Weak<Clique>>> {
    JOINED.lock().unwrap_or_else(PoisonError::into_inner)
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
    use std::collections::BTreeMap;
    use std::sync::Arc;

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

    /// The clique of a rank that has joined, and the collectives that it has enqueued since NCCL returned.
    type Joined = (Arc<Clique>, Option<usize>);

    /// A communicator of the model: its ranks of this process.
    #[derive(Default)]
    struct Model {
        identity: usize,
        /// Each rank that is to join.
        ranks: BTreeMap<u32, Option<Joined>>,
        is_formed: bool,
        is_broken: bool,
        /// The lengths of the collectives.
        lengths: Vec<usize>,
    }

    /// Random numbers (splitmix64) below a limit.
    fn below(state: &mut u64, limit: usize) -> usize {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut it = *state;
        it = (it ^ it >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        it = (it ^ it >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((it ^ it >> 31) >> 1).unwrap() % limit
    }

    impl Model {
        /// What one rank does next: it joins, NCCL returns to it, fails, or it enqueues or leaves.
        fn step(&mut self, rank: u32, random: &mut u64) {
            let all_have_joined = self.ranks.values().all(Option::is_some);
            let state = self.ranks.get_mut(&rank).unwrap();
            let identity = [100 + u8::try_from(self.identity).unwrap(); 128];
            match (state.take(), below(random, 8)) {
                (None, _) => *state = Some((Clique::join(&identity, rank), None)),
                (Some((clique, None)), 0) => {
                    clique.leave(rank);
                    // It tries again, unless the others have gone on without it.
                    if self.is_formed {
                        self.ranks.remove(&rank);
                    }
                }
                (Some((clique, None)), _) if all_have_joined || self.is_formed => {
                    clique.formed();
                    self.is_formed = true;
                    *state = Some((clique, Some(0)));
                }
                (Some((clique, Some(_))), 0) => {
                    clique.leave(rank);
                    self.ranks.remove(&rank);
                }
                (Some((clique, Some(count))), number) => {
                    let known = self.lengths.get(count).copied();
                    let length = if number == 1 { 1 + below(random, 3) } else { known.unwrap_or(2) };
                    let sum = call("ncclAllReduce", length, Kind::AllReduce(Reduction::Sum));
                    self.is_broken |= known.is_some_and(|known| known != length);
                    assert_eq!(clique.record(rank, sum).is_err(), self.is_broken);
                    self.lengths.resize(self.lengths.len().max(count + 1), length);
                    *state = Some((clique, Some(count + 1)));
                }
                (waiting, _) => *state = waiting,
            }
        }
    }

    #[test]
    fn ranks_are_compared_with_those_that_joined_with_them_whatever_identities_repeat() {
        let (mut random, mut formed, mut broken) = (3, 0, 0);
        let mut all: Vec<Model> = Vec::new();
        for _ in 0..50_000 {
            let identity = below(&mut random, 3);
            // NCCL forms one communicator of an identity at a time.
            if all.len() < 8 && all.iter().all(|it| it.identity != identity || it.is_formed) {
                let ranks = (0..4).filter(|_| below(&mut random, 3) > 0).map(|rank| (rank, None)).collect();
                all.push(Model { identity, ranks, ..Model::default() });
            }
            let at = below(&mut random, all.len());
            let ranks: Vec<u32> = all[at].ranks.keys().copied().collect();
            if ranks.is_empty() || all[at].is_broken {
                let gone = all.remove(at);
                (formed, broken) = (formed + u32::from(gone.is_formed), broken + u32::from(gone.is_broken));
                continue;
            }
            all[at].step(ranks[below(&mut random, ranks.len())], &mut random);
            let cliques = |it: &Model| -> Vec<Arc<Clique>> {
                it.ranks.values().flatten().map(|(clique, _)| Arc::clone(clique)).collect()
            };
            let each: Vec<_> = all.iter().map(cliques).collect();
            for (at, own) in each.iter().enumerate() {
                assert!(
                    own.iter().all(|clique| Arc::ptr_eq(clique, &own[0])),
                    "one communicator, one clique"
                );
                let others = each.iter().take(at).flatten();
                assert!(others.into_iter().all(|it| own.iter().all(|clique| !Arc::ptr_eq(clique, it))));
            }
        }
        assert!(formed > 500 && broken > 200, "{formed} were formed, and {broken} refused collectives");
    }
}
