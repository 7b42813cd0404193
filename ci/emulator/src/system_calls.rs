//! System calls that use memory whose pages are protected (`race::guard`).
//!
//! The system refuses such pages (`EFAULT`). So this library has functions with the names of the C library's,
//! which the loader finds first if the program is linked to it. They open the pages, call the C library, and
//! count as accesses of the host to the bytes that the call used. The same is done for the functions that
//! set handlers and masks of signals: the handlers of `race::fault` stay, and call the program's.
#![expect(unsafe_code, reason = "functions of the C library, with its signatures")]

use core::arch::global_asm;
use core::cell::Cell;
use core::ffi::{CStr, c_char, c_int, c_ulong, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::race::{fault, guard};

/// How often a call is tried again whose pages were protected in the meantime.
const TRIES: usize = 64;

/// The C library's own function of a name.
fn next(known: &AtomicUsize, name: &CStr) -> *mut c_void {
    let mut at = known.load(Ordering::Relaxed);
    if at == 0 {
        // SAFETY: the name is one of the C library.
        at = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) }.expose_provenance();
        known.store(at, Ordering::Relaxed);
    }
    core::ptr::with_exposed_provenance_mut(at)
}

fn address(at: *const c_void) -> u64 {
    u64::try_from(at.expose_provenance()).unwrap_or(0)
}

/// The parts of a call's memory: addresses and bytes.
type Parts = Vec<(u64, u64)>;

/// Calls a function that reads or writes parts of memory. It returns how many bytes it has used.
fn with_parts(parts: &[(u64, u64)], writes: bool, call: impl Fn() -> isize) -> isize {
    if !guard::is_used() || !parts.iter().any(|(start, bytes)| guard::is_view(*start, *bytes)) {
        return call();
    }
    let mut used = -1;
    for _ in 0..TRIES {
        parts.iter().for_each(|(start, bytes)| guard::open(*start, *bytes));
        used = call();
        if used != -1 || std::io::Error::last_os_error().raw_os_error() != Some(libc::EFAULT) {
            break;
        }
    }
    let mut left = u64::try_from(used).unwrap_or(0);
    for (start, bytes) in parts {
        let bytes = left.min(*bytes);
        left -= bytes;
        if bytes > 0 {
            fault::called(*start, bytes, writes);
        }
    }
    used
}

/// The parts that a list of a system call names.
fn listed(list: *const libc::iovec, count: c_int) -> Parts {
    let count = usize::try_from(count).unwrap_or(0);
    if list.is_null() || !guard::is_used() {
        return Parts::new();
    }
    // SAFETY: the program passes that many entries.
    let list = unsafe { core::slice::from_raw_parts(list, count) };
    list.iter().map(|it| (address(it.iov_base), u64::try_from(it.iov_len).unwrap_or(0))).collect()
}

fn part(at: *const c_void, bytes: usize) -> Parts {
    if guard::is_used() { vec![(address(at), u64::try_from(bytes).unwrap_or(0))] } else { Parts::new() }
}

/// Defines functions of the C library: their names, whether they write to memory, and the memory.
macro_rules! calls {
    ($(
        $name:ident $named:literal ($($argument:ident: $ty:ty),*) $writes:literal $parts:expr, $unit:expr;
    )*) => {$(
        extern "C" fn $name($($argument: $ty),*) -> isize {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C" fn($($ty),*) -> isize;
            let next = next(&NEXT, $named);
            // SAFETY: the C library's function of this name has this signature.
            let next = unsafe { core::mem::transmute::<*mut c_void, Function>(next) };
            let unit: isize = $unit;
            // SAFETY: the arguments are those of the program's call.
            let used = with_parts(&$parts, $writes, || unsafe { next($($argument),*) }.saturating_mul(unit));
            if unit > 1 { used / unit } else { used }
        }
    )*};
}

fn unit(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(1).max(1)
}

/// The list of a message.
fn message(it: *const libc::msghdr) -> Parts {
    if it.is_null() || !guard::is_used() {
        return Parts::new();
    }
    // SAFETY: the program passes a live structure.
    let it = unsafe { &*it };
    listed(it.msg_iov, c_int::try_from(it.msg_iovlen).unwrap_or(0))
}

