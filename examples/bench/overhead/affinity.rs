//! Keeps the thread that measures on one processor, so that none of its caches are left behind in the middle
//! of a turn.
#![expect(unsafe_code, reason = "asks the system for processors")]

use std::io;

use anyhow::Context as _;

/// The calling thread stays on one processor until this is dropped, by the same thread.
pub(crate) struct Pinned {
    before: libc::cpu_set_t,
}

const SIZE: usize = size_of::<libc::cpu_set_t>();
const HINT: &str = "the thread that measures cannot be kept on one processor; --unpinned does without";

impl Pinned {
    /// Chooses the processor that the thread is on.
    pub(crate) fn to_one_processor() -> anyhow::Result<Self> {
        let mut before = none();
        // SAFETY: fills a live set of the size named, for the calling thread.
        succeeded(unsafe { libc::sched_getaffinity(0, SIZE, &raw mut before) }).context(HINT)?;
        // SAFETY: asks for nothing.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).context(HINT)?;
        let mut one = none();
        // SAFETY: a live set; the system has just shown that one of this size has room for all of its
        // processors.
        unsafe { libc::CPU_SET(here, &mut one) };
        succeeded(set(&one)).context(HINT)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = succeeded(set(&self.before)) {
            eprintln!("overhead: the thread stays on one processor: {error}");
        }
    }
}

fn none() -> libc::cpu_set_t {
    // SAFETY: integers only, and none of the processors.
    unsafe { std::mem::zeroed() }
}

fn set(processors: &libc::cpu_set_t) -> i32 {
    // SAFETY: reads a live set of the size named, for the calling thread.
    unsafe { libc::sched_setaffinity(0, SIZE, processors) }
}

fn succeeded(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
