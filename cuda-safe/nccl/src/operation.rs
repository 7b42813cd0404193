//! Collectives, sends and receives: made from views, then enqueued on a stream or together in a group.
#![expect(unsafe_code, reason = "calls NCCL")]

use std::ffi::{c_int, c_void};
use std::fmt;
use std::ptr;

use cuda_safe::hazard::Access;
use cuda_safe::stream::{AsStream, StreamRef, enqueue_all};
use cuda_safe::{DeviceSlice, DeviceSliceMut};

use crate::call::{Call, Kind};
use crate::communicator::Communicator;
use crate::element::{Element, Reduction};
use crate::error::{AtCaller as _, Error, Result};
use crate::raw::{self, Nccl, checked, nccl};

/// A collective, a send or a receive that is to be enqueued. Dropped, it does nothing.
#[must_use = "an operation does nothing until it is enqueued"]
pub struct Operation<'a> {
    comm: &'a Communicator,
    accesses: Vec<Access<'a>>,
    send: *const c_void,
    recv: *mut c_void,
    call: Call,
}

/// Collectives. Every rank enqueues the same ones in the same order. Lengths are in elements. Ranks of one
/// process are compared when they enqueue; ranks of other processes cannot be.
impl Communicator {
    /// Reduces the elements of all ranks, and gives each rank the result.
    ///
    /// Stands for `ncclAllReduce`.
    ///
    /// # Errors
    /// Refused if lengths or devices do not fit.
    #[doc(alias = "ncclAllReduce")]
    #[track_caller]
    pub fn all_reduce<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<'_, T>,
        recv: &'a mut DeviceSliceMut<'_, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        same("ncclAllReduce", recv.len(), Some(send.len()))?;
        self.operation::<T>("ncclAllReduce", Some(send), Some(recv), send.len(), Kind::AllReduce(reduction))
    }

    /// [`all_reduce`](Self::all_reduce) in place.
    ///
    /// # Errors
    /// As [`all_reduce`](Self::all_reduce).
    #[track_caller]
    pub fn all_reduce_in_place<'a, T: Element>(
        &'a self,
        both: &'a mut DeviceSliceMut<'_, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let count = both.len();
        self.operation::<T>("ncclAllReduce", None, Some(both), count, Kind::AllReduce(reduction))
    }

    /// Reduces the elements of all ranks in place, and leaves the result on the rank `root`. The elements of
    /// the other ranks do not change.
    ///
    /// Stands for `ncclReduce`.
    ///
    /// # Errors
    /// Refused if the device does not fit, or if there is no such rank.
    #[doc(alias = "ncclReduce")]
    #[track_caller]
    pub fn reduce_in_place<'a, T: Element>(
        &'a self,
        both: &'a mut DeviceSliceMut<'_, T>,
        reduction: Reduction,
        root: u32,
    ) -> Result<Operation<'a>> {
        let (count, kind) = (both.len(), Kind::Reduce(reduction, self.peer("ncclReduce", root)?));
        self.operation::<T>("ncclReduce", None, Some(both), count, kind)
    }

    /// Gives all ranks the elements of the rank `root`.
    ///
    /// Stands for `ncclBroadcast`, in place.
    ///
    /// # Errors
    /// Refused if the device does not fit, or if there is no such rank.
    #[doc(alias = "ncclBroadcast")]
    #[doc(alias = "ncclBcast")]
    #[track_caller]
    pub fn broadcast<'a, T: Element>(
        &'a self,
        both: &'a mut DeviceSliceMut<'_, T>,
        root: u32,
    ) -> Result<Operation<'a>> {
        let (count, kind) = (both.len(), Kind::Broadcast(self.peer("ncclBroadcast", root)?));
        self.operation::<T>("ncclBroadcast", None, Some(both), count, kind)
    }

    /// Reduces the elements of all ranks, and gives each rank its part of the result. `send` is as long as
    /// the parts of all ranks together.
    ///
    /// Stands for `ncclReduceScatter`.
    ///
    /// # Errors
    /// Refused if lengths or devices do not fit.
    #[doc(alias = "ncclReduceScatter")]
    #[track_caller]
    pub fn reduce_scatter<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<'_, T>,
        recv: &'a mut DeviceSliceMut<'_, T>,
        reduction: Reduction,
    ) -> Result<Operation<'a>> {
        let (api, count) = ("ncclReduceScatter", recv.len());
        same(api, send.len(), self.times_size(count))?;
        self.operation::<T>(api, Some(send), Some(recv), count, Kind::ReduceScatter(reduction))
    }

    /// Gives all ranks the elements of all ranks, in the order of the ranks. `recv` is as long as all
    /// together.
    ///
    /// Stands for `ncclAllGather`.
    ///
    /// # Errors
    /// Refused if lengths or devices do not fit.
    #[doc(alias = "ncclAllGather")]
    #[track_caller]
    pub fn all_gather<'a, T: Element>(
        &'a self,
        send: &'a DeviceSlice<'_, T>,
        recv: &'a mut DeviceSliceMut<'_, T>,
    ) -> Result<Operation<'a>> {
        let (api, count) = ("ncclAllGather", send.len());
        same(api, recv.len(), self.times_size(count))?;
        self.operation::<T>(api, Some(send), Some(recv), count, Kind::AllGather)
    }

    /// Sends elements to the rank `peer`, which [receives](Self::recv) as many. A rank that sends and
    /// receives at once does both in one [`Group`].
    ///
    /// Stands for `ncclSend`.
    ///
    /// # Errors
    /// Refused if the device does not fit, or if there is no such rank.
    #[doc(alias = "ncclSend")]
    #[track_caller]
    pub fn send<'a, T: Element>(&'a self, send: &'a DeviceSlice<'_, T>, peer: u32) -> Result<Operation<'a>> {
        let (count, kind) = (send.len(), Kind::Send(self.peer("ncclSend", peer)?));
        self.operation::<T>("ncclSend", Some(send), None, count, kind)
    }

    /// Receives elements from the rank `peer`, which [sends](Self::send) as many.
    ///
    /// Stands for `ncclRecv`.
    ///
    /// # Errors
    /// As [`send`](Self::send).
    #[doc(alias = "ncclRecv")]
    #[track_caller]
    pub fn recv<'a, T: Element>(
        &'a self,
        recv: &'a mut DeviceSliceMut<'_, T>,
        peer: u32,
    ) -> Result<Operation<'a>> {
        let (count, kind) = (recv.len(), Kind::Recv(self.peer("ncclRecv", peer)?));
        self.operation::<T>("ncclRecv", None, Some(recv), count, kind)
    }

    /// Returns the operation over these views. Without `send`, it works in place.
    #[track_caller]
    fn operation<'a, T: Element>(
        &'a self,
        api: &'static str,
        send: Option<&'a DeviceSlice<'_, T>>,
        recv: Option<&'a mut DeviceSliceMut<'_, T>>,
        count: usize,
        kind: Kind,
    ) -> Result<Operation<'a>> {
        let devices =
            send.map(|send| send.device()).into_iter().chain(recv.as_ref().map(|recv| recv.device()));
        for device in devices {
            if device != self.device() {
                let (found, needed) = (device.ordinal(), self.device().ordinal());
                let why = format!("{api}: memory of device {found}, and a communicator of device {needed}");
                return Err(Error::refused(why));
            }
        }
        // An operation without elements gives the stream nothing to do.
        let mut accesses = if count == 0 { Vec::new() } else { vec![self.access()] };
        let mut pointers = (ptr::null(), ptr::null_mut());
        if let Some(send) = send {
            pointers.0 = send.as_ptr().cast::<c_void>();
            accesses.push(send.access());
        }
        if let Some(recv) = recv {
            pointers.1 = recv.as_mut_ptr().cast::<c_void>();
            if send.is_none() {
                pointers.0 = pointers.1.cast_const();
            }
            accesses.push(recv.access_mut());
        }
        let (send, recv) = pointers;
        let (data_type, element) = (raw::ncclDataType_t(T::TYPE), std::any::type_name::<T>());
        let call = Call { api, count, data_type, element, kind };
        Ok(Operation { comm: self, accesses, send, recv, call })
    }

    /// Checks the number of another rank.
    #[track_caller]
    fn peer(&self, api: &str, rank: u32) -> Result<c_int> {
        match c_int::try_from(rank) {
            Ok(number) if rank < self.size() => Ok(number),
            _ => Err(Error::refused(format!("{api}: there is no rank {rank} of {}", self.size()))),
        }
    }

    /// Returns the elements of all ranks together.
    fn times_size(&self, count: usize) -> Option<usize> {
        count.checked_mul(usize::try_from(self.size()).ok()?)
    }
}

