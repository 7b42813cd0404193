//! The properties and attributes of a device.
#![expect(unsafe_code, reason = "calls the runtime's property and attribute functions")]

use std::convert::identity as same;
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
        unsafe { check!(cudaGetDeviceProperties(raw.as_mut_ptr(), self.as_raw())) }?;
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
        unsafe { check!(cudaDeviceGetAttribute(&raw mut value, attribute, self.as_raw())) }?;
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
        let bytes: &[u8] = bytemuck::cast_slice(&self.raw.name); // `char` is signed or unsigned
        CStr::from_bytes_until_nul(bytes).ok().and_then(|name| name.to_str().ok()).unwrap_or("")
    }

    /// Returns the whole structure, with C's field names.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaDeviceProp {
        &self.raw
    }
}

/// Declares getters of the fields of a structure of C, with a conversion of each.
macro_rules! getters {
    ($owner:ident, $raw:tt, $($(#[$doc:meta])* $name:ident: $type:ty = $convert:ident($field:ident),)*) => {
        impl $owner { $(
            $(#[$doc])*
            #[must_use]
            pub fn $name(&self) -> $type {
                $convert(self.$raw.$field)
            }
        )* }
    };
}
pub(crate) use getters;

getters! {
    DeviceProperties, raw,
    /// Returns the size of the device's memory in bytes.
    total_global_mem: usize = same(totalGlobalMem),
    /// Returns the size of constant memory in bytes.
    total_const_mem: usize = same(totalConstMem),
    /// Returns the bytes of shared memory that a block can use by default.
    shared_mem_per_block: usize = same(sharedMemPerBlock),
    /// Returns the bytes of shared memory that a block can use at most, if the kernel opts in.
    shared_mem_per_block_optin: usize = same(sharedMemPerBlockOptin),
    /// Returns the bytes of shared memory of one multiprocessor.
    shared_mem_per_multiprocessor: usize = same(sharedMemPerMultiprocessor),
    /// Returns the size of the L2 cache in bytes.
    l2_cache_size: usize = size(l2CacheSize),
    /// Returns the maximum number of 32-bit registers of a block.
    regs_per_block: u32 = count(regsPerBlock),
    /// Returns the number of multiprocessors.
    multi_processor_count: u32 = count(multiProcessorCount),
    /// Returns the number of threads of a warp.
    warp_size: u32 = count(warpSize),
    /// Returns the maximum number of threads of a block.
    max_threads_per_block: u32 = count(maxThreadsPerBlock),
    /// Returns the maximum number of resident threads of a multiprocessor.
    max_threads_per_multi_processor: u32 = count(maxThreadsPerMultiProcessor),
    /// Returns the maximum number of threads of a block in x, y and z.
    max_threads_dim: [u32; 3] = counts(maxThreadsDim),
    /// Returns the maximum number of blocks of a grid in x, y and z.
    max_grid_size: [u32; 3] = counts(maxGridSize),
    /// Returns the maximum pitch of pitched memory in bytes.
    mem_pitch: usize = same(memPitch),
    /// Returns the number of engines that copy while kernels run: 0, 1 (one direction at a time) or more.
    async_engine_count: u32 = count(asyncEngineCount),
    /// Returns the width of the memory bus in bits.
    memory_bus_width: u32 = count(memoryBusWidth),
    /// Returns whether host and device share one address space.
    unified_addressing: bool = is_set(unifiedAddressing),
    /// Returns whether kernels can use pinned host memory.
    can_map_host_memory: bool = is_set(canMapHostMemory),
    /// Returns whether the device can use managed memory.
    managed_memory: bool = is_set(managedMemory),
    /// Returns whether host and device may use managed memory at the same time.
    concurrent_managed_access: bool = is_set(concurrentManagedAccess),
    /// Returns whether kernels can use host memory that is neither pinned nor registered.
    pageable_memory_access: bool = is_set(pageableMemoryAccess),
    /// Returns whether several kernels can run at the same time.
    concurrent_kernels: bool = is_set(concurrentKernels),
    /// Returns whether blocks of a grid can wait for each other.
    cooperative_launch: bool = is_set(cooperativeLaunch),
    /// Returns whether the device shares its memory with the host.
    integrated: bool = is_set(integrated),
    /// Returns whether the memory corrects errors (ECC).
    ecc_enabled: bool = is_set(ECCEnabled),
}

/// Converts a count that C stores in an `int`.
pub(crate) fn count(value: c_int) -> u32 {
    u32::try_from(value).unwrap_or(0)
}

/// Converts the counts along three axes.
fn counts(values: [c_int; 3]) -> [u32; 3] {
    values.map(count)
}

/// Converts a size that C stores in an `int`.
pub(crate) fn size(value: c_int) -> usize {
    usize::try_from(value).unwrap_or(0)
}

/// Converts C's truth value.
pub(crate) fn is_set(value: c_int) -> bool {
    value != 0
}

impl fmt::Debug for DeviceProperties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceProperties")
            .field("name", &self.name())
            .field("compute_capability", &(self.raw.major, self.raw.minor))
            .field("total_global_mem", &self.total_global_mem())
            .field("multi_processor_count", &self.multi_processor_count())
            .finish_non_exhaustive()
    }
}
