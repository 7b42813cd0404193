//! The compiled properties of a kernel (registers, shared memory, block size), attributes that programs can
//! set, and its occupancy.
#![expect(unsafe_code, reason = "asks and tells the runtime about kernels")]

use std::convert::identity as same;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;

use super::{ClusterScheduling, Dim3, Kernel, LaunchConfig};
use crate::device::properties::{count, getters, is_set, size};
use crate::device::{CacheConfig, Device};
use crate::error::{Detail, ErrorKind, OrRefused, Result, ensure};
use crate::memory::size::wide;
use crate::{check, sys};

/// The properties of a kernel on the current device.
#[doc(alias = "cudaFuncAttributes")]
#[derive(Clone, Copy, Debug)]
pub struct KernelAttributes(sys::cudaFuncAttributes);

getters! {
    KernelAttributes, 0,
    /// Returns the maximum number of threads of a block. It is below the device's limit if the kernel needs
    /// many registers or declares a lower limit.
    max_threads_per_block: u32 = count(maxThreadsPerBlock),
    /// Returns the bytes of dynamic shared memory that a launch may request with the current settings.
    max_dynamic_shared_bytes: usize = size(maxDynamicSharedSizeBytes),
    /// Returns the bytes of shared memory that the kernel declares.
    static_shared_bytes: usize = same(sharedSizeBytes),
    /// Returns the bytes of constant memory that the kernel uses.
    constant_bytes: usize = same(constSizeBytes),
    /// Returns the bytes of local memory (spilled registers, arrays) of each thread.
    local_bytes: usize = same(localSizeBytes),
    /// Returns the number of registers of each thread.
    registers: u32 = count(numRegs),
    /// Returns the compute capability of the machine code, as `10 * major + minor`.
    binary_version: i32 = same(binaryVersion),
    /// Returns the compute capability of the PTX, as `10 * major + minor`.
    ptx_version: i32 = same(ptxVersion),
    /// Returns whether the kernel may have clusters of more than 8 blocks, which not all devices support:
    /// see [`Kernel::set_non_portable_clusters`].
    non_portable_clusters: bool = is_set(nonPortableClusterSizeAllowed),
}

