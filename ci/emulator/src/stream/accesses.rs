//! The accesses of operations that have run, for the detection of races.
//!
//! A copy and a memset access the bytes of their rows. The bytes of a kernel were collected while it ran. A
//! stream-ordered allocation and a free access all bytes of the memory. Memory that another process may have
//! open is left out, because its operations are unknown here, and so is the heap of a device, which kernels
//! order by themselves.

use std::sync::Arc;

use super::copy::{Copy, End, Memory, Volume};
use super::fill::Fill;
use super::names::OperationId;
use super::queue::Queue;
use super::work::Work;
use crate::fidelity::{self, Limit};
use crate::host_line::HostLine;
use crate::memory::{Allocation, Allocations, Kind};
use crate::race::{AccessMode, OrderedOperation, Races, Span, guard, whole};

/// Whether all operations on memory are known.
fn is_private(allocations: &Allocations, it: &Allocation) -> bool {
    let shared = it.kind == Kind::Imported || allocations.is_shared(it.start);
    if shared {
        fidelity::note(Limit::Shared);
    }
    !shared && it.kind != Kind::Heap
}

/// The bytes of rows.
fn rows(address: u64, pitch: u64, slice: u64, volume: Volume) -> Vec<Span> {
    let mut spans = Vec::new();
    let layout = (pitch, slice);
    volume.rows(layout, layout, |at, _, bytes| spans.push(Span::new(address.saturating_add(at), bytes)));
    spans.sort_unstable_by_key(|span| span.start);
    spans
}

impl Work {
    /// Protects host memory that the operation uses, until the host has waited for it.
    pub(super) fn protect(&self, races: &Races, operation: &Arc<OrderedOperation>) {
        if races.follows_function(operation) {
            return;
        }
        let end = |end: &End, volume: Volume, writes: bool| {
            let address = match &end.memory {
                Memory::Known(address) | Memory::Staged(_, Some(address)) => *address,
                Memory::Pageable(_) | Memory::Staged(_, None) => return,
            };
            let bytes = volume.span(end.pitch, end.slice).unwrap_or(u64::MAX);
            guard::protect(address, bytes, writes, operation);
        };
        let copy = |copy: &Copy| {
            end(&copy.from, copy.volume, false);
            end(&copy.to, copy.volume, true);
            if let (Memory::Staged(bytes, _), Memory::Known(to)) = (&copy.from.memory, &copy.to.memory) {
                guard::brings(*to, bytes, operation);
            }
        };
        match self {
            Self::Copy(one) => copy(one),
            Self::Copies(all) => all.iter().for_each(copy),
            Self::Fill(fill) => {
                let bytes = fill.volume.span(fill.pitch, fill.slice).unwrap_or(u64::MAX);
                guard::protect(fill.address, bytes, true, operation);
            }
            Self::Task(task) => {
                let variables = task.program().map_or(&[][..], |program| &program.variables);
                guard::protect_targets(task.arguments(), variables, operation);
            }
            _ => {}
        }
    }
}

impl Queue {
    fn races(&mut self, id: OperationId) -> Option<(&mut Races, Arc<OrderedOperation>)> {
        let races = self.races.as_mut()?;
        let operation = Arc::clone(races.order.get(id)?);
        Some((races, operation))
    }

    /// Notes the bytes that a copy has accessed, or that it could not access.
    pub(super) fn note_copy(&mut self, allocations: &Allocations, id: OperationId, copy: &Copy, done: bool) {
        for (end, mode) in [(&copy.from, AccessMode::Read), (&copy.to, AccessMode::Write)] {
            let End { memory, pitch, slice } = end;
            let (address, pitch, slice) = match memory {
                Memory::Known(address) => (*address, *pitch, *slice),
                Memory::Pageable(address) => (u64::try_from(*address).unwrap_or(0), *pitch, *slice),
                Memory::Staged(_, Some(address)) => (*address, 0, 0),
                Memory::Staged(_, None) => continue,
            };
            // The source of pageable memory belongs to the program.
            if mode == AccessMode::Write || !matches!(memory, Memory::Pageable(_)) {
                self.note_rows(allocations, id, mode, (address, pitch, slice, copy.volume), done);
            }
        }
    }

