//! Memory of every kind that the runtime distinguishes, never freed before the end of the process.

use std::ffi::c_void;
use std::ptr;

use cuda_sys::{cudaMemcpyDeviceToHost, cudaMemcpyHostToDevice, cudaStream_t};

use crate::log::{Log, Outcome, Setup, need};

/// The kind of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Pageable,
    Pinned,
    Registered,
    Device,
    Managed,
    Pool,
}

impl Kind {
    pub(crate) const ALL: [Self; 6] =
        [Self::Pageable, Self::Pinned, Self::Registered, Self::Device, Self::Managed, Self::Pool];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pageable => "pageable",
            Self::Pinned => "pinned",
            Self::Registered => "registered",
            Self::Device => "device",
            Self::Managed => "managed",
            Self::Pool => "pool",
        }
    }

    /// Whether the host may touch the bytes.
    pub(crate) fn of_host(self) -> bool {
        !matches!(self, Self::Device | Self::Pool)
    }
}

/// Bytes of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    pub(crate) kind: Kind,
    pub(crate) len: usize,
    start: *mut u8,
}

impl Block {
    /// Allocates and clears.
    pub(crate) fn new(log: &mut Log, kind: Kind, len: usize) -> Result<Self, Setup> {
        let mut start = ptr::null_mut::<c_void>();
        let block = |start: *mut c_void| Self { kind, len, start: start.cast() };
        match kind {
            Kind::Pageable => return Ok(block(pages(len).cast())),
            Kind::Registered => {
                start = pages(len).cast();
                need!(log, cudaHostRegister(start, len, 0));
                return Ok(block(start));
            }
            Kind::Pinned => need!(log, cudaMallocHost(&raw mut start, len)),
            Kind::Device => need!(log, cudaMalloc(&raw mut start, len)),
            Kind::Managed => {
                need!(log, cudaMallocManaged(&raw mut start, len, cuda_sys::cudaMemAttachGlobal))
            }
            Kind::Pool => {
                need!(log, cudaMallocAsync(&raw mut start, len, ptr::null_mut()));
                need!(log, cudaStreamSynchronize(ptr::null_mut()));
            }
        }
        let block = block(start);
        block.store(log, &vec![0; len])?;
        Ok(block)
    }

    /// A new block that holds these bytes.
    pub(crate) fn with(log: &mut Log, kind: Kind, bytes: &[u8]) -> Result<Self, Setup> {
        let block = Self::new(log, kind, bytes.len())?;
        block.store(log, bytes)?;
        Ok(block)
    }

    /// The first `len` bytes of a block that begin at a multiple of `len`. The block must have them.
    pub(crate) fn aligned(self, len: usize) -> Self {
        let skipped = self.start.addr().wrapping_neg() % len;
        assert!(skipped + len <= self.len, "fewer bytes than that takes");
        Self { start: self.start.wrapping_add(skipped), len, ..self }
    }

    /// The address of a byte; may be past the end.
    pub(crate) fn at(self, offset: usize) -> *mut c_void {
        self.start.wrapping_add(offset).cast()
    }

    /// As many bytes of the kind at another address, which the case has from the runtime.
    pub(crate) fn moved(self, start: *mut c_void) -> Self {
        Self { start: start.cast(), ..self }
    }

    /// The first byte.
    pub(crate) fn ptr(self) -> *mut c_void {
        self.start.cast()
    }

    /// Puts bytes at the beginning.
    pub(crate) fn store(self, log: &mut Log, bytes: &[u8]) -> Result<(), Setup> {
        assert!(bytes.len() <= self.len, "more bytes than the block has");
        if self.kind.of_host() {
            // SAFETY: the block has as many bytes, and no work uses it when cases store into it.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.start, bytes.len()) };
            return Ok(());
        }
        need!(log, cudaMemcpy(self.ptr(), bytes.as_ptr().cast(), bytes.len(), cudaMemcpyHostToDevice));
        need!(log, cudaDeviceSynchronize());
        Ok(())
    }

    /// All bytes.
    pub(crate) fn load(self, log: &mut Log) -> Result<Vec<u8>, Setup> {
        let mut bytes = vec![0; self.len];
        if self.kind.of_host() {
            // SAFETY: the block has as many bytes, and the case has waited for all writes to them.
            unsafe { ptr::copy_nonoverlapping(self.start, bytes.as_mut_ptr(), self.len) };
        } else {
            need!(log, cudaMemcpy(bytes.as_mut_ptr().cast(), self.ptr(), self.len, cudaMemcpyDeviceToHost));
        }
        Ok(bytes)
    }

    /// Notes whether these are all bytes.
    pub(crate) fn compare(self, log: &mut Log, name: &str, want: &[u8]) -> Outcome {
        let got = self.load(log)?;
        log.bytes(name, &got, want);
        Ok(())
    }

    /// Notes whether it holds the source, its old bytes, or other ones.
    pub(crate) fn holds(self, log: &mut Log, source: &[u8], old: &[u8]) -> Outcome {
        let got = self.load(log)?;
        log.holds(&got, source, old);
        Ok(())
    }
}

/// Fresh pages of the host, all zero.
fn pages(len: usize) -> *mut u8 {
    let whole = len.div_ceil(4096).max(1) * 4096;
    let layout = std::alloc::Layout::from_size_align(whole, 4096).expect("a size that fits");
    // SAFETY: the size is not 0.
    let start = unsafe { std::alloc::alloc_zeroed(layout) };
    assert!(!start.is_null(), "no {whole} bytes of host memory");
    start
}

/// Bytes in which a shift by one shows, and another seed, too.
pub(crate) fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|i| ((i * 7 + (i >> 8) * 3 + seed * 29 + 1) & 0xff) as u8).collect()
}

/// A stream that the legacy stream does not wait for.
pub(crate) fn stream(log: &mut Log) -> Result<cudaStream_t, Setup> {
    stream_with(log, cuda_sys::cudaStreamNonBlocking)
}

/// A stream with flags.
pub(crate) fn stream_with(log: &mut Log, flags: u32) -> Result<cudaStream_t, Setup> {
    let mut stream = ptr::null_mut();
    need!(log, cudaStreamCreateWithFlags(&raw mut stream, flags));
    Ok(stream)
}

/// An event without timing.
pub(crate) fn event(log: &mut Log) -> Result<cuda_sys::cudaEvent_t, Setup> {
    let mut event = ptr::null_mut();
    need!(log, cudaEventCreateWithFlags(&raw mut event, cuda_sys::cudaEventDisableTiming));
    Ok(event)
}
