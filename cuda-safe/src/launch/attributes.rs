//! What the compiler made of a kernel: registers, shared memory, and how large its blocks may be.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use crate::device::{CacheConfig, Device};
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

    /// The clusters that the kernel's source says it has, by `__cluster_dims__`: blocks along each axis.
    #[must_use]
    pub fn required_cluster(&self) -> Option<Dim3> {
        let size = |number| u32::try_from(number).ok().filter(|size| *size > 0);
        let sizes = &self.0;
        Some(Dim3 {
            x: size(sizes.requiredClusterWidth)?,
            y: size(sizes.requiredClusterHeight)?,
            z: size(sizes.requiredClusterDepth)?,
        })
    }

    /// Whether the kernel may have clusters of more than 8 blocks, which not all devices can: see
    /// [`Kernel::set_non_portable_clusters`].
    #[must_use]
    pub fn non_portable_clusters(&self) -> bool {
        self.0.nonPortableClusterSizeAllowed != 0
    }

    /// The runtime's structure.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaFuncAttributes {
        &self.0
    }

    /// Bytes of dynamic shared memory that the kernel can be allowed on the current device; what it has now where the device does
    /// not say.
    fn most_dynamic_shared(&self) -> u64 {
        let most =
            Device::current().and_then(|it| it.attribute(sys::cudaDevAttrMaxSharedMemoryPerBlockOptin));
        let most = most.ok().and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.map_or(0, |bytes| bytes.saturating_sub(self.static_shared_bytes()));
        wide(most.max(self.max_dynamic_shared_bytes()))
    }

    /// Why a block cannot have so much dynamic shared memory.
    pub(super) fn dynamic_shared(&self, asked: usize) -> Detail {
        let limit = wide(self.max_dynamic_shared_bytes());
        Detail::DynamicShared { asked: wide(asked), limit, most: self.most_dynamic_shared() }
    }
}

/// Where one parameter of a kernel lies, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// From the first parameter's first byte.
    pub offset: usize,
    /// Bytes that it has.
    pub size: usize,
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
        let set = unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, size)) };
        set.map_err(|error| match of(self.as_raw()) {
            Ok(attributes) if !error.is_sticky() => {
                let (asked, limit) = (wide(bytes), attributes.most_dynamic_shared());
                if asked > limit { error.with_detail(Detail::Limit { what, asked, limit }) } else { error }
            }
            _ => error,
        })
    }

    /// Says how a multiprocessor's fast memory is to be divided while this kernel runs. A wish, and one for devices whose division
    /// goes by halves: [`set_shared_carveout`](Self::set_shared_carveout) is finer.
    /// Stands for [`cudaFuncSetCacheConfig`](sys::cudaFuncSetCacheConfig).
    ///
    /// # Errors
    /// There is no code for the current device, or no device; `Unsupported` for a kernel of a library, before the call.
    #[doc(alias = "cudaFuncSetCacheConfig")]
    #[track_caller]
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<()> {
        if self.code.loaded {
            // The C function is documented for the program's own kernels only. An H200's driver takes others, which it need not.
            let what = "a cache configuration of a library's kernel, for which set_shared_carveout stands,";
            return Err(Error::refused("Kernel::set_cache_config", Detail::Unsupported { what }));
        }
        // SAFETY: the kernel is one of this program's; the call notes a wish.
        unsafe { check!(cudaFuncSetCacheConfig(self.as_raw(), config.as_raw())) }
    }

    /// The kernel's name in the machine code: that of the source for an `extern "C"` one, mangled for others.
    /// Stands for [`cudaFuncGetName`](sys::cudaFuncGetName).
    ///
    /// # Errors
    /// There is no code for the current device, or no device.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::Kernel;
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// println!("{} takes its second parameter at {:?}", kernel.mangled_name()?, kernel.parameter(1)?);
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaFuncGetName")]
    #[track_caller]
    pub fn mangled_name(&self) -> Result<String> {
        let mut name = ptr::null();
        // SAFETY: the pointer is to a live variable, which the call fills; the kernel is one of this program's.
        unsafe { check!(cudaFuncGetName(&raw mut name, self.as_raw())) }?;
        if name.is_null() {
            return Ok(String::new());
        }
        // SAFETY: the runtime has given the address of a name that ends in a zero byte and stays for as long as the kernel.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Where a parameter of the kernel lies among all of them: in bytes from the first one, and how many it has.
    /// Stands for [`cudaFuncGetParamInfo`](sys::cudaFuncGetParamInfo).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` where the kernel has no such parameter; there is no code for the current device, or no device.
    #[doc(alias = "cudaFuncGetParamInfo")]
    #[track_caller]
    pub fn parameter(&self, index: usize) -> Result<Parameter> {
        let (mut offset, mut size) = (0, 0);
        let (at, bytes) = (&raw mut offset, &raw mut size);
        // SAFETY: the pointers are to live variables, which the call fills; the kernel is one of this program's.
        unsafe { check!(cudaFuncGetParamInfo(self.as_raw(), index, at, bytes)) }?;
        Ok(Parameter { offset, size })
    }

    /// Says how much of the fast memory of a multiprocessor is to be shared memory while this kernel runs, in percent of the most
    /// that there can be; `None` leaves it to the driver. A wish: the device may take the next size that it has.
    /// Stands for [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// `cudaErrorInvalidValue` for a number that is no percentage.
    #[doc(alias = "cudaFuncSetAttribute")]
    #[doc(alias = "cudaFuncAttributePreferredSharedMemoryCarveout")]
    #[doc(alias = "cudaSharedmemCarveoutMaxShared")]
    #[track_caller]
    pub fn set_shared_carveout(&self, percent: Option<u32>) -> Result<()> {
        let percent = percent.map_or(-1, |percent| c_int::try_from(percent).unwrap_or(c_int::MAX));
        let attribute = sys::cudaFuncAttributePreferredSharedMemoryCarveout;
        // SAFETY: the kernel is one of this program's; the call notes a wish.
        unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, percent)) }
    }
}
