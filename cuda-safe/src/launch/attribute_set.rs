//! Which attributes a launch has.

use crate::stream::{AccessPolicy, Attribute, MemSyncDomain, MemSyncDomainMap};
use crate::sys;

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

/// The attributes of a launch. Not included are attributes that record events inside of a kernel, and those
/// for graphs that the device itself modifies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'a> {
    /// Whether one is set.
    pub(super) any: bool,
    pub(super) cooperative: bool,
    pub(super) programmatic: bool,
    pub(super) cluster: Option<[u32; 3]>,
    pub(super) scheduling: Option<ClusterScheduling>,
    pub(super) priority: Option<i32>,
    pub(super) domain: Option<MemSyncDomain>,
    pub(super) domain_map: Option<MemSyncDomainMap>,
    #[cfg(cudart_12_9)]
    pub(super) carveout: Option<u32>,
    pub(super) access_policy: Option<AccessPolicy<'a>>,
}

/// The number of attributes.
pub(super) const KINDS: usize = 9;

impl<'a> Attributes<'a> {
    pub(super) const NONE: Self = Self {
        any: false,
        cooperative: false,
        programmatic: false,
        cluster: None,
        scheduling: None,
        priority: None,
        domain: None,
        domain_map: None,
        #[cfg(cudart_12_9)]
        carveout: None,
        access_policy: None,
    };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.any
    }

    /// Returns the attributes that are set.
    pub(super) fn set(&self) -> impl Iterator<Item = Attribute> {
        let all: [Option<Attribute>; KINDS] = [
            self.cluster.map(Attribute::cluster),
            self.scheduling.map(|policy| Attribute::cluster_scheduling(policy.0)),
            self.cooperative.then(Attribute::cooperative),
            self.priority.map(Attribute::priority),
            self.domain.map(Attribute::mem_sync_domain),
            self.domain_map.map(Attribute::mem_sync_domain_map),
            #[cfg(cudart_12_9)]
            self.carveout.map(Attribute::shared_carveout),
            #[cfg(not(cudart_12_9))]
            None,
            self.access_policy.as_ref().map(|policy| Attribute::access_policy(Some(policy))),
            self.programmatic.then(Attribute::programmatic_stream_serialization),
        ];
        all.into_iter().flatten()
    }

    /// Returns whether the launch is cooperative and has no other attribute.
    pub(super) fn is_only_cooperative(&self) -> bool {
        self.cooperative && self.set().count() == 1
    }
}
