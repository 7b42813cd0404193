//! What a launch is asked for beyond its shape: attributes, clusters of blocks among them.

use std::fmt;
use std::marker::PhantomData;

use crate::error::{Detail, Error, Result};
use crate::stream::{AccessPolicy, MemSyncDomain, MemSyncDomainMap};
use crate::sys;

use super::{Dim3, LaunchConfig};

/// One place for each kind of attribute that there is a method for.
const ROOM: usize = 10;

/// Where the blocks of a cluster are put: one of the constants, or something newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaClusterSchedulingPolicy")]
pub struct ClusterScheduling(sys::cudaClusterSchedulingPolicy);

impl ClusterScheduling {
    /// As the device likes.
    #[doc(alias = "cudaClusterSchedulingPolicyDefault")]
    pub const DEFAULT: Self = Self(sys::cudaClusterSchedulingPolicyDefault);
    /// Spread over the multiprocessors.
    #[doc(alias = "cudaClusterSchedulingPolicySpread")]
    pub const SPREAD: Self = Self(sys::cudaClusterSchedulingPolicySpread);
    /// Where the device has the least to do.
    #[doc(alias = "cudaClusterSchedulingPolicyLoadBalancing")]
    pub const LOAD_BALANCING: Self = Self(sys::cudaClusterSchedulingPolicyLoadBalancing);

    /// The number as C has it.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaClusterSchedulingPolicy {
        self.0
    }
}

/// Attributes of a launch, for [`Kernel::launch_ex`](super::Kernel::launch_ex): what stands in the `attrs` of C's
/// `cudaLaunchConfig_t`. An attribute that is named twice has the value that it was given last.
///
/// Left out are those that record events in the middle of a kernel, and those that only graphs of the device's own change have.
///
/// # Examples
/// ```
/// use cuda_safe::launch::{ClusterScheduling, LaunchAttributes};
///
/// let pairs = LaunchAttributes::new().cluster(2).cluster_scheduling(ClusterScheduling::SPREAD).priority(-1);
/// assert_eq!(pairs.as_raw().len(), 3);
/// ```
#[derive(Clone, Copy)]
#[must_use]
#[doc(alias = "cudaLaunchAttribute")]
pub struct LaunchAttributes<'a> {
    list: [sys::cudaLaunchAttribute; ROOM],
    used: usize,
    cluster: Option<Dim3>,
    programmatic: bool,
    memory: PhantomData<&'a ()>,
}

impl<'a> LaunchAttributes<'a> {
    /// None yet: a launch with these is like one without.
    pub const fn new() -> Self {
        let nothing = sys::cudaLaunchAttribute {
            id: sys::cudaLaunchAttributeIgnore,
            pad: [0; 4],
            val: sys::cudaLaunchAttributeValue { pad: [0; 64] },
        };
        Self { list: [nothing; ROOM], used: 0, cluster: None, programmatic: false, memory: PhantomData }
    }

    fn with(mut self, id: sys::cudaLaunchAttributeID, val: sys::cudaLaunchAttributeValue) -> Self {
        let attribute = sys::cudaLaunchAttribute { id, pad: [0; 4], val };
        let at = self.list.iter().position(|it| it.id == id || it.id == sys::cudaLaunchAttributeIgnore);
        // There is room for one of each kind.
        if let Some((at, place)) = at.and_then(|at| Some((at, self.list.get_mut(at)?))) {
            *place = attribute;
            self.used = self.used.max(at + 1);
        }
        self
    }

