//! Device memory that several processes reach: its bytes lie in a file without a name, which every process
//! maps.
//!
//! A process that exports memory moves its bytes into such a file, in place. An [`IpcHandle`], which fits
//! into the runtime's own handles, names the file. A process that opens the handle maps the same pages.
#![expect(unsafe_code, reason = "maps files over memory that the allocations owns")]

use core::ptr;
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::sync::atomic::{AtomicU64, Ordering};

use super::allocation::Allocation;
use crate::page::page;

/// The first bytes of a handle, which tell it from other bytes.
const MAGIC: u32 = 0x7e0d_ec1d;
/// How long a handle is in bytes.
const LENGTH: usize = 40;

static NEXT: AtomicU64 = AtomicU64::new(1);

/// The name under which another process finds memory of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IpcHandle {
    device: u32,
    pub(crate) process: u32,
    file: u32,
    /// Bytes of the memory.
    pub(crate) size: u64,
    /// The offset of its first byte in the file.
    pub(crate) offset: u64,
    /// The serial number of the file in its process, as file numbers are used again.
    serial: u64,
}

impl IpcHandle {
    /// The handle in the form of the runtime's handles.
    pub(crate) fn to_bytes(self) -> [u8; 64] {
        let mut bytes = [0; 64];
        let words = [MAGIC, self.device, self.process, self.file].map(u32::to_ne_bytes);
        let longs = [self.size, self.offset, self.serial].map(u64::to_ne_bytes);
        let all = words.as_flattened().iter().chain(longs.as_flattened());
        for (to, from) in bytes.iter_mut().zip(all) {
            *to = *from;
        }
        bytes
    }

    /// Reads the bytes of a handle; `None` if they are none.
    pub(crate) fn from_bytes(bytes: &[u8; 64]) -> Option<Self> {
        let (used, rest) = bytes.split_at_checked(LENGTH)?;
        let word = |at: usize| Some(u32::from_ne_bytes(used.get(at..at + 4)?.try_into().ok()?));
        let long = |at: usize| Some(u64::from_ne_bytes(used.get(at..at + 8)?.try_into().ok()?));
        let ours = word(0)? == MAGIC && rest.iter().all(|byte| *byte == 0);
        ours.then_some(())?;
        Some(Self {
            device: word(4)?,
            process: word(8)?,
            file: word(12)?,
            size: long(16)?,
            offset: long(24)?,
            serial: long(32)?,
        })
    }

    /// The device that the memory is of.
    pub(crate) fn device(&self) -> Option<usize> {
        usize::try_from(self.device).ok()
    }

    /// Whether it is this process's own.
    pub(crate) fn is_ours(&self) -> bool {
        self.process == std::process::id()
    }

    /// Opens the file; `None` if it is gone or cannot be reached.
    pub(crate) fn open(&self) -> Option<File> {
        let path = format!("/proc/{}/fd/{}", self.process, self.file);
        let name = std::fs::read_link(&path).ok()?;
        let known = format!("/memfd:{}", name_of(self.process, self.serial));
        let known = name.to_str().is_some_and(|name| name.trim_end_matches(" (deleted)") == known);
        known.then(|| OpenOptions::new().read(true).write(true).open(&path).ok()).flatten()
    }
}

/// The name of the file with this number of a process.
fn name_of(process: u32, serial: u64) -> String {
    format!("cuda-emulator-{process}-{serial}")
}

/// A new file of one page, and its handle.
pub(crate) fn unnamed_file(device: usize) -> Option<(File, IpcHandle)> {
    let (it, serial) = file(page())?;
    let ipc_handle = IpcHandle {
        device: u32::try_from(device).ok()?,
        process: std::process::id(),
        file: u32::try_from(it.as_raw_fd()).ok()?,
        size: page(),
        offset: 0,
        serial,
    };
    Some((it, ipc_handle))
}

/// A new file of so many bytes, and its number.
fn file(length: u64) -> Option<(File, u64)> {
    let serial = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = std::ffi::CString::new(name_of(std::process::id(), serial)).ok()?;
    // SAFETY: the name is a string that ends in NUL.
    let number = unsafe { libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) };
    if number < 0 {
        return None;
    }
    // SAFETY: the call has just made this file for us.
    let file = unsafe { File::from_raw_fd(number) };
    file.set_len(length).ok()?;
    Some((file, serial))
}

/// A file mapped over device memory.
#[derive(Debug)]
pub(crate) struct Backing {
    file: File,
    serial: u64,
    /// The first of the pages.
    pages: *mut u8,
    length: u64,
    /// The addresses that were taken for another process's memory.
    taken: Option<u64>,
}

// SAFETY: the pointer is to pages of device memory, which live as long as the process; whoever uses them
// holds the machine.
unsafe impl Send for Backing {}

impl Backing {
    /// Notes that the addresses from this one on were taken for another process's memory.
    pub(super) fn from(self, taken: u64) -> Self {
        Self { taken: Some(taken), ..self }
    }

    /// The first address that was taken, if it is another process's memory.
    pub(super) fn taken(&self) -> Option<u64> {
        self.taken
    }

