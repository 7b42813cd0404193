//! The common part of both batches: facts about all their copies together, and their submission as one
//! operation of a stream.
//!
//! An enqueue needs facts about all copies: whether they overlap, and what they access, sorted for the
//! tracker. The first enqueue after a copy was added determines these facts and stores them, so later
//! ones cost little more than one copy. The copies are passed to the runtime all at once if it accepts
//! that, and otherwise one by one: [`CopyBatch`](super::CopyBatch) says when. Nothing here blocks,
//! except calls on the legacy stream that must.
#![expect(unsafe_code, reason = "submits copies, and stores their accesses with a lifetime of its own")]

#[cfg(cudart_12_8)]
use std::cell::Cell;
use std::cell::OnceCell;
use std::ffi::c_void;
#[cfg(cudart_12_8)]
use std::fmt;
use std::panic::Location;

use cuda_hazard::Operation;

use super::attributes::{CopyAttributes, ReadOrder, SingleAttributes};
use crate::copy::checked::{CheckedCopy, CopyDirection};
use crate::copy::operand::Operand;
use crate::copy::overlap::{self, Area};
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode, SortedAccesses};
use crate::stream::StreamRef;
use crate::{check, sys};

/// Copies that are submitted together, in the lists of a function of the runtime.
#[derive(Debug, Default)]
pub(super) struct Batch<'a, L> {
    pub(super) lists: L,
    /// The attributes of the next copies.
    pub(super) attributes: CopyAttributes,
    /// The number of copies that the program has announced.
    capacity: usize,
    /// The accesses of destinations and of sources. They are separate because either list is often
    /// sorted already.
    writes: Vec<Access<'a>>,
    reads: Vec<Access<'a>>,
    bytes: usize,
    /// Whether a copy uses untracked memory after the call.
    has_untracked: bool,
    /// The error of the first copy that could not be added.
    error: Option<Error>,
    /// Both lists as one, after a check that the copies do not overlap. The actual type is
    /// `SortedAccesses<'a>`. A cell of that type would make the batch invariant in `'a`, so that it
    /// could not be used as one with a shorter borrow.
    sorted: OnceCell<SortedAccesses<'static>>,
}

