//! Explains a launch that the runtime refused: finds the number that is too large for this kernel on this
//! device.

use std::panic::Location;

use crate::device::Device;
use crate::error::{Detail, Error, Result};
use crate::sys;

use super::extended::undivided;
use super::way::Way;
use super::{Dim3, Kernel, KernelAttributes, LaunchAttributes, LaunchConfig, attributes};

/// The cluster size in blocks that every device with clusters supports.
const PORTABLE: u64 = 8;

impl<P> Kernel<P> {
    /// Returns the result of a launch. If the runtime refused it, the error names the number that is too
    /// large for this kernel, if there is one.
    #[cold]
    pub(super) fn launched<W: Way>(
        &self,
        way: W,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        device: Device,
        call_site: &'static Location<'static>,
    ) -> Result<()> {
        if code == sys::cudaSuccess {
            return Ok(());
        }
        // The error's details about the kernel and its limits are those of the launch's device.
        let _current = device.switch();
        Err(self.failed(W::API, code, config, way.attributes(), call_site))
    }

    /// Returns the error of a launch that the runtime refused.
    fn failed(
        &self,
        api: &'static str,
        code: sys::cudaError_t,
        config: &LaunchConfig,
        extended: Option<&LaunchAttributes<'_>>,
        call_site: &'static Location<'static>,
    ) -> Error {
        let error = Error::from_code(api, code).at(call_site);
        if error.is_sticky() {
            return error;
        }
        let Ok(attributes) = attributes::of(self.as_raw()) else { return error };
        let threads = config.block.count();
        let most = u128::from(attributes.max_threads_per_block());
        if threads > most {
            let asked = u64::try_from(threads).unwrap_or(u64::MAX);
            let limit = u64::from(attributes.max_threads_per_block());
            return error.with_detail(Detail::Limit {
                what: "the number of threads of a block",
                asked,
                limit,
            });
        }
        let limit = attributes.max_dynamic_shared_bytes();
        if config.shared_bytes > limit {
            return error.with_detail(attributes.dynamic_shared(config.shared_bytes));
        }
        if error.code() == sys::cudaErrorCooperativeLaunchTooLarge {
            return self.too_many_at_once(error, config);
        }
        match self.clusters_refused(config, extended, &attributes) {
            Some(detail) => error.with_detail(detail),
            None => error,
        }
    }

    /// Returns the error of a cooperative launch with too many blocks, with the number that fits on the
    /// device.
    fn too_many_at_once(&self, error: Error, config: &LaunchConfig) -> Error {
        let fitting = || -> Result<u64> {
            let each = self.blocks_per_multiprocessor(config.block, config.shared_bytes)?;
            let all = Device::current()?.attribute(sys::cudaDevAttrMultiProcessorCount)?;
            Ok(u64::from(each) * u64::try_from(all).unwrap_or(0))
        };
        let Ok(limit) = fitting() else { return error };
        let asked = u64::try_from(config.grid.count()).unwrap_or(u64::MAX);
        error.with_detail(Detail::Limit {
            what: "the number of blocks that wait for each other",
            asked,
            limit,
        })
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
