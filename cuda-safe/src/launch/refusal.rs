//! Explains a launch that the runtime refused: finds the number that is too large for this kernel on this
//! device.

use std::panic::Location;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::sys;

use super::extended::undivided;
use super::function::LaunchFunction;
use super::{Dim3, Kernel, KernelAttributes, LaunchAttributes, LaunchConfig, attributes};

/// The cluster size in blocks that every device with clusters supports.
const PORTABLE: u64 = 8;

impl<P> Kernel<P> {
    /// Returns the result of a launch. If the runtime refused it, the error names the number that is too
    /// large for this kernel, if there is one.
    #[cold]
    pub(super) fn launched<F: LaunchFunction>(
        &self,
        function: F,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        device: Device,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        if code == sys::cudaSuccess {
            return Ok(());
        }
        let error = Error::from_code(F::API, code).at(call_site);
        if error.is_sticky() {
            return Err(error);
        }
        // The error's details about the kernel and its limits are those of the launch's device.
        let _current = device.switch();
        let reason = self.reason(error.code(), config, function.attributes());
        Err(error.with_detail(reason.unwrap_or(Detail::None)))
    }

    /// Returns the number that is too large for the kernel, or `None` if no number is.
    fn reason(
        &self,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        extended: Option<&LaunchAttributes<'_>>,
    ) -> Option<Detail> {
        let attributes = attributes::of(self.as_raw()).ok()?;
        let (threads, most) = (config.block.count(), attributes.max_threads_per_block());
        if threads > most.into() {
            let (asked, limit) = (u64::try_from(threads).unwrap_or(u64::MAX), most.into());
            return Some(Detail::Limit { what: "the number of threads of a block", asked, limit });
        }
        if config.shared_bytes > attributes.max_dynamic_shared_bytes() {
            return Some(attributes.dynamic_shared(config.shared_bytes));
        }
        if code == sys::cudaErrorCooperativeLaunchTooLarge {
            return self.too_many_at_once(config);
        }
        self.clusters_refused(config, extended, &attributes)
    }

    /// Returns the number of blocks of a cooperative launch that fit on the device, which are too few.
    fn too_many_at_once(&self, config: &LaunchConfig) -> Option<Detail> {
        let each = self.blocks_per_multiprocessor(config.block, config.shared_bytes).ok()?;
        let all = Device::current().and_then(|it| it.attribute(sys::cudaDevAttrMultiProcessorCount)).ok()?;
        let limit = u64::from(each) * u64::try_from(all).unwrap_or(0);
        let asked = u64::try_from(config.grid.count()).unwrap_or(u64::MAX);
        Some(Detail::Limit { what: "the number of blocks that wait for each other", asked, limit })
    }

    /// Returns what is wrong with the clusters of a refused launch, or `None` if they are not the reason.
    fn clusters_refused(
        &self,
        config: &LaunchConfig,
        extended: Option<&LaunchAttributes<'_>>,
        attributes: &KernelAttributes,
    ) -> Option<Detail> {
        let declared = attributes.required_cluster();
        let cluster: Dim3 = extended.and_then(LaunchAttributes::clusters).or(declared)?;
        if let Some(declared) = declared
            && declared != cluster
        {
            return Some(Detail::OtherClusters { asked: cluster.into(), declared: declared.into() });
        }
        if let Some(detail) = undivided(config.grid, cluster) {
            return Some(detail);
        }
        let asked = u64::try_from(cluster.count()).unwrap_or(u64::MAX);
        let none = LaunchAttributes::new();
        let most = self.max_potential_cluster_size(*config, extended.unwrap_or(&none)).map(u64::from);
        let portable = !attributes.non_portable_clusters();
        let allowed = if portable { PORTABLE } else { u64::MAX };
        let limit = most.unwrap_or(u64::MAX).min(allowed);
        (asked > limit).then_some(Detail::ClusterSize { asked, limit, portable })
    }
}
