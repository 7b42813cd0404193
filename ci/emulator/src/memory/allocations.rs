//! The live allocations, by address, and those that were freed lately; the device heap; the reuse of memory
//! with a pending free.
//!
//! Nothing here waits or runs work: callers synchronise first if the runtime does.
#![expect(unsafe_code, reason = "fills and unmaps memory that the allocations owns")]

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fs::File;

use super::advice::Advices;
use super::allocation::{Allocation, Kind, NEW};
use super::array::Arrays;
use super::object::Objects;
use super::pool::{PoolKey, Pools};
use super::shared::{self, Backing, IpcHandle};
use super::space::{ALIGNMENT, AddressSpace, map, map_twice, unmap};
use super::written::Written;
use crate::error::Answer;
use crate::fidelity::{self, Limit};
use crate::host_line::HostLine;
use crate::page::page;
use crate::race::guard;
use crate::stream::{OperationId, StreamId};
use crate::sys::*;

/// How many freed allocations are remembered, for messages.
const REMEMBERED: usize = 256;
/// Bytes between an address and an allocation that a message about the address still names.
const NEAR: u64 = 1 << 20;
/// New memory is filled with this up to [`POISONED`] bytes, so that reads of unwritten memory show.
pub(crate) const POISON: u8 = 0xcd;
const POISONED: u64 = 1 << 20;

