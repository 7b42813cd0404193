//! What a device is and can do.
#![expect(unsafe_code, reason = "calls the runtime's property and attribute functions")]

use std::ffi::{CStr, c_int};
use std::fmt;
use std::mem::MaybeUninit;

use super::Device;
use crate::error::Result;
use crate::{check, sys};

/// Everything that the runtime tells about a device in one call.
///
/// The methods give what most programs ask for; [`as_raw`](Self::as_raw) gives all of it, by C's field names.
#[derive(Clone)]
pub struct DeviceProperties {
    raw: Box<sys::cudaDeviceProp>,
}

impl Device {
    /// The properties of the device. Slow for single values: prefer [`attribute`](Self::attribute).
    ///
    /// Stands for [`cudaGetDeviceProperties`](sys::cudaGetDeviceProperties).
    ///
    /// # Errors
    /// None is known for a device that exists.
    #[doc(alias = "cudaGetDeviceProperties")]
    #[doc(alias = "cudaDeviceProp")]
    #[track_caller]
    pub fn properties(self) -> Result<DeviceProperties> {
        let mut raw = Box::new(MaybeUninit::<sys::cudaDeviceProp>::zeroed());
        // SAFETY: the pointer is to a live structure of ours, of the layout that the header of this build gives.
        unsafe { check!(cudaGetDeviceProperties(raw.as_mut_ptr(), self.ordinal())) }?;
        // SAFETY: the structure was zeroed and then filled, and holds only numbers, for which any bytes are valid.
        let raw = unsafe { raw.assume_init() };
        Ok(DeviceProperties { raw })
    }

    /// One attribute of the device; the constants are those of [`sys`], `cudaDevAttr...`.
    ///
    /// Stands for [`cudaDeviceGetAttribute`](sys::cudaDeviceGetAttribute).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for an attribute that the driver does not know.
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
        // SAFETY: the pointer is to a live integer of ours, which the call fills; the runtime checks the numbers.
        unsafe { check!(cudaDeviceGetAttribute(&raw mut value, attribute, self.ordinal())) }?;
        Ok(value)
    }

    /// Compute capability, as `(major, minor)`.
    ///
    /// # Errors
    /// None is known for a device that exists.
    #[track_caller]
    pub fn compute_capability(self) -> Result<(i32, i32)> {
        let major = self.attribute(sys::cudaDevAttrComputeCapabilityMajor)?;
        let minor = self.attribute(sys::cudaDevAttrComputeCapabilityMinor)?;
        Ok((major, minor))
    }
}

impl DeviceProperties {
    /// The device's name, such as `NVIDIA H200`.
    #[must_use]
    pub fn name(&self) -> &str {
        let bytes = self.raw.name.map_bytes();
        CStr::from_bytes_until_nul(bytes).ok().and_then(|name| name.to_str().ok()).unwrap_or("")
    }

    /// The 16 bytes that identify the device, the same in every process and after a restart.
    #[must_use]
    pub fn uuid(&self) -> [u8; 16] {
        bytemuck::cast(self.raw.uuid.bytes)
    }

    /// Compute capability, as `(major, minor)`.
    #[must_use]
    pub fn compute_capability(&self) -> (i32, i32) {
        (self.raw.major, self.raw.minor)
    }

    /// Bytes of memory on the device.
    #[must_use]
    pub fn total_global_mem(&self) -> usize {
        self.raw.totalGlobalMem
    }

    /// Bytes of constant memory.
    #[must_use]
    pub fn total_const_mem(&self) -> usize {
        self.raw.totalConstMem
    }

    /// Bytes of shared memory that a block gets without asking for more.
    #[must_use]
    pub fn shared_mem_per_block(&self) -> usize {
        self.raw.sharedMemPerBlock
    }

    /// Bytes of shared memory that a block gets at most, after asking.
    #[must_use]
    pub fn shared_mem_per_block_optin(&self) -> usize {
        self.raw.sharedMemPerBlockOptin
    }

