//! The properties and attributes of a device.
#![expect(unsafe_code, reason = "calls the runtime's property and attribute functions")]

use std::ffi::{CStr, c_int};
use std::fmt;
use std::mem::MaybeUninit;

use super::Device;
use crate::error::Result;
use crate::{check, sys};

/// The properties of a device, which the runtime returns in one call.
///
/// The methods return the common ones. [`as_raw`](Self::as_raw) returns all of them under C's field names.
#[derive(Clone)]
pub struct DeviceProperties {
    raw: Box<sys::cudaDeviceProp>,
}

impl Device {
    /// Returns the properties of the device. For a single value, [`attribute`](Self::attribute) is faster.
    ///
    /// Stands for [`cudaGetDeviceProperties`](sys::cudaGetDeviceProperties).
    ///
    /// # Errors
    /// No error is known for a device that exists.
    #[doc(alias = "cudaGetDeviceProperties")]
    #[doc(alias = "cudaDeviceProp")]
    #[track_caller]
    pub fn properties(self) -> Result<DeviceProperties> {
        let mut raw = Box::new(MaybeUninit::<sys::cudaDeviceProp>::zeroed());
        // SAFETY: the pointer is to a live local structure with the layout that this build's header
        // declares.
        unsafe { check!(cudaGetDeviceProperties(raw.as_mut_ptr(), self.ordinal())) }?;
        // SAFETY: the structure was zeroed and then filled, and holds only numbers, for which any bytes are
        // valid.
        let raw = unsafe { raw.assume_init() };
        Ok(DeviceProperties { raw })
    }

    /// Returns one attribute of the device. The constants are `cudaDevAttr...` in [`sys`].
    ///
    /// Stands for [`cudaDeviceGetAttribute`](sys::cudaDeviceGetAttribute).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the driver does not know the attribute.
    ///
    /// # Examples
    /// ```
    /// use cuda_safe::{Device, sys};
    /// # fn main() -> cuda_safe::Result<()> {
    /// let warp = Device::current()?.attribute(sys::cudaDevAttrWarpSize)?;
    /// assert_eq!(warp, 32);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaDeviceGetAttribute")]
    #[track_caller]
    pub fn attribute(self, attribute: sys::cudaDeviceAttr) -> Result<i32> {
        let mut value = 0;
        // SAFETY: the pointer is to a live local integer, which the call fills. The runtime checks the
        // numbers.
        unsafe { check!(cudaDeviceGetAttribute(&raw mut value, attribute, self.ordinal())) }?;
        Ok(value)
    }

    /// Returns the compute capability as `(major, minor)`.
    ///
    /// # Errors
    /// No error is known for a device that exists.
    #[track_caller]
    pub fn compute_capability(self) -> Result<(i32, i32)> {
        let major = self.attribute(sys::cudaDevAttrComputeCapabilityMajor)?;
        let minor = self.attribute(sys::cudaDevAttrComputeCapabilityMinor)?;
        Ok((major, minor))
    }
}

impl DeviceProperties {
    /// Returns the device's name, such as `NVIDIA H200`.
    #[must_use]
    pub fn name(&self) -> &str {
        let bytes = self.raw.name.map_bytes();
        CStr::from_bytes_until_nul(bytes).ok().and_then(|name| name.to_str().ok()).unwrap_or("")
    }

