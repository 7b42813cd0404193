//! What the compiler made of a kernel: registers, shared memory, and how large its blocks may be.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::{c_int, c_void};

use crate::error::{Detail, Error, Result};
use crate::{check, sys};

use super::dimensions::wide;
use super::{Dim3, Kernel};

/// Facts about one kernel on the current device.
#[doc(alias = "cudaFuncAttributes")]
#[derive(Clone, Copy, Debug)]
pub struct KernelAttributes(sys::cudaFuncAttributes);

impl KernelAttributes {
    /// Threads of a block, at most: fewer than the device allows where the kernel needs many registers or says so itself.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        u32::try_from(self.0.maxThreadsPerBlock).unwrap_or(0)
    }

    /// Bytes of dynamic shared memory that a launch may ask for, as things are set.
    #[must_use]
    pub fn max_dynamic_shared_bytes(&self) -> usize {
        usize::try_from(self.0.maxDynamicSharedSizeBytes).unwrap_or(0)
    }

    /// Bytes of shared memory that the kernel declares itself.
    #[must_use]
    pub fn static_shared_bytes(&self) -> usize {
        self.0.sharedSizeBytes
    }

    /// Bytes of constant memory.
    #[must_use]
    pub fn constant_bytes(&self) -> usize {
        self.0.constSizeBytes
    }

    /// Bytes of local memory (spilled registers, arrays) of each thread.
    #[must_use]
    pub fn local_bytes(&self) -> usize {
        self.0.localSizeBytes
    }

    /// Registers of each thread.
    #[must_use]
    pub fn registers(&self) -> u32 {
        u32::try_from(self.0.numRegs).unwrap_or(0)
    }

    /// The generation that the machine code is for, as `10 * major + minor`.
    #[must_use]
    pub fn binary_version(&self) -> i32 {
        self.0.binaryVersion
    }

    /// The generation that the PTX was written for, as `10 * major + minor`.
    #[must_use]
    pub fn ptx_version(&self) -> i32 {
        self.0.ptxVersion
    }

    /// The runtime's structure.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaFuncAttributes {
        &self.0
    }
}

/// What the runtime says about a kernel.
#[track_caller]
pub(super) fn of(kernel: *const c_void) -> Result<KernelAttributes> {
    let mut attributes = sys::cudaFuncAttributes::default();
    // SAFETY: the pointer is to a live structure that the call fills, and the kernel is one of this program's.
    unsafe { check!(cudaFuncGetAttributes(&raw mut attributes, kernel)) }?;
    Ok(KernelAttributes(attributes))
}

impl<P> Kernel<P> {
    /// What the compiler made of the kernel for the current device. Stands for
    /// [`cudaFuncGetAttributes`](sys::cudaFuncGetAttributes).
    ///
    /// # Errors
    /// There is no code for the current device, or no device.
    #[doc(alias = "cudaFuncGetAttributes")]
    #[track_caller]
    pub fn attributes(&self) -> Result<KernelAttributes> {
        of(self.as_raw())
    }

    /// Brings the kernel's code to the current device now, and not at its first launch.
    ///
    /// CUDA loads a kernel when it is first launched, and loading may wait for kernels that run. If one of those waits
    /// in turn for the kernel that is being loaded (it polls a [`MappedFlag`](crate::MappedFlag) that the other one, or code
    /// behind it, sets), both wait for ever: load such kernels first. The same goes for a stream that a host function holds until the
    /// program has launched something for the first time.
    ///
    /// # Errors
    /// What the runtime says.
    ///
    /// Stands for [`cudaFuncGetAttributes`](sys::cudaFuncGetAttributes), whose answer it drops.
    #[track_caller]
    pub fn load(&self) -> Result<()> {
        of(self.as_raw()).map(drop)
    }

    /// Lets launches on the current device ask for up to this many bytes of dynamic shared memory, beyond the 48 KiB that every
    /// kernel may have. Stands for [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// The device has not got so much for one block.
    #[doc(alias = "cudaFuncSetAttribute")]
    #[doc(alias = "cudaFuncAttributeMaxDynamicSharedMemorySize")]
    #[track_caller]
    pub fn set_max_dynamic_shared_bytes(&self, bytes: usize) -> Result<()> {
        let what = "dynamic shared memory in bytes";
        let limit = u64::from(c_int::MAX.unsigned_abs());
        let size = c_int::try_from(bytes).map_err(|_| {
            Error::refused(
                "Kernel::set_max_dynamic_shared_bytes",
                Detail::Limit { what, asked: wide(bytes), limit },
            )
        })?;
        let attribute = sys::cudaFuncAttributeMaxDynamicSharedMemorySize;
        // SAFETY: the kernel is one of this program's; the call changes a limit and takes no memory.
        unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, size)) }
    }

    /// How many blocks of this size one multiprocessor of the current device runs at once. Stands for
    /// [`cudaOccupancyMaxActiveBlocksPerMultiprocessor`](sys::cudaOccupancyMaxActiveBlocksPerMultiprocessor).
    ///
    /// # Errors
    /// There is no code for the current device, or no device.
    #[doc(alias = "cudaOccupancyMaxActiveBlocksPerMultiprocessor")]
    #[track_caller]
    pub fn blocks_per_multiprocessor(&self, block: impl Into<Dim3>, shared_bytes: usize) -> Result<u32> {
        let threads = block.into().count();
        let size = c_int::try_from(threads).map_err(|_| {
            let (asked, limit) = (u64::try_from(threads).unwrap_or(u64::MAX), 1024);
            let detail = Detail::Limit { what: "the number of threads of a block", asked, limit };
            Error::refused("Kernel::blocks_per_multiprocessor", detail)
        })?;
        let mut blocks = 0;
        let out = &raw mut blocks;
        // SAFETY: the pointer is to a live integer, and the kernel is one of this program's.
        unsafe {
            check!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, self.as_raw(), size, shared_bytes))
        }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }
}