/// The memory at a range of addresses.
#[derive(Debug)]
pub(crate) enum Found<'a> {
    /// Memory that the machine does not know: pageable, or no memory at all.
    Unknown,
    /// All of it lies inside this allocation.
    Inside(&'a Allocation),
    /// It starts inside this allocation and goes past its end.
    Beyond(&'a Allocation),
}

/// The size of a device's heap before the program sets one.
const DEFAULT_LIMIT: u64 = 8 << 20;

/// The least size of a heap. An H200 takes any size, but does not keep 1 MiB; the usual size is 8 MiB.
const LEAST_HEAP: u64 = 4 << 20;
/// It has whole pieces of so many bytes.
const HEAP_GRAIN: u64 = 64 << 10;

/// The heap of one device.
#[derive(Debug)]
pub(crate) struct Heap {
    limit: u64,
    used: u64,
    /// Whether a kernel has allocated from it: its size is settled then.
    touched: bool,
}

impl Default for Heap {
    fn default() -> Self {
        Self { limit: DEFAULT_LIMIT, used: 0, touched: false }
    }
}

/// The cost of a heap allocation beyond its bytes, as on hardware, whose heap keeps headers.
const HEADER: u64 = 16;

fn charge(bytes: u64) -> Option<u64> {
    bytes.checked_next_multiple_of(16)?.checked_add(HEADER)
}

/// Memory of pools that a stream will free: an allocation that comes after the free may have it before the
/// free has run.
///
/// Memory that was freed is the device's again, and anybody's. Before that, only an allocation of the same
/// size is given the memory: work that is still to run on the old allocation finds all its bytes where they
/// were.
#[derive(Debug, Default)]
pub(crate) struct Reuse {
    /// Memory with a pending free: its start, the stream of the free, and the operation.
    offered: BTreeMap<u64, (StreamId, OperationId)>,
    /// How many frees are still to come of memory that is another allocation's by now.
    passed_on: HashMap<u64, u32>,
}

impl Reuse {
    /// Offers memory whose free is pending on a stream.
    pub(crate) fn offer(&mut self, start: u64, stream: StreamId, free: OperationId) {
        self.offered.insert(start, (stream, free));
    }

    /// Whether a free that a stream has come to is of memory that is another allocation's: it then ends
    /// nothing.
    fn is_passed_on(&mut self, start: u64) -> bool {
        let Some(count) = self.passed_on.get_mut(&start) else { return false };
        *count -= 1;
        if *count == 0 {
            self.passed_on.remove(&start);
        }
        true
    }

    /// Forgets memory whose life ends.
    pub(super) fn forget(&mut self, start: u64) {
        self.offered.remove(&start);
        self.passed_on.remove(&start);
    }
}

/// The allocations of one process.
#[derive(Debug, Default)]
pub(crate) struct Allocations {
    pub(super) spaces: Vec<AddressSpace>,
    /// Bytes in use on each device.
    used: Vec<u64>,
    /// Those of them that a context keeps.
    kept: u64,
    pub(super) heaps: Vec<Heap>,
    total: u64,
    live: BTreeMap<u64, Allocation>,
    /// Memory whose free is pending on a stream.
    leaving: HashSet<u64>,
    pub(crate) reuse: Reuse,
    /// The memory that was freed lately, by which call, and where the program made it.
    freed: VecDeque<(Allocation, &'static str, HostLine)>,
    serial: u64,
    /// The advice about managed memory.
    pub(crate) advices: Advices,
    /// The arrays.
    pub(super) arrays: Arrays,
    /// Textures and surfaces.
    pub(crate) objects: Objects,
    pub(crate) pools: Pools,
    /// The files behind memory that other processes may open, or that another process owns.
    backings: HashMap<u64, Backing>,
    /// How often another process's memory was opened.
    opened: Vec<(IpcHandle, u64, usize)>,
    /// The bytes that have been written, if initcheck is on.
    pub(crate) written: Option<Written>,
    /// Whether host memory is mapped twice, for the program and for this library.
    pub(crate) two_views: bool,
    /// The program's view of such memory, by the address of this library's.
    views: BTreeMap<usize, u64>,
}

impl Allocations {
    /// The allocations of `devices` devices with `total` bytes of memory each; `None` if the system has no
    /// addresses left.
    pub(crate) fn new(devices: usize, total: u64) -> Option<Self> {
        let spaces = (0..devices).map(|_| AddressSpace::reserve(total)).collect::<Option<Vec<_>>>()?;
        let heaps = (0..devices).map(|_| Heap::default()).collect();
        let used = vec![0; devices];
        Some(Self { spaces, used, heaps, total, ..Self::default() })
    }

    /// Keeps a part of each device's memory for contexts, so that not all is free.
    pub(crate) fn keep_for_contexts(&mut self) {
        self.kept = (self.total / 256).next_multiple_of(512);
        self.used.iter_mut().for_each(|used| *used += self.kept);
    }

    /// Returns the bytes of a device that the program has.
    pub(crate) fn taken(&self, device: usize) -> u64 {
        self.used.get(device).copied().unwrap_or(0).saturating_sub(self.kept)
    }

    /// Free and total bytes of a device.
    pub(crate) fn room(&self, device: usize) -> (u64, u64) {
        (self.total - self.used.get(device).copied().unwrap_or(0).min(self.total), self.total)
    }

    /// Allocates device memory.
    pub(crate) fn allocate(
        &mut self,
        device: usize,
        size: u64,
        kind: Kind,
        call: &'static str,
    ) -> Answer<u64> {
        let (free, _) = self.room(device);
        let charged = size.checked_next_multiple_of(512).filter(|charged| *charged <= free);
        let charged = charged.ok_or(cudaErrorMemoryAllocation)?;
        let space = self.spaces.get_mut(device).ok_or(cudaErrorMemoryAllocation)?;
        // Memory of the host's making has pages of its own, which another process may map.
        let (alignment, gap) = if kind == Kind::Heap { (16, 32) } else { (ALIGNMENT, page()) };
        let (start, host) = space.take(size, alignment, gap).ok_or(cudaErrorMemoryAllocation)?;
        if let Some(used) = self.used.get_mut(device) {
            *used += charged;
        }
        let poisoned = usize::try_from(size.min(POISONED)).unwrap_or(0);
        // SAFETY: `take` gave at least `size` bytes at `host`, and nothing else uses them yet.
        unsafe { host.write_bytes(POISON, poisoned) };
        // Variables have values from the start.
        self.note(host, size, kind == Kind::Symbol);
        self.enter(Allocation { start, size, kind, device, flags: 0, host, call, ..NEW });
        Ok(start)
    }

    /// Lets other processes open device memory. Returns the handle that they need.
    pub(crate) fn share(&mut self, start: u64) -> Answer<IpcHandle> {
        let it = self.live.get(&start).ok_or(cudaErrorInvalidValue)?;
        if let Some(backing) = self.backings.get(&start) {
            return backing.ipc_handle(it).ok_or(cudaErrorInvalidValue);
        }
        // SAFETY: no other allocation has bytes in the pages of this one, as there is a gap after each, and
        // whoever holds `Allocations` is the only one who reaches device memory.
        let backing = unsafe { shared::share(it.host, it.size) }.ok_or(cudaErrorMapBufferObjectFailed)?;
        let ipc_handle = backing.ipc_handle(it).ok_or(cudaErrorInvalidValue)?;
        // Writes of other processes are not seen here.
        self.wrote(it.host, it.size);
        self.backings.insert(start, backing);
        Ok(ipc_handle)
    }

    /// Opens another process's memory.
    pub(crate) fn open(&mut self, ipc_handle: &IpcHandle, kind: Kind, call: &'static str) -> Answer<u64> {
        let device = ipc_handle.device().ok_or(cudaErrorInvalidDevice)?;
        let file = ipc_handle.open().ok_or(cudaErrorMapBufferObjectFailed)?;
        self.map_file(device, file, (ipc_handle.offset, ipc_handle.size), kind, call)
    }

    /// Maps a part of a file that another interface has handed over: from this byte on, so many.
    pub(crate) fn open_file(
        &mut self,
        device: usize,
        file: File,
        part: (u64, u64),
        call: &'static str,
    ) -> Answer<u64> {
        self.map_file(device, file, part, Kind::Device, call)
    }

    fn map_file(
        &mut self,
        device: usize,
        file: File,
        (offset, size): (u64, u64),
        kind: Kind,
        call: &'static str,
    ) -> Answer<u64> {
        let space = self.spaces.get_mut(device).ok_or(cudaErrorInvalidDevice)?;
        // Whole pages, and as far into the first one as there: so the bytes lie as they do in the other
        // process.
        let span = offset.checked_add(size).ok_or(cudaErrorInvalidValue)?;
        let (first, host) = space.take(span, page(), page()).ok_or(cudaErrorMemoryAllocation)?;
        // SAFETY: the pages were just taken and nothing else has bytes in them.
        let Some(backing) = (unsafe { shared::map(file, host, span) }) else {
            space.give_back(first);
            return Err(cudaErrorMapBufferObjectFailed);
        };
        let start = first + offset;
        let host = host.wrapping_add(usize::try_from(offset).unwrap_or(0));
        self.backings.insert(start, backing.from(first));
        self.wrote(host, size);
        self.enter(Allocation { start, size, kind, device, flags: 0, host, call, ..NEW });
        Ok(start)
    }

    /// Opens another process's memory. If it is open already, counts one more user.
    pub(crate) fn open_once_more(&mut self, ipc_handle: &IpcHandle, call: &'static str) -> Answer<u64> {
        if let Some((_, start, count)) = self.opened.iter_mut().find(|it| it.0 == *ipc_handle) {
            *count += 1;
            return Ok(*start);
        }
        let start = self.open(ipc_handle, Kind::Imported, call)?;
        self.opened.push((*ipc_handle, start, 1));
        Ok(start)
    }

    /// Undoes one [`Allocations::open_once_more`].
    pub(crate) fn close(&mut self, start: u64, call: &'static str) -> Answer {
        let at = self.opened.iter().position(|it| it.1 == start).ok_or(cudaErrorInvalidValue)?;
        let last = self.opened.get_mut(at).is_none_or(|it| {
            it.2 -= 1;
            it.2 == 0
        });
        if last {
            self.remove(start, call);
        }
        Ok(())
    }

    /// Allocates host memory that devices reach too: pinned or managed.
    pub(crate) fn allocate_host(
        &mut self,
        device: usize,
        size: u64,
        kind: Kind,
        flags: u32,
        call: &'static str,
    ) -> Answer<u64> {
        let length = size.checked_next_multiple_of(page()).ok_or(cudaErrorMemoryAllocation)?;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let views =
            if self.two_views { map_twice(length) } else { map(length, both).map(|host| (host, host)) };
        let (program, host) = views.ok_or(cudaErrorMemoryAllocation)?;
        let start = u64::try_from(program.expose_provenance()).map_err(|_| cudaErrorMemoryAllocation)?;
        if self.two_views {
            guard::add_view(start, length, kind == Kind::Managed, host);
            self.views.insert(host.addr(), start);
        }
        self.enter(Allocation { start, size, kind, device, flags, host, call, ..NEW });
        Ok(start)
    }

    /// Makes the program's own memory known.
    pub(crate) fn register(&mut self, device: usize, host: *mut u8, size: u64, flags: u32) -> Answer {
        let start = u64::try_from(host.addr()).map_err(|_| cudaErrorInvalidValue)?;
        let end = start.checked_add(size).ok_or(cudaErrorInvalidValue)?;
        if let Some(other) = self.live.range(..end).next_back().map(|entry| entry.1)
            && other.end() > start
        {
            let registered = other.kind == Kind::Registered;
            return Err(if registered {
                cudaErrorHostMemoryAlreadyRegistered
            } else {
                cudaErrorInvalidValue
            });
        }
        if self.two_views {
            fidelity::note(Limit::Registered);
        }
        let call = "cudaHostRegister";
        self.enter(Allocation { start, size, kind: Kind::Registered, device, flags, host, call, ..NEW });
        Ok(())
    }

    /// Forgets the program's own memory again.
    pub(crate) fn unregister(&mut self, address: u64) -> Answer {
        match self.at(address) {
            None => Err(cudaErrorHostMemoryNotRegistered),
            Some(it) if it.kind != Kind::Registered || it.start != address => Err(cudaErrorInvalidValue),
            Some(_) => {
                self.remove(address, "cudaHostUnregister");
                Ok(())
            }
        }
    }

    /// The live allocation around an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Allocation> {
        self.live.range(..=address).next_back().map(|entry| entry.1).filter(|it| it.contains(address))
    }

    /// The live allocation that starts at an address, if it is of one of these kinds.
    pub(crate) fn starting_at(&self, address: u64, kinds: &[Kind]) -> Option<&Allocation> {
        self.live.get(&address).filter(|it| kinds.contains(&it.kind))
    }

    /// The live allocation around an address, unless a stream will free it: the program may not use it from
    /// the call on that frees it, even if the stream is not there yet.
    pub(crate) fn usable(&self, address: u64) -> Option<&Allocation> {
        self.at(address).filter(|it| !self.leaving.contains(&it.start))
    }

    /// The memory at `size` bytes from an address.
    pub(crate) fn find(&self, address: u64, size: u64) -> Found<'_> {
        match self.usable(address) {
            None => Found::Unknown,
            Some(it) if size <= it.end() - address => Found::Inside(it),
            Some(it) => Found::Beyond(it),
        }
    }

    /// Whether an address is one that only devices could use, live or not.
    pub(crate) fn on_device(&self, address: u64) -> bool {
        self.spaces.iter().any(|space| space.owns(address))
    }

    /// Notes that a stream will free memory. Returns false if a free is pending already.
    pub(crate) fn leaves(&mut self, start: u64) -> bool {
        self.leaving.insert(start)
    }

    /// Makes another allocation begin in the place of one whose free is pending.
    pub(super) fn replace(&mut self, start: u64, call: &'static str) {
        self.leaving.remove(&start);
        if let Some(old) = self.live.remove(&start) {
            self.enter(Allocation { call, ..old });
        }
    }

    /// Poisons stream-ordered memory that replaces another allocation: nobody has written its contents.
    pub(crate) fn poison(&mut self, start: u64) {
        let Some(it) = self.starting_at(start, &[Kind::Pool]) else { return };
        let (host, size) = (it.host, it.size);
        let poisoned = usize::try_from(size.min(POISONED)).unwrap_or(0);
        // SAFETY: the allocation is live and has so many bytes, and whoever holds `Allocations` is the only
        // one who reaches device memory.
        unsafe { host.write_bytes(POISON, poisoned) };
        self.note(host, size, false);
    }

    /// Whether other processes may have device memory open, or it is another's.
    pub(crate) fn is_shared(&self, start: u64) -> bool {
        self.backings.contains_key(&start)
    }

    /// Ends the life of the allocation that starts at `start`, which `call` asked for.
    pub(crate) fn remove(&mut self, start: u64, call: &'static str) -> Option<()> {
        let gone = self.live.remove(&start)?;
        guard::remove_searched(start);
        self.leaving.remove(&start);
        self.reuse.forget(start);
        if gone.kind == Kind::Managed {
            self.advices.forget(gone.start, gone.size);
        }
        match gone.kind {
            Kind::Registered => {}
            Kind::Pinned | Kind::Managed => {
                self.pools.gave(start);
                let length = gone.size.next_multiple_of(page());
                if self.views.remove(&gone.host.addr()).is_some() {
                    guard::remove_view(start);
                    let view = core::ptr::with_exposed_provenance_mut(usize::try_from(start).unwrap_or(0));
                    // SAFETY: `Allocations` mapped this view itself, and it was live until now.
                    unsafe { unmap(view, length) };
                }
                // SAFETY: `Allocations` mapped this range itself, whole pages of it, and it was live until
                // now.
                unsafe { unmap(gone.host, length) };
            }
            Kind::Device | Kind::Pool | Kind::Heap | Kind::Array | Kind::Symbol | Kind::Imported => {
                self.pools.gave(start);
                self.opened.retain(|it| it.1 != start);
                let backing = self.backings.remove(&start);
                // Another process's memory counts there.
                let taken = backing.as_ref().and_then(Backing::taken);
                if let Some(backing) = backing {
                    // SAFETY: the pages are the allocation's alone, and it is live no more.
                    unsafe { backing.undo() };
                }
                if let (Some(used), None) = (self.used.get_mut(gone.device), taken) {
                    *used = used.saturating_sub(gone.size.next_multiple_of(512));
                }
                if let Some(space) = self.spaces.get_mut(gone.device) {
                    space.give_back(taken.unwrap_or(start));
                }
            }
        }
        if self.freed.len() == REMEMBERED {
            self.freed.pop_front();
        }
        self.freed.push_back((gone, call, HostLine::captured()));
        Some(())
    }

    /// Everything that is live on a device, or on all, in the order in which it was allocated.
    pub(crate) fn live(&self, device: Option<usize>) -> Vec<Allocation> {
        let wanted = |it: &&Allocation| device.is_none_or(|device| it.device == device);
        let mut live: Vec<_> = self.live.values().filter(wanted).cloned().collect();
        live.sort_by_key(|it| it.serial);
        live
    }

    /// The memory that was freed last around an address, by which call, and where the program made it.
    pub(crate) fn freed_around(&self, address: u64) -> Option<&(Allocation, &'static str, HostLine)> {
        self.freed.iter().rev().find(|entry| entry.0.contains(address))
    }

    /// Describes the memory nearest to an address that no usable allocation covers.
    pub(crate) fn nearest(&self, address: u64) -> Option<String> {
        if let Some(it) = self.at(address) {
            return Some(format!(
                "{} bytes into {it}, which a call before this one frees",
                address - it.start
            ));
        }
        if let Some((gone, call, _)) = self.freed_around(address) {
            let offset = address - gone.start;
            return Some(format!("{offset} bytes into {gone}, which {call} has freed"));
        }
        match self.beside(address) {
            Some(it) if it.start > address => {
                return Some(format!("{} bytes before {it}", it.start - address));
            }
            Some(it) => {
                return Some(format!("{} bytes past the end of {it}", address - it.end().min(address)));
            }
            None => {}
        }
        self.on_device(address).then(|| "a device address that was never allocated".to_owned())
    }

    /// The allocation around an address, or the one of which [`nearest`](Self::nearest) speaks.
    pub(crate) fn neighbour(&self, address: u64) -> Option<&Allocation> {
        let gone = || self.freed_around(address).map(|entry| &entry.0);
        self.at(address).or_else(gone).or_else(|| self.beside(address))
    }

    /// The live allocation that ends before an address or starts behind it, whichever is nearer. Of two that
    /// are equally near it is the one that ends: indices run past an end more often than before a start.
    fn beside(&self, address: u64) -> Option<&Allocation> {
        let before =
            self.live.range(..=address).next_back().map(|(_, it)| (address - it.end().min(address), it));
        let after = self.live.range(address..).next().map(|(_, it)| (it.start - address, it));
        before
            .into_iter()
            .chain(after)
            .min_by_key(|(far, _)| *far)
            .filter(|(far, _)| *far < NEAR)
            .map(|(_, it)| it)
    }

    fn enter(&mut self, mut allocation: Allocation) {
        self.serial += 1;
        allocation.serial = self.serial;
        allocation.line = HostLine::captured();
        if self.two_views && matches!(allocation.kind, Kind::Device | Kind::Pool | Kind::Symbol) {
            guard::add_searched(allocation.start, allocation.size, allocation.host);
        }
        self.live.insert(allocation.start, allocation);
    }
}

