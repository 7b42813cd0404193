//! Launch attributes, such as the cluster size.

use std::fmt;
use std::marker::PhantomData;

use crate::error::{Detail, Error, Result};
use crate::stream::{AccessPolicy, MemSyncDomain, MemSyncDomainMap};
use crate::sys;

use super::{Dim3, LaunchConfig};

/// The attributes that have a method. Each has an entry in the list of a launch.
const KINDS: &[sys::cudaLaunchAttributeID] = &[
    sys::cudaLaunchAttributeClusterDimension,
    sys::cudaLaunchAttributeClusterSchedulingPolicyPreference,
    sys::cudaLaunchAttributeCooperative,
    sys::cudaLaunchAttributePriority,
    sys::cudaLaunchAttributeMemSyncDomain,
    sys::cudaLaunchAttributeMemSyncDomainMap,
    #[cfg(cudart_12_9)]
    sys::cudaLaunchAttributePreferredSharedMemoryCarveout,
    sys::cudaLaunchAttributeAccessPolicyWindow,
    sys::cudaLaunchAttributeProgrammaticStreamSerialization,
];

/// Returns whether an attribute is one of [`KINDS`].
const fn is_listed(id: u32) -> bool {
    let mut rest = KINDS;
    while let [first, others @ ..] = rest {
        if first.0 == id {
            return true;
        }
        rest = others;
    }
    false
}

/// The placement of a cluster's blocks. One of the constants, or a newer value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(alias = "cudaClusterSchedulingPolicy")]
pub struct ClusterScheduling(sys::cudaClusterSchedulingPolicy);

impl ClusterScheduling {
    /// The device decides.
    #[doc(alias = "cudaClusterSchedulingPolicyDefault")]
    pub const DEFAULT: Self = Self(sys::cudaClusterSchedulingPolicyDefault);
    /// Spreads the blocks over the multiprocessors.
    #[doc(alias = "cudaClusterSchedulingPolicySpread")]
    pub const SPREAD: Self = Self(sys::cudaClusterSchedulingPolicySpread);
    /// Places the blocks where the device is least busy.
    #[doc(alias = "cudaClusterSchedulingPolicyLoadBalancing")]
    pub const LOAD_BALANCING: Self = Self(sys::cudaClusterSchedulingPolicyLoadBalancing);

    /// Returns C's number.
    #[must_use]
    pub fn as_raw(self) -> sys::cudaClusterSchedulingPolicy {
        self.0
    }
}

/// Attributes of a launch, for [`Kernel::launch_ex`](super::Kernel::launch_ex): the `attrs` of C's
/// `cudaLaunchConfig_t`. If an attribute is set twice, the last value applies.
///
/// Not included are attributes that record events inside of a kernel, and those for graphs that the device
/// itself modifies.
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
    list: [sys::cudaLaunchAttribute; KINDS.len()],
    used: usize,
    cluster: Option<Dim3>,
    programmatic: bool,
    memory: PhantomData<&'a ()>,
}

impl<'a> LaunchAttributes<'a> {
    /// Makes an empty list. A launch with it equals a launch without attributes.
    pub const fn new() -> Self {
        let nothing = sys::cudaLaunchAttribute {
            id: sys::cudaLaunchAttributeIgnore,
            pad: [0; 4],
            val: sys::cudaLaunchAttributeValue { pad: [0; 64] },
        };
        Self {
            list: [nothing; KINDS.len()],
            used: 0,
            cluster: None,
            programmatic: false,
            memory: PhantomData,
        }
    }

