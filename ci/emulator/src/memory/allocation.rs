//! One allocation: its place, its kind, and its origin.

use std::fmt;

use crate::host_line::HostLine;

/// The kind of memory. It decides which calls may free it and copy it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `cudaMalloc` and its relatives.
    Device,
    /// A stream-ordered allocation.
    Pool,
    /// `cudaMallocHost`, `cudaHostAlloc`.
    Pinned,
    /// The program's own memory, after `cudaHostRegister`.
    Registered,
    /// `cudaMallocManaged`.
    Managed,
    /// `malloc` in a kernel: kernels reach it, copies do not.
    Heap,
    /// The elements of a CUDA array: copies reach them by its handle, kernels do not.
    Array,
    /// A variable of a module.
    Symbol,
    /// Another process's memory, from `cudaIpcOpenMemHandle`.
    Imported,
}

impl Kind {
    /// Whether the host reaches the bytes at the address itself.
    pub(crate) fn on_host(self) -> bool {
        matches!(self, Self::Pinned | Self::Registered | Self::Managed)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device memory",
            Self::Pool => "stream-ordered memory",
            Self::Pinned => "pinned host memory",
            Self::Registered => "registered host memory",
            Self::Managed => "managed memory",
            Self::Heap => "device heap memory",
            Self::Array => "array memory",
            Self::Symbol => "a device variable",
            Self::Imported => "another process's memory",
        })
    }
}

/// A live allocation.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    /// Its first address, as programs and kernels know it.
    pub(crate) start: u64,
    /// How many bytes were asked for.
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    /// The device that it belongs to, or that was current when host memory was allocated.
    pub(crate) device: usize,
    /// The flags that the program gave, as the runtime reports them.
    pub(crate) flags: u32,
    /// Where the byte at `start` is for this process.
    pub(crate) host: *mut u8,
    /// The call that made it.
    pub(crate) call: &'static str,
    /// Which allocation of the process it is, counted from one.
    pub(crate) serial: u64,
    /// Where the program asked for it.
    pub(crate) line: HostLine,
}

/// An allocation that nobody has entered.
pub(super) const NEW: Allocation = Allocation {
    start: 0,
    size: 0,
    kind: Kind::Device,
    device: 0,
    flags: 0,
    host: core::ptr::null_mut(),
    call: "",
    serial: 0,
    line: HostLine::NONE,
};

// SAFETY: the pointer names memory that stays mapped while the allocation lives; the bytes are shared with
// kernels and copies by design, and every access happens under the machine's lock.
#[expect(unsafe_code, reason = "an allocation carries the address of its bytes")]
unsafe impl Send for Allocation {}

impl Allocation {
    /// The address just past the last byte.
    pub(crate) fn end(&self) -> u64 {
        self.start.saturating_add(self.size)
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        address >= self.start && address < self.end()
    }

    /// The byte at an offset; zero if there is none.
    #[expect(unsafe_code, reason = "reads memory of the allocation")]
    pub(crate) fn byte(&self, offset: u64) -> u8 {
        if offset >= self.size {
            return 0;
        }
        // SAFETY: the allocation is live and has this byte; others may write it meanwhile.
        unsafe { self.host_at(self.start + offset).read_volatile() }
    }

    /// Where the byte at `address` is for this process.
    pub(crate) fn host_at(&self, address: u64) -> *mut u8 {
        self.host.wrapping_add(usize::try_from(address.wrapping_sub(self.start)).unwrap_or(usize::MAX))
    }
}

impl fmt::Display for Allocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes of {} at {:#x} from {}", self.size, self.kind, self.start, self.call)?;
        if !self.kind.on_host() {
            write!(f, " on device {}", self.device)?;
        }
        Ok(())
    }
}