impl<'a, L: Lists<'a>> Batch<'a, L> {
    /// Makes an empty batch with capacity for `copies` copies.
    pub(super) fn with_capacity(copies: usize) -> Self {
        let (writes, reads) = (Vec::with_capacity(copies), Vec::with_capacity(copies));
        Self { capacity: copies, writes, reads, ..Self::default() }
    }

    /// Returns the total number of bytes of all copies. It is 0 only if there are none.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a copy whose sides agree and that has elements. Stores the first error.
    #[expect(clippy::inline_always, reason = "measured: the operands are then put into memory once")]
    #[inline(always)]
    #[track_caller]
    pub(super) fn push(&mut self, destination: Result<Operand<'a>>, source: Result<Operand<'a>>) {
        self.push_ordered(destination, source, self.attributes.order());
    }

    /// Adds a copy whose source is read before `enqueue` returns.
    #[track_caller]
    pub(super) fn push_during_call(&mut self, destination: Result<Operand<'a>>, source: Operand<'a>) {
        self.push_ordered(destination, Ok(source), ReadOrder::DuringCall);
    }

    #[expect(clippy::inline_always, reason = "as `push`")]
    #[inline(always)]
    #[track_caller]
    fn push_ordered(
        &mut self,
        destination: Result<Operand<'a>>,
        source: Result<Operand<'a>>,
        order: ReadOrder,
    ) {
        // No closure here: it would hide the caller's location.
        let checked = match (destination, source) {
            (Ok(destination), Ok(source)) => CheckedCopy::new(L::NAME, destination, source),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        match checked {
            Ok(Some(copy)) => self.add(&copy, order),
            Ok(None) => {}
            Err(error) => self.keep(error),
        }
    }

    /// Stores the first error of the copies that were to be added.
    #[cold]
    fn keep(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    #[track_caller]
    fn add(&mut self, copy: &CheckedCopy<'a>, order: ReadOrder) {
        if self.error.is_some() {
            return;
        }
        let bytes = copy.bytes();
        let Some(sum) = self.bytes.checked_add(bytes) else {
            let detail = Detail::overflow("the bytes of a batch", self.bytes, bytes);
            return self.keep(Error::refused(L::NAME, detail));
        };
        self.sorted.take();
        // What is read during the call is not used afterwards: `in_turn` refuses it in a capture.
        let is_kept = copy.from.tracked().is_some() || order == ReadOrder::DuringCall;
        self.has_untracked |= copy.to.tracked().is_none() || !is_kept;
        note(&mut self.writes, copy.to.access(Mode::Write));
        note(&mut self.reads, copy.from.read());
        let capacity = if self.bytes == 0 { self.capacity } else { 0 };
        self.lists.push(copy, self.attributes.of_copy(bytes, order), capacity);
        self.bytes = sum;
    }

    /// Submits all copies to a stream. None is made if one writes what another one reads or writes.
    /// Borrows exclude that, except if two owners have the same memory.
    #[inline]
    pub(super) fn enqueue(&self, stream: StreamRef<'_>, call_site: &'static Location<'static>) -> Result<()> {
        if let Some(error) = &self.error {
            return Err(error.clone());
        }
        if self.bytes == 0 {
            return Ok(());
        }
        let sorted = match self.sorted.get() {
            Some(sorted) => sorted,
            None => {
                if let Some(detail) = overlap::find(self.lists.areas()) {
                    return Err(Error::refused(L::API, detail).at(call_site));
                }
                self.sorted.get_or_init(|| self.sort())
            }
        };
        let operation = Operation::prepared(sorted).with_untracked(self.has_untracked);
        // SAFETY: the copies access no other tracked memory. Its owners wait for the copies before they
        // free it. Slices are read before the call returns.
        let copied = unsafe { stream.submit(operation, call_site, |raw| self.lists.hand_over(stream, raw)) };
        copied.map_err(|error| error.with_detail(Detail::transfer(self.bytes)))
    }

    /// Returns the accesses of all copies, sorted.
    #[cold]
    fn sort(&self) -> SortedAccesses<'static> {
        let (writes, reads) = (self.writes.as_slice(), self.reads.as_slice());
        // Usually there are two allocations, each of which is sorted already.
        let address = |accesses: &[Access<'_>]| accesses.first().map(Access::address);
        let in_order = address(writes) <= address(reads);
        let sorted = SortedAccesses::new(if in_order { [writes, reads] } else { [reads, writes] }.concat());
        // SAFETY: only the lifetime changes. The list is never given away and consists of the entries of
        // `writes` and `reads`, so everything that it refers to is borrowed as long as this value lives,
        // and as long as it was when the list was made.
        unsafe { std::mem::transmute::<SortedAccesses<'_>, SortedAccesses<'static>>(sorted) }
    }
}

/// Adds an access to a list, or extends the last access if the two are contiguous.
#[inline]
fn note<'a>(accesses: &mut Vec<Access<'a>>, access: Option<Access<'a>>) {
    if let Some(access) = access
        && !accesses.last_mut().is_some_and(|last| last.take_in(&access))
    {
        accesses.push(access);
    }
}

/// One copy of a batch, which can be made by a call of its own.
#[derive(Clone, Copy)]
pub(super) enum Single<'b> {
    /// Contiguous bytes. Host and devices share one address space, from which the runtime determines the
    /// direction.
    Linear { to: *mut c_void, from: *const c_void, bytes: usize, order: ReadOrder, settles: bool },
    /// Rows, in layers.
    Rows(&'b RowCopy<'b>),
}

/// A copy of rows in layers, with its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCopy<'a> {
    pub(super) copy: CheckedCopy<'a>,
    pub(super) attributes: SingleAttributes,
}

impl Single<'_> {
    /// Returns when the source is read.
    pub(super) fn order(&self) -> ReadOrder {
        match self {
            Self::Linear { order, .. } => *order,
            Self::Rows(entry) => entry.attributes.order,
        }
    }

    /// Makes the copy on a stream, or by the blocking call without one.
    pub(super) fn copy(&self, stream: Option<sys::cudaStream_t>) -> Result<()> {
        match (*self, stream) {
            (Self::Rows(RowCopy { copy, .. }), _) => {
                // SAFETY: both operands are memory of the shape. They outlive the copy or, for a
                // blocking call, are borrowed longer. The stream is live.
                Error::check(copy.name(stream.is_some()), unsafe { copy.call(stream) })
            }
            (Self::Linear { to, from, bytes, .. }, None) => {
                // SAFETY: both are memory of this many bytes, borrowed by the batch. The source has been
                // read when the call returns, and the owner of the destination waits for the copy before
                // it frees the memory.
                unsafe { check!(cudaMemcpy(to, from, bytes, sys::cudaMemcpyDefault)) }
            }
            (Self::Linear { to, from, bytes, .. }, Some(raw)) => {
                // SAFETY: both are memory of this many bytes that outlives the copy, and the stream is
                // live.
                unsafe { check!(cudaMemcpyAsync(to, from, bytes, sys::cudaMemcpyDefault, raw)) }
            }
        }
    }

    /// Makes the copy on the legacy stream. If the source is to be read during the call, this uses the
    /// blocking call, which returns when it has read pageable memory. If either side is managed memory,
    /// which includes a slice that a guard lends, the runtime does not promise that. Nor does it promise
    /// an order if both sides are host memory. In these cases the stream is waited for.
    fn copy_on_legacy(&self, raw: sys::cudaStream_t) -> Result<()> {
        if self.order() != ReadOrder::DuringCall {
            return self.copy(Some(raw));
        }
        let (before, after) = match self {
            Self::Linear { settles, .. } => (*settles, *settles),
            Self::Rows(RowCopy { copy, .. }) => {
                let settles = copy.settles();
                (settles || copy.direction == CopyDirection::HostToHost, settles)
            }
        };
        let wait = |needed: bool| {
            // SAFETY: the stream is live, and its device is current.
            if needed { unsafe { check!(cudaStreamSynchronize(raw)) } } else { Ok(()) }
        };
        wait(before)?;
        self.copy(None)?;
        wait(after)
    }
}

