//! The host's own accesses to pinned and managed memory while work on it is in flight.
//!
//! If races are looked for, such memory is mapped twice: for the program, and for this library. The program's
//! pages are protected from when an operation on them is submitted until the host has waited for it: against
//! writes if the operation reads, against all accesses otherwise. A kernel's accesses are not known before it
//! runs, so until then the managed and pinned allocations that its arguments point to are protected, the
//! managed variables of its module, and what the first words of these, of device memory and of variables
//! point to (pinned ones only if system calls of the program open pages: `system_calls.rs`). An operation
//! that comes after a host function protects nothing before that has returned, because the function may use
//! the memory. An access of the host faults, is recorded, and the program goes on (`fault.rs`). The page is
//! open for that access only, but after [`STEPS`] accesses to an allocation, and always on other processors
//! than x86-64, it stays open until the next operation on the allocation or the next flag that a kernel sets
//! there. Accesses to registered memory, which the program has mapped, are not found.
#![expect(unsafe_code, reason = "protects pages and handles the faults")]

use core::ffi::{c_int, c_void};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::order::OrderedOperation;
use crate::fidelity::{self, Limit};
use crate::page::page;

/// The most guards at a time: further operations protect nothing.
const MOST: usize = 1 << 12;

/// The most copies whose pointers are remembered.
const BROUGHT: usize = 256;

/// The most accesses to an allocation that open a page for themselves only, until its next operation.
const STEPS: u32 = 1 << 11;

/// How many bytes of an allocation are searched for pointers to others.
const SEARCHED: u64 = 1 << 12;
const WORDS: usize = 1 << 9;

/// Memory that is mapped twice.
#[derive(Clone, Copy, Debug)]
struct View {
    start: u64,
    end: u64,
    managed: bool,
    /// Where this library has it mapped, by address.
    host: usize,
    /// How many accesses have had a page for themselves.
    steps: u32,
}

/// Some bytes of the program's view that an operation uses.
#[derive(Debug)]
struct PageGuard {
    start: u64,
    end: u64,
    writes: bool,
    operation: Arc<OrderedOperation>,
}

/// The memory that is mapped twice, and the operations on it.
#[derive(Debug, Default)]
struct Guards {
    /// By the start of the program's view.
    views: BTreeMap<u64, View>,
    /// Memory of devices, which may have pointers to views: the end, and where this library has it, by the
    /// start.
    searched: BTreeMap<u64, (u64, usize)>,
    /// Pointers that copies bring to such memory: to where, and which.
    brought: VecDeque<(u64, Vec<u64>, Arc<OrderedOperation>)>,
    all: Vec<PageGuard>,
}

static GUARDS: Mutex<Guards> = Mutex::new(Guards {
    views: BTreeMap::new(),
    searched: BTreeMap::new(),
    brought: VecDeque::new(),
    all: Vec::new(),
});
/// Whether there is a view, so that everything else costs one check.
static ANY: AtomicBool = AtomicBool::new(false);

/// Notes that memory is mapped twice.
pub(crate) fn add_view(start: u64, bytes: u64, managed: bool, host: *mut u8) {
    let view =
        View { start, end: start.saturating_add(bytes), managed, host: host.expose_provenance(), steps: 0 };
    GUARDS.lock().views.insert(start, view);
    ANY.store(true, Ordering::Relaxed);
}

/// Notes that memory that is mapped twice is about to be unmapped.
pub(crate) fn remove_view(start: u64) {
    let mut guards = GUARDS.lock();
    if let Some(View { end, .. }) = guards.views.remove(&start) {
        guards.all.retain(|guard| guard.end <= start || end <= guard.start);
    }
}

/// Notes memory of a device that is not mapped twice.
pub(crate) fn add_searched(start: u64, bytes: u64, host: *mut u8) {
    GUARDS.lock().searched.insert(start, (start.saturating_add(bytes), host.expose_provenance()));
}

/// Notes that such memory is free.
pub(crate) fn remove_searched(start: u64) {
    GUARDS.lock().searched.remove(&start);
}

/// Whether there is memory that is mapped twice.
pub(crate) fn is_used() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Whether bytes are of memory that is mapped twice.
pub(crate) fn is_view(start: u64, bytes: u64) -> bool {
    let end = start.saturating_add(bytes);
    let guards = GUARDS.lock();
    guards.views.range(..end).next_back().is_some_and(|(_, view)| start < view.end)
}

