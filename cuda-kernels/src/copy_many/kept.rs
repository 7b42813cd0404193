//! What a thread keeps of its last calls, for copies between the same places: of each the table, which has been found to be right, and by
//! what the tracker knows its accesses.
#![expect(unsafe_code, reason = "launches kernels after comparing what they rely on")]

use std::borrow::Cow;
use std::cell::Cell;

use cuda_safe::Result;
use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::Device;
use cuda_safe::error::take_last;
use cuda_safe::hazard::{Access, Mode, Repeat, Series};
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::StreamRef;

use super::noted::Noted;
use super::table::Table;
use super::{FEW, SMALL};
use crate::kernels;

/// Calls that a thread keeps.
const ROOM: usize = 4;

thread_local! {
    /// Empty while a call of the thread has it, and where there was none.
    static KEPT: Cell<Kept> = const { Cell::new(Kept { calls: Vec::new(), oldest: 0 }) };
}

/// What the last calls of a thread were, in any order.
#[derive(Default)]
pub(super) struct Kept {
    calls: Vec<Call>,
    oldest: usize,
}

/// A call between parts of memory that is apart: no destination overlaps another one or a source.
struct Call {
    table: Table<SMALL>,
    known: Option<Known>,
}

/// What the tracker knows the accesses of a call by, all writes being of one allocation and all reads of one.
struct Known {
    from: Beginnings,
    writes: Series,
    reads: Series,
    /// Whether it knew them the last time.
    goes_on: bool,
}

/// At which addresses the allocations begin that are written and read: an access is of the bytes from there on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Beginnings {
    written: usize,
    read: usize,
}

impl Kept {
    /// What the thread has kept.
    #[inline]
    pub(super) fn take() -> Self {
        KEPT.try_with(Cell::take).unwrap_or_default()
    }

    /// Keeps it for the next call. A thread that ends needs none.
    #[inline]
    pub(super) fn put_back(self) {
        let _ = KEPT.try_with(|kept| kept.set(self));
    }

    /// Keeps the table of a call, instead of that of the oldest one.
    pub(super) fn keep(&mut self, table: &Table<SMALL>) {
        if self.calls.len() < ROOM {
            self.calls.push(Call { table: Table::new(), known: None });
            self.oldest = self.calls.len() - 1;
        }
        if let Some(call) = self.calls.get_mut(self.oldest) {
            call.table.copy(table);
            call.known = None;
        }
        self.oldest = (self.oldest + 1) % ROOM;
    }

    /// Copies pairs that are those of one of the calls. None, with nothing done, where they are not.
    #[inline]
    #[track_caller]
    pub(super) fn again<T, D, S>(&mut self, pairs: &[(D, S)], stream: StreamRef<'_>) -> Option<Result<()>>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let device = stream.device();
        for call in &mut self.calls {
            if let Some(same) = call.is_of(pairs, device) {
                return Some(call.copy(&same, pairs, stream));
            }
        }
        None
    }
}

/// What is known of pairs that are those of a call.
struct Same<'a> {
    write: Access<'a>,
    read: Access<'a>,
    from: Beginnings,
}

