//! What most calls are: pairs in order, and not too many.
#![expect(unsafe_code, reason = "launches kernels after checking what they rely on")]

use std::ops::Range;

use cuda_safe::Result;
use cuda_safe::bytemuck::{AnyBitPattern, NoUninit};
use cuda_safe::device::Device;
use cuda_safe::launch::{KernelInput, KernelOutput};
use cuda_safe::stream::StreamRef;

use super::noted::Noted;
use super::table::Table;
use super::{SMALL, range};
use crate::kernels;

/// What most calls are, made ready in few steps and without memory of the heap: pairs in the order of their destinations, none of
/// which is among the sources, and no more than a small table has room for.
pub(super) struct Usual<'a> {
    table: Table<SMALL>,
    noted: Noted<'a>,
}

impl<'a> Usual<'a> {
    /// Nothing yet.
    #[inline]
    pub(super) fn new() -> Self {
        Self { table: Table::new(), noted: Noted::new() }
    }

    /// Takes all pairs. Says no where they are anything else, wrong for one: [`any`](super::any::any) then tells what it is.
    #[inline]
    pub(super) fn take<T, D, S>(&mut self, pairs: &'a [(D, S)], device: Device) -> bool
    where
        T: AnyBitPattern + NoUninit,
        D: KernelOutput<T>,
        S: KernelInput<T>,
    {
        if pairs.len() > SMALL || size_of::<T>() == 0 {
            return false;
        }
        let is_here = |found: Option<Device>| found.is_none_or(|found| found == device);
        // Where the first destination begins and the last one ends, and the same of the sources, whatever their order.
        let nothing = Range { start: usize::MAX, end: 0 };
        let (mut written, mut read) = (nothing.clone(), nothing);
        let mut rows = self.table.rows();
        for (destination, source) in pairs {
            let elements = destination.elements();
            if source.elements() != elements || !is_here(destination.device()) || !is_here(source.device()) {
                return false;
            }
            if elements == 0 {
                continue;
            }
            let (Ok(to), Ok(from)) = (destination.value(), source.value()) else { return false };
            let Some(bytes) = elements.checked_mul(size_of::<T>()) else { return false };
            let (writes, reads) = (range(to.addr(), bytes), range(from.addr(), bytes));
            if writes.start < written.end || !rows.push(to.cast(), from.cast(), bytes) {
                return false;
            }
            written = written.start.min(writes.start)..writes.end;
            read = read.start.min(reads.start)..read.end.max(reads.end);
        }
        rows.end();
        if read.start < written.end && written.start < read.end {
            return false;
        }
        self.noted.note(pairs);
        true
    }

    /// The table.
    #[inline]
    pub(super) fn table(&self) -> &Table<SMALL> {
        &self.table
    }

    #[track_caller]
    pub(super) fn launch(&mut self, stream: StreamRef<'_>) -> Result<()> {
        if self.table.is_empty() {
            return Ok(());
        }
        // SAFETY: `take` has found that the destinations, being in order, do not overlap, and that no source does with them;
        // that the device reaches all of them; and it has noted the access of each.
        unsafe { self.table.launch(&kernels::copy_many_small, self.noted.all(), stream) }
    }
}
