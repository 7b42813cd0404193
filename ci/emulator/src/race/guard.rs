//! The host's own accesses to pinned and managed memory while work on it is in flight.
//!
//! If races are looked for, such memory is mapped twice: for the program, and for this library. The program's
//! pages are protected from when an operation on them is submitted until the host has waited for it: against
//! writes if the operation reads, against all accesses otherwise. A kernel's accesses are not known before it
//! runs, so until then the managed and pinned allocations that its arguments point to are protected, the
//! managed variables of its module, and what the first words of these, of device memory and of variables
//! point to (pinned ones only if system calls of the program open pages: `system_calls.rs`). An operation
//! that comes after a host function protects nothing before that has returned, because the function may use
//! the memory. An access of the host faults. The handler records it as an access of the host to that byte,
//! opens the page, and the program goes on. This does not find further accesses of the host to a page after
//! its first one, until the next operation on the page or the next flag that a kernel sets there; and
//! accesses to registered memory, which the program has mapped.
#![expect(unsafe_code, reason = "protects pages and handles the faults")]

use core::ffi::{c_int, c_void};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::Mutex;

use super::order::OrderedOperation;
use crate::fidelity::{self, Limit};
use crate::page::page;

/// The most guards at a time: further operations protect nothing.
const MOST: usize = 1 << 12;

/// The most copies whose pointers are remembered.
const BROUGHT: usize = 256;

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
    let view = View { start, end: start.saturating_add(bytes), managed, host: host.expose_provenance() };
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

    fn add(&mut self, guard: PageGuard) {
        let (start, end) = (guard.start, guard.end);
        let same = |it: &PageGuard| {
            it.start <= start && end <= it.end && Arc::ptr_eq(&it.operation, &guard.operation)
        };
        if self.all.len() >= MOST {
            fidelity::note(Limit::Guards);
        } else if !self.all.iter().any(same) {
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

/// The handler that was there before.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

/// What to do about an access of the host, by its address, whether it writes, and its instruction: one to a
/// protected page, or one to any other page that it may not use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accesses {
    pub(crate) guarded: fn(u64, bool, usize),
    pub(crate) forbidden: fn(u64, bool, usize),
    /// The same about a system call on memory that is mapped twice: the address, the bytes, and whether it
    /// writes.
    pub(crate) called: fn(u64, u64, bool),
}
static ACCESSES: OnceLock<Accesses> = OnceLock::new();

/// A system call has used memory that is mapped twice.
pub(crate) fn called(address: u64, bytes: u64, writes: bool) {
    if let Some(accesses) = ACCESSES.get() {
        (accesses.called)(address, bytes, writes);
    }
}

/// Handles accesses of the host that fault from now on.
pub(crate) fn watch(accesses: Accesses) {
    if ACCESSES.set(accesses).is_err() {
        return;
    }
    let mut before = core::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all fields may be zero.
    let mut new = unsafe { core::mem::MaybeUninit::<libc::sigaction>::zeroed().assume_init() };
    new.sa_sigaction = (handle as *const ()).addr();
    new.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
    // SAFETY: both are live structures, and the handler has the required signature.
    unsafe { libc::sigaction(libc::SIGSEGV, &raw const new, before.as_mut_ptr()) };
    // SAFETY: all fields may be zero, and the call has filled it.
    let _ = BEFORE.set(unsafe { before.assume_init() });
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a live structure.
    let fault = unsafe { &*info };
    // SAFETY: it describes a fault, which has an address.
    let address = unsafe { fault.si_addr() };
    let address = u64::try_from(address.expose_provenance()).unwrap_or(0);
    let is_ours = ANY.load(Ordering::Relaxed) && GUARDS.lock().around(address).is_some();
    let (at, writes) = instruction(context);
    if let Some(accesses) = ACCESSES.get() {
        (if is_ours { accesses.guarded } else { accesses.forbidden })(address, writes, at);
    }
    if is_ours {
        set(address, address + 1, libc::PROT_READ | libc::PROT_WRITE);
        return;
    }
    let before = BEFORE.get().filter(|before| before.sa_sigaction > libc::SIG_IGN);
    if let Some(before) = before {
        let handler = core::ptr::with_exposed_provenance::<c_void>(before.sa_sigaction);
        if before.sa_flags & libc::SA_SIGINFO != 0 {
            type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
            // SAFETY: the system had this as a handler of three arguments.
            let handler = unsafe { core::mem::transmute::<*const c_void, Handler>(handler) };
            return handler(signal, info, context);
        }
        // SAFETY: the system had this as a handler of one argument.
        let handler = unsafe { core::mem::transmute::<*const c_void, extern "C" fn(c_int)>(handler) };
        return handler(signal);
    }
    // SAFETY: this restores the system's own handling, under which the access faults again.
    unsafe { libc::signal(libc::SIGSEGV, libc::SIG_DFL) };
}

/// Whether the handler knows the registers of this architecture.
pub(crate) const HANDLES_FAULTS: bool = cfg!(any(target_arch = "x86_64", target_arch = "aarch64"));

/// The instructions of ARM that write, as masks and the bits under them ("Loads and Stores" of the Arm
/// Architecture Reference Manual). Atomic operations write as well.
#[cfg(any(target_arch = "aarch64", test))]
const STORES: [(u32, u32); 9] = [
    // One register of the processor, one of the vector unit, a pair of either, structures of vectors.
    (0x3ec0_0000, 0x3800_0000),
    (0x3e40_0000, 0x3c00_0000),
    (0x3a40_0000, 0x2800_0000),
    (0xbe40_0000, 0x0c00_0000),
    // Exclusive and ordered stores, compare-and-swap of one register and of a pair, other atomic operations.
    (0x3f40_0000, 0x0800_0000),
    (0x3fa0_0000, 0x08a0_0000),
    (0xbfa0_0000, 0x0820_0000),
    (0x3f20_0c00, 0x3820_0000),
    // The scalable vector extension.
    (0xfe00_0000, 0xe400_0000),
];

/// The instruction that has faulted, and whether it writes.
fn instruction(context: *mut c_void) -> (usize, bool) {
    #[cfg(target_arch = "x86_64")]
    {
        const WRITES: i64 = 2;
        // SAFETY: the system passes the context of the fault.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let at = |register: c_int| {
            usize::try_from(register).ok().and_then(|register| registers.get(register)).copied().unwrap_or(0)
        };
        (usize::try_from(at(libc::REG_RIP)).unwrap_or(0), at(libc::REG_ERR) & WRITES != 0)
    }
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: the system passes the context of the fault.
        let registers = unsafe { &(*context.cast::<libc::ucontext_t>()).uc_mcontext };
        let at = usize::try_from(registers.pc).unwrap_or(0);
        // SAFETY: the processor has just read this instruction.
        let word = unsafe { core::ptr::with_exposed_provenance::<u32>(at).read() };
        (at, STORES.iter().any(|(mask, bits)| word & mask == *bits))
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = context;
        (0, false)
    }
}