impl Call {
    /// Whether these are the pairs that the table is of, and parts of one allocation and of one other.
    #[inline]
    fn is_of<'a, T, D, S>(&self, pairs: &'a [(D, S)], device: Device) -> Option<Same<'a>>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let rows = self.table.filled();
        let (destination, source) = pairs.first()?;
        if rows.len() != pairs.len() {
            return None;
        }
        let (write, read) = (destination.access()?, source.access()?);
        let (to, from) = (destination.value().ok()?, source.value().ok()?);
        let from = Beginnings {
            written: to.addr().wrapping_sub(write.range().start),
            read: from.addr().wrapping_sub(read.range().start),
        };
        if (write.mode(), read.mode()) != (Mode::Write, Mode::Read) {
            return None;
        }
        let is_here = |found: Option<Device>| found.is_none_or(|found| found == device);
        // Whether an access is of just these bytes of the allocation that the first one is of.
        let is_part = |access: Option<Access<'_>>, first: &Access<'_>, address: usize, bytes: usize| {
            access.is_some_and(|access| {
                let range = access.range();
                access.is_like(first)
                    && range.start == address
                    && range.end.wrapping_sub(range.start) == bytes
            })
        };
        for ((destination, source), row) in pairs.iter().zip(rows) {
            let elements = destination.elements();
            let bytes = elements.checked_mul(size_of::<T>())?;
            let (Ok(to), Ok(origin)) = (destination.value(), source.value()) else { return None };
            let (to, origin) = (to.cast::<u8>(), origin.cast::<u8>());
            let same = row.to == to
                && row.from == origin
                && usize::try_from(row.bytes) == Ok(bytes)
                && source.elements() == elements
                && is_here(destination.device())
                && is_here(source.device())
                && is_part(destination.access(), &write, to.addr().wrapping_sub(from.written), bytes)
                && is_part(source.access(), &read, origin.addr().wrapping_sub(from.read), bytes);
            if !same {
                return None;
            }
        }
        Some(Same { write, read, from })
    }

    /// Copies the pairs that it is of.
    #[inline]
    #[track_caller]
    fn copy<T, D, S>(&mut self, same: &Same<'_>, pairs: &[(D, S)], stream: StreamRef<'_>) -> Result<()>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        if let Some(known) = &self.known
            && known.goes_on
            && known.from == same.from
        {
            let repeats = [known.writes.again(&same.write), known.reads.again(&same.read)];
            if put(&mut self.table, &repeats, stream) {
                return Ok(());
            }
        }
        self.copy_told(same.from, pairs, stream)
    }

    /// The same where the tracker is to be told of the accesses.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn copy_told<T, D, S>(&mut self, from: Beginnings, pairs: &[(D, S)], stream: StreamRef<'_>) -> Result<()>
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        let mut noted = Noted::new();
        noted.note(pairs);
        // Other numbers where the same addresses are other parts.
        let known = self.known.take().filter(|known| known.from == from).unwrap_or_else(|| Known {
            from,
            writes: Series::begin(),
            reads: Series::begin(),
            goes_on: false,
        });
        let known = self.known.insert(known);
        if noted.all().len() > 2 * FEW {
            let (one, other) = noted.kinds();
            let is_written = one.first().is_some_and(|access| access.mode() == Mode::Write);
            let (writes, reads) = if is_written { (one, other) } else { (other, one) };
            let reads = in_order(reads);
            if let (Some(writes), Some(reads)) = (known.writes.told(writes), known.reads.told(&reads)) {
                known.goes_on = put(&mut self.table, &[writes, reads], stream);
                if known.goes_on {
                    return Ok(());
                }
            }
        }
        // SAFETY: the pairs are those that the table is of, which were found to be apart; the device reaches them, as `is_of` has asked.
        unsafe { self.table.launch(&kernels::copy_many_small, noted.all(), stream) }
    }
}

/// What is read, in the order in which the tracker has it. What is written is in order.
fn in_order<'b, 'a>(reads: &'b [Access<'a>]) -> Cow<'b, [Access<'a>]> {
    let behind = |one: &Access<'_>, next: &Access<'_>| one.range().end < next.range().start;
    if reads.is_sorted_by(behind) {
        return Cow::Borrowed(reads);
    }
    let mut sorted = reads.to_vec();
    sorted.sort_by_key(|access| access.range().start);
    sorted.dedup_by(|next, kept| kept.take_in(next));
    Cow::Owned(sorted)
}

/// Launches a kernel with the table of a call, whose accesses the tracker knows by their series. Says no, with nothing done, where it does
/// not, and where the runtime refused: the usual way then tells why.
#[inline]
fn put(table: &mut Table<SMALL>, repeats: &[Repeat<'_, '_>; 2], stream: StreamRef<'_>) -> bool {
    // SAFETY: as in `Call::copy_told`; each series is of the parts of one allocation that the rows of a call's table say, the address where
    // it begins being the same whenever that is used, all of them written or all of them read.
    let answer = unsafe { table.launch_repeated(&kernels::copy_many_small, repeats, stream) };
    match answer {
        Some(Ok(())) => true,
        None => false,
        Some(Err(_)) => {
            forget_refusal();
            false
        }
    }
}

/// The first refusal is not the caller's, so it does not stay in the thread's slot for the last error.
#[cold]
#[inline(never)]
fn forget_refusal() {
    let _ = take_last();
}
