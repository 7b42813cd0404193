//! The handlers of the faults by which the host's accesses to protected pages are seen (`guard.rs`).
//!
//! An access faults. The handler records it, opens the page, and has the processor stop behind that one
//! instruction (x86-64, unless a debugger uses that), where the page is closed again. So the next access is
//! seen, too. The program's own handlers of both signals are called for what is not about such pages,
//! whenever it installs them: `system_calls.rs` brings them here.
#![expect(unsafe_code, reason = "handles signals, and looks at the instruction that they interrupt")]

use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use super::guard::{self, Opened};
use super::instruction::HostAccess;
use crate::fidelity::{self, Limit};
use crate::page::page;
use crate::thread;

/// A program's stack, or that of its handlers, may be too small to record an access.
const STACK: usize = 1 << 20;

/// The signals that are handled here.
pub(crate) const SIGNALS: [c_int; 2] = [libc::SIGSEGV, libc::SIGTRAP];

/// What the program wants to happen at these signals; nothing before they are handled here.
static OF_PROGRAM: Mutex<[Option<libc::sigaction>; 2]> = Mutex::new([None; 2]);

/// Whether instructions are run one by one.
static STEPS: AtomicBool = AtomicBool::new(false);

/// The most pages that one instruction accesses.
const PAGES: usize = 4;

thread_local! {
    /// The pages that are open for the running instruction.
    static OPEN: Cell<([u64; PAGES], usize)> = const { Cell::new(([0; PAGES], 0)) };
}

/// What to do about an access of the host. The one of an instruction has its address, bytes, whether it
/// writes, and the instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accesses {
    /// To a protected page.
    pub(crate) guarded: fn(u64, u64, bool, usize),
    /// To any other page that it may not use.
    pub(crate) forbidden: fn(u64, bool, usize),
    /// By a system call to memory that is mapped twice: the address, the bytes, and whether it writes.
    pub(crate) called: fn(u64, u64, bool),
}
static ACCESSES: OnceLock<Accesses> = OnceLock::new();

/// A system call has used memory that is mapped twice.
pub(crate) fn called(address: u64, bytes: u64, writes: bool) {
    if let Some(accesses) = ACCESSES.get() {
        (accesses.called)(address, bytes, writes);
    }
}

/// No action of a signal.
pub(crate) fn no_action() -> libc::sigaction {
    // SAFETY: all fields may be zero.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Handles accesses of the host that fault from now on, one by one if the program's signal masks are seen.
pub(crate) fn watch(accesses: Accesses, sees_masks: bool) {
    if ACCESSES.set(accesses).is_err() {
        return;
    }
    let steps = cfg!(target_arch = "x86_64") && sees_masks && !is_traced();
    STEPS.store(steps, Ordering::Relaxed);
    let handlers = [handle as *const (), stepped as *const ()];
    for (at, (signal, handler)) in SIGNALS.into_iter().zip(handlers).enumerate() {
        if signal == libc::SIGTRAP && !steps {
            continue;
        }
        let (mut new, mut before) = (no_action(), no_action());
        new.sa_sigaction = handler.addr();
        new.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | libc::SA_ONSTACK;
        // SAFETY: both are live structures, and the handler has the required signature.
        unsafe { libc::sigaction(signal, &raw const new, &raw mut before) };
        OF_PROGRAM.lock()[at] = Some(before);
    }
}

/// Whether a debugger runs the process.
fn is_traced() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:"));
    tracer.is_some_and(|it| it.trim() != "0")
}

/// The program asks what happens at a signal, and may want something else. `None` if that is not handled
/// here.
pub(crate) fn exchange(signal: c_int, new: Option<libc::sigaction>) -> Option<libc::sigaction> {
    let at = SIGNALS.iter().position(|it| *it == signal)?;
    let mut all = OF_PROGRAM.lock();
    let before = all[at]?;
    all[at] = Some(new.unwrap_or(before));
    Some(before)
}

/// Has the system handle a signal again.
pub(crate) fn leave_to_system(signal: c_int) {
    if let Some(at) = SIGNALS.iter().position(|it| *it == signal) {
        OF_PROGRAM.lock()[at] = None;
    }
    // SAFETY: no handler is named.
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Has the program handle a signal that is none of ours.
fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action = exchange(signal, None).unwrap_or_else(no_action);
    if action.sa_sigaction <= libc::SIG_IGN {
        // SAFETY: the system passes a live structure.
        let is_sent = unsafe { (*info).si_code } <= 0;
        if is_sent && action.sa_sigaction == libc::SIG_IGN {
            return;
        }
        leave_to_system(signal);
        // An access faults again behind this.
        if is_sent || signal == libc::SIGTRAP {
            // SAFETY: takes a number.
            unsafe { libc::raise(signal) };
        }
        return;
    }
    let handler = core::ptr::with_exposed_provenance::<c_void>(action.sa_sigaction);
    if action.sa_flags & libc::SA_SIGINFO != 0 {
        type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);
        // SAFETY: the program has this as a handler of three arguments.
        let handler = unsafe { core::mem::transmute::<*const c_void, Handler>(handler) };
        return handler(signal, info, context);
    }
    // SAFETY: the program has this as a handler of one argument.
    let handler = unsafe { core::mem::transmute::<*const c_void, extern "C" fn(c_int)>(handler) };
    handler(signal);
}

extern "C" fn handle(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the system passes a live structure.
    let fault = unsafe { &*info };
    // SAFETY: it describes a fault, which has an address.
    let address = unsafe { fault.si_addr() };
    let address = u64::try_from(address.expose_provenance()).unwrap_or(0);
    let access = HostAccess::interrupted(context);
    // This library may write to the program's memory whenever the program has called it.
    let by_program = !thread::in_call();
    let steps = STEPS.load(Ordering::Relaxed) && !access.repeats && by_program;
    let opened = guard::open_page(address, steps);
    if let Some(accesses) = ACCESSES.get() {
        let bytes = access.bytes.min(page() - address % page());
        crate::stack::grow(STACK, || match opened {
            Opened::NoPage => (accesses.forbidden)(address, access.writes, access.at),
            Opened::ForOne | Opened::ForAll => (accesses.guarded)(address, bytes, access.writes, access.at),
        });
    }
    match opened {
        Opened::NoPage => pass_on(signal, info, context),
        Opened::ForAll if by_program => fidelity::note(Limit::HostAccesses),
        Opened::ForAll => {}
        Opened::ForOne => {
            let (mut pages, count) = OPEN.get();
            if let Some(place) = pages.get_mut(count) {
                *place = address;
                OPEN.set((pages, count + 1));
                step(context, true);
            }
        }
    }
}

/// Behind an instruction for which pages were opened.
extern "C" fn stepped(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let (pages, count) = OPEN.replace(([0; PAGES], 0));
    if count == 0 {
        return pass_on(signal, info, context);
    }
    step(context, false);
    pages.into_iter().take(count).for_each(guard::protect_again);
}

/// Has the processor stop behind each instruction of the program, or no longer.
fn step(context: *mut c_void, on: bool) {
    #[cfg(target_arch = "x86_64")]
    {
        const TRAPS: i64 = 1 << 8;
        // SAFETY: the system passes the context of the signal, and restores the registers from it.
        let flags = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let place = usize::try_from(libc::REG_EFL).ok().and_then(|register| flags.get_mut(register));
        if let Some(flags) = place {
            *flags = if on { *flags | TRAPS } else { *flags & !TRAPS };
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (context, on);
}
