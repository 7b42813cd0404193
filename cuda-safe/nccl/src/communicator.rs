//! Communicators: the ranks that take part in collectives.
#![expect(unsafe_code, reason = "calls NCCL")]

use std::ffi::{c_char, c_int};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;
use std::time::Duration;

use cuda_safe::hazard::Access;
use cuda_safe::stream::{StreamRef, enqueue_all};
use cuda_safe::{Device, DeviceBuffer, check, sys};

use crate::clique::Clique;
use crate::error::{AtCaller as _, Error, Result};
use crate::raw::{self, checked, nccl};
use crate::rendezvous::{ID_BYTES, Place};

/// The identity of a new communicator, which all its ranks must have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueId([u8; ID_BYTES]);

impl UniqueId {
    /// Creates an identity. One rank does so and hands the bytes to the others, by MPI for example.
    ///
    /// If `NCCL_COMM_ID` is set to an address and a port, every rank calls this instead: NCCL then makes the
    /// same identity everywhere, and rank 0 listens at the address.
    ///
    /// Stands for `ncclGetUniqueId`.
    ///
    /// # Errors
    /// NCCL's error, or `Missing`.
    #[doc(alias = "ncclGetUniqueId")]
    #[track_caller]
    pub fn new() -> Result<Self> {
        let nccl = nccl()?;
        let mut id = raw::ncclUniqueId { internal: [0; ID_BYTES] };
        // SAFETY: the pointer is to a live variable.
        checked("ncclGetUniqueId", ptr::null_mut(), unsafe { nccl.ncclGetUniqueId(&raw mut id) })?;
        Ok(Self(id.internal.map(|byte| byte.to_ne_bytes()[0])))
    }

    /// Returns an identity that another rank has made.
    #[must_use]
    pub fn from_bytes(bytes: [u8; ID_BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes for the other ranks.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; ID_BYTES] {
        &self.0
    }
}

impl std::fmt::Debug for UniqueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // It is a secret of the job.
        f.write_str("UniqueId")
    }
}

/// One rank of a communicator, on one device.
///
/// A communicator is used by one thread at a time. When it is dropped, it waits for the work that uses it,
/// and is then destroyed. If it cannot be waited for, inside a host function for example or after the device
/// is lost, it is leaked. In the child of a fork the drop does nothing. A collective whose other ranks have
/// gone never ends: [`abort`](Self::abort) ends it.
#[doc(alias = "ncclComm_t")]
#[derive(Debug)]
pub struct Communicator {
    raw: raw::ncclComm_t,
    device: Device,
    rank: u32,
    size: u32,
    clique: Arc<Clique>,
    /// The process that created it. The child of a fork has none of NCCL's threads.
    process: u32,
    /// Each operation reads it, so that the tracker knows which work uses the communicator.
    work: DeviceBuffer<u8>,
}

// SAFETY: NCCL has no thread-local state of a communicator. It must not be used by two threads at once, and
// the type is not `Sync`.
unsafe impl Send for Communicator {}

impl Communicator {
    /// Creates the communicators of one process: one rank for each device, in this order.
    ///
    /// Stands for `ncclCommInitAll`.
    ///
    /// # Errors
    /// NCCL's error, `Missing`, or a refusal for more devices than NCCL can count.
    #[doc(alias = "ncclCommInitAll")]
    #[track_caller]
    pub fn init_all(devices: &[Device]) -> Result<Vec<Self>> {
        let nccl = nccl()?;
        let _former = Current::keep()?;
        let ordinals: Vec<c_int> = devices.iter().map(|device| device.as_raw()).collect();
        let size: u32 = counted(ordinals.len(), "too many devices")?;
        let count = counted(size, "too many devices")?;
        let mut work = Vec::new();
        for device in devices {
            work.push(DeviceBuffer::alloc_on(*device, 1)?);
        }
        let mut raws = vec![ptr::null_mut(); ordinals.len()];
        // SAFETY: both arrays have as many elements as the count says.
        let status = unsafe { nccl.ncclCommInitAll(raws.as_mut_ptr(), count, ordinals.as_ptr()) };
        checked("ncclCommInitAll", ptr::null_mut(), status)?;
        let clique = Clique::with_ranks(size);
        let ranks = raws.into_iter().zip(devices).zip(work).zip(0..size);
        Ok(ranks
            .map(|(((raw, device), work), rank)| Self {
                raw,
                device: *device,
                rank,
                size,
                clique: Arc::clone(&clique),
                process: std::process::id(),
                work,
            })
            .collect())
    }