/// The device heap: memory that `malloc` in a kernel allocates. Kernels reach it; copies from the host do
/// not.
impl Allocations {
    /// Serves `malloc` in a kernel on a device; `None` if the heap is full.
    pub(crate) fn heap_malloc(&mut self, device: usize, bytes: u64) -> Option<u64> {
        let heap = self.heaps.get_mut(device)?;
        heap.touched = true;
        let charged = charge(bytes).filter(|charged| *charged <= heap.limit - heap.used.min(heap.limit))?;
        let address = self.allocate(device, bytes.max(1), Kind::Heap, "malloc in a kernel").ok()?;
        self.heaps.get_mut(device)?.used += charged;
        Some(address)
    }

    /// Serves `free` in a kernel; whether there was such an allocation.
    pub(crate) fn heap_free(&mut self, device: usize, address: u64) -> bool {
        let Some(size) = self.starting_at(address, &[Kind::Heap]).map(|it| it.size) else { return false };
        if let (Some(heap), Some(charged)) = (self.heaps.get_mut(device), charge(size)) {
            heap.used = heap.used.saturating_sub(charged);
        }
        self.remove(address, "free in a kernel").is_some()
    }

    /// The size of a device's heap in bytes.
    pub(crate) fn heap_limit(&self, device: usize) -> u64 {
        self.heaps.get(device).map_or(0, |heap| heap.limit)
    }