impl KernelAttributes {
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
        let limit = self.max_dynamic_shared_bytes();
        let text = format!(
            "a block's dynamic shared memory is {asked} bytes, this kernel may have {limit}; \
             Kernel::set_max_dynamic_shared_bytes allows it up to {} on this device",
            self.most_dynamic_shared()
        );
        Detail::new(ErrorKind::Limit, text)
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
        let size = int("Kernel::set_max_dynamic_shared_bytes", what, wide(bytes), MOST)?;
        let attribute = sys::cudaFuncAttributeMaxDynamicSharedMemorySize;
        // SAFETY: the kernel belongs to this program or to a loaded library. The call changes a limit and
        // takes no pointer to memory.
        let set = unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, size)) };
        set.map_err(|error| match of(self.as_raw()) {
            Ok(attributes) if !error.is_sticky() => {
                let (asked, limit) = (wide(bytes), attributes.most_dynamic_shared());
                if asked > limit { error.with_detail(Detail::limit(what, asked, limit)) } else { error }
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
        // The C function is documented only for the program's own kernels. An H200's driver accepts others,
        // but others need not.
        let what = "a cache configuration of a library's kernel, for which set_shared_carveout stands,";
        ensure(!self.code.loaded, "Kernel::set_cache_config", || Detail::unsupported(what))?;
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

    /// Sets an attribute of the kernel for launches on a device, which need not be current. A value that
    /// the method named by the [`KernelSetting`] sets for the current device takes precedence, whichever
    /// was set first.
    ///
    /// Stands for [`cudaKernelSetAttributeForDevice`](sys::cudaKernelSetAttributeForDevice). It takes more
    /// locks than the other methods: call it before launches begin.
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` with the requested number if it exceeds the device's limit, and the
    /// runtime's error if there is no code for the device. Refused inside a host function.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::Device;
    /// # use cuda_safe::launch::{Kernel, KernelSetting};
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// for device in Device::all()? {
    ///     kernel.set_for(device, KernelSetting::MaxDynamicSharedBytes(64 << 10))?;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaKernelSetAttributeForDevice")]
    #[cfg(cudart_12_8)]
    #[track_caller]
    pub fn set_for(&self, device: Device, setting: KernelSetting) -> Result<()> {
        crate::stream::ensure_idle("Kernel::set_for")?;
        let (attribute, value) = setting.raw();
        let kernel = self.kernel()?;
        // SAFETY: the handle is that of a live kernel. The call changes a limit or records a preference.
        let set =
            unsafe { check!(cudaKernelSetAttributeForDevice(kernel, attribute, value, device.as_raw())) };
        // No closure here: it would hide the caller's location.
        match (set, setting) {
            (Err(error), KernelSetting::MaxDynamicSharedBytes(bytes))
                if error.code() == sys::cudaErrorInvalidValue =>
            {
                let most = device.attribute(sys::cudaDevAttrMaxSharedMemoryPerBlockOptin)?;
                let (asked, limit) = (wide(bytes), u64::try_from(most).unwrap_or(0));
                let what = "shared memory of a block in bytes";
                let detail = Detail::limit(what, asked, limit);
                Err(if asked > limit { error.with_detail(detail) } else { error })
            }
            (set, _) => set,
        }
    }

    /// Returns how many blocks of this size one multiprocessor of the current device runs at the same time.
    /// Stands for
    /// [`cudaOccupancyMaxActiveBlocksPerMultiprocessor`](sys::cudaOccupancyMaxActiveBlocksPerMultiprocessor).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    #[doc(alias = "cudaOccupancyMaxActiveBlocksPerMultiprocessor")]
    #[track_caller]
    pub fn blocks_per_multiprocessor(&self, block: impl Into<Dim3>, shared_bytes: usize) -> Result<u32> {
        let size = threads("Kernel::blocks_per_multiprocessor", block.into())?;
        let mut blocks = 0;
        let out = &raw mut blocks;
        // SAFETY: the pointer is to a live integer. The kernel belongs to this program or to a loaded
        // library.
        unsafe {
            check!(cudaOccupancyMaxActiveBlocksPerMultiprocessor(out, self.as_raw(), size, shared_bytes))
        }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// [`blocks_per_multiprocessor`](Self::blocks_per_multiprocessor) with flags. Stands for
    /// [`cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags`][c].
    ///
    /// [c]: sys::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::{Kernel, OccupancyFlags};
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>) -> cuda_safe::Result<()> {
    /// let flags = OccupancyFlags::DISABLE_CACHING_OVERRIDE;
    /// let cached = kernel.blocks_per_multiprocessor_with_flags(256, 0, flags)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")]
    #[track_caller]
    pub fn blocks_per_multiprocessor_with_flags(
        &self,
        block: impl Into<Dim3>,
        shared_bytes: usize,
        flags: OccupancyFlags,
    ) -> Result<u32> {
        let size = threads("Kernel::blocks_per_multiprocessor_with_flags", block.into())?;
        let mut blocks = 0;
        let out = &raw mut blocks;
        // SAFETY: the pointer is to a live integer. The kernel belongs to this program or to a loaded
        // library.
        unsafe {
            check!(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                out,
                self.as_raw(),
                size,
                shared_bytes,
                flags.0
            ))
        }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Returns how many bytes of dynamic shared memory each block can have if this many blocks of this size
    /// run at the same time on one multiprocessor of the current device. Stands for
    /// [`cudaOccupancyAvailableDynamicSMemPerBlock`](sys::cudaOccupancyAvailableDynamicSMemPerBlock).
    ///
    /// # Errors
    /// Returns `cudaErrorInvalidValue` if so many blocks do not fit even without dynamic shared memory, and
    /// the runtime's error if there is no code for the current device, or no device.
    #[doc(alias = "cudaOccupancyAvailableDynamicSMemPerBlock")]
    #[track_caller]
    pub fn available_dynamic_shared_bytes(&self, blocks: u32, block: impl Into<Dim3>) -> Result<usize> {
        const API: &str = "Kernel::available_dynamic_shared_bytes";
        let size = threads(API, block.into())?;
        let blocks = int(API, "the number of blocks", blocks.into(), MOST)?;
        let mut bytes = 0;
        let out = &raw mut bytes;
        // SAFETY: the pointer is to a live integer. The kernel belongs to this program or to a loaded
        // library.
        unsafe { check!(cudaOccupancyAvailableDynamicSMemPerBlock(out, self.as_raw(), blocks, size)) }?;
        Ok(bytes)
    }

    /// Returns the block size for which the most threads run at the same time, and the smallest number of
    /// blocks that fills the current device. The result is `(blocks, threads of a block)`. Corresponds to
    /// C++'s `cudaOccupancyMaxPotentialBlockSize`, and with `shared_bytes` as a function of the block size
    /// to its variant.
    ///
    /// `limit` is the maximum number of threads of a block; 0 means the kernel's maximum. Both numbers are
    /// 0 if not even the smallest block fits.
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device, and for a size
    /// of shared memory that the runtime refuses.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::Kernel;
    /// # fn with(kernel: &Kernel<(*mut f32, u32)>, count: u32) -> cuda_safe::Result<()> {
    /// let (_, block) = kernel.max_potential_block_size(|_| 0, 0)?;
    /// let grid = count.div_ceil(block.max(1));
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaOccupancyMaxPotentialBlockSize")]
    #[doc(alias = "cudaOccupancyMaxPotentialBlockSizeVariableSMem")]
    #[track_caller]
    pub fn max_potential_block_size(
        &self,
        mut shared_bytes: impl FnMut(u32) -> usize,
        limit: u32,
    ) -> Result<(u32, u32)> {
        let device = Device::current()?;
        let number = |attribute| device.attribute(attribute).map(|it| u32::try_from(it).unwrap_or(0));
        let resident = number(sys::cudaDevAttrMaxThreadsPerMultiProcessor)?;
        let (warp, processors) =
            (number(sys::cudaDevAttrWarpSize)?.max(1), number(sys::cudaDevAttrMultiProcessorCount)?);
        let most = self.attributes()?.max_threads_per_block();
        let most = if limit == 0 { most } else { most.min(limit) };
        let (mut threads, mut best) = (0, (0, 0));
        // Large blocks first: if two sizes have the same number of threads, the larger one is chosen.
        let whole = most / warp * warp;
        let part = (whole < most).then_some(most);
        let sizes = (1..=whole / warp).rev().map(|warps| warps * warp);
        for block in part.into_iter().chain(sizes) {
            let blocks = self.blocks_per_multiprocessor(block, shared_bytes(block))?;
            if blocks.saturating_mul(block) > threads {
                threads = blocks.saturating_mul(block);
                best = (blocks.saturating_mul(processors), block);
            }
            if threads >= resident {
                break;
            }
        }
        Ok(best)
    }

    /// Sets whether the kernel may have clusters of more than 8 blocks. Programs that use them run only on
    /// some devices. Stands for [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    #[doc(alias = "cudaFuncSetAttribute")]
    #[doc(alias = "cudaFuncAttributeNonPortableClusterSizeAllowed")]
    #[track_caller]
    pub fn set_non_portable_clusters(&self, allowed: bool) -> Result<()> {
        let attribute = sys::cudaFuncAttributeNonPortableClusterSizeAllowed;
        // SAFETY: the kernel belongs to this program or to a loaded library. The call records what its
        // launches may request.
        unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, c_int::from(allowed))) }
    }

    /// Sets the preferred placement of the blocks of the kernel's clusters, for launches without [a policy
    /// of their own](LaunchConfig::cluster_scheduling). A hint. Stands for
    /// [`cudaFuncSetAttribute`](sys::cudaFuncSetAttribute).
    ///
    /// # Errors
    /// Returns the runtime's error if there is no code for the current device, or no device.
    #[doc(alias = "cudaFuncSetAttribute")]
    #[doc(alias = "cudaFuncAttributeClusterSchedulingPolicyPreference")]
    #[track_caller]
    pub fn set_cluster_scheduling(&self, policy: ClusterScheduling) -> Result<()> {
        let attribute = sys::cudaFuncAttributeClusterSchedulingPolicyPreference;
        let policy = c_int::try_from(policy.as_raw().0).unwrap_or(c_int::MAX);
        // SAFETY: the kernel belongs to this program or to a loaded library. The call records a preference.
        unsafe { check!(cudaFuncSetAttribute(self.as_raw(), attribute, policy)) }
    }

    /// Returns how many clusters of such a launch run at the same time on the current device, which must
    /// support clusters. Stands for
    /// [`cudaOccupancyMaxActiveClusters`](sys::cudaOccupancyMaxActiveClusters).
    ///
    /// # Errors
    /// Refuses a shape or clusters that no device supports. Returns the runtime's error for clusters that
    /// are too large, and for a device without clusters.
    ///
    /// # Examples
    /// ```
    /// # use cuda_safe::launch::{Kernel, LaunchConfig};
    /// # fn with(kernel: &Kernel<(*const u32, u32, *mut u32)>) -> cuda_safe::Result<()> {
    /// let config = LaunchConfig::new(64, 256);
    /// let most = kernel.max_potential_cluster_size(config)?;
    /// let at_once = kernel.max_active_clusters(config.cluster(most.min(4)))?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaOccupancyMaxActiveClusters")]
    #[track_caller]
    pub fn max_active_clusters<'c>(&self, config: impl Into<LaunchConfig<'c>>) -> Result<u32> {
        let config = config.into();
        config.check(self.name())?;
        let attributes = config.raw_attributes();
        let config = config.to_raw(&attributes, ptr::null_mut());
        let mut clusters = 0;
        let out = &raw mut clusters;
        // SAFETY: the pointers are to a live integer and a live structure, whose attributes are borrowed.
        // The kernel belongs to this program or to a loaded library. The null stream is that of the current
        // device.
        unsafe { check!(cudaOccupancyMaxActiveClusters(out, self.as_raw(), &raw const config)) }?;
        Ok(u32::try_from(clusters).unwrap_or(0))
    }

    /// Returns the maximum number of blocks in a cluster of such a launch on the current device. It exceeds
    /// 8 only if [larger clusters are allowed](Self::set_non_portable_clusters). Stands for
    /// [`cudaOccupancyMaxPotentialClusterSize`](sys::cudaOccupancyMaxPotentialClusterSize).
    ///
    /// # Errors
    /// As [`max_active_clusters`](Self::max_active_clusters).
    #[doc(alias = "cudaOccupancyMaxPotentialClusterSize")]
    #[track_caller]
    pub fn max_potential_cluster_size<'c>(&self, config: impl Into<LaunchConfig<'c>>) -> Result<u32> {
        let config = config.into();
        config.check(self.name())?;
        let attributes = config.raw_attributes();
        let config = config.to_raw(&attributes, ptr::null_mut());
        let mut blocks = 0;
        let out = &raw mut blocks;
        // SAFETY: the pointers are to a live number, which the call fills, and to the live configuration.
        unsafe { check!(cudaOccupancyMaxPotentialClusterSize(out, self.as_raw(), &raw const config)) }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }
}