    /// Clusters of so many blocks, which run at the same time and reach each other's shared memory. They divide the grid: along each
    /// axis it has a multiple of the cluster's blocks.
    ///
    /// Devices from compute capability 9.0 on have clusters, of at most 8 blocks everywhere; of more where the kernel
    /// [is allowed to](super::Kernel::set_non_portable_clusters) and the device can. How many fit, say
    /// [`Kernel::max_potential_cluster_size`](super::Kernel::max_potential_cluster_size) and
    /// [`Kernel::max_active_clusters`](super::Kernel::max_active_clusters).
    #[doc(alias = "cudaLaunchAttributeClusterDimension")]
    pub fn cluster(mut self, blocks: impl Into<Dim3>) -> Self {
        let blocks = blocks.into();
        self.cluster = Some(blocks);
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z) = (blocks.x, blocks.y, blocks.z);
        self.with(sys::cudaLaunchAttributeClusterDimension, value)
    }

    /// Where the blocks of clusters are put. A wish.
    #[doc(alias = "cudaLaunchAttributeClusterSchedulingPolicyPreference")]
    pub fn cluster_scheduling(self, policy: ClusterScheduling) -> Self {
        let value = sys::cudaLaunchAttributeValue { clusterSchedulingPolicyPreference: policy.0 };
        self.with(sys::cudaLaunchAttributeClusterSchedulingPolicyPreference, value)
    }

    /// All blocks run at the same time, or the launch is refused: what
    /// [`Kernel::launch_cooperative`](super::Kernel::launch_cooperative) asks for.
    #[doc(alias = "cudaLaunchAttributeCooperative")]
    pub fn cooperative(self) -> Self {
        let value = sys::cudaLaunchAttributeValue { cooperative: 1 };
        self.with(sys::cudaLaunchAttributeCooperative, value)
    }

    /// The launch's priority, instead of its stream's: smaller numbers go first.
    /// [`Device::stream_priority_range`](crate::Device::stream_priority_range) has those that differ.
    #[doc(alias = "cudaLaunchAttributePriority")]
    pub fn priority(self, priority: i32) -> Self {
        self.with(sys::cudaLaunchAttributePriority, sys::cudaLaunchAttributeValue { priority })
    }

    /// The domain of memory synchronisation that the kernel is in, instead of its stream's.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomain")]
    pub fn mem_sync_domain(self, domain: MemSyncDomain) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomain: domain.as_raw() };
        self.with(sys::cudaLaunchAttributeMemSyncDomain, value)
    }

    /// Which of the device's own domains the two of [`MemSyncDomain`] are for this launch.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomainMap")]
    pub fn mem_sync_domain_map(self, map: MemSyncDomainMap) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomainMap: map.as_raw() };
        self.with(sys::cudaLaunchAttributeMemSyncDomainMap, value)
    }

    /// How much of the fast memory of a multiprocessor is to be shared memory while this launch runs, in percent of the most that there
    /// can be. A wish, which goes before that of [`Kernel::set_shared_carveout`](super::Kernel::set_shared_carveout).
    #[cfg(cudart_12_9)]
    #[doc(alias = "cudaLaunchAttributePreferredSharedMemoryCarveout")]
    pub fn shared_carveout(self, percent: u32) -> Self {
        let value = sys::cudaLaunchAttributeValue { sharedMemCarveout: percent };
        self.with(sys::cudaLaunchAttributePreferredSharedMemoryCarveout, value)
    }

    /// The part of memory that this kernel treats in its own way, instead of its stream's. A hint to the cache by address: it reaches
    /// no memory, and what the kernel reaches its arguments say.
    #[doc(alias = "cudaLaunchAttributeAccessPolicyWindow")]
    pub fn access_policy(self, policy: AccessPolicy<'a>) -> Self {
        let value = sys::cudaLaunchAttributeValue { accessPolicyWindow: policy.as_raw() };
        self.with(sys::cudaLaunchAttributeAccessPolicyWindow, value)
    }

    /// Lets the kernel begin while the kernel before it in its stream is still at work, for which that asks by
    /// `cudaTriggerProgrammaticLaunchCompletion`, or ends: its blocks then wait for the former one themselves, by
    /// `cudaGridDependencySynchronize`. Refused while the stream is captured.
    ///
    /// # Safety
    /// The order of a stream is what the tracker relies on, and this launch has none unless the kernel makes it. So each of its
    /// blocks calls `cudaGridDependencySynchronize`, even one that has nothing to do: before it reads or writes any memory but what is
    /// its own, and before it ends.
    #[expect(unsafe_code, reason = "gives up the order that everything else relies on")]
    #[doc(alias = "cudaLaunchAttributeProgrammaticStreamSerialization")]
    pub unsafe fn programmatic_stream_serialization(mut self) -> Self {
        self.programmatic = true;
        let value = sys::cudaLaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        self.with(sys::cudaLaunchAttributeProgrammaticStreamSerialization, value)
    }

    /// The attributes as C has them.
    #[must_use]
    pub fn as_raw(&self) -> &[sys::cudaLaunchAttribute] {
        self.list.get(..self.used).unwrap_or_default()
    }

    /// The blocks of a cluster, if that was said.
    pub(super) fn clusters(&self) -> Option<Dim3> {
        self.cluster
    }

    /// Whether the kernel is to see to the order itself.
    pub(crate) fn is_programmatic(&self) -> bool {
        self.programmatic
    }

    /// The launch as C has it. It holds the address of the attributes.
    pub(super) fn config(&self, config: &LaunchConfig, stream: sys::cudaStream_t) -> sys::cudaLaunchConfig_t {
        sys::cudaLaunchConfig_t {
            gridDim: config.grid.into(),
            blockDim: config.block.into(),
            dynamicSmemBytes: config.shared_bytes,
            stream,
            // Only attributes that nobody can ask for here are written to.
            attrs: self.list.as_ptr().cast_mut(),
            numAttrs: u32::try_from(self.used).unwrap_or(0),
        }
    }

    /// Refuses clusters that no device can make of this grid.
    #[track_caller]
    pub(super) fn check(&self, kernel: &'static str, grid: Dim3) -> Result<()> {
        match self.cluster.and_then(|cluster| undivided(grid, cluster)) {
            Some(detail) => Err(Error::refused(kernel, detail)),
            None => Ok(()),
        }
    }
}

