//! What both batches share: what is known of all their copies together, and how these get onto a stream as
//! one step of it.
//!
//! What an enqueue has to know of all copies is found out at the first one after a copy was added, and kept:
//! whether they are apart from each other, and what they touch, in the order in which the tracker take it.
//! Later ones cost little more than one copy. The copies go to the runtime all at once, where it takes that,
//! and one by one where it does not: when that is, [`CopyBatch`](super::CopyBatch) tells. Nothing here blocks
//! but what has to on the legacy stream.
#![expect(
    unsafe_code,
    reason = "hands copies to the runtime, enters them in the books, and keeps those entries under a lifetime of its own"
)]

#[cfg(cudart_12_8)]
use std::cell::Cell;
use std::cell::OnceCell;
use std::ffi::c_void;
#[cfg(cudart_12_8)]
use std::fmt;
use std::panic::Location;

use super::attributes::{Attributes, CopyAttributes, ReadOrder};
use crate::copy::checked::{CheckedCopy, CopyDirection};
use crate::copy::operand::Operand;
use crate::copy::overlap::{self, Area};
use crate::copy::submit;
use crate::error::{Detail, Error, Result};
use crate::hazard::{Access, Mode, SortedAccesses};
use crate::stream::StreamRef;
use crate::{check, sys};

/// Copies that are put on a stream at once, in the lists of some function of the runtime.
#[derive(Debug, Default)]
pub(super) struct Batch<'a, L> {
    pub(super) lists: L,
    /// How many copies the program said that there will be.
    capacity: usize,
    /// What the copies write, and what they read: apart, because either is often in order.
    writes: Vec<Access<'a>>,
    reads: Vec<Access<'a>>,
    bytes: usize,
    /// Of the first copy that could not be added.
    error: Option<Error>,
    /// Both lists as one, once the copies were found to be apart: a `SortedAccesses<'a>` in truth. A cell of that
    /// would forbid what a batch is otherwise good for: to be used as one that borrows for less long.
    sorted: OnceCell<SortedAccesses<'static>>,
}

impl<'a, L: Lists<'a>> Batch<'a, L> {
    /// Nothing yet, with room for so many copies.
    pub(super) fn with_capacity(copies: usize) -> Self {
        let (writes, reads) = (Vec::with_capacity(copies), Vec::with_capacity(copies));
        Self { capacity: copies, writes, reads, ..Self::default() }
    }

    /// Bytes that all copies move together; 0 only if there are none.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a copy whose sides agree and that has elements; keeps the first error.
    #[expect(clippy::inline_always, reason = "measured: the operands are then put into memory once")]
    #[inline(always)]
    #[track_caller]
    pub(super) fn push(
        &mut self,
        destination: Result<Operand<'a>>,
        source: Result<Operand<'a>>,
        attributes: CopyAttributes,
        order: ReadOrder,
    ) {
        // No closure: it would hide the caller's place.
        let checked = match (destination, source) {
            (Ok(destination), Ok(source)) => CheckedCopy::new(L::NAME, destination, source),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        match checked {
            Ok(Some(copy)) => self.add(&copy, attributes, order),
            Ok(None) => {}
            Err(error) => self.keep(error),
        }
    }

    /// Keeps the first error of the copies that were to be added.
    #[cold]
    fn keep(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    #[track_caller]
    fn add(&mut self, copy: &CheckedCopy<'a>, attributes: CopyAttributes, order: ReadOrder) {
        if self.error.is_some() {
            return;
        }
        let bytes = copy.shape.bytes();
        let Some(sum) = self.bytes.checked_add(bytes) else {
            let detail = Detail::Overflow { what: "the bytes of a batch", left: self.bytes, right: bytes };
            return self.keep(Error::refused(L::NAME, detail));
        };
        self.sorted.take();
        note(&mut self.writes, copy.to.access(Mode::Write));
        note(&mut self.reads, copy.from.read());
        let room = if self.bytes == 0 { self.capacity } else { 0 };
        self.lists.push(copy, attributes.of_copy(bytes, order), room);
        self.bytes = sum;
    }

    /// Puts all copies on a stream. None is made where one writes what another one reads or writes: borrows
    /// keep them away from each other, but two owners may stand for the same memory.
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
        // SAFETY: the accesses are all that the copies touch of tracked memory, whose owners wait for them
        // before they free; slices are read before the call returns.
        unsafe { submit::batch(stream, sorted, call_site, |raw| self.lists.hand_over(stream, raw)) }
            .map_err(|error| error.at(call_site).with_detail(Detail::Transfer { bytes: self.bytes }))
    }

    /// What the copies write and read, in order.
    #[cold]
    fn sort(&self) -> SortedAccesses<'static> {
        let (writes, reads) = (self.writes.as_slice(), self.reads.as_slice());
        // As a rule there are two allocations, each of which is in order.
        let address = |accesses: &[Access<'_>]| accesses.first().map(Access::address);
        let in_order = address(writes) <= address(reads);
        let sorted = SortedAccesses::of(if in_order { [writes, reads] } else { [reads, writes] }.concat());
        // SAFETY: only the lifetime becomes another one. The list is never given away and consists of what
        // `writes` and `reads` hold, so that all it refers to is borrowed for as long as this lives, and for
        // as long as it was when the list was made.
        unsafe { std::mem::transmute::<SortedAccesses<'_>, SortedAccesses<'static>>(sorted) }
    }
}