    /// Notes the bytes that a memset has written, or that it could not write.
    pub(super) fn note_fill(&mut self, allocations: &Allocations, id: OperationId, fill: &Fill, done: bool) {
        self.note_rows(
            allocations,
            id,
            AccessMode::Write,
            (fill.address, fill.pitch, fill.slice, fill.volume),
            done,
        );
    }

    fn note_rows(
        &mut self,
        allocations: &Allocations,
        id: OperationId,
        mode: AccessMode,
        (address, pitch, slice, volume): (u64, u64, u64, Volume),
        done: bool,
    ) {
        let Some((races, operation)) = self.races(id) else { return };
        let it = allocations.at(address);
        if it.is_some_and(|it| is_private(allocations, it)) || it.is_none() && done {
            races.accessed(&operation, it, mode, rows(address, pitch, slice, volume));
        } else if it.is_none() {
            races.touches_freed(&operation, address);
        }
    }

    /// Notes the bytes that a kernel has accessed, by their addresses in this process, and the address at
    /// which it found no memory.
    pub(super) fn note_kernel(
        &mut self,
        allocations: &Allocations,
        id: OperationId,
        touched: [(AccessMode, Vec<Span>); 8],
        missed: Option<u64>,
    ) {
        let Some((races, operation)) = self.races(id) else { return };
        if let Some(address) = missed {
            races.touches_freed(&operation, address);
        }
        for (mode, spans) in touched {
            let mut found: Option<(&Allocation, Vec<Span>)> = None;
            for mut span in spans {
                while span.start < span.end {
                    let host = |address: u64| {
                        core::ptr::with_exposed_provenance_mut(usize::try_from(address).unwrap_or(0))
                    };
                    let Some(it) = allocations.around(host(span.start)) else { break };
                    let base = u64::try_from(it.host.addr()).unwrap_or(0);
                    let end = span.end.min(base.saturating_add(it.size));
                    let address = it.start + (span.start - base);
                    let part = Span { start: address, end: address + (end - span.start), ..span.clone() };
                    span.start = end;
                    guard::protect(part.start, part.end - part.start, mode.writes(), &operation);
                    match &mut found {
                        Some((same, parts)) if same.serial == it.serial => parts.push(part),
                        _ => {
                            if let Some((it, parts)) = found.replace((it, vec![part]))
                                && is_private(allocations, it)
                            {
                                races.accessed(&operation, Some(it), mode, parts);
                            }
                        }
                    }
                }
            }
            if let Some((it, parts)) = found.filter(|(it, _)| is_private(allocations, it)) {
                races.accessed(&operation, Some(it), mode, parts);
            }
        }
    }

    /// Notes the end of a stream-ordered allocation.
    pub(super) fn note_end(&mut self, allocations: &Allocations, id: OperationId, address: u64) {
        let it = allocations.starting_at(address, &[Kind::Device, Kind::Pool]);
        if let Some((races, operation)) = self.races(id)
            && let Some(it) = it.filter(|it| is_private(allocations, it))
        {
            races.frees(&operation, it);
        }
    }

    /// Notes the beginning of a stream-ordered allocation.
    pub(crate) fn note_begin(&mut self, allocations: &Allocations, id: OperationId, address: u64) {
        let it = allocations.starting_at(address, &[Kind::Pool]);
        if let Some((races, operation)) = self.races(id)
            && let Some(it) = it.filter(|it| is_private(allocations, it))
        {
            races.accessed(&operation, Some(it), AccessMode::Allocate, vec![whole(it)]);
        }
    }

    /// Notes that the host ends the life of memory.
    pub(crate) fn note_host_free(&mut self, allocations: &Allocations, address: u64, call: &'static str) {
        let it = allocations.at(address).filter(|it| it.start == address && is_private(allocations, it));
        if let (Some(races), Some(it)) = (&mut self.races, it) {
            let operation = races.order.add_host(call, HostLine::captured());
            races.frees(&operation, it);
        }
    }
}