/// An attribute of a kernel, for [`Kernel::set_for`].
#[cfg(cudart_12_8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[doc(alias = "cudaFuncAttribute")]
pub enum KernelSetting {
    /// The maximum bytes of dynamic shared memory of a launch: see
    /// [`Kernel::set_max_dynamic_shared_bytes`].
    MaxDynamicSharedBytes(usize),
    /// The preferred share of shared memory in percent of the maximum; `None` leaves it to the driver: see
    /// [`Kernel::set_shared_carveout`].
    SharedCarveout(Option<u32>),
    /// Whether clusters may have more than 8 blocks: see [`Kernel::set_non_portable_clusters`].
    NonPortableClusters(bool),
    /// The preferred placement of a cluster's blocks: see [`Kernel::set_cluster_scheduling`].
    ClusterScheduling(ClusterScheduling),
}

#[cfg(cudart_12_8)]
impl KernelSetting {
    /// Returns the attribute in C's form. A value beyond C's `int` becomes its maximum, which exceeds every
    /// device's limit.
    fn raw(self) -> (sys::cudaFuncAttribute, c_int) {
        let most = c_int::MAX;
        match self {
            Self::MaxDynamicSharedBytes(bytes) => {
                (sys::cudaFuncAttributeMaxDynamicSharedMemorySize, c_int::try_from(bytes).unwrap_or(most))
            }
            Self::SharedCarveout(percent) => {
                let percent = percent.map_or(-1, |percent| c_int::try_from(percent).unwrap_or(most));
                (sys::cudaFuncAttributePreferredSharedMemoryCarveout, percent)
            }
            Self::NonPortableClusters(allowed) => {
                (sys::cudaFuncAttributeNonPortableClusterSizeAllowed, c_int::from(allowed))
            }
            Self::ClusterScheduling(policy) => {
                let policy = c_int::try_from(policy.as_raw().0).unwrap_or(most);
                (sys::cudaFuncAttributeClusterSchedulingPolicyPreference, policy)
            }
        }
    }
}

/// How to count blocks on devices where the cache of global memory reduces occupancy. One of the constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OccupancyFlags(u32);

impl OccupancyFlags {
    /// If no block fits with the cache, counts as if the cache were disabled.
    #[doc(alias = "cudaOccupancyDefault")]
    pub const DEFAULT: Self = Self(sys::cudaOccupancyDefault);
    /// Always counts with the cache. The result can then be 0.
    #[doc(alias = "cudaOccupancyDisableCachingOverride")]
    pub const DISABLE_CACHING_OVERRIDE: Self = Self(sys::cudaOccupancyDisableCachingOverride);
}

/// Returns the number of threads of a block as C's integer.
#[track_caller]
fn threads(api: &'static str, block: Dim3) -> Result<c_int> {
    int(api, "the number of threads of a block", wide(block.count()), 1024)
}

/// The largest number of C's integer.
const MOST: u64 = 0x7fff_ffff;

/// Returns a number as C's integer. Refuses one that is too large, with the limit.
#[track_caller]
fn int(api: &'static str, what: &'static str, asked: u64, limit: u64) -> Result<c_int> {
    c_int::try_from(asked).ok().or_refused(api, || Detail::limit(what, asked, limit))
}
