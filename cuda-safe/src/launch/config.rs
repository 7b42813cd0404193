//! The attributes of a launch configuration, such as the cluster size.

use super::attribute_set::{ClusterScheduling, KINDS};
use super::{Dim3, LaunchConfig};
use crate::error::{Detail, Error, Result};
use crate::stream::{AccessPolicy, Attribute, MemSyncDomain, MemSyncDomainMap};
use crate::sys;

/// Attributes in C's form.
pub(super) struct RawAttributes {
    list: [sys::cudaLaunchAttribute; KINDS],
    used: usize,
}

impl<'a> LaunchConfig<'a> {
    /// Sets the cluster size in blocks. The blocks of a cluster run at the same time and access each
    /// other's shared memory. The cluster size must divide the grid size along each axis.
    ///
    /// Clusters require compute capability 9.0. Every such device supports clusters of up to 8 blocks.
    /// Larger ones require that the kernel [allows them](super::Kernel::set_non_portable_clusters) and that
    /// the device supports them.
    /// [`Kernel::max_potential_cluster_size`](super::Kernel::max_potential_cluster_size) and
    /// [`Kernel::max_active_clusters`](super::Kernel::max_active_clusters) return the limits.
    #[doc(alias = "cudaLaunchAttributeClusterDimension")]
    pub fn cluster(mut self, blocks: impl Into<Dim3>) -> Self {
        (self.attributes.any, self.attributes.cluster) = (true, Some(blocks.into().into()));
        self
    }

    /// Sets the preferred placement of the blocks of clusters. A hint.
    #[doc(alias = "cudaLaunchAttributeClusterSchedulingPolicyPreference")]
    pub fn cluster_scheduling(mut self, policy: ClusterScheduling) -> Self {
        (self.attributes.any, self.attributes.scheduling) = (true, Some(policy));
        self
    }

    /// Makes all blocks run at the same time, so that they can wait for each other, for example at a
    /// grid-wide barrier of cooperative groups. Otherwise the launch is refused:
    /// `cudaErrorCooperativeLaunchTooLarge` for more blocks than the device runs at once, with both numbers.
    ///
    /// The number of blocks that run at the same time is
    /// [`blocks_per_multiprocessor`](super::Kernel::blocks_per_multiprocessor) times the device's
    /// [`multi_processor_count`](crate::device::DeviceProperties::multi_processor_count).
    #[doc(alias = "cudaLaunchCooperativeKernel")]
    #[doc(alias = "cudaLaunchAttributeCooperative")]
    pub fn cooperative(mut self) -> Self {
        (self.attributes.any, self.attributes.cooperative) = (true, true);
        self
    }

    /// Sets the launch's priority in place of its stream's. A smaller number is a higher priority.
    /// [`Device::stream_priority_range`](crate::Device::stream_priority_range) returns the distinct
    /// priorities.
    #[doc(alias = "cudaLaunchAttributePriority")]
    pub fn priority(mut self, priority: i32) -> Self {
        (self.attributes.any, self.attributes.priority) = (true, Some(priority));
        self
    }

    /// Sets the kernel's memory synchronization domain in place of its stream's.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomain")]
    pub fn mem_sync_domain(mut self, domain: MemSyncDomain) -> Self {
        (self.attributes.any, self.attributes.domain) = (true, Some(domain));
        self
    }

    /// Maps the two domains of [`MemSyncDomain`] to domains of the device for this launch.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomainMap")]
    pub fn mem_sync_domain_map(mut self, map: MemSyncDomainMap) -> Self {
        (self.attributes.any, self.attributes.domain_map) = (true, Some(map));
        self
    }

    /// Sets the preferred share of shared memory in a multiprocessor's on-chip memory while this launch
    /// runs, in percent of the maximum. A hint, which takes precedence over
    /// [`Kernel::set_shared_carveout`](super::Kernel::set_shared_carveout).
    #[cfg(cudart_12_9)]
    #[doc(alias = "cudaLaunchAttributePreferredSharedMemoryCarveout")]
    pub fn shared_carveout(mut self, percent: u32) -> Self {
        (self.attributes.any, self.attributes.carveout) = (true, Some(percent));
        self
    }

    /// Sets the address range that this launch caches differently, in place of its stream's range. A hint
    /// to the cache by address: it accesses no memory, and the arguments declare what the kernel accesses.
    #[doc(alias = "cudaLaunchAttributeAccessPolicyWindow")]
    pub fn access_policy(mut self, policy: AccessPolicy<'a>) -> Self {
        (self.attributes.any, self.attributes.access_policy) = (true, Some(policy));
        self
    }

    /// Allows the kernel to begin before the previous kernel in its stream is complete: when that kernel
    /// calls `cudaTriggerProgrammaticLaunchCompletion`, or ends. The new kernel's blocks wait for the
    /// previous kernel with `cudaGridDependencySynchronize`. Refused while the stream is captured.
    ///
    /// # Safety
    /// The tracker relies on the order of a stream, and this launch is in that order only if the kernel
    /// makes it so:
    ///
    /// - Each block calls `cudaGridDependencySynchronize`, even one without work.
    /// - It does so before it reads or writes any memory other than its own registers, local memory and
    ///   shared memory.
    /// - It does so before it ends.
    #[expect(unsafe_code, reason = "gives up the order that everything else relies on")]
    #[doc(alias = "cudaLaunchAttributeProgrammaticStreamSerialization")]
    pub unsafe fn programmatic_stream_serialization(mut self) -> Self {
        (self.attributes.any, self.attributes.programmatic) = (true, true);
        self
    }

    /// Returns the cluster size if it is set.
    #[inline]
    pub(super) fn clusters(&self) -> Option<Dim3> {
        self.attributes.cluster.map(Dim3::from)
    }

