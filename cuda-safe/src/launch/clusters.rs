//! Clusters of blocks: the sizes that a kernel may use, and the number that fits on a device.
#![expect(unsafe_code, reason = "asks the runtime about kernels")]

use std::ffi::c_int;
use std::ptr;

use crate::error::Result;
use crate::{check, sys};

use super::{ClusterScheduling, Kernel, LaunchAttributes, LaunchConfig};

impl<P> Kernel<P> {
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