    /// Sets the size of a device's heap to the nearest that it can have; whether that was still possible.
    pub(crate) fn set_heap_limit(&mut self, device: usize, bytes: u64) -> bool {
        let whole = bytes.checked_next_multiple_of(HEAP_GRAIN).unwrap_or(bytes);
        let bytes = whole.max(LEAST_HEAP).min(self.room(device).1);
        match self.heaps.get_mut(device) {
            Some(heap) if !heap.touched || bytes == heap.limit => {
                heap.limit = bytes;
                true
            }
            _ => false,
        }
    }
}

/// Reuse of stream-ordered memory.
impl Allocations {
    /// Memory of a pool with a pending free and so many bytes: its start, the stream of the free, and the
    /// operation.
    pub(crate) fn to_be_had(&self, pool: PoolKey, size: u64) -> Vec<(u64, StreamId, OperationId)> {
        let fits = |start: u64| {
            self.starting_at(start, &[Kind::Pool]).is_some_and(|it| it.size == size)
                && !self.is_shared(start)
                && self.pools.of(start).is_some_and(|(key, _)| key == pool)
        };
        let offered = self.reuse.offered.iter().filter(|(start, _)| fits(**start));
        offered.map(|(start, (stream, free))| (*start, *stream, *free)).collect()
    }