/// Opens the pages of bytes of such memory for a system call.
pub(crate) fn open(start: u64, bytes: u64) {
    let end = start.saturating_add(bytes);
    let guards = GUARDS.lock();
    for (_, view) in guards.views.range(..end).rev().take_while(|(_, view)| start < view.end) {
        set(start.max(view.start), end.min(view.end), libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// Whether pinned memory that a kernel's arguments point to is protected: if system calls open it.
static PINNED: AtomicBool = AtomicBool::new(false);

/// Protects pinned memory from now on, too.
pub(crate) fn protect_pinned() {
    PINNED.store(true, Ordering::Relaxed);
}

/// For what a page is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opened {
    /// It is none of a view.
    NoPage,
    /// For one access. [`protect_again`] is to close it.
    ForOne,
    /// For all further accesses.
    ForAll,
}

/// Opens a page for an access of the host, which may be for that access only.
pub(super) fn open_page(address: u64, for_one: bool) -> Opened {
    if !ANY.load(Ordering::Relaxed) {
        return Opened::NoPage;
    }
    let mut guards = GUARDS.lock();
    let Some(view) = guards.around_mut(address) else { return Opened::NoPage };
    set(address, address + 1, libc::PROT_READ | libc::PROT_WRITE);
    if !for_one || view.steps >= STEPS {
        return Opened::ForAll;
    }
    view.steps += 1;
    Opened::ForOne
}

/// Whether the host may touch no managed memory while a kernel runs.
static EXCLUSIVE: AtomicBool = AtomicBool::new(false);

/// Protects all managed memory from now on while a kernel may run.
pub(crate) fn protect_managed() {
    EXCLUSIVE.store(true, Ordering::Relaxed);
}

/// Protects a page again that an access of the host has opened.
pub(crate) fn protect_again(address: u64) {
    GUARDS.lock().apply(address, address.saturating_add(1));
}

/// Protects bytes that an operation uses, if they are mapped twice.
pub(crate) fn protect(start: u64, bytes: u64, writes: bool, operation: &Arc<OrderedOperation>) {
    if !ANY.load(Ordering::Relaxed) || bytes == 0 {
        return;
    }
    let mut guards = GUARDS.lock();
    let Some(View { end: last, .. }) = guards.around(start) else { return };
    guards.add(PageGuard {
        start,
        end: start.saturating_add(bytes).min(last),
        writes,
        operation: Arc::clone(operation),
    });
}

/// Notes the pointers in the first words that a copy brings to memory of a device.
pub(crate) fn brings(to: u64, bytes: &[u8], operation: &Arc<OrderedOperation>) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let mut guards = GUARDS.lock();
    let words = bytes.as_chunks::<8>().0.iter().take(WORDS).map(|it| u64::from_le_bytes(*it));
    let words: Vec<u64> = words.filter(|word| guards.memory(*word).is_some()).collect();
    if !words.is_empty() {
        guards.brought.truncate(BROUGHT - 1);
        guards.brought.push_front((to, words, Arc::clone(operation)));
    }
}

/// The same for all bytes of each managed or pinned allocation that a kernel's arguments or variables are or
/// point to, and of those that the first words of such memory point to, and so on. An argument may be packed.
pub(crate) fn protect_targets(arguments: &[u8], variables: &[u64], operation: &Arc<OrderedOperation>) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let mut guards = GUARDS.lock();
    let mut found = Reached { views: Vec::new(), open: Vec::new() };
    arguments.windows(8).for_each(|word| found.note(&guards, word.try_into().map_or(0, u64::from_le_bytes)));
    variables.iter().for_each(|address| found.note(&guards, *address));
    let mut next = 0;
    while let Some((start, end, host)) = found.open.get(next).copied() {
        next += 1;
        for offset in (0..(end - start).min(SEARCHED) / 8 * 8).step_by(8) {
            let host = core::ptr::with_exposed_provenance_mut::<u8>(host);
            let word = host.wrapping_add(usize::try_from(offset).unwrap_or(0));
            // SAFETY: this library has the memory mapped, aligned to 8 bytes and up to `end`, until
            // `remove_view` or `remove_searched`, which wait for the lock. The program and kernels may write
            // it meanwhile, hence the atomic.
            let word = unsafe { AtomicU64::from_ptr(word.cast()) }.load(Ordering::Relaxed);
            found.note(&guards, word);
        }
        let here = guards.brought.iter().filter(|it| (start..end).contains(&it.0));
        here.flat_map(|it| &it.1).for_each(|word| found.note(&guards, *word));
    }
    if EXCLUSIVE.load(Ordering::Relaxed) {
        found.views.extend(guards.views.values().filter(|view| view.managed));
    }
    for view in found.views {
        let operation = Arc::clone(operation);
        guards.add(PageGuard { start: view.start, end: view.end, writes: true, operation });
    }
}

