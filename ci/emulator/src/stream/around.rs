//! The machine as a running kernel sees it.
#![expect(unsafe_code, reason = "writes to the C standard output")]

use crate::exec::env::{Env, Region};
use crate::memory::{Allocation, Book, Kind};
use crate::sys::{cudaMemAccessFlagsProtNone, cudaMemAccessFlagsProtReadWrite};

/// Whether a device with these peers reads memory, and whether it writes it.
pub(crate) fn access(book: &Book, it: &Allocation, device: usize, peers: &[usize]) -> (bool, bool) {
    if it.kind.on_host() || it.device == device {
        (true, true)
    } else if it.kind == Kind::Pool {
        // What devices may do with a pool's memory is a matter of the pool, not of the devices.
        let flags =
            book.pools.of(it.start).map_or(cudaMemAccessFlagsProtNone, |(_, pool)| pool.access(device));
        (flags != cudaMemAccessFlagsProtNone, flags == cudaMemAccessFlagsProtReadWrite)
    } else {
        let peer = peers.contains(&it.device);
        (peer, peer)
    }
}

/// What a kernel on one device reaches while one step of it runs.
pub(super) struct Around<'a> {
    pub(super) book: &'a mut Book,
    pub(super) device: usize,
    /// The devices whose memory this one may use.
    pub(super) peers: &'a [usize],
    /// What the kernel printed in this step.
    pub(super) printed: Vec<u8>,
}

impl Env for Around<'_> {
    fn region(&mut self, addr: u64) -> Option<Region> {
        let it = self.book.at(addr).filter(|it| it.kind != Kind::Array)?;
        let (reads, writes) = access(self.book, it, self.device, self.peers);
        reads.then(|| Region { start: it.start, end: it.end(), host: it.host, writable: writes })
    }

    fn nearest(&mut self, addr: u64) -> Option<String> {
        match self.book.at(addr) {
            Some(it) if it.kind == Kind::Array => {
                Some(format!("inside {it}, which has no addresses for kernels"))
            }
            Some(it) if it.kind == Kind::Pool => {
                Some(format!("inside {it}, to whose pool device {} was given no access", self.device))
            }
            Some(it) => Some(format!("inside {it}, to which device {} has no peer access", self.device)),
            None => self.book.nearest(addr),
        }
    }

    fn heap_malloc(&mut self, bytes: u64) -> u64 {
        self.book.heap_malloc(self.device, bytes).unwrap_or(0)
    }

    fn heap_free(&mut self, addr: u64) -> bool {
        self.book.starting_at(addr, &[Kind::Heap]).is_some_and(|it| it.device == self.device)
            && self.book.heap_free(self.device, addr)
    }

    fn print(&mut self, text: &str) {
        self.printed.extend_from_slice(text.as_bytes());
    }
}

unsafe extern "C" {
    static stdout: *mut libc::FILE;
}

/// Writes to standard output the way that C programs do, so that a program's own lines stay in order with it.
pub(super) fn show(text: &[u8]) {
    if text.is_empty() {
        return;
    }
    // SAFETY: the C library has set this up before any of this library ran, and never takes it down.
    let file = unsafe { stdout };
    // SAFETY: `text` is that many readable bytes and `file` is an open stream.
    unsafe { libc::fwrite(text.as_ptr().cast(), 1, text.len(), file) };
    // SAFETY: as above.
    unsafe { libc::fflush(file) };
}
