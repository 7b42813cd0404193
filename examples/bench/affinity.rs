//! Pins the measuring thread to one processor: its caches stay warm during a turn, and all sides have the
//! same processor. On a machine that shares its cores, one processor is slower than another for minutes.
#![expect(unsafe_code, reason = "queries and sets the processors of the thread")]

use std::io;

use anyhow::Context as _;

/// Pins the calling thread, and the programs and threads that it starts, to one processor until the same
/// thread drops it.
#[expect(missing_debug_implementations, reason = "the set has no text")]
pub struct Pinned {
    before: libc::cpu_set_t,
}

const SIZE: usize = size_of::<libc::cpu_set_t>();
const HINT: &str = "the thread that measures cannot be kept on one processor; --unpinned does without";

impl Pinned {
    /// Pins the thread to its current processor.
    ///
    /// # Errors
    /// The system refuses.
    pub fn to_one_processor() -> anyhow::Result<Self> {
        let mut before = none();
        // SAFETY: the call fills a live set of the given size, for the calling thread.
        succeeded(unsafe { libc::sched_getaffinity(0, SIZE, &raw mut before) }).context(HINT)?;
        // SAFETY: the call has no preconditions.
        let here = usize::try_from(unsafe { libc::sched_getcpu() }).context(HINT)?;
        let mut one = none();
        // SAFETY: the set is live, and the call above has shown that a set of this size has room for all
        // processors of the system.
        unsafe { libc::CPU_SET(here, &mut one) };
        succeeded(set(&one)).context(HINT)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = succeeded(set(&self.before)) {
            eprintln!("the thread stays on one processor: {error}");
        }
    }
}

fn none() -> libc::cpu_set_t {
    // SAFETY: the type consists of integers, and zero means no processors.
    unsafe { std::mem::zeroed() }
}

fn set(processors: &libc::cpu_set_t) -> i32 {
    // SAFETY: the call reads a live set of the given size, for the calling thread.
    unsafe { libc::sched_setaffinity(0, SIZE, processors) }
}

fn succeeded(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