/// Adds an access to a list, or to its last one where both are one.
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
    /// Bytes in a row. Addresses are of one space, from which the runtime finds the direction.
    Linear { to: *mut c_void, from: *const c_void, bytes: usize, order: ReadOrder, settles: bool },
    /// Rows, in layers.
    Rows(&'b Entry<'b>),
}

/// A copy of rows, in layers, with its attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) copy: CheckedCopy<'a>,
    pub(super) attributes: Attributes,
}

impl Single<'_> {
    /// When the source is read.
    pub(super) fn order(&self) -> ReadOrder {
        match self {
            Self::Linear { order, .. } => *order,
            Self::Rows(entry) => entry.attributes.order,
        }
    }

    /// The copy, on a stream, or on none by the call that blocks.
    pub(super) fn copy(&self, stream: Option<sys::cudaStream_t>) -> Result<()> {
        match (*self, stream) {
            (Self::Rows(Entry { copy, .. }), _) => {
                // SAFETY: both operands are memory of the shape that outlives the copy, or, with a call that
                // blocks, is borrowed for longer, and the stream is live.
                Error::check(copy.name(stream.is_some()), unsafe { copy.call(stream) })
            }
            (Self::Linear { to, from, bytes, .. }, None) => {
                // SAFETY: both are memory of so many bytes, borrowed by the batch; the source is read when
                // the call returns, and the owner of the destination waits for the copy before it frees.
                unsafe { check!(cudaMemcpy(to, from, bytes, sys::cudaMemcpyDefault)) }
            }
            (Self::Linear { to, from, bytes, .. }, Some(raw)) => {
                // SAFETY: both are memory of so many bytes that outlives the copy, and the stream is live.
                unsafe { check!(cudaMemcpyAsync(to, from, bytes, sys::cudaMemcpyDefault, raw)) }
            }
        }
    }

    /// The copy on the legacy stream. Where the source is to be read during the call it is done by the call
    /// that blocks, which returns when it has read pageable memory. Where managed memory is on either side,
    /// as a slice that a guard has lent may be, that is not promised, nor what the order is where both sides
    /// are the host's: the stream is waited for.
    fn copy_on_legacy(&self, raw: sys::cudaStream_t) -> Result<()> {
        if self.order() != ReadOrder::DuringCall {
            return self.copy(Some(raw));
        }
        let (before, after) = match self {
            Self::Linear { settles, .. } => (*settles, *settles),
            Self::Rows(Entry { copy, .. }) => {
                let settles = copy.settles();
                (settles || copy.direction == CopyDirection::HostToHost, settles)
            }
        };
        let wait = |needed: bool| {
            // SAFETY: the stream is live, and its device current.
            if needed { unsafe { check!(cudaStreamSynchronize(raw)) } } else { Ok(()) }
        };
        wait(before)?;
        self.copy(None)?;
        wait(after)
    }
}

/// The direction of a copy as far as it matters for batches: host to device and device to host take turns at
/// the device's engines, and changing costs more than a small copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transfer {
    HostToDevice,
    DeviceToHost,
    /// Within a device, between devices, from or to managed memory, within the host.
    Other,
}

impl Transfer {
    #[inline]
    pub(super) fn of(direction: CopyDirection) -> Self {
        match direction {
            CopyDirection::HostToDevice(_) => Self::HostToDevice,
            CopyDirection::DeviceToHost(_) => Self::DeviceToHost,
            _ => Self::Other,
        }
    }
}

/// One of something for each of these.
#[derive(Debug, Default)]
pub(super) struct ByTransfer<T> {
    h2d: T,
    d2h: T,
    other: T,
}

impl<T> ByTransfer<T> {
    #[inline]
    pub(super) fn get_mut(&mut self, transfer: Transfer) -> &mut T {
        match transfer {
            Transfer::HostToDevice => &mut self.h2d,
            Transfer::DeviceToHost => &mut self.d2h,
            Transfer::Other => &mut self.other,
        }
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = (Transfer, &T)> + Clone {
        let all = [
            (Transfer::HostToDevice, &self.h2d),
            (Transfer::DeviceToHost, &self.d2h),
            (Transfer::Other, &self.other),
        ];
        all.into_iter()
    }
}

/// The copies of a batch as a function of the runtime takes them.
pub(super) trait Lists<'a>: Copies + Default {
    /// The name of the batch, in errors of copies that are added.
    const NAME: &'static str;

    /// What each copy writes, and what it reads.
    fn areas(&self) -> impl Iterator<Item = (Area, Area)> + Clone;

    /// Adds a copy. Room for so many is made before, where it is not 0.
    fn push(&mut self, copy: &CheckedCopy<'a>, attributes: Attributes, room: usize);
}

/// Copies that are to be handed to the runtime together; or one, by a call that is refused where batches are.
pub(super) trait Copies {
    /// What the program called.
    const API: &'static str;

