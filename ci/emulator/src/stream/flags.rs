//! Flags: writes by which a kernel or the host hands memory to another operation that runs at the same time,
//! without a stream or an event between the two.
//!
//! A kernel's accesses are those of its phases. A kernel that acquires a flag begins a phase, which comes
//! after all that the other one has done so far. That may be more than what was before the flag: no ordered
//! program is reported, and some races are missed. What the host reads by page faults is the same for the
//! host. The host's own flags are in memory that it reaches: a kernel that finds a new value there comes
//! after all that the host has done so far. If the host has since written elsewhere, and the flag had its
//! value already then, the kernel does not come after that.

use std::sync::Arc;

use super::device_env::DeviceEnv;
use super::names::OperationId;
use super::nested::MOST_PHASES;
use super::queue::Queue;
use crate::exec::Program;
use crate::exec::program::Scope;
use crate::memory::{Allocation, Allocations, Kind};
use crate::race::guard;

/// The allocation around an address of this process that the host reaches, and the program's address.
fn on_host(allocations: &Allocations, at: *mut u8) -> Option<(&Allocation, u64)> {
    let it = allocations.around(at).filter(|it| it.kind.on_host() || it.kind == Kind::Managed)?;
    Some((it, it.start + u64::try_from(at.addr() - it.host.addr()).unwrap_or(0)))
}

/// The address of the eight bytes around an address, and their value, if the host reaches them.
fn word_on_host(allocations: &Allocations, at: usize) -> Option<(usize, u64)> {
    let at = at & !7;
    let (it, address) = on_host(allocations, core::ptr::with_exposed_provenance_mut(at))?;
    let byte = |n| u64::from(it.byte(address - it.start + n));
    Some((at, (0..8).rev().fold(0, |value, n| value << 8 | byte(n))))
}

impl DeviceEnv<'_> {
    /// Whether other operations or the host may set flags for the kernel.
    pub(super) fn may_find_flags(&self) -> bool {
        let others = self.queue.races.as_ref().is_some_and(|races| races.flags.are_set_by_others(self.id));
        others || guard::is_used()
    }

    /// Notes a strong write of the kernel.
    pub(super) fn note_flag(&mut self, at: *mut u8, atomic: bool, releases: Option<Scope>) {
        let (id, device) = (self.id, self.device);
        if let Some(races) = &mut self.queue.races {
            races.flags.write(at.addr(), (id, device), atomic, releases);
        }
        // The host is to be seen when it reads the flag.
        if releases == Some(Scope::System)
            && guard::is_used()
            && let Some((_, address)) = on_host(self.allocations, at)
        {
            guard::protect_again(address);
        }
    }

    /// Whether a strong read of a value finds a flag that is new to the kernel.
    pub(super) fn finds(&mut self, at: *mut u8, value: u64) -> bool {
        let on_host = guard::is_used()
            && match self.polled {
                Some((polled, on_host)) if polled == at.addr() => on_host,
                _ => self.polled.insert((at.addr(), on_host(self.allocations, at).is_some())).1,
            };
        let (id, device) = (self.id, self.device);
        let Some(races) = self.queue.races.as_mut() else { return false };
        let is_new = races.flags.is_new(at.addr(), (id, device), on_host.then_some(value));
        if is_new
            && on_host
            && let Some((at, value)) = word_on_host(self.allocations, at.addr())
        {
            races.flags.host_changed(at, value);
        }
        is_new
    }

    /// Has the kernel's next accesses come after those of whoever has set a flag.
    pub(super) fn acquire(&mut self, at: usize, program: &Arc<Program>) {
        let Some(races) = &mut self.queue.races else { return };
        let mut before = Vec::new();
        for id in races.flags.set_by(at, Some(self.device)) {
            if id != self.id {
                before.push(self.queue.so_far(self.allocations, id));
            }
        }
        if guard::is_used()
            && let Some((at, value)) = word_on_host(self.allocations, at)
        {
            let races = self.queue.races.as_ref();
            let seen = races.and_then(|races| {
                races.flags.set_by_host(at, value).filter(|id| races.order.get(*id).is_some())
            });
            before.extend(seen.or_else(|| self.queue.push_host(self.device)));
        }
        self.divide(program);
        self.grid().acquired.extend(before);
    }
}

impl Queue {
    /// An operation that comes after all that another one has done so far, or that one itself.
    fn so_far(&mut self, allocations: &Allocations, id: OperationId) -> OperationId {
        let program = self.program(id);
        let Some(touched) = self.races.as_mut().and_then(|races| races.running.remove(&id)) else {
            return id;
        };
        let mut grid = self.grids.remove(&id).unwrap_or_default();
        if grid.phases < MOST_PHASES {
            grid.divide(self, id);
            if let Some(phase) = grid.phase {
                self.note_kernel(allocations, phase, touched.spans(program.as_ref()), None);
            }
        } else if let Some(races) = &mut self.races {
            races.running.insert(id, touched);
        }
        let phase = if grid.phases < MOST_PHASES { grid.phase } else { None };
        self.grids.insert(id, grid);
        phase.unwrap_or(id)
    }

    /// Notes that the host is about to write to an address.
    pub(crate) fn host_writes_flag(&mut self, allocations: &Allocations, address: u64) {
        let Some(it) = allocations.at(address) else { return };
        let at = it.host.addr() + usize::try_from(address - it.start).unwrap_or(0);
        let Some(mut flags) = self.races.as_mut().map(|races| std::mem::take(&mut races.flags)) else {
            return;
        };
        let value = |at| word_on_host(allocations, at).map(|word| word.1);
        flags.host_writes(at & !7, value, || self.push_host(it.device));
        if let Some(races) = &mut self.races {
            races.flags = flags;
        }
    }

    /// Notes that the host has read an address. If it is a flag, the host comes after whoever has set it.
    pub(crate) fn host_reads_flag(&mut self, allocations: &Allocations, address: u64) {
        let Some(races) = &mut self.races else { return };
        let Some(it) = allocations.at(address) else { return };
        let at = it.host.addr() + usize::try_from(address - it.start).unwrap_or(0);
        let set_by = races.flags.set_by(at, None);
        let before: Vec<OperationId> = set_by.into_iter().map(|id| self.so_far(allocations, id)).collect();
        if !before.is_empty() {
            self.host_waited(&before);
        }
    }
}