    /// Returns whether the kernel itself must establish its order in the stream.
    #[inline]
    pub(crate) fn is_programmatic(&self) -> bool {
        self.attributes.programmatic
    }

    /// Returns whether all blocks run at the same time.
    #[inline]
    pub(super) fn is_cooperative(&self) -> bool {
        self.attributes.cooperative
    }

    /// Returns whether an attribute is set.
    #[inline]
    pub(crate) fn has_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }

    /// Returns the attributes that are set.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = Attribute> {
        self.attributes.set()
    }

    /// Returns the attributes in C's form.
    pub(super) fn raw_attributes(&self) -> RawAttributes {
        let nothing = sys::cudaLaunchAttribute {
            id: sys::cudaLaunchAttributeIgnore,
            pad: [0; 4],
            val: sys::cudaLaunchAttributeValue { pad: [0; 64] },
        };
        let mut raw = RawAttributes { list: [nothing; KINDS], used: 0 };
        for (entry, attribute) in raw.list.iter_mut().zip(self.attributes.set()) {
            *entry = attribute.to_raw();
            raw.used += 1;
        }
        raw
    }

    /// Returns the launch in C's form, which holds the address of the attributes.
    pub(super) fn to_raw(
        self,
        attributes: &RawAttributes,
        stream: sys::cudaStream_t,
    ) -> sys::cudaLaunchConfig_t {
        sys::cudaLaunchConfig_t {
            gridDim: self.grid.into(),
            blockDim: self.block.into(),
            dynamicSmemBytes: self.shared_bytes,
            stream,
            // The runtime writes only to attributes that this type does not offer.
            attrs: attributes.list.as_ptr().cast_mut(),
            numAttrs: u32::try_from(attributes.used).unwrap_or(0),
        }
    }

    /// Refuses clusters that do not divide the grid.
    #[track_caller]
    pub(super) fn check_clusters(&self, kernel: &'static str) -> Result<()> {
        match self.clusters().and_then(|cluster| undivided(self.grid, cluster)) {
            Some(detail) => Err(Error::refused(kernel, detail)),
            None => Ok(()),
        }
    }

    /// Returns the C function that launches with this configuration.
    pub(super) fn function(&self) -> LaunchFunction {
        if self.attributes.is_empty() {
            LaunchFunction::Plain
        } else if self.attributes.is_only_cooperative() {
            LaunchFunction::Cooperative
        } else {
            LaunchFunction::Extended
        }
    }
}

/// The C functions that launch kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LaunchFunction {
    Plain,
    Cooperative,
    Extended,
}

/// Returns why the grid cannot be divided into such clusters, or `None` if it can.
pub(super) fn undivided(grid: Dim3, cluster: Dim3) -> Option<Detail> {
    let axes = [
        ("the cluster's x", "the grid's x", grid.x, cluster.x),
        ("the cluster's y", "the grid's y", grid.y, cluster.y),
        ("the cluster's z", "the grid's z", grid.z, cluster.z),
    ];
    axes.into_iter().find_map(|(none, what, grid, cluster)| match grid.checked_rem(cluster) {
        None => Some(Detail::zero(none)),
        Some(0) => None,
        Some(_) => Some(Detail::clusters(what, grid, cluster)),
    })
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn an_attribute_that_is_named_twice_has_the_last_value() {
        let config = LaunchConfig::new(2, 32).cluster(4).priority(-2).cluster((1, 2)).cooperative();
        let ids: Vec<_> = config.attributes().map(|it| it.id).collect();
        let expected = [
            sys::cudaLaunchAttributeClusterDimension,
            sys::cudaLaunchAttributeCooperative,
            sys::cudaLaunchAttributePriority,
        ];
        assert_eq!(ids, expected);
        assert_eq!(config.clusters(), Some(Dim3 { x: 1, y: 2, z: 1 }));
        let attributes = config.raw_attributes();
        let raw = config.to_raw(&attributes, ptr::null_mut());
        assert_eq!((raw.numAttrs, raw.attrs.cast_const()), (3, attributes.list.as_ptr()));
        let ids: Vec<_> = attributes.list[..3].iter().map(|it| it.id).collect();
        assert_eq!(ids, expected);
    }

    #[test]
    fn the_attributes_choose_the_function() {
        let plain = LaunchConfig::new(2, 32).with_shared_bytes(8);
        assert_eq!(plain.function(), LaunchFunction::Plain);
        assert_eq!(plain.cooperative().function(), LaunchFunction::Cooperative);
        assert_eq!(plain.cooperative().priority(0).function(), LaunchFunction::Extended);
        assert_eq!(plain.priority(0).function(), LaunchFunction::Extended);
    }

    #[test]
    fn clusters_that_do_not_divide_the_grid_are_named_with_both_numbers() {
        let of = |cluster: Dim3, grid: Dim3| {
            let refused = LaunchConfig::new(grid, 32).cluster(cluster).check("kernel");
            refused.err().map(|error| error.detail().clone())
        };
        assert_eq!(of(2.into(), 8.into()), None);
        assert_eq!(of((2, 3, 5).into(), (4, 9, 5).into()), None);
        let detail = Detail::clusters("the grid's x", 7, 2);
        assert!(detail.to_string().contains("8"), "{detail}");
        assert_eq!(of(2.into(), 7.into()), Some(detail));
        let below = Detail::clusters("the grid's y", 1, 2);
        assert_eq!(of((2, 2).into(), 8.into()), Some(below));
        assert_eq!(of((1, 1, 0).into(), 8.into()), Some(Detail::zero("the cluster's z")));
    }
}