    /// Returns the 16 bytes that identify the device. They are the same in every process and after a
    /// restart.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        bytemuck::cast(self.raw.uuid.bytes)
    }

    /// Returns the compute capability as `(major, minor)`.
    #[must_use]
    pub fn compute_capability(&self) -> (i32, i32) {
        (self.raw.major, self.raw.minor)
    }

    /// Returns the size of the device's memory in bytes.
    #[must_use]
    pub fn total_global_mem(&self) -> usize {
        self.raw.totalGlobalMem
    }

    /// Returns the size of constant memory in bytes.
    #[must_use]
    pub fn total_const_mem(&self) -> usize {
        self.raw.totalConstMem
    }

    /// Returns the bytes of shared memory that a block can use by default.
    #[must_use]
    pub fn shared_mem_per_block(&self) -> usize {
        self.raw.sharedMemPerBlock
    }

    /// Returns the bytes of shared memory that a block can use at most, if the kernel opts in.
    #[must_use]
    pub fn shared_mem_per_block_optin(&self) -> usize {
        self.raw.sharedMemPerBlockOptin
    }

    /// Returns the bytes of shared memory of one multiprocessor.
    #[must_use]
    pub fn shared_mem_per_multiprocessor(&self) -> usize {
        self.raw.sharedMemPerMultiprocessor
    }

    /// Returns the size of the L2 cache in bytes.
    #[must_use]
    pub fn l2_cache_size(&self) -> usize {
        usize::try_from(self.raw.l2CacheSize).unwrap_or(0)
    }

    /// Returns the maximum number of 32-bit registers of a block.
    #[must_use]
    pub fn regs_per_block(&self) -> u32 {
        count(self.raw.regsPerBlock)
    }

    /// Returns the number of multiprocessors.
    #[must_use]
    pub fn multiprocessor_count(&self) -> u32 {
        count(self.raw.multiProcessorCount)
    }

    /// Returns the number of threads of a warp.
    #[must_use]
    pub fn warp_size(&self) -> u32 {
        count(self.raw.warpSize)
    }

    /// Returns the maximum number of threads of a block.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        count(self.raw.maxThreadsPerBlock)
    }

    /// Returns the maximum number of resident threads of a multiprocessor.
    #[must_use]
    pub fn max_threads_per_multiprocessor(&self) -> u32 {
        count(self.raw.maxThreadsPerMultiProcessor)
    }

    /// Returns the maximum number of threads of a block in x, y and z.
    #[must_use]
    pub fn max_threads_dim(&self) -> [u32; 3] {
        self.raw.maxThreadsDim.map(count)
    }

    /// Returns the maximum number of blocks of a grid in x, y and z.
    #[must_use]
    pub fn max_grid_size(&self) -> [u32; 3] {
        self.raw.maxGridSize.map(count)
    }

    /// Returns the maximum pitch of pitched memory in bytes.
    #[must_use]
    pub fn mem_pitch(&self) -> usize {
        self.raw.memPitch
    }

    /// Returns the number of engines that copy while kernels run: 0, 1 (one direction at a time) or more.
    #[must_use]
    pub fn async_engine_count(&self) -> u32 {
        count(self.raw.asyncEngineCount)
    }

    /// Returns the width of the memory bus in bits.
    #[must_use]
    pub fn memory_bus_width(&self) -> u32 {
        count(self.raw.memoryBusWidth)
    }

    /// Returns whether host and device share one address space.
    #[must_use]
    pub fn unified_addressing(&self) -> bool {
        self.raw.unifiedAddressing != 0
    }

    /// Returns whether kernels can use pinned host memory.
    #[must_use]
    pub fn can_map_host_memory(&self) -> bool {
        self.raw.canMapHostMemory != 0
    }

    /// Returns whether the device can use managed memory.
    #[must_use]
    pub fn managed_memory(&self) -> bool {
        self.raw.managedMemory != 0
    }

    /// Returns whether host and device may use managed memory at the same time.
    #[must_use]
    pub fn concurrent_managed_access(&self) -> bool {
        self.raw.concurrentManagedAccess != 0
    }

    /// Returns whether kernels can use host memory that is neither pinned nor registered.
    #[must_use]
    pub fn pageable_memory_access(&self) -> bool {
        self.raw.pageableMemoryAccess != 0
    }

    /// Returns whether several kernels can run at the same time.
    #[must_use]
    pub fn concurrent_kernels(&self) -> bool {
        self.raw.concurrentKernels != 0
    }

    /// Returns whether blocks of a grid can wait for each other.
    #[must_use]
    pub fn cooperative_launch(&self) -> bool {
        self.raw.cooperativeLaunch != 0
    }

    /// Returns whether the device shares its memory with the host.
    #[must_use]
    pub fn integrated(&self) -> bool {
        self.raw.integrated != 0
    }

    /// Returns whether the memory corrects errors (ECC).
    #[must_use]
    pub fn ecc_enabled(&self) -> bool {
        self.raw.ECCEnabled != 0
    }

    /// Returns the whole structure, with C's field names.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaDeviceProp {
        &self.raw
    }
}

/// Returns the bytes of a C character array, for signed and unsigned `char`.
trait MapBytes {
    fn map_bytes(&self) -> &[u8];
}

impl<const N: usize> MapBytes for [std::ffi::c_char; N] {
    fn map_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// Converts a count that C stores in an `int`.
fn count(value: c_int) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

impl fmt::Debug for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceProperties")
            .field("name", &self.name())
            .field("compute_capability", &self.compute_capability())
            .field("total_global_mem", &self.total_global_mem())
            .field("multiprocessor_count", &self.multiprocessor_count())
            .finish_non_exhaustive()
    }
}