    /// Bytes of shared memory of one multiprocessor.
    #[must_use]
    pub fn shared_mem_per_multiprocessor(&self) -> usize {
        self.raw.sharedMemPerMultiprocessor
    }

    /// Bytes of the L2 cache.
    #[must_use]
    pub fn l2_cache_size(&self) -> usize {
        usize::try_from(self.raw.l2CacheSize).unwrap_or(0)
    }

    /// Registers of 32 bits that a block gets at most.
    #[must_use]
    pub fn regs_per_block(&self) -> u32 {
        count(self.raw.regsPerBlock)
    }

    /// Multiprocessors of the device.
    #[must_use]
    pub fn multiprocessor_count(&self) -> u32 {
        count(self.raw.multiProcessorCount)
    }

    /// Threads of a warp.
    #[must_use]
    pub fn warp_size(&self) -> u32 {
        count(self.raw.warpSize)
    }

    /// Threads of a block at most.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        count(self.raw.maxThreadsPerBlock)
    }

    /// Threads resident on a multiprocessor at most.
    #[must_use]
    pub fn max_threads_per_multiprocessor(&self) -> u32 {
        count(self.raw.maxThreadsPerMultiProcessor)
    }

    /// Threads of a block at most, in x, y and z.
    #[must_use]
    pub fn max_threads_dim(&self) -> [u32; 3] {
        self.raw.maxThreadsDim.map(count)
    }

    /// Blocks of a grid at most, in x, y and z.
    #[must_use]
    pub fn max_grid_size(&self) -> [u32; 3] {
        self.raw.maxGridSize.map(count)
    }

    /// Bytes of the longest row that pitched memory may have.
    #[must_use]
    pub fn mem_pitch(&self) -> usize {
        self.raw.memPitch
    }

    /// Engines that copy while kernels run: 0, 1 (one direction at a time) or more.
    #[must_use]
    pub fn async_engine_count(&self) -> u32 {
        count(self.raw.asyncEngineCount)
    }

    /// Bits of the memory bus.
    #[must_use]
    pub fn memory_bus_width(&self) -> u32 {
        count(self.raw.memoryBusWidth)
    }

    /// Whether host and device share one address space.
    #[must_use]
    pub fn unified_addressing(&self) -> bool {
        self.raw.unifiedAddressing != 0
    }

    /// Whether kernels can use pinned host memory.
    #[must_use]
    pub fn can_map_host_memory(&self) -> bool {
        self.raw.canMapHostMemory != 0
    }

    /// Whether the device can use managed memory.
    #[must_use]
    pub fn managed_memory(&self) -> bool {
        self.raw.managedMemory != 0
    }

    /// Whether host and device may use managed memory at the same time.
    #[must_use]
    pub fn concurrent_managed_access(&self) -> bool {
        self.raw.concurrentManagedAccess != 0
    }

    /// Whether kernels can use memory of the host that was neither pinned nor registered.
    #[must_use]
    pub fn pageable_memory_access(&self) -> bool {
        self.raw.pageableMemoryAccess != 0
    }

    /// Whether several kernels can run at a time.
    #[must_use]
    pub fn concurrent_kernels(&self) -> bool {
        self.raw.concurrentKernels != 0
    }

    /// Whether blocks of a grid can wait for each other.
    #[must_use]
    pub fn cooperative_launch(&self) -> bool {
        self.raw.cooperativeLaunch != 0
    }

    /// Whether the device shares its memory with the host.
    #[must_use]
    pub fn integrated(&self) -> bool {
        self.raw.integrated != 0
    }

    /// Whether the memory corrects errors.
    #[must_use]
    pub fn ecc_enabled(&self) -> bool {
        self.raw.ECCEnabled != 0
    }

    /// The whole structure, by C's field names.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaDeviceProp {
        &self.raw
    }
}

/// The bytes of a C character array, whatever the sign of `char`.
trait MapBytes {
    fn map_bytes(&self) -> &[u8];
}

impl<const N: usize> MapBytes for [std::ffi::c_char; N] {
    fn map_bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

/// A count that C keeps in an `int`.
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