/// The direction of a copy, as relevant for batches: host-to-device and device-to-host copies alternate
/// on the device's engines, and a change of direction costs more than a small copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BatchDirection {
    HostToDevice,
    DeviceToHost,
    /// Within a device, between devices, from or to managed memory, or within host memory.
    Other,
}

impl BatchDirection {
    #[inline]
    pub(super) fn from_direction(direction: CopyDirection) -> Self {
        match direction {
            CopyDirection::HostToDevice(_) => Self::HostToDevice,
            CopyDirection::DeviceToHost(_) => Self::DeviceToHost,
            _ => Self::Other,
        }
    }
}

/// One value for each [`BatchDirection`].
#[derive(Debug, Default)]
pub(super) struct ByTransfer<T>([T; 3]);

impl<T> ByTransfer<T> {
    #[inline]
    pub(super) fn get_mut(&mut self, transfer: BatchDirection) -> &mut T {
        &mut self.0[transfer as usize]
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (BatchDirection, &T)> + Clone {
        [BatchDirection::HostToDevice, BatchDirection::DeviceToHost, BatchDirection::Other]
            .into_iter()
            .zip(&self.0)
    }
}

/// The copies of a batch, in the form that a function of the runtime takes.
pub(super) trait Lists<'a>: Copies + Default {
    /// The name of the batch in errors about added copies.
    const NAME: &'static str;

    /// Returns the number of copies.
    fn len(&self) -> usize;

    /// Returns the destination and the source of each copy.
    fn areas(&self) -> impl Iterator<Item = (Area, Area)> + Clone;

    /// Adds a copy. If `capacity` is not 0, first reserves capacity for that many copies.
    fn push(&mut self, copy: &CheckedCopy<'a>, attributes: SingleAttributes, capacity: usize);
}

/// Copies that are passed to the runtime together, or one copy by a call that is refused under the same
/// conditions as batches.
pub(super) trait Copies {
    /// The function that the program called.
    const API: &'static str;

    /// The C function that takes all copies.
    #[cfg(cudart_12_8)]
    fn function(&self) -> &'static str;

    /// Returns the copies one by one.
    fn singles(&self) -> impl Iterator<Item = Single<'_>> + Clone;

    /// Makes one call for all copies by [`at_once`](Self::at_once), on a stream that probably accepts
    /// it.
    #[cfg(cudart_12_8)]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()>;

    /// Passes all copies to the runtime, in one call if it accepts that, and otherwise in a loop.
    ///
    /// Called in the closure of an `enqueue` with all accesses of the copies.
    fn hand_over(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_12_8)]
        if !stream.is_legacy() && !stream.is_capturing() {
            return self.together(stream, raw);
        }
        self.otherwise(stream, raw)
    }

    /// Passes the copies to the runtime on a stream that takes no batches.
    #[cold]
    #[inline(never)]
    fn otherwise(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        if stream.is_legacy() {
            return self.singles().try_for_each(|single| single.copy_on_legacy(raw));
        }
        let reason = if stream.is_capturing() || is_capturing(raw)? {
            Detail::CAPTURING
        } else {
            Detail::unsupported("a source read during the call, before CUDA 12.8,")
        };
        self.in_turn(raw, reason)
    }

    /// Runs `call`, which passes all copies to the runtime. The stream's device is current meanwhile,
    /// because the documentation does not say, as it does for other calls, that it need not be.
    #[cfg(cudart_12_8)]
    #[inline]
    fn at_once(
        &self,
        stream: StreamRef<'_>,
        raw: sys::cudaStream_t,
        call: impl FnOnce(sys::cudaStream_t) -> sys::cudaError_t,
    ) -> Result<()> {
        let _current = stream.device().switch()?;
        behind_fills(stream, raw)?;
        let code = call(raw);
        if code == sys::cudaSuccess { Ok(()) } else { self.refused(code, raw) }
    }

    /// Handles copies that the runtime has refused. It refuses them so in a capture that raw calls have
    /// begun, which this crate does not know about, and continues that capture. A query before each call
    /// would cost every call.
    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn refused(&self, code: sys::cudaError_t, raw: sys::cudaStream_t) -> Result<()> {
        if !refuses_captured(code, raw) {
            return Err(Error::from_code(self.function(), code));
        }
        self.in_turn(raw, Detail::CAPTURING)
    }

    /// Makes a call for each copy on a stream other than the legacy stream. Because of `reason`, no
    /// source can be read during the call.
    fn in_turn(&self, raw: sys::cudaStream_t, reason: Detail) -> Result<()> {
        if self.singles().any(|single| single.order() == ReadOrder::DuringCall) {
            return Err(Error::refused(Self::API, reason));
        }
        self.singles().try_for_each(|single| single.copy(Some(raw)))
    }
}