    fn with<const ID: u32>(mut self, val: sys::cudaLaunchAttributeValue) -> Self {
        const { assert!(is_listed(ID), "`KINDS` lacks an attribute that has a method") };
        let id = sys::cudaLaunchAttributeID(ID);
        let attribute = sys::cudaLaunchAttribute { id, pad: [0; 4], val };
        let at = self.list.iter().position(|it| it.id == id || it.id == sys::cudaLaunchAttributeIgnore);
        // There always is one: at most the other kinds have the other entries.
        if let Some((at, entry)) = at.and_then(|at| Some((at, self.list.get_mut(at)?))) {
            *entry = attribute;
            self.used = self.used.max(at + 1);
        }
        self
    }

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
        let blocks = blocks.into();
        self.cluster = Some(blocks);
        let mut value = sys::cudaLaunchAttributeValue { pad: [0; 64] };
        (value.clusterDim.x, value.clusterDim.y, value.clusterDim.z) = (blocks.x, blocks.y, blocks.z);
        self.with::<{ sys::cudaLaunchAttributeClusterDimension.0 }>(value)
    }

    /// Sets the preferred placement of the blocks of clusters. A hint.
    #[doc(alias = "cudaLaunchAttributeClusterSchedulingPolicyPreference")]
    pub fn cluster_scheduling(self, policy: ClusterScheduling) -> Self {
        let value = sys::cudaLaunchAttributeValue { clusterSchedulingPolicyPreference: policy.0 };
        self.with::<{ sys::cudaLaunchAttributeClusterSchedulingPolicyPreference.0 }>(value)
    }

    /// Makes all blocks run at the same time; otherwise the launch is refused. Equals
    /// [`Kernel::launch_cooperative`](super::Kernel::launch_cooperative).
    #[doc(alias = "cudaLaunchAttributeCooperative")]
    pub fn cooperative(self) -> Self {
        let value = sys::cudaLaunchAttributeValue { cooperative: 1 };
        self.with::<{ sys::cudaLaunchAttributeCooperative.0 }>(value)
    }

    /// Sets the launch's priority in place of its stream's. A smaller number is a higher priority.
    /// [`Device::stream_priority_range`](crate::Device::stream_priority_range) returns the distinct
    /// priorities.
    #[doc(alias = "cudaLaunchAttributePriority")]
    pub fn priority(self, priority: i32) -> Self {
        self.with::<{ sys::cudaLaunchAttributePriority.0 }>(sys::cudaLaunchAttributeValue { priority })
    }

    /// Sets the kernel's memory synchronization domain in place of its stream's.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomain")]
    pub fn mem_sync_domain(self, domain: MemSyncDomain) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomain: domain.as_raw() };
        self.with::<{ sys::cudaLaunchAttributeMemSyncDomain.0 }>(value)
    }

    /// Maps the two domains of [`MemSyncDomain`] to domains of the device for this launch.
    #[doc(alias = "cudaLaunchAttributeMemSyncDomainMap")]
    pub fn mem_sync_domain_map(self, map: MemSyncDomainMap) -> Self {
        let value = sys::cudaLaunchAttributeValue { memSyncDomainMap: map.as_raw() };
        self.with::<{ sys::cudaLaunchAttributeMemSyncDomainMap.0 }>(value)
    }

    /// Sets the preferred share of shared memory in a multiprocessor's on-chip memory while this launch
    /// runs, in percent of the maximum. A hint, which takes precedence over
    /// [`Kernel::set_shared_carveout`](super::Kernel::set_shared_carveout).
    #[cfg(cudart_12_9)]
    #[doc(alias = "cudaLaunchAttributePreferredSharedMemoryCarveout")]
    pub fn shared_carveout(self, percent: u32) -> Self {
        let value = sys::cudaLaunchAttributeValue { sharedMemCarveout: percent };
        self.with::<{ sys::cudaLaunchAttributePreferredSharedMemoryCarveout.0 }>(value)
    }

    /// Sets the address range that this launch caches differently, in place of its stream's range. A hint
    /// to the cache by address: it accesses no memory, and the arguments declare what the kernel accesses.
    #[doc(alias = "cudaLaunchAttributeAccessPolicyWindow")]
    pub fn access_policy(self, policy: AccessPolicy<'a>) -> Self {
        let value = sys::cudaLaunchAttributeValue { accessPolicyWindow: policy.as_raw() };
        self.with::<{ sys::cudaLaunchAttributeAccessPolicyWindow.0 }>(value)
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
        self.programmatic = true;
        let value = sys::cudaLaunchAttributeValue { programmaticStreamSerializationAllowed: 1 };
        self.with::<{ sys::cudaLaunchAttributeProgrammaticStreamSerialization.0 }>(value)
    }

    /// Returns the attributes in C's form.
    #[must_use]
    pub fn as_raw(&self) -> &[sys::cudaLaunchAttribute] {
        self.list.get(..self.used).unwrap_or_default()
    }

    /// Returns the cluster size if it is set.
    pub(super) fn clusters(&self) -> Option<Dim3> {
        self.cluster
    }

    /// Returns whether the kernel itself must establish its order in the stream.
    pub(crate) fn is_programmatic(&self) -> bool {
        self.programmatic
    }

    /// Returns the launch in C's form, which holds the address of the attributes.
    pub(super) fn config(&self, config: &LaunchConfig, stream: sys::cudaStream_t) -> sys::cudaLaunchConfig_t {
        sys::cudaLaunchConfig_t {
            gridDim: config.grid.into(),
            blockDim: config.block.into(),
            dynamicSmemBytes: config.shared_bytes,
            stream,
            // The runtime writes only to attributes that this type does not offer.
            attrs: self.list.as_ptr().cast_mut(),
            numAttrs: u32::try_from(self.used).unwrap_or(0),
        }
    }

    /// Refuses clusters that do not divide the grid.
    #[track_caller]
    pub(super) fn check(&self, kernel: &'static str, grid: Dim3) -> Result<()> {
        match self.cluster.and_then(|cluster| undivided(grid, cluster)) {
            Some(detail) => Err(Error::refused(kernel, detail)),
            None => Ok(()),
        }
    }
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

impl Default for LaunchAttributes<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LaunchAttributes<'_> {
    /// Prints the ids only: the values are unions.
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
        let detail = Detail::clusters("the grid's x", 7, 2);
        assert!(detail.to_string().contains("8"), "{detail}");
        assert_eq!(of(2.into(), 7.into()), Some(detail));
        let below = Detail::clusters("the grid's y", 1, 2);
        assert_eq!(of((2, 2).into(), 8.into()), Some(below));
        assert_eq!(of((1, 1, 0).into(), 8.into()), Some(Detail::zero("the cluster's z")));
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
        // Two more attributes have values that cannot be made without a device.
        assert_eq!(all.as_raw().len() + 2, KINDS.len());
    }
}
