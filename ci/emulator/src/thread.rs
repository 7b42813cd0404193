//! The state of a host thread: its current device, its number, and whether it is running a host function.

use core::mem::MaybeUninit;
use core::ops::Range;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::sys::{cudaStreamCaptureMode, cudaStreamCaptureModeGlobal};

static NEXT: AtomicU64 = AtomicU64::new(1);
static FORKED: AtomicBool = AtomicBool::new(false);

thread_local! {
    static DEVICE: Cell<usize> = const { Cell::new(0) };
    static NUMBER: Cell<u64> = const { Cell::new(0) };
    static USES: Cell<bool> = const { Cell::new(false) };
    static IN_CALL: Cell<bool> = const { Cell::new(false) };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
    static FUNCTION: Cell<u64> = const { Cell::new(0) };
    static STACK: Cell<Option<(usize, usize)>> = const { Cell::new(None) };
    static CAPTURE_MODE: Cell<cudaStreamCaptureMode> = const { Cell::new(cudaStreamCaptureModeGlobal) };
}

/// The calling thread's current device.
pub(crate) fn device() -> usize {
    DEVICE.get()
}

/// Makes a device the calling thread's current one.
pub(crate) fn set_device(device: usize) {
    DEVICE.set(device);
}

/// Marks the calling thread as a user of its device's context.
pub(crate) fn use_device() {
    USES.set(true);
}

/// Whether it has used a context. A thread that has not used one has none to end.
pub(crate) fn uses_device() -> bool {
    USES.get()
}

/// A number that no other thread of the process has or had.
pub(crate) fn number() -> u64 {
    if NUMBER.get() == 0 {
        NUMBER.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    NUMBER.get()
}

/// Whether the calling thread runs a function of this library, which the program has called.
pub(crate) fn in_call() -> bool {
    IN_CALL.get()
}

/// Notes that the calling thread runs such a function, or no more. Returns whether it did before.
pub(crate) fn set_in_call(is: bool) -> bool {
    IN_CALL.replace(is)
}

/// Whether the calling thread runs host functions: those may not call CUDA.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Sets the operation whose host function the calling thread runs.
pub(crate) fn set_function(id: u64) {
    FUNCTION.set(id);
}

/// The operation whose host function the calling thread runs, if it does.
pub(crate) fn function() -> Option<u64> {
    Some(FUNCTION.get()).filter(|id| *id != 0)
}

/// Makes the calling thread run host functions, for good.
pub(crate) fn becomes_callback_thread() {
    IN_CALLBACK.set(true);
}

/// Changes the calling thread's capture mode, and returns the old one.
pub(crate) fn exchange_capture_mode(mode: cudaStreamCaptureMode) -> cudaStreamCaptureMode {
    CAPTURE_MODE.replace(mode)
}

/// The calling thread's capture mode.
pub(crate) fn capture_mode() -> cudaStreamCaptureMode {
    CAPTURE_MODE.get()
}

/// The stack of the calling thread, unless the system does not tell.
pub(crate) fn stack() -> Option<Range<usize>> {
    let known = STACK.get();
    let (first, bytes) = known.or_else(asked_for_stack)?;
    STACK.set(Some((first, bytes)));
    Some(first..first.saturating_add(bytes))
}

#[expect(unsafe_code, reason = "asks for a stack that std does not tell")]
fn asked_for_stack() -> Option<(usize, usize)> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    // SAFETY: takes nothing.
    let thread = unsafe { libc::pthread_self() };
    // SAFETY: the thread is the calling one, and the call initializes the attributes unless it fails.
    let failed = unsafe { libc::pthread_getattr_np(thread, attributes.as_mut_ptr()) } != 0;
    if failed {
        return None;
    }
    let (mut first, mut bytes) = (core::ptr::null_mut(), 0);
    // SAFETY: the attributes are initialized, and the other pointers are to live variables.
    let failed =
        unsafe { libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut first, &raw mut bytes) } != 0;
    // SAFETY: the attributes are initialized, and not used afterwards.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    (!failed).then(|| (first.expose_provenance(), bytes))
}

/// The processor time of all threads of this process.
#[expect(unsafe_code, reason = "asks for a clock that std has not")]
pub(crate) fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live structure, which the call fills. If there is no such clock, it stays
    // at zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

/// Whether a thread of this process beside the calling one runs, or would run if it had a processor or its
/// memory.
pub(crate) fn others_run() -> bool {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return false };
    let runs = |stat: &str| stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['R', 'D']));
    let stats = threads.flatten().filter_map(|it| std::fs::read_to_string(it.path().join("stat")).ok());
    stats.filter(|stat| runs(stat)).count() > 1
}

/// Whether this process was forked from a parent that had started the machine. The machine does not survive a
/// fork.
pub(crate) fn forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Makes [`forked`] true in children from now on.
#[expect(unsafe_code, reason = "asks to be told about forks")]
pub(crate) fn watch_forks() {
    // SAFETY: the handler only stores to an atomic, which is allowed between fork and exec.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_thread_that_computes_is_seen() {
        static STOP: AtomicBool = AtomicBool::new(false);
        let busy = std::thread::spawn(|| {
            while !STOP.load(Ordering::Relaxed) {
                std::hint::spin_loop()
            }
        });
        let start = Instant::now();
        // The thread may have to start first.
        while !others_run() {
            assert!(start.elapsed() < Duration::from_secs(10), "nobody saw it");
        }
        STOP.store(true, Ordering::Relaxed);
        busy.join().unwrap();
    }
}