    /// Gives memory that is still to be freed to another allocation.
    pub(crate) fn pass_on(&mut self, start: u64, call: &'static str) {
        self.reuse.offered.remove(&start);
        *self.reuse.passed_on.entry(start).or_default() += 1;
        self.replace(start, call);
    }

    /// Ends stream-ordered memory, unless it is another allocation's by now.
    pub(crate) fn free(&mut self, start: u64, call: &'static str) {
        if !self.reuse.is_passed_on(start) {
            self.remove(start, call);
        }
    }
}
/// Notes on written bytes.
impl Allocations {
    /// Takes notes of writes from now on; `None` if the system has no addresses for them.
    pub(crate) fn watch(&mut self) -> Option<()> {
        self.written = Some(Written::on(self.spaces.iter().map(AddressSpace::bytes))?);
        Some(())
    }

    /// Records that bytes of one allocation, at an address of this process, were written.
    pub(crate) fn wrote(&self, at: *mut u8, bytes: u64) {
        self.note(at, bytes, true);
    }

    pub(super) fn note(&self, at: *mut u8, bytes: u64, written: bool) {
        if let Some(notes) = &self.written {
            notes.set(at, usize::try_from(bytes).unwrap_or(0), written);
        }
    }

    /// Records that a row was copied from one address of this process to another. Returns a report if it is a
    /// copy to the host of bytes that nobody has written.
    pub(crate) fn copied(&self, to: *mut u8, from: *mut u8, bytes: usize, call: &str) -> Option<String> {
        let missing = self.written.as_ref()?.copied(to, from, bytes)?;
        self.tell(from.wrapping_add(missing), call)
    }