/// Refuses lengths that do not fit.
#[track_caller]
fn same(api: &str, found: usize, needed: Option<usize>) -> Result<()> {
    match needed {
        Some(needed) if needed == found => Ok(()),
        Some(needed) => {
            Err(Error::refused(format!("{api}: {found} elements on one side, where {needed} fit")))
        }
        None => Err(Error::refused(format!("{api}: more elements than there can be"))),
    }
}

impl Operation<'_> {
    /// Enqueues the operation on a stream of the communicator's device, ordered after all work that
    /// conflicts.
    ///
    /// The first operation of a communicator may block until the other ranks have enqueued theirs. If one
    /// thread has several ranks, they enqueue theirs in a [`Group`].
    ///
    /// # Errors
    /// NCCL's error; those of `StreamRef::enqueue`. Refused on a stream that is being captured: the graph
    /// could outlive the communicator.
    #[track_caller]
    pub fn enqueue(self, stream: &impl AsStream) -> Result<()> {
        Group::new().add(self, stream)?.enqueue()
    }

    /// Makes the call.
    ///
    /// # Safety
    /// The stream is one of the communicator's device and is live, the operation's accesses are entered for
    /// it, and the operation is recorded.
    unsafe fn call(&self, nccl: &Nccl, stream: cuda_safe::sys::cudaStream_t) -> raw::ncclResult_t {
        let Self { send, recv, call: Call { count, data_type, kind, .. }, .. } = *self;
        let comm = self.comm.raw();
        match kind {
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::AllReduce(op) => unsafe {
                nccl.ncclAllReduce(send, recv, count, data_type, op.raw(), comm, stream)
            },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::Reduce(op, root) => unsafe {
                nccl.ncclReduce(send, recv, count, data_type, op.raw(), root, comm, stream)
            },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::Broadcast(root) => unsafe {
                nccl.ncclBroadcast(send, recv, count, data_type, root, comm, stream)
            },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::ReduceScatter(op) => unsafe {
                nccl.ncclReduceScatter(send, recv, count, data_type, op.raw(), comm, stream)
            },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::AllGather => unsafe { nccl.ncclAllGather(send, recv, count, data_type, comm, stream) },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::Send(peer) => unsafe { nccl.ncclSend(send, count, data_type, peer, comm, stream) },
            // SAFETY: the views have these elements, the caller has entered the accesses, and the other ranks
            // of this process do the same. This holds for all.
            Kind::Recv(peer) => unsafe { nccl.ncclRecv(recv, count, data_type, peer, comm, stream) },
        }
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on rank {}", self.call, self.comm.rank())
    }
}