#[cfg(test)]
mod tests {
    use super::STORES;

    /// The words are from an assembler.
    #[test]
    fn stores_and_loads_of_arm_are_told_apart() {
        let stores = |word: &u32| STORES.iter().any(|(mask, bits)| word & mask == *bits);
        let str_stur_strb_strh = [0xb900_0420, 0xfc1f_8020, 0x3800_1420, 0x7822_6820, 0x3d80_0020];
        let stp_stnp_st1_stxr_stlr = [0xa900_0440, 0xac00_0440, 0x4c00_7020, 0x8800_7c41, 0x889f_fc40];
        let cas_casp_ldadd_swp_st1b_str = [0x88a0_7c41, 0x0820_7c82, 0xb820_0041, 0xf8e0_8041, 0xe400_e020];
        let ldr_ldrsw_ldrb_prfm = [0xb940_0420, 0xb980_0020, 0x3862_6820, 0xf980_0020, 0x3dc0_0020];
        let ldp_ld1_ldxr_ldar_ld1b = [0xa940_0440, 0x4c40_7020, 0x885f_7c40, 0x88df_fc40, 0xa400_a020];
        for writing in [str_stur_strb_strh, stp_stnp_st1_stxr_stlr, cas_casp_ldadd_swp_st1b_str] {
            assert_eq!(writing.iter().find(|word| !stores(word)), None);
        }
        for reading in [ldr_ldrsw_ldrb_prfm, ldp_ld1_ldxr_ldar_ld1b] {
            assert_eq!(reading.iter().find(|word| stores(word)), None);
        }
    }
}