    /// Creates this process's rank on the current device. Blocks until all ranks have called it.
    ///
    /// Stands for `ncclCommInitRank`.
    ///
    /// # Errors
    /// NCCL's error, or `Missing`.
    #[doc(alias = "ncclCommInitRank")]
    #[track_caller]
    pub fn init_rank(size: u32, id: &UniqueId, rank: u32) -> Result<Self> {
        let nccl = nccl()?;
        let device = Device::current()?;
        let work = DeviceBuffer::alloc_on(device, 1)?;
        let (count, place) = (counted(size, "too many ranks")?, counted(rank, "too many ranks")?);
        let clique = Clique::join(&id.0, rank);
        let id = raw::ncclUniqueId { internal: id.0.map(|byte| c_char::from_ne_bytes([byte])) };
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is to a live variable.
        let status = unsafe { nccl.ncclCommInitRank(&raw mut raw, count, id, place) };
        checked("ncclCommInitRank", ptr::null_mut(), status).inspect_err(|_| clique.leave(rank))?;
        clique.formed();
        Ok(Self { raw, device, rank, size, clique, process: std::process::id(), work })
    }

    /// Creates this process's rank as a launcher asks for it: makes the device of the local rank current,
    /// gets the identity from rank 0 ([`Place::exchange`]), or by `NCCL_COMM_ID` if that is set, and joins.
    ///
    /// `time_out` is that of the rendezvous.
    ///
    /// # Errors
    /// - `Rendezvous` if a variable is missing or a rank has not come; the error names it.
    /// - Those of [`init_rank`](Self::init_rank), and CUDA's if there is no such device.
    #[track_caller]
    pub fn from_env(time_out: Duration) -> Result<Self> {
        let place = Place::from_env()?;
        Device::new(counted(place.local_rank, "LOCAL_RANK is no device")?)?.set_current()?;
        let id = if std::env::var_os("NCCL_COMM_ID").is_some() {
            UniqueId::new()?
        } else {
            UniqueId(place.exchange(time_out, || Ok(UniqueId::new()?.0)).at_caller()?)
        };
        Self::init_rank(place.size, &id, place.rank)
    }

    /// Returns this rank's number.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// Returns the number of ranks.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the device.
    #[must_use]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the raw handle. The tracker does not see what other code submits with it.
    #[must_use]
    pub fn as_raw(&self) -> *mut std::ffi::c_void {
        self.raw.cast()
    }

    /// Returns the error that a collective met after it was submitted, such as that of a rank that has gone.
    ///
    /// Stands for `ncclCommGetAsyncError`.
    ///
    /// # Errors
    /// That error.
    #[doc(alias = "ncclCommGetAsyncError")]
    #[track_caller]
    pub fn async_error(&self) -> Result<()> {
        let mut found = raw::ncclSuccess;
        // SAFETY: the communicator is live, and the pointer is to a live variable.
        let status = unsafe { nccl()?.ncclCommGetAsyncError(self.raw, &raw mut found) };
        self.checked("ncclCommGetAsyncError", status)?;
        if found == raw::ncclInProgress { Ok(()) } else { self.checked("ncclCommGetAsyncError", found) }
    }

    /// Ends all work of the communicator, also of collectives that wait for a rank that has gone, and frees
    /// it. The contents of the memory that they were to write are then unspecified.
    ///
    /// Stands for `ncclCommAbort`.
    ///
    /// # Errors
    /// Those of [`abort_all`](Self::abort_all). Refused if this process has other ranks of the communicator.
    #[doc(alias = "ncclCommAbort")]
    #[track_caller]
    pub fn abort(self) -> Result<()> {
        Self::abort_all(vec![self])
    }

