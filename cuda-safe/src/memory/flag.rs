//! A flag that a kernel polls while the host sets it.
#![expect(unsafe_code, reason = "shares an atomic with devices")]

use std::fmt;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard};

use super::allocation::Allocation;
use super::allocation::{Span, mapped_pointer};
use super::pinned::PinnedFlags;
use crate::device::Device;
use crate::error::Result;
use crate::hazard::{Access, Mode};
use crate::lock::lock;
use crate::stream;

/// An `AtomicU32` in mapped pinned memory, which the host and all devices share.
///
/// Kernels may declare it as `unsigned*` or `int*`, or as a pointer to 64 bits, whose upper half
/// [`set`](Self::set) makes zero. `volatile` and `const` make no difference.
///
/// The tracker does not order accesses to it, and no guard lends it. The host and kernels may read and
/// write it at any time, and neither waits for the other. A kernel that spins until the host sets a flag is
/// a gate; tests use one to hold a stream. The initial value is 0.
///
/// # Ordering
/// [`set`](Self::set) releases and [`load`](Self::load) acquires. A kernel that reads the value and then
/// executes a system-wide fence also sees the earlier writes of the host, and the reverse holds too.
///
/// Dropping the flag does not wait for a kernel that still polls it, because that kernel might then never
/// end. The memory is retained and serves a later flag once the kernel is known to be complete. If no
/// kernel polls it, the memory is freed.
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
    /// Taken only by the drop.
    allocation: ManuallyDrop<Allocation>,
    device_pointer: *mut u32,
}

// SAFETY: the memory is an atomic that is only reached as one, and the device's pointer is only a number
// here.
unsafe impl Send for MappedFlag {}
// SAFETY: the memory is an atomic that is only reached as one, and the device's pointer is only a number
// here.
unsafe impl Sync for MappedFlag {}

/// The size of a flag that a kernel declares with 64 bits.
const BYTES: usize = size_of::<[AtomicU32; 2]>();

impl MappedFlag {
    /// Allocates a flag for all devices, with the value 0.
    ///
    /// Stands for [`cudaHostAlloc`](crate::sys::cudaHostAlloc) and
    /// [`cudaHostGetDevicePointer`](crate::sys::cudaHostGetDevicePointer).
    ///
    /// # Errors
    /// Returns `cudaErrorMemoryAllocation`, or the error of initialising the device.
    #[track_caller]
    pub fn new() -> Result<Self> {
        let device = Device::current()?;
        if let Some(flag) = again() {
            flag.set(0);
            return Ok(flag);
        }
        let flags = PinnedFlags::MAPPED | PinnedFlags::PORTABLE;
        let allocation = Allocation::pinned(Some(device), BYTES, flags.bits())?;
        // SAFETY: the allocation is new, large enough and sufficiently aligned, and nobody else knows of
        // it.
        unsafe {
            allocation.pointer().cast::<[AtomicU32; 2]>().write([AtomicU32::new(0), AtomicU32::new(0)])
        };
        let device_pointer = mapped_pointer(Span::whole(&allocation, 1))?;
        Ok(Self { allocation: ManuallyDrop::new(allocation), device_pointer })
    }

    /// Sets the flag for all that poll it. Never blocks.
    pub fn set(&self, value: u32) {
        let [lower, upper] = self.halves();
        upper.store(0, Ordering::Relaxed);
        lower.store(value, Ordering::Release);
    }

    /// Reads the flag. Never blocks.
    #[must_use]
    pub fn load(&self) -> u32 {
        let [lower, _] = self.halves();
        lower.load(Ordering::Acquire)
    }

    /// Returns the halves of a kernel's 64 bits. Devices and hosts of CUDA begin with the lower half.
    fn halves(&self) -> &[AtomicU32; 2] {
        // SAFETY: `new` wrote two atomics there, which live as long as the allocation. All accesses to them
        // are atomic.
        unsafe { &*self.allocation.pointer().cast::<[AtomicU32; 2]>() }
    }

    /// Returns the address at which kernels reach the flag.
    #[must_use]
    pub fn device_ptr(&self) -> *mut u32 {
        self.device_pointer
    }

    /// Returns the access that an operation on the flag declares to the tracker. It prevents the memory
    /// from being freed too early and orders nothing, whether the kernel reads the flag or sets it.
    #[must_use]
    pub fn access(&self) -> Access<'_> {
        Access::new(self.allocation.history(), 0..BYTES, Mode::Read)
    }
}

impl Drop for MappedFlag {
    fn drop(&mut self) {
        // SAFETY: the flag is being dropped, so nobody uses the field again.
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

/// Returns whether all kernels that received the flag are known to be complete. Does not ask the runtime.
fn is_done(allocation: &Allocation) -> bool {
    stream::is_quiet(allocation.history(), 0..BYTES, Mode::Write)
}

/// Returns the dropped flags that kernels may still poll. Freeing them later could block on a gate that is
/// closed by then. Therefore their memory is only reused.
fn retired() -> MutexGuard<'static, Vec<ManuallyDrop<MappedFlag>>> {
    static RETIRED: Mutex<Vec<ManuallyDrop<MappedFlag>>> = Mutex::new(Vec::new());
    lock(&RETIRED)
}

/// Returns a retired flag that no kernel polls any more.
fn again() -> Option<MappedFlag> {
    let mut retired = retired();
    let at = retired.iter().position(|flag| is_done(&flag.allocation))?;
    Some(ManuallyDrop::into_inner(retired.swap_remove(at)))
}

/// Forgets the retired flags of a device that is reset, which frees their memory.
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