/// Why a grid has no such clusters, if it has not.
pub(super) fn undivided(grid: Dim3, cluster: Dim3) -> Option<Detail> {
    let axes = [
        ("the cluster's x", "the grid's x", grid.x, cluster.x),
        ("the cluster's y", "the grid's y", grid.y, cluster.y),
        ("the cluster's z", "the grid's z", grid.z, cluster.z),
    ];
    axes.into_iter().find_map(|(none, what, grid, cluster)| match grid.checked_rem(cluster) {
        None => Some(Detail::Zero { what: none }),
        Some(0) => None,
        Some(_) => Some(Detail::Clusters { what, grid, cluster }),
    })
}

impl Default for LaunchAttributes<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LaunchAttributes<'_> {
    /// Which ones: their values are unions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.as_raw().iter().map(|attribute| attribute.id.0).collect();
        f.debug_struct("LaunchAttributes").field("ids", &ids).field("cluster", &self.cluster).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_that_is_named_twice_has_the_last_value() {
        let attributes = LaunchAttributes::new().cluster(4).priority(-2).cluster((1, 2)).cooperative();
        let ids: Vec<_> = attributes.as_raw().iter().map(|it| it.id).collect();
        let expected = [
            sys::cudaLaunchAttributeClusterDimension,
            sys::cudaLaunchAttributePriority,
            sys::cudaLaunchAttributeCooperative,
        ];
        assert_eq!(ids, expected);
        assert_eq!(attributes.clusters(), Some(Dim3 { x: 1, y: 2, z: 1 }));
        let config = attributes.config(&LaunchConfig::new(2, 32), std::ptr::null_mut());
        assert_eq!((config.numAttrs, config.attrs.cast_const()), (3, attributes.as_raw().as_ptr()));
    }

    #[test]
    fn clusters_that_do_not_divide_the_grid_are_named_with_both_numbers() {
        let of = |cluster: Dim3, grid: Dim3| {
            let refused = LaunchAttributes::new().cluster(cluster).check("kernel", grid);
            refused.err().map(|error| error.detail().clone())
        };
        assert_eq!(of(2.into(), 8.into()), None);
        assert_eq!(of((2, 3, 5).into(), (4, 9, 5).into()), None);
        let detail = Detail::Clusters { what: "the grid's x", grid: 7, cluster: 2 };
        assert!(detail.to_string().contains("8"), "{detail}");
        assert_eq!(of(2.into(), 7.into()), Some(detail));
        let below = Detail::Clusters { what: "the grid's y", grid: 1, cluster: 2 };
        assert_eq!(of((2, 2).into(), 8.into()), Some(below));
        assert_eq!(of((1, 1, 0).into(), 8.into()), Some(Detail::Zero { what: "the cluster's z" }));
    }

    #[cfg(cudart_12_9)]
    #[test]
    fn there_is_room_for_every_attribute_at_once() {
        let all = LaunchAttributes::new()
            .cluster(2)
            .cluster_scheduling(ClusterScheduling::SPREAD)
            .cooperative()
            .priority(-1)
            .mem_sync_domain(MemSyncDomain::REMOTE)
            .mem_sync_domain_map(MemSyncDomainMap { default: 0, remote: 1 })
            .shared_carveout(50);
        let carveout = all.as_raw().last().map(|attribute| attribute.id);
        assert_eq!(carveout, Some(sys::cudaLaunchAttributePreferredSharedMemoryCarveout));
        // Two more have no value that can be made without a device.
        assert!(all.as_raw().len() + 2 <= ROOM);
    }
}
