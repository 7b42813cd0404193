//! Occupancy: how many blocks of a kernel run at the same time, and the block size with the highest
//! occupancy.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::c_int;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::{check, sys};

use super::{Dim3, Kernel};

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