    /// The handle of this allocation's bytes; `None` if they are another process's.
    pub(super) fn ipc_handle(&self, it: &Allocation) -> Option<IpcHandle> {
        if self.taken.is_some() {
            return None;
        }
        let offset = u64::try_from(it.host.addr().checked_sub(self.pages.addr())?).ok()?;
        Some(IpcHandle {
            device: u32::try_from(it.device).ok()?,
            process: std::process::id(),
            file: u32::try_from(self.file.as_raw_fd()).ok()?,
            size: it.size,
            offset,
            serial: self.serial,
        })
    }

    /// Replaces the file's pages by pages of this process.
    ///
    /// # Safety
    /// Nothing uses the pages any more.
    pub(super) unsafe fn undo(self) {
        let Ok(length) = usize::try_from(self.length) else { return };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        // SAFETY: the pages are a part of the process's own mapping, and the caller promises that nothing
        // uses them.
        let done = unsafe {
            libc::mmap(self.pages.cast(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0)
        };
        if done == libc::MAP_FAILED {
            eprintln!("CUDA emulator: memory that was shared could not be taken back");
        }
    }
}

/// Moves the bytes of an allocation into a file, in place.
///
/// # Safety
/// The pages that hold these bytes are this process's own, hold no bytes of another allocation, and nobody
/// uses them meanwhile.
pub(super) unsafe fn share(host: *mut u8, size: u64) -> Option<Backing> {
    let before = u64::try_from(host.addr()).ok()? % page();
    let pages = host.wrapping_sub(usize::try_from(before).ok()?);
    let length = before.checked_add(size)?.checked_next_multiple_of(page())?;
    let (mut file, serial) = file(length)?;
    // SAFETY: the caller promises that these pages exist and that nobody writes to them meanwhile.
    let bytes = unsafe { core::slice::from_raw_parts(pages, usize::try_from(length).ok()?) };
    file.write_all(bytes).ok()?;
    // SAFETY: the caller promises that nothing else is in these pages; the file now has their bytes.
    unsafe { put(file, serial, pages, length) }
}

/// Maps another process's file over pages of this one.
///
/// # Safety
/// The pages are this process's own, and nothing is in them.
pub(super) unsafe fn map(file: File, pages: *mut u8, size: u64) -> Option<Backing> {
    let length = size.checked_next_multiple_of(page())?;
    // The rest of the last page is not in the file of another interface.
    if file.metadata().ok()?.len() < size {
        return None;
    }
    // SAFETY: the caller promises that nothing is in these pages.
    unsafe { put(file, 0, pages, length) }
}

/// Maps a file over pages.
///
/// # Safety
/// The pages are this process's own, and whatever is in them may go.
unsafe fn put(file: File, serial: u64, pages: *mut u8, length: u64) -> Option<Backing> {
    let bytes = usize::try_from(length).ok()?;
    let flags = libc::MAP_SHARED | libc::MAP_FIXED;
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the pages are a part of the process's own mapping, and the caller promises that they may be
    // replaced.
    let mapped = unsafe { libc::mmap(pages.cast(), bytes, protection, flags, file.as_raw_fd(), 0) };
    (mapped != libc::MAP_FAILED && !ptr::eq(mapped, ptr::null())).then_some(Backing {
        file,
        serial,
        pages,
        length,
        taken: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::{Allocations, Kind};
    use super::*;

    #[test]
    fn a_handle_survives_as_bytes_and_other_bytes_are_none() {
        let ipc_handle = IpcHandle { device: 1, process: 2, file: 3, size: 4, offset: 5, serial: 6 };
        assert_eq!(IpcHandle::from_bytes(&ipc_handle.to_bytes()), Some(ipc_handle));
        assert_eq!(IpcHandle::from_bytes(&[0; 64]), None);
        let mut longer = ipc_handle.to_bytes();
        longer[63] = 1;
        assert_eq!(IpcHandle::from_bytes(&longer), None);
    }

    #[test]
    fn what_is_opened_is_the_same_memory_and_its_pages_are_private_again_afterwards() {
        let mut allocations = Allocations::new(1, 1 << 24).unwrap();
        let size = 100_000;
        let start = allocations.allocate(0, size, Kind::Device, "cudaMalloc").unwrap();
        let host = allocations.at(start).unwrap().host;
        // SAFETY: the first byte of a live allocation.
        unsafe { host.write(1) };
        let ipc_handle = allocations.share(start).unwrap();
        assert_eq!(allocations.share(start), Ok(ipc_handle), "the same memory has one handle");
        let opened = allocations.open(&ipc_handle, Kind::Imported, "test").unwrap();
        assert_eq!(opened % page(), start % page());
        let other = allocations.at(opened).unwrap().host;
        // SAFETY: both are the first byte of a live allocation.
        unsafe { assert_eq!(other.read(), 1) };
        // SAFETY: both are the first byte of a live allocation.
        unsafe { other.write(2) };
        // SAFETY: both are the first byte of a live allocation.
        unsafe { assert_eq!(host.read(), 2) };
        let free = allocations.room(0);
        allocations.remove(opened, "test").unwrap();
        assert_eq!(allocations.room(0), free, "what is another's does not count");
        allocations.remove(start, "test").unwrap();
        // SAFETY: the pages are mapped for as long as `Allocations` is.
        unsafe { host.write(3) };
        assert_eq!(ipc_handle.open().map(drop), None, "the file is gone with the memory");
    }
}