    /// Returns a report of a read of bytes of one allocation, at an address of this process, if nobody has
    /// written all of them.
    pub(crate) fn unwritten(&self, at: *mut u8, bytes: u64, reader: &str) -> Option<String> {
        let missing = self.written.as_ref()?.missing(at, usize::try_from(bytes).unwrap_or(0))?;
        self.tell(at.wrapping_add(missing), reader)
    }

    /// Whether anybody has written bytes of an allocation, if that is known: from the notes of writes, or
    /// from what new memory is filled with.
    pub(crate) fn is_written(&self, it: &Allocation, offset: u64, bytes: u64) -> Option<bool> {
        let on_host = it.kind.on_host();
        if let (Some(notes), false) = (&self.written, on_host) {
            let at = it.host_at(it.start + offset);
            return Some(notes.missing(at, usize::try_from(bytes).unwrap_or(0)).is_none());
        }
        let fresh = if on_host { 0 } else { POISON };
        let is_fresh = (0..bytes).all(|n| it.byte(offset + n) == fresh);
        match it.kind {
            Kind::Registered | Kind::Imported | Kind::Symbol => None,
            // Zeros may have been written on the zeros of new pages.
            _ if on_host => (!is_fresh).then_some(true),
            _ => (offset + bytes <= POISONED).then_some(!is_fresh),
        }
    }