    /// The C function that takes all of them.
    #[cfg(cudart_12_8)]
    fn function(&self) -> &'static str;

    /// The copies, each for itself.
    fn singles(&self) -> impl Iterator<Item = Single<'_>> + Clone;

    /// One call for all copies, by [`at_once`](Self::at_once), on a stream that may well take that.
    #[cfg(cudart_12_8)]
    fn together(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()>;

    /// Hands all copies to the runtime: in one call where it takes that, in a loop where it does not.
    ///
    /// To be called in the closure of an `enqueue` with all accesses of the copies.
    fn hand_over(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        #[cfg(cudart_12_8)]
        if !stream.is_legacy() && !stream.is_capturing() {
            return self.together(stream, raw);
        }
        self.otherwise(stream, raw)
    }

    /// Hands them over on a stream that takes no batches.
    #[cold]
    #[inline(never)]
    fn otherwise(&self, stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
        if stream.is_legacy() {
            return self.singles().try_for_each(|single| single.copy_on_legacy(raw));
        }
        let reason = if stream.is_capturing() || is_capturing(raw)? {
            Detail::Capturing
        } else {
            Detail::Unsupported { what: "a source read during the call, before CUDA 12.8," }
        };
        self.in_turn(raw, reason)
    }

    /// What the `call` comes to that is given all copies. The stream's device is current in it, for nothing
    /// says that it need not be, as it need not for others.
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

    /// What becomes of copies that the runtime has refused: a capture of which this crate does not know,
    /// because raw calls have begun it, it refuses so, and lets it go on. To ask before the call would cost
    /// every call.
    #[cfg(cudart_12_8)]
    #[cold]
    #[inline(never)]
    fn refused(&self, code: sys::cudaError_t, raw: sys::cudaStream_t) -> Result<()> {
        if !refuses_captured(code, raw) {
            return Err(Error::from_code(self.function(), code));
        }
        self.in_turn(raw, Detail::Capturing)
    }

    /// A call for each copy, elsewhere than on the legacy stream: for `reason`, no source can be read during
    /// the call.
    fn in_turn(&self, raw: sys::cudaStream_t, reason: Detail) -> Result<()> {
        if self.singles().any(|single| single.order() == ReadOrder::DuringCall) {
            return Err(Error::refused(Self::API, reason));
        }
        self.singles().try_for_each(|single| single.copy(Some(raw)))
    }
}

/// Keeps a batch behind a fill of pinned memory that may be the last thing on the stream. To be called by
/// what an `enqueue` calls.
///
/// On an H200 (driver 580) a batch reads pinned memory that `cudaMemset` fills with less than 2,048 bytes
/// just before it without waiting for that. Anything in between makes it wait, an event aside.
#[cfg(cudart_12_8)]
#[inline]
pub(super) fn behind_fills(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    if stream.take_fill() { behind_fill(stream, raw) } else { Ok(()) }
}

#[cfg(cudart_12_8)]
#[cold]
#[inline(never)]
fn behind_fill(stream: StreamRef<'_>, raw: sys::cudaStream_t) -> Result<()> {
    /// Does nothing.
    unsafe extern "C" fn nothing(_: *mut std::ffi::c_void) {}
    let captured = is_capturing(raw);
    if captured != Ok(false) {
        // What goes into a graph does not follow the fill, but the next batch may.
        stream.note_fill();
        return captured.map(drop);
    }
    // SAFETY: the stream is live, and the function may be called at any time.
    let between = unsafe { check!(cudaLaunchHostFunc(raw, Some(nothing), std::ptr::null_mut())) };
    // The next batch still has to.
    between.inspect_err(|_| stream.note_fill())
}

/// Whether a batch was refused because its stream is captured. The runtime then has taken no copy, and lets
/// the capture go on.
#[cfg(cudart_12_8)]
fn refuses_captured(code: sys::cudaError_t, raw: sys::cudaStream_t) -> bool {
    let captured = code == sys::cudaErrorStreamCaptureUnsupported && is_capturing(raw) == Ok(true);
    if captured {
        // It is no error of the program's, which would find it by raw calls.
        // SAFETY: the call takes nothing.
        let _ = unsafe { sys::cudaGetLastError() };
    }
    captured
}

/// Whether what is given to a stream goes into a graph, also one that raw calls began to capture.
pub(super) fn is_capturing(raw: sys::cudaStream_t) -> Result<bool> {
    let mut status = sys::cudaStreamCaptureStatusNone;
    // SAFETY: the stream is live, and the pointer is to a variable, which the call fills.
    unsafe { check!(cudaStreamIsCapturing(raw, &raw mut status)) }?;
    Ok(status != sys::cudaStreamCaptureStatusNone)
}

/// A list that is empty but for the time of a call. It asks for memory at the first one, and where it has to
/// hold more.
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
        // Who asks for it within, gets another one.
        scratch.with(|outer| {
            outer.push(1);
            scratch.with(|inner| assert!(inner.is_empty()));
            assert_eq!(*outer, [1]);
        });
    }
}