calls! {
    read c"read" (file: c_int, at: *mut c_void, bytes: usize) true part(at, bytes), 1;
    pread c"pread" (file: c_int, at: *mut c_void, bytes: usize, from: i64) true part(at, bytes), 1;
    pread64 c"pread64" (file: c_int, at: *mut c_void, bytes: usize, from: i64) true part(at, bytes), 1;
    readv c"readv" (file: c_int, list: *const libc::iovec, count: c_int) true listed(list, count), 1;
    preadv c"preadv" (file: c_int, list: *const libc::iovec, count: c_int, from: i64)
        true listed(list, count), 1;
    getrandom c"getrandom" (at: *mut c_void, bytes: usize, flags: u32) true part(at, bytes), 1;
    recv c"recv" (socket: c_int, at: *mut c_void, bytes: usize, flags: c_int) true part(at, bytes), 1;
    recvfrom c"recvfrom"
        (socket: c_int, at: *mut c_void, bytes: usize, flags: c_int, from: *mut c_void, size: *mut c_void)
        true part(at, bytes), 1;
    recvmsg c"recvmsg" (socket: c_int, it: *mut libc::msghdr, flags: c_int) true message(it), 1;
    write c"write" (file: c_int, at: *const c_void, bytes: usize) false part(at, bytes), 1;
    pwrite c"pwrite" (file: c_int, at: *const c_void, bytes: usize, from: i64) false part(at, bytes), 1;
    pwrite64 c"pwrite64" (file: c_int, at: *const c_void, bytes: usize, from: i64) false part(at, bytes), 1;
    writev c"writev" (file: c_int, list: *const libc::iovec, count: c_int) false listed(list, count), 1;
    pwritev c"pwritev" (file: c_int, list: *const libc::iovec, count: c_int, from: i64)
        false listed(list, count), 1;
    send c"send" (socket: c_int, at: *const c_void, bytes: usize, flags: c_int) false part(at, bytes), 1;
    sendto c"sendto"
        (socket: c_int, at: *const c_void, bytes: usize, flags: c_int, to: *const c_void, size: u32)
        false part(at, bytes), 1;
    sendmsg c"sendmsg" (socket: c_int, it: *const libc::msghdr, flags: c_int) false message(it), 1;
    fread c"fread" (at: *mut c_void, size: usize, count: usize, file: *mut c_void)
        true part(at, size.saturating_mul(count)), unit(size);
    fwrite c"fwrite" (at: *const c_void, size: usize, count: usize, file: *mut c_void)
        false part(at, size.saturating_mul(count)), unit(size);
}

/// `ioctl`: the bytes of its argument are as many as the number of the request says, and those of an integer
/// if it is one of the old numbers, which say nothing.
extern "C" fn ioctl(file: c_int, request: c_ulong, at: *mut c_void) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(c_int, c_ulong, ...) -> c_int;
    let next = next(&NEXT, c"ioctl");
    // SAFETY: the C library's function of this name has this signature.
    let next = unsafe { core::mem::transmute::<*mut c_void, Function>(next) };
    let (writes, bytes) = match (request >> 30 & 3, request >> 16 & 0x3FFF) {
        (_, 0) => (true, size_of::<c_int>()),
        (direction, bytes) => (direction & 2 != 0, usize::try_from(bytes).unwrap_or(0)),
    };
    let result = Cell::new(0);
    with_parts(&part(at, bytes), writes, || {
        // SAFETY: the arguments are those of the program's call.
        result.set(unsafe { next(file, request, at) });
        if result.get() == -1 { -1 } else { isize::try_from(bytes).unwrap_or(0) }
    });
    result.get()
}

/// Without the signals that come for the accesses of a thread: the system ends a process that blocks them.
fn without_faults(set: *const libc::sigset_t) -> Option<libc::sigset_t> {
    // SAFETY: the program passes a live set, or null.
    let mut set = *unsafe { set.as_ref() }?;
    for signal in fault::SIGNALS {
        // SAFETY: the set is ours.
        unsafe { libc::sigdelset(&raw mut set, signal) };
    }
    Some(set)
}

/// Defines functions that change a thread's signal mask.
macro_rules! masks {
    ($($name:ident $named:literal)*) => {$(
        extern "C" fn $name(how: c_int, new: *const libc::sigset_t, old: *mut libc::sigset_t) -> c_int {
            static NEXT: AtomicUsize = AtomicUsize::new(0);
            type Function = unsafe extern "C" fn(c_int, *const libc::sigset_t, *mut libc::sigset_t) -> c_int;
            let next = next(&NEXT, $named);
            // SAFETY: the C library's function of this name has this signature.
            let next = unsafe { core::mem::transmute::<*mut c_void, Function>(next) };
            let set = if how == libc::SIG_UNBLOCK { None } else { without_faults(new) };
            let new = set.as_ref().map_or(new, |set| &raw const *set);
            // SAFETY: the other arguments are those of the program's call.
            unsafe { next(how, new, old) }
        }
    )*};
}
masks! { pthread_sigmask c"pthread_sigmask" sigprocmask c"sigprocmask" }

extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int;
    // SAFETY: the program passes a live structure, or null.
    let mut given = unsafe { new.as_ref() }.copied();
    if let Some(before) = fault::exchange(signal, given) {
        // SAFETY: the program passes the place of one, or null.
        if let Some(old) = unsafe { old.as_mut() } {
            *old = before;
        }
        return 0;
    }
    if let Some(given) = &mut given {
        given.sa_mask = without_faults(&raw const given.sa_mask).unwrap_or(given.sa_mask);
    }
    let next = next(&NEXT, c"sigaction");
    // SAFETY: the C library's function of this name has this signature.
    let next = unsafe { core::mem::transmute::<*mut c_void, Function>(next) };
    // SAFETY: the arguments are those of the program's call, but for two signals of the mask.
    unsafe { next(signal, given.as_ref().map_or(new, |given| &raw const *given), old) }
}

extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    type Function = unsafe extern "C" fn(c_int, libc::sighandler_t) -> libc::sighandler_t;
    let mut new = fault::no_action();
    (new.sa_sigaction, new.sa_flags) = (handler, libc::SA_RESTART);
    if let Some(before) = fault::exchange(signal, Some(new)) {
        return before.sa_sigaction;
    }
    let next = next(&NEXT, c"signal");
    // SAFETY: the C library's function of this name has this signature.
    let next = unsafe { core::mem::transmute::<*mut c_void, Function>(next) };
    // SAFETY: the arguments are those of the program's call.
    unsafe { next(signal, handler) }
}

/// The names under which the loader finds them: those of the C library, with its version, but hidden from
/// linkers. A program that is linked to this library must not look for them there.
macro_rules! names {
    ($jump:literal $version:literal $($name:ident)*) => {$(
        global_asm!(
            concat!(".globl cuda_emulate_", stringify!($name)),
            concat!(".type cuda_emulate_", stringify!($name), ", @function"),
            concat!("cuda_emulate_", stringify!($name), ": ", $jump, " {target}"),
            concat!(".symver cuda_emulate_", stringify!($name), ", ", stringify!($name), "@", $version),
            target = sym $name,
        );
    )*};
}

#[cfg(target_arch = "x86_64")]
names! { "jmp" "GLIBC_2.2.5" read pread pread64 readv recv recvfrom recvmsg write pwrite pwrite64 writev send
sendto sendmsg fread fwrite ioctl sigaction signal sigprocmask }
#[cfg(target_arch = "x86_64")]
names! { "jmp" "GLIBC_2.10" preadv pwritev }
#[cfg(target_arch = "x86_64")]
names! { "jmp" "GLIBC_2.25" getrandom }
#[cfg(target_arch = "x86_64")]
names! { "jmp" "GLIBC_2.32" pthread_sigmask }
#[cfg(target_arch = "x86_64")]
const VERSION: &CStr = c"GLIBC_2.2.5";
#[cfg(target_arch = "aarch64")]
names! { "b" "GLIBC_2.17" read pread pread64 readv preadv recv recvfrom recvmsg write pwrite pwrite64 writev
pwritev send sendto sendmsg fread fwrite ioctl sigaction signal sigprocmask }
#[cfg(target_arch = "aarch64")]
names! { "b" "GLIBC_2.25" getrandom }
#[cfg(target_arch = "aarch64")]
names! { "b" "GLIBC_2.32" pthread_sigmask }
#[cfg(target_arch = "aarch64")]
const VERSION: &CStr = c"GLIBC_2.17";

unsafe extern "C" {
    #[link_name = "cuda_emulate_read"]
    static READ: c_char;
}

/// Whether the program's calls come here: not if it has loaded this library by itself.
pub(crate) fn are_seen() -> bool {
    // SAFETY: both are text.
    let found = unsafe { libc::dlvsym(libc::RTLD_DEFAULT, c"read".as_ptr(), VERSION.as_ptr()) };
    core::ptr::eq(found.cast_const().cast(), &raw const READ)
}