/// What a kernel may reach.
struct Reached {
    views: Vec<View>,
    /// Memory that may have pointers: its start, its end, and where this library has it.
    open: Vec<(u64, u64, usize)>,
}

impl Reached {
    /// Notes the memory that a word points to, if it does.
    fn note(&mut self, guards: &Guards, word: u64) {
        let view = guards.around(word).filter(|view| view.managed || PINNED.load(Ordering::Relaxed));
        let memory = guards.memory(word);
        let Some(memory) = memory.filter(|it| !self.open.contains(it)) else { return };
        self.open.push(memory);
        self.views.extend(view);
    }
}

/// Opens the pages of operations that are over for the host.
pub(super) fn release(is_over: impl Fn(&OrderedOperation) -> bool) {
    if !ANY.load(Ordering::Relaxed) {
        return;
    }
    let mut guards = GUARDS.lock();
    guards.brought.retain(|it| !is_over(&it.2));
    for gone in guards.all.extract_if(.., |guard| is_over(&guard.operation)).collect::<Vec<_>>() {
        set(gone.start, gone.end, libc::PROT_READ | libc::PROT_WRITE);
        guards.apply(gone.start, gone.end);
    }
}

impl Guards {
    /// The memory around an address that kernels may find pointers in: its start, its end, and where this
    /// library has it.
    fn memory(&self, address: u64) -> Option<(u64, u64, usize)> {
        if let Some(view) = self.around(address) {
            return Some((view.start, view.end, view.host));
        }
        let (start, (end, host)) = self.searched.range(..=address).next_back()?;
        (address < *end).then_some((*start, *end, *host))
    }

    /// The view around an address.
    fn around(&self, address: u64) -> Option<View> {
        let (_, view) = self.views.range(..=address).next_back()?;
        (address < view.end).then_some(*view)
    }

    fn around_mut(&mut self, address: u64) -> Option<&mut View> {
        self.views.range_mut(..=address).next_back().map(|it| it.1).filter(|view| address < view.end)
    }

    fn add(&mut self, guard: PageGuard) {
        let (start, end) = (guard.start, guard.end);
        let same = |it: &PageGuard| {
            it.start <= start && end <= it.end && Arc::ptr_eq(&it.operation, &guard.operation)
        };
        if self.all.len() >= MOST {
            fidelity::note(Limit::Guards);
        } else if !self.all.iter().any(same) {
            if let Some(view) = self.around_mut(start) {
                view.steps = 0;
            }
            self.all.push(guard);
            self.apply(start, end);
        }
    }

    /// Protects the pages of some bytes as all operations on them want it.
    fn apply(&self, start: u64, end: u64) {
        let (first, last) = (start / page() * page(), end.next_multiple_of(page()));
        for writes in [false, true] {
            for guard in self.all.iter().filter(|guard| guard.writes == writes) {
                let (from, to) =
                    (first.max(guard.start / page() * page()), last.min(guard.end.next_multiple_of(page())));
                if from < to {
                    set(from, to, if writes { libc::PROT_NONE } else { libc::PROT_READ });
                }
            }
        }
    }
}

/// Sets the protection of the pages of some bytes of a view.
fn set(start: u64, end: u64, protection: c_int) {
    let (first, last) = (start / page() * page(), end.next_multiple_of(page()));
    let (Ok(at), Ok(bytes)) = (usize::try_from(first), usize::try_from(last - first)) else { return };
    // SAFETY: whole pages of a view, which is mapped until `remove_view`. The program gets its access back by
    // the handler.
    unsafe { libc::mprotect(core::ptr::with_exposed_provenance_mut::<c_void>(at), bytes, protection) };
}
