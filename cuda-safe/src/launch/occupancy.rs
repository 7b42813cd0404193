//! Occupancy: how many blocks or clusters of a kernel run at the same time, the block size with the highest
//! occupancy, and the cluster sizes that a kernel may use.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::c_int;
use std::ptr;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

use super::{ClusterScheduling, Dim3, Kernel, LaunchAttributes, LaunchConfig};

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

impl<P> Kernel<P> {
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
        let blocks = c_int::try_from(blocks).map_err(|_| {
            let limit = u64::from(c_int::MAX.unsigned_abs());
            Error::refused(API, Detail::Limit { what: "the number of blocks", asked: blocks.into(), limit })
        })?;
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
    /// of their own](LaunchAttributes::cluster_scheduling). A hint. Stands for
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
    /// # use cuda_safe::launch::{Kernel, LaunchAttributes};
    /// # fn with(kernel: &Kernel<(*const u32, u32, *mut u32)>) -> cuda_safe::Result<()> {
    /// let most = kernel.max_potential_cluster_size((64, 256), &LaunchAttributes::new())?;
    /// let clusters = LaunchAttributes::new().cluster(most.min(4));
    /// let at_once = kernel.max_active_clusters((64, 256), &clusters)?;
    /// # Ok(())
    /// # }
    /// ```
    #[doc(alias = "cudaOccupancyMaxActiveClusters")]
    #[track_caller]
    pub fn max_active_clusters(
        &self,
        config: impl Into<LaunchConfig>,
        attributes: &LaunchAttributes<'_>,
    ) -> Result<u32> {
        let config = self.checked(config.into(), attributes)?;
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
    pub fn max_potential_cluster_size(
        &self,
        config: impl Into<LaunchConfig>,
        attributes: &LaunchAttributes<'_>,
    ) -> Result<u32> {
        let config = self.checked(config.into(), attributes)?;
        let mut blocks = 0;
        let out = &raw mut blocks;
        // SAFETY: as above.
        unsafe { check!(cudaOccupancyMaxPotentialClusterSize(out, self.as_raw(), &raw const config)) }?;
        Ok(u32::try_from(blocks).unwrap_or(0))
    }

    /// Returns a launch in C's form, which holds the address of the attributes.
    #[track_caller]
    fn checked(
        &self,
        config: LaunchConfig,
        attributes: &LaunchAttributes<'_>,
    ) -> Result<sys::cudaLaunchConfig_t> {
        config.check(self.name())?;
        attributes.check(self.name(), config.grid)?;
        Ok(attributes.config(&config, ptr::null_mut()))
    }
}

/// Returns the number of threads of a block as C's integer.
#[track_caller]
fn threads(api: &'static str, block: Dim3) -> Result<c_int> {
    let threads = block.count();
    c_int::try_from(threads).map_err(|_| {
        let (asked, limit) = (u64::try_from(threads).unwrap_or(u64::MAX), 1024);
        Error::refused(api, Detail::Limit { what: "the number of threads of a block", asked, limit })
    })
}