    /// The live allocation of a byte at an address of this process.
    pub(crate) fn around(&self, at: *mut u8) -> Option<&Allocation> {
        let in_view = || {
            let (host, start) = self.views.range(..=at.addr()).next_back()?;
            let it = self.at(*start)?;
            Some(*start + u64::try_from(at.addr() - host).ok()?).filter(|address| it.contains(*address))
        };
        let address = self.spaces.iter().find_map(|space| space.address(at)).or_else(in_view);
        self.at(address.or_else(|| u64::try_from(at.addr()).ok())?)
    }

    fn tell(&self, at: *mut u8, reader: &str) -> Option<String> {
        let address = self.spaces.iter().find_map(|space| space.address(at))?;
        let it = self.at(address)?;
        let news = self.written.as_ref().is_some_and(|notes| notes.is_news(it.serial, reader));
        news.then(|| format!("nobody has written byte {} of {it}", address - it.start))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allocations() -> Allocations {
        Allocations::new(2, 1 << 24).unwrap()
    }

    #[test]
    fn a_range_is_inside_beyond_or_unknown() {
        let mut allocations = allocations();
        let a = allocations.allocate(0, 1000, Kind::Device, "cudaMalloc").unwrap();
        assert!(matches!(allocations.find(a, 1000), Found::Inside(_)));
        assert!(matches!(allocations.find(a + 999, 1), Found::Inside(_)));
        assert!(matches!(allocations.find(a + 1, 1000), Found::Beyond(_)));
        assert!(matches!(allocations.find(a + 1000, 1), Found::Unknown));
        assert!(matches!(allocations.find(a, u64::MAX), Found::Beyond(_)));
    }

    #[test]
    fn memory_of_one_device_runs_out_without_touching_the_other() {
        let mut allocations = allocations();
        assert_eq!(
            allocations.allocate(0, 1 << 25, Kind::Device, "cudaMalloc"),
            Err(cudaErrorMemoryAllocation)
        );
        let a = allocations.allocate(0, 1 << 24, Kind::Device, "cudaMalloc").unwrap();
        assert_eq!(allocations.room(0), (0, 1 << 24));
        assert_eq!(allocations.allocate(0, 1, Kind::Device, "cudaMalloc"), Err(cudaErrorMemoryAllocation));
        assert!(allocations.allocate(1, 1, Kind::Device, "cudaMalloc").is_ok());
        allocations.remove(a, "cudaFree");
        assert_eq!(allocations.room(0), (1 << 24, 1 << 24));
    }

    #[test]
    fn the_nearest_memory_is_named_on_either_side() {
        let mut allocations = allocations();
        let [a, b] = [0, 1].map(|_| allocations.allocate(0, 256, Kind::Device, "cudaMalloc").unwrap());
        assert!(b > a + 1000);
        let near = |at: u64| allocations.nearest(at).unwrap();
        assert!(near(b - 4).starts_with("4 bytes before 256 bytes"), "{}", near(b - 4));
        assert!(near(b - 4).contains(&format!("{b:#x}")) && allocations.neighbour(b - 4).unwrap().start == b);
        assert!(near(a + 260).starts_with("4 bytes past the end of 256 bytes"), "{}", near(a + 260));
        assert_eq!(allocations.neighbour(a + 260).unwrap().start, a);
    }

    #[test]
    fn what_was_freed_is_named() {
        let mut allocations = allocations();
        let a = allocations.allocate(1, 100, Kind::Device, "cudaMallocPitch").unwrap();
        let near = allocations.nearest(a + 104).unwrap();
        assert!(near.starts_with("4 bytes past the end of 100 bytes of device memory"), "{near}");
        allocations.remove(a, "cudaFree");
        let gone = allocations.nearest(a + 7).unwrap();
        assert!(
            gone.contains("cudaMallocPitch on device 1") && gone.contains("cudaFree has freed"),
            "{gone}"
        );
    }

    #[test]
    fn registrations_may_share_pages_but_not_bytes() {
        let mut allocations = allocations();
        let mut memory = vec![0_u8; 4096];
        let p = memory.as_mut_ptr();
        let start = u64::try_from(p.addr()).unwrap();
        allocations.register(0, p, 100, 0).unwrap();
        assert_eq!(
            allocations.register(0, p.wrapping_add(50), 100, 0),
            Err(cudaErrorHostMemoryAlreadyRegistered)
        );
        allocations.register(0, p.wrapping_add(100), 100, 0).unwrap();
        assert_eq!(allocations.unregister(start + 1), Err(cudaErrorInvalidValue));
        allocations.unregister(start).unwrap();
        assert_eq!(allocations.unregister(start), Err(cudaErrorHostMemoryNotRegistered));
    }

    #[test]
    fn the_heap_has_a_limit_that_settles_with_the_first_allocation() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        assert!(allocations.set_heap_limit(0, 4096));
        assert_eq!(allocations.heap_limit(0), LEAST_HEAP);
        let a = allocations.heap_malloc(0, LEAST_HEAP - 96).unwrap();
        assert_eq!(a % 16, 0);
        assert_eq!(allocations.heap_malloc(0, 4000), None);
        assert!(!allocations.set_heap_limit(0, 2 * LEAST_HEAP));
        assert!(allocations.heap_free(0, a));
        assert!(!allocations.heap_free(0, a), "freed twice");
        assert!(allocations.heap_malloc(0, 4000).is_some());
    }
}
