//! The compiled properties of a kernel (registers, shared memory, block size), and attributes that programs
//! can set.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use crate::device::{CacheConfig, Device};
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

use super::dimensions::wide;
use super::{Dim3, Kernel};

/// The properties of a kernel on the current device.
#[doc(alias = "cudaFuncAttributes")]
#[derive(Clone, Copy, Debug)]
pub struct KernelAttributes(sys::cudaFuncAttributes);

impl KernelAttributes {
    /// Returns the maximum number of threads of a block. It is below the device's limit if the kernel needs
    /// many registers or declares a lower limit.
    #[must_use]
    pub fn max_threads_per_block(&self) -> u32 {
        u32::try_from(self.0.maxThreadsPerBlock).unwrap_or(0)
    }

    /// Returns the bytes of dynamic shared memory that a launch may request with the current settings.
    #[must_use]
    pub fn max_dynamic_shared_bytes(&self) -> usize {
        usize::try_from(self.0.maxDynamicSharedSizeBytes).unwrap_or(0)
    }

    /// Returns the bytes of shared memory that the kernel declares.
    #[must_use]
    pub fn static_shared_bytes(&self) -> usize {
        self.0.sharedSizeBytes
    }

    /// Returns the bytes of constant memory that the kernel uses.
    #[must_use]
    pub fn constant_bytes(&self) -> usize {
        self.0.constSizeBytes
    }

    /// Returns the bytes of local memory (spilled registers, arrays) of each thread.
    #[must_use]
    pub fn local_bytes(&self) -> usize {
        self.0.localSizeBytes
    }

    /// Returns the number of registers of each thread.
    #[must_use]
    pub fn registers(&self) -> u32 {
        u32::try_from(self.0.numRegs).unwrap_or(0)
    }

    /// Returns the compute capability of the machine code, as `10 * major + minor`.
    #[must_use]
    pub fn binary_version(&self) -> i32 {
        self.0.binaryVersion
    }

    /// Returns the compute capability of the PTX, as `10 * major + minor`.
    #[must_use]
    pub fn ptx_version(&self) -> i32 {
        self.0.ptxVersion
    }

    /// Returns the cluster size that the kernel's source declares with `__cluster_dims__`, in blocks along
    /// each axis. Returns `None` if it declares none.
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

    /// Returns whether the kernel may have clusters of more than 8 blocks, which not all devices support:
    /// see [`Kernel::set_non_portable_clusters`].
    #[must_use]
    pub fn non_portable_clusters(&self) -> bool {
        self.0.nonPortableClusterSizeAllowed != 0
    }

    /// Returns the runtime's structure.
    #[must_use]
    pub fn as_raw(&self) -> &sys::cudaFuncAttributes {
        &self.0
    }

    /// Returns the maximum bytes of dynamic shared memory that the kernel can be allowed on the current
    /// device. If the device reports no limit, returns the current setting.
    fn most_dynamic_shared(&self) -> u64 {
        let most =
            Device::current().and_then(|it| it.attribute(sys::cudaDevAttrMaxSharedMemoryPerBlockOptin));
        let most = most.ok().and_then(|bytes| usize::try_from(bytes).ok());
        let most = most.map_or(0, |bytes| bytes.saturating_sub(self.static_shared_bytes()));
        wide(most.max(self.max_dynamic_shared_bytes()))
    }

    /// Returns the reason why a block cannot have `asked` bytes of dynamic shared memory.
    pub(super) fn dynamic_shared(&self, asked: usize) -> Detail {
        let limit = wide(self.max_dynamic_shared_bytes());
        Detail::DynamicShared { asked: wide(asked), limit, most: self.most_dynamic_shared() }
    }
}

/// The position and size of one parameter of a kernel, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Parameter {
    /// The offset from the first byte of the first parameter.
    pub offset: usize,
    /// The size.
    pub size: usize,
}

/// Queries the attributes of a kernel.
#[track_caller]
pub(super) fn of(kernel: *const c_void) -> Result<KernelAttributes> {
    let mut attributes = sys::cudaFuncAttributes::default();
    // SAFETY: the pointer is to a live structure, which the call fills. The kernel belongs to this program
    // or to a loaded library.
    unsafe { check!(cudaFuncGetAttributes(&raw mut attributes, kernel)) }?;
    Ok(KernelAttributes(attributes))
}

impl<P> Kernel<P> {
    /// Returns the compiled properties of the kernel for the current device. Stands for
    /// [`cudaFuncGetAttributes`](sys::cudaFuncGetAttributes).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    #[doc(alias = "cudaFuncGetAttributes")]
    #[track_caller]
    pub fn attributes(&self) -> Result<KernelAttributes> {
        of(self.as_raw())
    }

    /// Loads the kernel's code to the current device now instead of at its first launch.
    ///
    /// CUDA loads a kernel when it is first launched, and loading may wait for running kernels. If a
    /// running kernel in turn waits for the kernel that is being loaded, both wait forever. For example,
    /// the running kernel polls a [`MappedFlag`](crate::MappedFlag) that the other kernel, or work after
    /// it, sets. Load such kernels first. The same applies to a stream that a host function holds until the
    /// program has made a first launch.
    ///
    /// Stands for [`cudaFuncGetAttributes`](sys::cudaFuncGetAttributes), whose result is discarded.
    ///
    /// # Errors
    /// Returns the runtime's error.
    #[track_caller]
    pub fn load(&self) -> Result<()> {
        of(self.as_raw()).map(drop)
    }

