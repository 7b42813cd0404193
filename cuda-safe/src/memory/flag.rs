//! A flag that a kernel polls while the host sets it.
#![expect(unsafe_code, reason = "shares an atomic with devices")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::allocation::Allocation;
use super::mapped::mapped_pointer;
use super::pinned::PinnedFlags;
use super::span::Span;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::stream;

/// An `AtomicU32` in mapped pinned memory, shared by the host and all devices at once.
///
/// Neither memory that the tracker orders nor memory that a guard lends: host and kernels may read and write it at any
/// time, and nobody waits for anybody. A kernel that spins until the host sets a flag is a gate, and how tests hold a
/// stream. Starts at 0.
///
/// # Ordering
/// [`set`](Self::set) releases and [`load`](Self::load) acquires: a kernel that sees the value and then fences for the
/// whole system also sees what the host wrote before, and the other way round.
///
/// Dropping it does not wait for a kernel that still polls it, which might never be let go then: the memory is kept, and
/// serves a later flag once the kernel is known to be done. Where none does, the memory is freed.
///
/// # Examples
/// ```
/// # fn main() -> cuda_safe::Result<()> {
/// let gate = cuda_safe::MappedFlag::new()?;
/// assert_eq!(gate.load(), 0);
/// gate.set(1);
/// assert_eq!(gate.load(), 1);
/// # Ok(())
/// # }
/// ```
#[doc(alias = "cudaHostAllocMapped")]
pub struct MappedFlag {
    /// Taken by the drop, and only by it.
    allocation: ManuallyDrop<Allocation>,
    device_pointer: *mut u32,
}

// SAFETY: the memory is an atomic that is only ever reached as one, and the device's pointer is only a number here.
unsafe impl Send for MappedFlag {}
// SAFETY: as above.
unsafe impl Sync for MappedFlag {}

impl MappedFlag {
    /// Allocates a flag that is 0, for every device.
    ///
    /// Stands for [`cudaHostAlloc`](crate::sys::cudaHostAlloc) and
    /// [`cudaHostGetDevicePointer`](crate::sys::cudaHostGetDevicePointer).
    ///
    /// # Errors
    /// `cudaErrorMemoryAllocation`, or what stops the device from being set up.
    #[track_caller]
    pub fn new() -> Result<Self> {
        let device = Device::current()?;
        if let Some(flag) = again() {
            flag.set(0);
            return Ok(flag);
        }
        let flags = PinnedFlags::MAPPED | PinnedFlags::PORTABLE;
        let allocation = Allocation::pinned(Some(device), size_of::<AtomicU32>(), flags.bits())?;
        // SAFETY: the allocation is new, large enough, aligned for anything this small, and nobody else knows of it.
        unsafe { allocation.pointer().cast::<AtomicU32>().write(AtomicU32::new(0)) };
        let device_pointer = mapped_pointer(Span::whole(&allocation, 1))?;
        Ok(Self { allocation: ManuallyDrop::new(allocation), device_pointer })
    }

    /// Sets the flag, for whoever polls it. Never blocks.
    pub fn set(&self, value: u32) {
        self.atomic().store(value, Ordering::Release);
    }

    /// Reads the flag. Never blocks.
    #[must_use]
    pub fn load(&self) -> u32 {
        self.atomic().load(Ordering::Acquire)
    }

    /// The atomic itself, for everything else that atomics can do.
    #[must_use]
    pub fn atomic(&self) -> &AtomicU32 {
        // SAFETY: `new` put an atomic there, which lives as long as the allocation; everybody reaches it atomically.
        unsafe { &*self.allocation.pointer().cast::<AtomicU32>() }
    }

    /// The address at which kernels reach the flag.
    #[must_use]
    pub fn device_ptr(&self) -> *mut u32 {
        self.device_pointer
    }

    /// What an operation that uses the flag enters in the books: it keeps the memory from being freed too early, and
    /// orders nothing, whether the kernel reads the flag or sets it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        Access::new(self.allocation.ledger(), 0..size_of::<AtomicU32>(), Mode::Read)
    }
}

impl Drop for MappedFlag {
    fn drop(&mut self) {
        // SAFETY: the flag is going, so nobody uses the field again.
        let allocation = unsafe { ManuallyDrop::take(&mut self.allocation) };
        if is_done(&allocation) {
            drop(allocation);
        } else {
            let flag =
                Self { allocation: ManuallyDrop::new(allocation), device_pointer: self.device_pointer };
            retired().push(ManuallyDrop::new(flag));
        }
    }
}

/// Whether all kernels that got the flag are known to be done. Asks nobody.
fn is_done(allocation: &Allocation) -> bool {
    stream::is_quiet(allocation.ledger(), 0..size_of::<AtomicU32>(), Mode::Write)
}

/// Flags that are gone, but that kernels may still poll. Freeing them later could wait for a gate that is closed by then, so they
/// are only ever used again.
fn retired() -> MutexGuard<'static, Vec<ManuallyDrop<MappedFlag>>> {
    static RETIRED: Mutex<Vec<ManuallyDrop<MappedFlag>>> = Mutex::new(Vec::new());
    RETIRED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A retired flag that no kernel polls any more.
fn again() -> Option<MappedFlag> {
    let mut retired = retired();
    let at = retired.iter().position(|flag| is_done(&flag.allocation))?;
    Some(ManuallyDrop::into_inner(retired.swap_remove(at)))
}

/// Forgets the retired flags of a device that is reset: their memory is gone.
pub(super) fn abandon(device: Device) {
    retired().retain(|flag| flag.allocation.on() != device);
}

impl fmt::Debug for MappedFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MappedFlag")
            .field("value", &self.load())
            .field("pointer", &self.device_pointer)
            .finish()
    }
}