/// Operations that are enqueued together: of several ranks on one thread, or sends and receives that wait for
/// each other.
#[doc(alias = "ncclGroupStart")]
#[doc(alias = "ncclGroupEnd")]
#[must_use = "a group does nothing until it is enqueued"]
#[derive(Debug, Default)]
pub struct Group<'a> {
    operations: Vec<(Operation<'a>, StreamRef<'a>)>,
}

impl<'a> Group<'a> {
    /// Creates a group without operations.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an operation for a stream.
    ///
    /// # Errors
    /// Refused for a stream of another device than the communicator's, and for one that is being captured.
    #[track_caller]
    pub fn add<S: AsStream>(mut self, operation: Operation<'a>, stream: &'a S) -> Result<Self> {
        let stream = stream.as_stream();
        if stream.device() != operation.comm.device() {
            let (found, needed) = (stream.device().ordinal(), operation.comm.device().ordinal());
            let why = format!(
                "{}: a stream of device {found} and a communicator of device {needed}",
                operation.call.api
            );
            return Err(Error::refused(why));
        }
        if stream.is_capturing() {
            return Err(Error::refused("a communicator's work is not captured: the graph could outlive it"));
        }
        self.operations.push((operation, stream));
        Ok(self)
    }

    /// Enqueues all operations between `ncclGroupStart` and `ncclGroupEnd`, in one call over all streams.
    ///
    /// # Errors
    /// - The first error of NCCL.
    /// - Those of `enqueue_all`: streams of one group must not conflict.
    /// - Refused if an operation does not fit that of another rank of this process. After this and after an
    ///   error of NCCL, the communicators accept no operation any more: abort them.
    #[track_caller]
    pub fn enqueue(self) -> Result<()> {
        let nccl = nccl()?;
        let parts = self.operations.iter().map(|(operation, stream)| (stream, operation.accesses.as_slice()));
        let parts: Vec<(&StreamRef<'_>, &[Access<'_>])> = parts.collect();
        let call = |raws: &[cuda_safe::sys::cudaStream_t]| {
            let done = self.call(nccl, raws);
            if done.is_err() {
                // Some operations are recorded, and it is unknown which of them NCCL has.
                self.operations.iter().for_each(|(operation, _)| operation.comm.clique().break_off());
            }
            done
        };
        // SAFETY: each stream is given the operations whose accesses are declared for it. Each that has
        // elements starts a kernel or a copy, or `act_alone` does.
        unsafe { enqueue_all::<_, _, Error>(&parts, call) }.at_caller()
    }

    /// Records the operations and makes the calls.
    fn call(&self, nccl: &Nccl, raws: &[cuda_safe::sys::cudaStream_t]) -> Result<()> {
        for (Operation { comm, call, .. }, _) in &self.operations {
            comm.clique().record(comm.rank(), *call)?;
        }
        // SAFETY: no condition.
        checked("ncclGroupStart", ptr::null_mut(), unsafe { nccl.ncclGroupStart() })?;
        let mut first = Ok(());
        for ((operation, _), raw) in self.operations.iter().zip(raws) {
            // SAFETY: the stream is of the communicator's device, its accesses are entered, and the operation
            // is recorded.
            let status = unsafe { operation.call(nccl, *raw) };
            first = first.and_then(|()| operation.comm.checked(operation.call.api, status));
        }
        // Always: the group has begun.
        // SAFETY: no condition.
        let ended = checked("ncclGroupEnd", ptr::null_mut(), unsafe { nccl.ncclGroupEnd() });
        first.and(ended)?;
        for ((operation, _), raw) in self.operations.iter().zip(raws) {
            operation.comm.act_alone(operation.call.count, *raw)?;
        }
        Ok(())
    }
}