    /// [`abort`](Self::abort) of several communicators, with all ranks that this process has of each: the GPU
    /// of a rank that goes on could write memory of a rank whose work has ended.
    ///
    /// # Errors
    /// NCCL's error. Refused if a rank of this process is missing, or inside a host function or an operation.
    /// The communicators are leaked if this is refused.
    #[track_caller]
    pub fn abort_all(comms: Vec<Self>) -> Result<()> {
        let comms: Vec<_> = comms.into_iter().map(ManuallyDrop::new).collect();
        ensure_idle()?;
        for comm in &comms {
            let given = comms.iter().filter(|other| Arc::ptr_eq(&comm.clique, &other.clique)).count();
            let needed = comm.clique.len();
            if given < needed {
                let why = "abort all ranks of this process together, by abort_all";
                return Err(Error::refused(format!("ncclCommAbort: {given} of {needed} ranks: {why}")));
            }
            comm.clique.break_off();
        }
        let _former = Current::keep()?;
        let nccl = nccl()?;
        let mut first = Ok(());
        for comm in &comms {
            // SAFETY: the communicator is live and not used again.
            let status = unsafe { nccl.ncclCommAbort(comm.raw) };
            first = first.and_then(|()| checked("ncclCommAbort", ptr::null_mut(), status));
        }
        first.at_caller()?;
        for comm in comms {
            // The work has ended or is about to, and the tracker waits for it as for any other.
            // SAFETY: the value is not dropped otherwise, and not used again.
            drop(unsafe { ptr::read(&raw const comm.work) });
            // SAFETY: the value is not dropped otherwise, and not used again.
            drop(unsafe { ptr::read(&raw const comm.clique) });
        }
        Ok(())
    }

    /// Returns the access by which every operation is recorded.
    pub(crate) fn access(&self) -> Access<'_> {
        let access = self.work.access();
        if self.size > 1 { access } else { Access::write(access.history(), access.range()) }
    }

    /// Gives a stream something to do if the communicator has one rank: NCCL then leaves out what would
    /// change nothing, and the tracker relies on the device doing something for each operation.
    #[track_caller]
    pub(crate) fn act_alone(&self, count: usize, stream: sys::cudaStream_t) -> Result<()> {
        if self.size == 1 && count > 0 {
            let pointer = self.work.as_ptr().cast_mut().cast();
            // SAFETY: the buffer has this byte, whose write `access` declares, and the stream is live.
            unsafe { check!(cudaMemsetAsync(pointer, 0, 1, stream)) }?;
        }
        Ok(())
    }

    pub(crate) fn raw(&self) -> raw::ncclComm_t {
        self.raw
    }

    pub(crate) fn clique(&self) -> &Clique {
        &self.clique
    }

    /// Converts a status to a result, with NCCL's last error.
    #[track_caller]
    pub(crate) fn checked(&self, api: &'static str, status: raw::ncclResult_t) -> Result<()> {
        checked(api, self.raw, status)
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if self.process != std::process::id() || ensure_idle().is_err() {
            return;
        }
        // SAFETY: nothing is done with the memory.
        let waited = unsafe { self.work.lend_mut(|_, _| Ok::<(), cuda_safe::Error>(())) };
        if let (Ok(()), Ok(nccl), Ok(_former)) = (waited, nccl(), Current::keep()) {
            self.clique.leave(self.rank);
            // SAFETY: the communicator is live and not used again, and its work is complete. An error leaves
            // nothing to do.
            let _ = unsafe { nccl.ncclCommDestroy(self.raw) };
        }
    }
}

/// Converts a number, or refuses it.
#[track_caller]
fn counted<N, M: TryFrom<N>>(number: N, why: &str) -> Result<M> {
    match M::try_from(number) {
        Ok(number) => Ok(number),
        Err(_) => Err(Error::refused(why)),
    }
}

/// Refuses a call of NCCL inside a host function or an operation.
#[track_caller]
fn ensure_idle() -> Result<()> {
    // SAFETY: nothing is submitted to no stream.
    unsafe { enqueue_all::<StreamRef<'_>, (), Error>(&[], |_| Ok(())) }
}

/// Makes the current device current again: NCCL changes it.
struct Current(Device);

impl Current {
    #[track_caller]
    fn keep() -> Result<Self> {
        Ok(Self(Device::current()?))
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        // The next call that needs a device reports the error.
        let _ = self.0.set_current();
    }
}