    /// Sets the maximum bytes of dynamic shared memory that launches on the current device may request,
    /// beyond the 48 KiB that every kernel may use. Stands for
    /// [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// Returns the runtime's error if the device does not have this much memory for one block.
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
        // SAFETY: the kernel belongs to this program or to a loaded library. The call changes a limit and
        // takes no pointer to memory.
        let set = unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, size)) };
        set.map_err(|error| match of(self.as_raw()) {
            Ok(attributes) if !error.is_sticky() => {
                let (asked, limit) = (wide(bytes), attributes.most_dynamic_shared());
                if asked > limit { error.with_detail(Detail::Limit { what, asked, limit }) } else { error }
            }
            _ => error,
        })
    }

    /// Sets the preferred division of a multiprocessor's on-chip memory while this kernel runs. The setting
    /// is a hint for devices that divide the memory by halves;
    /// [`set_shared_carveout`](Self::set_shared_carveout) is finer. Stands for
    /// [`cudaFuncSetCacheConfig`](sys::cudaFuncSetCacheConfig).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device. Refuses a
    /// kernel of a library with `Unsupported`.
    #[doc(alias = "cudaFuncSetCacheConfig")]
    #[track_caller]
    pub fn set_cache_config(&self, config: CacheConfig) -> Result<()> {
        if self.code.loaded {
            // The C function is documented only for the program's own kernels. An H200's driver accepts
            // others, but others need not.
            let what = "a cache configuration of a library's kernel, for which set_shared_carveout stands,";
            return Err(Error::refused("Kernel::set_cache_config", Detail::Unsupported { what }));
        }
        // SAFETY: the kernel belongs to this program. The call records a preference.
        unsafe { check!(cudaFuncSetCacheConfig(self.as_raw(), config.as_raw())) }
    }

    /// Returns the kernel's name in the machine code: the source name of an `extern "C"` kernel, the
    /// mangled name of any other. Stands for [`cudaFuncGetName`](sys::cudaFuncGetName).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
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
        // SAFETY: the pointer is to a live variable, which the call fills. The kernel belongs to this
        // program or to a loaded library.
        unsafe { check!(cudaFuncGetName(&raw mut name, self.as_raw())) }?;
        if name.is_null() {
            return Ok(String::new());
        }
        // SAFETY: the runtime returned the address of a name that ends in a zero byte and lives as long as
        // the kernel.
        let name = unsafe { CStr::from_ptr(name) };
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns the offset of a parameter from the first one, and its size, in bytes. Stands for
    /// [`cudaFuncGetParamInfo`](sys::cudaFuncGetParamInfo).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the kernel has no such parameter, and the runtime's error if
    /// there is no code for the current device, or no device.
    #[doc(alias = "cudaFuncGetParamInfo")]
    #[track_caller]
    pub fn parameter(&self, index: usize) -> Result<Parameter> {
        let (mut offset, mut size) = (0, 0);
        let (at, bytes) = (&raw mut offset, &raw mut size);
        // SAFETY: the pointers are to live variables, which the call fills. The kernel belongs to this
        // program or to a loaded library.
        unsafe { check!(cudaFuncGetParamInfo(self.as_raw(), index, at, bytes)) }?;
        Ok(Parameter { offset, size })
    }

    /// Returns the number of the kernel's parameters. Stands for
    /// [`cudaFuncGetParamCount`](sys::cudaFuncGetParamCount), available from CUDA 13.2 on.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::Kernel;
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// for index in 0..kernel.parameter_count()? {
    ///     println!("parameter {index} is at {:?}", kernel.parameter(index)?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(cudart_13_2)]
    #[doc(alias = "cudaFuncGetParamCount")]
    #[track_caller]
    pub fn parameter_count(&self) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the pointer is to a live variable, which the call fills. The kernel belongs to this
        // program or to a loaded library.
        unsafe { check!(cudaFuncGetParamCount(self.as_raw(), &raw mut count)) }?;
        Ok(count)
    }

    /// Sets the preferred share of shared memory in a multiprocessor's on-chip memory while this kernel
    /// runs, in percent of the maximum. `None` leaves the choice to the driver. The setting is a hint: the
    /// device may use the next size that it supports. Stands for
    /// [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if the number is not a percentage.
    #[doc(alias = "cudaFuncSetAttribute")]
    #[doc(alias = "cudaFuncAttributePreferredSharedMemoryCarveout")]
    #[doc(alias = "cudaSharedmemCarveoutMaxShared")]
    #[track_caller]
    pub fn set_shared_carveout(&self, percent: Option<u32>) -> Result<()> {
        let percent = percent.map_or(-1, |percent| c_int::try_from(percent).unwrap_or(c_int::MAX));
        let attribute = sys::cudaFuncAttributePreferredSharedMemoryCarveout;
        // SAFETY: the kernel belongs to this program or to a loaded library. The call records a preference.
        unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, percent)) }
    }
}