/// Orders a batch after a fill of pinned memory that may be the last operation on the stream. Called
/// inside an `enqueue`.
///
/// On an H200 (driver 580), a batch that directly follows a `cudaMemset` of less than 2,048 bytes of
/// pinned memory reads that memory without waiting for the fill. Any operation in between, except an
/// event, makes it wait.
#[cfg(cudart_12_8)]
#[inline]
pub(super) fn behind_fills(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    // SAFETY: the caller is inside an `enqueue`, and `behind_fill` submits a function or notes the fill
    // again.
    if unsafe { stream.take_fill() } { behind_fill(stream, raw) } else { Ok(()) }
}

#[cfg(cudart_12_8)]
#[cold]
#[inline(never)]
fn behind_fill(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    /// The function that is submitted in between. It does nothing.
    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    let captured = is_capturing(raw);
    if captured != Ok(false) {
        // A captured operation does not follow the fill, but the next batch may.
        stream.note_fill();
        return captured.map(drop);
    }
    // SAFETY: the stream is live, and the function may be called at any time.
    let between = unsafe { check!(cudaLaunchHostFunc(raw, Some(nothing), std::ptr::null_mut())) };
    // The next batch still has to wait.
    between.inspect_err(|_| stream.note_fill())
}

/// Returns whether a batch was refused because its stream is being captured. The runtime has then
/// accepted no copy, and continues the capture.
#[cfg(cudart_12_8)]
fn refuses_captured(code: sys::cudaError_t, raw: sys::cudaStream_t) -> bool {
    let captured = code == sys::cudaErrorStreamCaptureUnsupported && is_capturing(raw) == Ok(true);
    if captured {
        // The error is not the program's, but it would find the error by raw calls.
        // SAFETY: the call takes no arguments.
        let _ = unsafe { sys::cudaGetLastError() };
    }
    captured
}

/// Returns whether operations on a stream become part of a graph, including captures that raw calls have
/// begun.
pub(super) fn is_capturing(raw: sys::cudaStream_t) -> Result<bool> {
    let mut status = sys::cudaStreamCaptureStatusNone;
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    unsafe { check!(cudaStreamIsCapturing(raw, &raw mut status)) }?;
    Ok(status != sys::cudaStreamCaptureStatusNone)
}

/// A list that is empty except during a call. It allocates at the first call, and when it must grow.
#[cfg(cudart_12_8)]
pub(super) struct Scratch<T>(Cell<Vec<T>>);

#[cfg(cudart_12_8)]
impl<T> Scratch<T> {
    /// Lends the list, which is empty.
    #[inline]
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let mut list = self.0.take();
        list.clear();
        let answer = f(&mut list);
        self.0.set(list);
        answer
    }
}

#[cfg(cudart_12_8)]
impl<T> Default for Scratch<T> {
    fn default() -> Self {
        Self(Cell::new(Vec::new()))
    }
}

#[cfg(cudart_12_8)]
impl<T> fmt::Debug for Scratch<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Scratch")
    }
}

#[cfg(all(test, cudart_12_8))]
mod tests {
    use super::Scratch;

    #[test]
    fn the_list_is_empty_each_time_and_its_memory_stays() {
        let scratch = Scratch::<u32>::default();
        let first = scratch.with(|list| {
            list.extend(0..100);
            list.as_ptr()
        });
        let again = scratch.with(|list| (list.is_empty(), list.capacity() >= 100, list.as_ptr()));
        assert_eq!(again, (true, true, first));
        // A nested use gets a separate list.
        scratch.with(|outer| {
            outer.push(1);
            scratch.with(|inner| assert!(inner.is_empty()));
            assert_eq!(*outer, [1]);
        });
    }
}
